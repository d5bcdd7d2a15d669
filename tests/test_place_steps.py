"""How finely places are looked at: from the spacing and the steps of the fixes themselves."""

import sys

import numpy as np
import pytest

from oddshift.app.init.places import MOST_CELLS, PlaceSteps, _rounded, place_steps
from oddshift.data.codecs import PlaceSettings
from oddshift.data.codecs.places import cell_centres

SETTINGS = PlaceSettings(trip="", every=0)


def walk(step_km, gap, users=5, fixes=40):
    """Straight walks to the north, one for each user, at a fix every `gap` seconds."""
    lat = np.tile(38.0 + np.arange(fixes) * step_km / 111.195, users)
    lon = np.repeat(23.0 + np.arange(users), fixes)
    seconds = np.tile(1_600_000_000 + gap * np.arange(fixes), users)
    return {
        "lat": lat.tolist(),
        "lon": lon.tolist(),
        "user": [str(u) for u in np.repeat(np.arange(users), fixes)],
        "timestamp": [str(s) for s in seconds],
    }


@pytest.mark.parametrize(
    ("step", "gap", "expected"),
    [
        (0.5, 60, PlaceSteps(0.5, 60.0)),
        (0.5, 45, PlaceSteps(0.5, 60.0)),  # the next round interval keeps most of the fixes
        (2.1, 3600, PlaceSteps(2.0, 3600.0)),
        (0.01, 60, PlaceSteps(1.0, 60.0)),  # nothing moves
        (0.03, 60, PlaceSteps(0.1, 60.0)),  # no smaller than a tenth of a kilometre
        (60.0, 10, PlaceSteps(50.0, 10.0)),
    ],
)
def test_cells_are_as_large_as_the_steps_and_fixes_are_kept_as_they_come(step, gap, expected):
    assert place_steps(walk(step, gap), SETTINGS) == expected


def test_fixes_that_are_days_apart_are_all_kept():
    assert place_steps(walk(0.5, 20_000, fixes=4), SETTINGS).every == 0.0


def test_without_times_the_order_of_the_file_counts_and_points_alone_take_no_step():
    columns = {k: v for k, v in walk(0.5, 60).items() if k != "timestamp"}
    assert place_steps(columns, PlaceSettings(timestamp="", trip="", every=0)) == PlaceSteps(0.5, 0.0)
    alone = PlaceSettings(timestamp="", trip="", user="", every=0)
    assert place_steps({"lat": columns["lat"], "lon": columns["lon"]}, alone) == PlaceSteps(1.0, 0.0)


def test_a_wide_area_gets_larger_cells():
    rng = np.random.default_rng(0)
    columns = walk(0.1, 60, users=4000, fixes=2)
    jump = np.repeat(rng.uniform(-5, 5, 4000), 2)
    columns["lat"] = (np.array(columns["lat"]) + jump).tolist()
    columns["lon"] = np.repeat(rng.uniform(20, 30, 4000), 2).tolist()
    found = place_steps(columns, SETTINGS)
    places = np.stack([columns["lat"], columns["lon"]], axis=1)
    assert len(np.unique(cell_centres(places, found.cell_km), axis=0)) < 2 * MOST_CELLS
    assert found.cell_km > 1.0


def test_a_bad_cell_is_left_to_the_reader():
    columns = walk(0.5, 60)
    columns["lat"][3] = "forty"
    assert place_steps(columns, SETTINGS) == PlaceSteps()


@pytest.mark.parametrize(("size", "expected"), [(0.13, 0.1), (0.16, 0.2), (3.0, 2.0), (4.0, 5.0), (8.0, 10.0)])
def test_round_numbers(size, expected):
    assert _rounded(size) == pytest.approx(expected)


def test_where_the_area_asks_for_large_cells_fixes_are_kept_less_often(monkeypatch):
    """Steps of 200 m in ten seconds, and room for a few cells only: a fix every ten seconds would repeat its cell."""
    columns = walk(0.2, 10, users=3, fixes=400)
    assert place_steps(columns, SETTINGS) == PlaceSteps(0.2, 10.0)
    monkeypatch.setattr(sys.modules[PlaceSteps.__module__], "MOST_CELLS", 40)
    found = place_steps(columns, SETTINGS)
    assert found == PlaceSteps(10.0, 300.0)
    short = place_steps(walk(0.2, 10, users=60, fixes=20), SETTINGS)
    assert short.every == 30.0  # a longer interval would leave fewer than five fixes of a trip


def test_points_alone_in_a_wide_area_get_larger_cells_too():
    rng = np.random.default_rng(0)
    alone = PlaceSettings(timestamp="", trip="", user="", every=0)
    columns = {"lat": rng.uniform(10, 40, 6000).tolist(), "lon": rng.uniform(-90, -20, 6000).tolist()}
    assert place_steps(columns, alone).cell_km >= 50.0

"""Whose fixes these are, from how places move: by hand, with columns that mislead."""

import numpy as np
import pytest

from oddshift.app.init.places import CLOSER, IN_ORDER, is_in_order, moving_along
from oddshift.app.init.roles import roles_of_columns
from oddshift.data.codecs import PlaceSettings

SETTINGS = PlaceSettings(lat="lat", lon="lon", user="", timestamp="", trip="", every=0)


@pytest.fixture(scope="module")
def fixes():
    """Six walkers far apart whose fixes are mixed, a column that says who they are, and two that do not."""
    rng = np.random.default_rng(0)
    who = np.tile(np.arange(6), 20)
    return {
        "lat": (10.0 * who + 0.01 * np.repeat(np.arange(20), 6) + 1e-4 * rng.normal(size=120)).tolist(),
        "lon": (1e-4 * rng.normal(size=120)).tolist(),
        "badge": [f"b{number}" for number in who],
        "mood": [f"m{number}" for number in rng.integers(4, size=120)],
        "speed": rng.integers(30, size=120).tolist(),
    }


def test_the_column_along_which_places_move_least_is_found(fixes):
    assert moving_along(fixes, SETTINGS, ("mood", "speed", "badge")) == "badge"


def test_no_column_is_taken_where_none_makes_steps_much_shorter(fixes):
    assert CLOSER < 1
    assert moving_along(fixes, SETTINGS, ("mood", "speed")) == ""
    assert moving_along(fixes, SETTINGS, ()) == ""


def test_it_becomes_the_user_of_a_file_without_one_and_is_no_longer_left_empty(fixes):
    fixes = {**fixes, "time": [f"2024-01-01T{k // 60:02d}:{k % 60:02d}:00" for k in range(120)]}  # or they are people
    found = roles_of_columns(fixes, "x")
    assert (found.kind, found.user) == ("location", "badge")
    assert [name for name, _ in found.masked] == ["mood", "speed"]
    named = roles_of_columns({**fixes, "user": fixes["mood"]}, "x")
    assert named.user == "user"


def test_a_cell_that_cannot_be_read_is_left_to_the_reader(fixes):
    assert moving_along({**fixes, "lat": ["far", *fixes["lat"][1:]]}, SETTINGS, ("badge",)) == ""


@pytest.fixture(scope="module")
def tracks():
    """Ten storms, one after the other as their file has them, each of them a walk across the same sea."""
    rng = np.random.default_rng(1)
    steps = rng.normal((0.3, -0.4), 0.05, size=(10, 30, 2))
    lat, lon = (np.cumsum(steps, axis=1) + rng.uniform(-3, 3, size=(10, 1, 2))).reshape(-1, 2).T
    storm = np.repeat(np.arange(10), 30)
    return {
        "lat": (20 + lat).tolist(),
        "lon": (-50 + lon).tolist(),
        "storm": [f"s{number}" for number in storm],
        "year": [1975 + number // 4 for number in storm.tolist()],
        "wind": rng.integers(30, size=300).tolist(),
    }


def test_tracks_that_are_in_order_already_are_found_by_the_order_within_them(tracks):
    assert moving_along(tracks, SETTINGS, ("wind", "year", "storm")) == "storm"
    places = {**tracks, "lat": np.random.default_rng(2).permutation(tracks["lat"]).tolist()}
    assert moving_along(places, SETTINGS, ("wind", "year", "storm")) == "", "nothing moves"


def test_a_file_that_moves_and_names_nobody_is_remarked_upon(tracks):
    alone = {"lat": tracks["lat"], "lon": tracks["lon"]}
    assert is_in_order(alone, SETTINGS)
    assert roles_of_columns(alone, "x").remark == IN_ORDER
    assert not roles_of_columns(tracks, "x").remark
    shuffled = {**alone, "lat": np.random.default_rng(2).permutation(alone["lat"]).tolist()}
    assert not is_in_order(shuffled, SETTINGS)


def test_two_buses_are_users_too():
    """A file of two vehicles: too few to certify, and still two, whose days are the trips."""
    day, fix = np.divmod(np.arange(200), 20)
    columns = {
        "vehicle": [f"bus{number % 2}" for number in day.tolist()],
        "timestamp": (1_600_000_000 + 86_400 * (day // 2) + 60 * fix).tolist(),
        "lat": (38.0 + 0.01 * fix).tolist(),
        "lon": (23.7 + 0.01 * day).tolist(),
    }
    found = roles_of_columns(columns, "x")
    assert (found.kind, found.user) == ("location", "vehicle")
    units, by = PlaceSettings(user="vehicle", trip="", every=0).units(columns)
    assert (len(np.unique(units)), by) == (10, "document")


def test_places_of_a_region_are_near_each_other_and_do_not_move():
    rng = np.random.default_rng(3)
    state = rng.integers(0, 8, 400)
    columns = {
        "": list(range(1, 401)),
        "lat": (30 + 2.0 * (state // 4) + rng.uniform(0, 1, 400)).tolist(),
        "lon": (-100 + 3.0 * (state % 4) + rng.uniform(0, 1, 400)).tolist(),
        "state": [f"s{number}" for number in state],
    }
    found = roles_of_columns(columns, "x")
    assert found.user == ""
    assert {name for name, _ in found.masked} == {"", "state"}, "the index of the file is left empty too"

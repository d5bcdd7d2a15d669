"""Trips: moments in many forms, and cells of about equal size all over the globe."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.places import Trajectories, cell_centres, seconds_of
from oddshift.model.metric import EARTH_RADIUS_KM, Haversine

MOMENT = st.datetimes(datetime(1975, 1, 1), datetime(2200, 1, 1)).map(lambda t: t.replace(microsecond=0, tzinfo=UTC))


def kilometres(a, b):
    return float(Haversine().between(np.array([a]), np.array([b]))[0, 0])


def fixes(*rows):
    """Fixes from (trip, seconds, latitude, longitude)."""
    table = np.array(rows, dtype=float).reshape(-1, 4)
    trip = table[:, 0].astype(np.int64)
    return Trajectories(table[:, 2:], table[:, 1], trip, trip)


@settings(max_examples=50)
@given(MOMENT, st.sampled_from(["iso", "zulu", "plain", "day first", "seconds", "milliseconds", "elsewhere"]))
def test_a_moment_is_the_same_in_every_form(moment, form):
    seconds = int(moment.timestamp())
    written = {
        "iso": moment.isoformat(),
        "zulu": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "plain": moment.strftime("%Y-%m-%d %H:%M:%S"),
        "day first": f"{moment.day}/{moment.month}/{moment.year}{moment.strftime(' %H:%M:%S')}",
        "seconds": str(seconds),
        "milliseconds": f"{seconds}000",
        "elsewhere": (moment + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%S+05:00"),
    }[form]
    assert seconds_of(written, 1, "column 'time'") == seconds


@pytest.mark.parametrize("moment", ["", "noon", "2024-13-01", "31/2/2024", "12345", "1/1/24", "2024-01-01T25:00"])
def test_what_is_not_a_moment_is_refused_with_its_row_and_not_quoted(moment):
    with pytest.raises(InvalidInput) as refused:
        seconds_of(moment, 12, "column 'time'")
    assert str(refused.value) == "column 'time' at row 12 is not an ISO 8601 time"
    assert refused.value.__suppress_context__


@settings(max_examples=80)
@given(st.floats(-89, 89), st.floats(-180, 180), st.sampled_from([0.1, 1.0, 25.0, 500.0]))
def test_the_centre_of_a_cell_is_near_and_is_its_own_centre(latitude, longitude, cell):
    place = np.array([[latitude, longitude]])
    centre = cell_centres(place, cell)
    assert np.abs(centre[0, 0]) <= 90
    assert np.abs(centre[0, 1]) <= 180
    assert kilometres(place[0], centre[0]) <= cell * 1.2
    assert cell_centres(centre, cell) == pytest.approx(centre)


def test_cells_have_about_the_same_area_everywhere():
    cell = 100.0
    places = np.array([[latitude, longitude] for latitude in range(-85, 86, 5) for longitude in range(-170, 180, 10)])
    centres = np.unique(cell_centres(places.astype(float), cell), axis=0)
    height = math.pi * EARTH_RADIUS_KM / round(math.pi * EARTH_RADIUS_KM / cell)
    for latitude in np.unique(centres[:, 0]):
        around = 2 * math.pi * EARTH_RADIUS_KM * math.cos(math.radians(latitude))
        width = around / round(around / cell)
        assert 0.9 < width * height / cell**2 < 1.1


@pytest.mark.parametrize("place", [(90.0, 180.0), (-90.0, -180.0), (90.0, -180.0)])
def test_the_ends_of_the_earth_are_in_a_cell(place):
    centre = cell_centres(np.array([place]), 10.0)
    assert kilometres(place, centre[0]) <= 10.0


@pytest.mark.parametrize("rows", [((1, 0, 0, 0), (0, 1, 0, 0)), ((0, 5, 0, 0), (0, 4, 0, 0))], ids=["trip", "time"])
def test_fixes_out_of_order_are_refused(rows):
    with pytest.raises(InvalidInput, match="fixes are out of order, expected them by trip, and by time within a trip"):
        fixes(*rows)


def test_columns_of_fixes_have_one_length():
    with pytest.raises(InvalidInput, match=r"have lengths \[1, 2\], expected one length"):
        Trajectories(np.zeros((2, 2)), np.zeros(2), np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64))


def test_some_fixes_are_taken_with_all_they_have_and_shown_as_counts():
    some = fixes((0, 0, 51.51, 7.46), (0, 1, 2.0, 2.0), (3, 0, 3.0, 3.0))
    kept = some.take(np.array([0, 2]))
    assert (kept.places.tolist(), kept.trip.tolist()) == ([[51.51, 7.46], [3.0, 3.0]], [0, 3])
    assert repr(kept) == "Trajectories(2 fixes, 2 trips)"

"""Scaling of a numeric column: units of spread, the way back, and the middles of steps that hold some value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.table.domains import SCALINGS, ColumnScale

COLUMN = st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=12).filter(lambda v: len(set(v)) > 1)


def scale_of(values):
    return ColumnScale(np.array(values, dtype=float), 0.0, 1.0)


def test_mean_and_deviation_by_hand():
    scale = SCALINGS["z-score"]({"a": ["2", 4, 6, 8]}, "a")
    assert (scale.centre, scale.spread) == (5.0, pytest.approx(5**0.5))
    assert scale.values.tolist() == [2, 4, 6, 8]


def test_median_and_quartiles_by_hand_ignore_one_far_value():
    near, far = (SCALINGS["robust"]({"a": [0, 1, 2, 3, last]}, "a") for last in (4, 4000))
    assert (near.centre, near.spread) == (far.centre, far.spread) == (2.0, 2.0)


@settings(max_examples=50)
@given(COLUMN)
def test_a_column_in_units_of_deviation_has_mean_zero_and_deviation_one(values):
    scale = SCALINGS["z-score"]({"a": values}, "a")
    found = scale.apply(scale.values)
    assert found.mean() == pytest.approx(0, abs=1e-9)
    assert found.std() == pytest.approx(1)


@settings(max_examples=50)
@given(COLUMN, st.floats(0.01, 100), st.floats(-100, 100), st.sampled_from(sorted(SCALINGS)))
def test_the_unit_of_measurement_does_not_matter(values, factor, shift, name):
    other = [factor * value + shift for value in values]
    try:
        scale = SCALINGS[name]({"a": values}, "a")
    except InvalidInput:
        return  # quartiles that agree, whatever the unit
    assert SCALINGS[name]({"a": other}, "a").apply(np.array(other)) == pytest.approx(
        scale.apply(scale.values), abs=1e-5
    )


@pytest.mark.parametrize(("name", "values"), [("z-score", [3, 3]), ("robust", [1, 3, 3, 3, 3, 9]), ("z-score", [7])])
def test_values_without_a_spread_are_refused_by_column(name, values):
    with pytest.raises(InvalidInput, match="column 'age' has spread 0, expected values that differ"):
        SCALINGS[name]({"age": values}, "age")


def test_a_scale_shows_no_value():
    assert "54321" not in repr(scale_of([54321.0]))

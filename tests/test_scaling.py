"""Scaling of a numeric column: its centre and its spread."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.data.codecs.table.domains import centre_and_spread

COLUMN = st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=12).filter(lambda v: len(set(v)) > 1)


def test_mean_and_deviation_by_hand():
    assert centre_and_spread(np.array([2.0, 4.0, 6.0, 8.0]), "z-score") == (5.0, pytest.approx(5**0.5))


def test_median_and_quartiles_by_hand_ignore_one_far_value():
    near, far = (centre_and_spread(np.array([0.0, 1.0, 2.0, 3.0, last]), "robust") for last in (4, 4000))
    assert near == far == (2.0, 2.0)


@settings(max_examples=50, deadline=None)
@given(COLUMN, st.floats(0.01, 100), st.floats(-100, 100), st.sampled_from(["z-score", "robust"]))
def test_the_unit_of_measurement_does_not_matter(values, factor, shift, name):
    column = np.array(values)
    centre, spread = centre_and_spread(column, name)
    other = factor * column + shift
    moved, wider = centre_and_spread(other, name)
    if spread > 0:  # otherwise quartiles agree, whatever the unit
        assert (other - moved) / wider == pytest.approx((column - centre) / spread, abs=1e-5)


def test_values_without_a_spread_are_refused_by_column():
    with pytest.raises(InvalidInput, match="column 'age' has spread 0"):
        TableCodec.fit({"age": [1, 3, 3, 3, 3, 9]}, TableSettings(numeric=("age",), scaling="robust"))

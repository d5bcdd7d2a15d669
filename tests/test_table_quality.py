"""The quality of a released table: equal laws, known distances, and what missing cells do."""

import numpy as np
import pytest

from oddshift.audit.released_table import _correlation, _shape, table_quality
from oddshift.audit.table_risks import MixedTable
from oddshift.base.errors import InvalidInput

NUMBER, CATEGORY = np.array([True]), np.array([False])


def column(values, kind=NUMBER):
    return MixedTable(np.array(values, dtype=float)[:, None], kind)


def test_the_same_table_has_quality_one_in_any_order_of_rows():
    rng = np.random.default_rng(0)
    cells = np.stack([rng.normal(size=200), rng.integers(0, 4, 200), rng.normal(size=200)], axis=1)
    table = MixedTable(cells, np.array([True, False, True]))
    assert table_quality(table, table) == 1.0
    assert table_quality(table, MixedTable(cells[::-1], table.is_number)) == pytest.approx(1.0)


def test_shapes_by_hand():
    assert _shape(column([1, 2, 3, 4]), column([3, 4, 5, 6]), 0) == pytest.approx(0.5)  # half lies below 3
    assert _shape(column([0, 0, 1, 1], CATEGORY), column([0, 1, 1, 1], CATEGORY), 0) == pytest.approx(0.75)
    assert _shape(column([0, 0], CATEGORY), column([7, 7], CATEGORY), 0) == 0.0


def test_one_column_is_its_shape():
    assert table_quality(column([1, 2, 3, 4]), column([3, 4, 5, 6])) == pytest.approx(0.5)


def test_shuffling_one_column_keeps_the_shapes_and_loses_the_trend():
    rng = np.random.default_rng(1)
    x = rng.normal(size=2000)
    table = MixedTable(np.stack([x, x], axis=1), np.array([True, True]))
    mixed = MixedTable(np.stack([x, rng.permutation(x)], axis=1), table.is_number)
    assert table_quality(table, mixed) == pytest.approx((1.0 + 0.5) / 2.0, abs=0.02)


def test_a_number_and_a_category_are_compared_by_shares():
    rng = np.random.default_rng(2)
    x = rng.normal(size=4000)
    table = MixedTable(np.stack([x, x > 0], axis=1).astype(float), np.array([True, False]))
    mixed = MixedTable(np.stack([x, rng.permutation(x > 0)], axis=1).astype(float), table.is_number)
    assert table_quality(table, mixed) == pytest.approx(0.75, abs=0.03)  # half of the mass of the pair moved


def test_missing_cells_are_left_out_of_shapes_and_a_value_of_their_own_in_pairs():
    cells = np.array([[1.0, 0.0], [2.0, 1.0], [np.nan, 1.0], [4.0, 0.0]])
    table = MixedTable(cells, np.array([True, False]))
    assert table_quality(table, table) == 1.0
    empty = MixedTable(np.full((4, 2), np.nan), table.is_number)
    assert table_quality(table, empty) < 0.2
    assert table_quality(empty, empty) == 1.0


def test_constant_columns_have_no_correlation_and_other_widths_are_refused():
    assert _correlation(np.array([[1.0, 2.0], [1.0, 3.0]])) is None
    assert _correlation(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])) == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match="1 and 2 columns"):
        table_quality(column([1, 2]), MixedTable(np.zeros((2, 2)), np.array([True, True])))

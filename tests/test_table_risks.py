"""Risks of released tables: known tables with known risks, and intervals by hand."""

import numpy as np
import pytest

from oddshift.audit.table_risks import MixedTable, Risk, _alone, _ends, _holds_once, _nearest, table_risks, wilson
from oddshift.base.errors import InvalidInput


def survey(rows=1500, seed=0):
    """Two numbers that follow each other, and two categories that follow the first."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    pay = np.round(age * 50 + rng.normal(0, 200, rows))
    level = (age > 50).astype(float)
    side = np.where(rng.random(rows) < 0.5, level, 1 - level)
    return MixedTable(np.stack([age, pay, level, side], axis=1), np.array([True, True, False, False]))


def shuffled(table, rng):
    """Columns of the same law, independent of each other and of the rows."""
    return MixedTable(np.stack([rng.permutation(column) for column in table.cells.T], axis=1), table.is_number)


def by_name(risks):
    return {risk.name.split(" column")[0] if risk.name.startswith("infer") else risk.name: risk for risk in risks}


def test_a_table_released_as_it_is_has_high_risks():
    table = survey()
    found = by_name(table_risks(table, table, np.random.default_rng(0), attacks=200))
    for columns in ("one column", "several columns"):
        risk = found[f"singling out by {columns}"]
        assert risk.rate == 1.0, "what singles out in the release does so in the table, for they are the same"
        assert risk.baseline < 0.2
        assert risk.attacks > 10
    assert found["linking two halves of the columns"].rate > 0.2
    assert found["linking two halves of the columns"].baseline < 0.1
    assert found["inferring"].rate > 0.9, "the row itself is the nearest, but for ties"


def test_columns_that_know_nothing_of_each_other_stay_at_the_baseline():
    table, rng = survey(), np.random.default_rng(1)
    found = by_name(table_risks(table, shuffled(table, rng), rng, attacks=300))
    single = found["singling out by several columns"]
    assert single.rate < 0.4
    linking = found["linking two halves of the columns"]
    assert linking.interval[0] <= linking.baseline_interval[1]
    assert found["inferring"].excess < 0.15


def test_singling_out_by_hand():
    table = MixedTable(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [np.nan, 1.0]]), np.array([True, False]))
    row = np.array([3.0, 1.0])
    up = np.array([1, 1])
    assert _holds_once(table, np.array([0]), row, up)  # at least 3: one row
    assert not _holds_once(table, np.array([0]), row, -up)  # at most 3: three rows, missing is not a number
    assert not _holds_once(table, np.array([1]), row, up)  # category 1: two rows
    assert _holds_once(table, np.array([0, 1]), row, up)
    assert _holds_once(table, np.array([0]), np.array([2.0, 0.0]), 0 * up), "exactly 2: one row"
    assert _holds_once(table, np.array([0]), np.array([np.nan, 0.0]), up), "one row has no number"


def test_nearest_rows_by_hand():
    table = MixedTable(np.array([[0.0, 0.0], [10.0, 0.0], [4.0, 1.0]]), np.array([True, False]))
    targets = np.array([0, 2])
    assert _nearest(table, table, targets, np.array([0]), 1)[:, 0].tolist() == [0, 2]
    assert sorted(_nearest(table, table, targets, np.array([1]), 2)[0].tolist()) == [0, 1]


def test_one_column_has_nothing_to_link():
    table = MixedTable(np.arange(20.0)[:, None], np.array([True]))
    names = [risk.name for risk in table_risks(table, table, np.random.default_rng(0), attacks=10)]
    assert names == ["singling out by one column", "singling out by several columns"]


def test_a_column_without_cells_is_no_trouble():
    cells = np.stack([np.full(30, np.nan), np.arange(30.0)], axis=1)
    table = MixedTable(cells, np.array([True, True]))
    assert len(table_risks(table, table, np.random.default_rng(0), attacks=10)) == 4


def test_intervals():
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(0, 100)
    assert (low, round(high, 4)) == (0.0, 0.037)
    assert wilson(100, 100)[1] == 1.0
    risk = Risk(name="x", rate=0.5, interval=(0.4, 0.6), baseline=0.2, baseline_interval=(0.1, 0.3), attacks=10)
    assert risk.excess == pytest.approx(0.3)


def test_the_same_seed_gives_the_same_risks():
    table = survey(200)
    one, two = (table_risks(table, table, np.random.default_rng(7), attacks=50) for _ in range(2))
    assert one == two


def test_tables_of_other_shapes_are_refused():
    table = survey(50)
    with pytest.raises(InvalidInput, match="4 and 1 columns"):
        table_risks(table, MixedTable(np.arange(5.0)[:, None], np.array([True])), np.random.default_rng(0))
    with pytest.raises(InvalidInput, match=r"shape \(1, 2\)"):
        MixedTable(np.zeros((1, 2)), np.array([True, True]))
    assert repr(table) == "MixedTable(50, 4)"


def test_ends_of_a_column_by_hand():
    cells = np.array([[3.0, 1.0], [5.0, 1.0], [np.nan, 0.0], [3.0, np.nan], [1.0, 0.0]])
    table = MixedTable(cells, np.array([True, False]))
    number, code = (_ends(table, column) for column in (0, 1))
    assert number.top == (1, 4)
    assert sorted(number.rare.tolist()) == [1, 4]
    assert number.is_alone == (True, True, True)
    assert code.is_alone == (False, False, False), "both codes occur twice"
    nothing = _ends(MixedTable(np.full((3, 1), np.nan), np.array([True])), 0)
    assert nothing.is_alone == (False, False, False)


@pytest.mark.parametrize("seed", range(3))
def test_a_predicate_about_one_column_says_by_itself_whether_it_holds_once(seed):
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((12, 3)) < 0.2, np.nan, rng.integers(0, 5, (12, 3)).astype(float))
    table = MixedTable(cells, np.array([True, False, True]))
    for _ in range(60):
        column = int(rng.integers(3))
        row, signs, holds = _alone(table, _ends(table, column), rng)
        assert holds == _holds_once(table, np.array([column]), row, signs)

"""Cells as numbers and dates, and back in the form they came in."""

from datetime import date, datetime

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.cells import (
    CellType,
    date_cells,
    date_form,
    is_missing,
    missing_cells,
    number_cells,
    number_type,
)


@pytest.mark.parametrize("cell", [None, "", " ", "NA", "n/a", "N/A", "null", "NaN", "nan", float("nan")])
def test_missing_in_all_its_spellings(cell):
    assert is_missing(cell)


@pytest.mark.parametrize("cell", [0, 0.0, False, "0", "none", "nano", "x" * 100, "unknown"])
def test_values_that_are_not_missing(cell):
    assert not is_missing(cell)


def test_numbers_with_holes():
    values = number_cells({"x": ["1", "NA", " 2.5", None, 3]}, "x")
    np.testing.assert_array_equal(values, [1, np.nan, 2.5, np.nan, 3])
    assert missing_cells(["1", "NA", None]).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "20", "NA"], CellType(family="integer")),
        ([1.0, 2.0, None], CellType(family="decimal")),
        (["1.50", "2"], CellType(family="decimal", digits=2)),
        ([0.25, 1.5], CellType(family="decimal", digits=2)),
        (["1e-3", "0.1"], CellType(family="decimal", digits=1)),
        ([1 / 3, 2 / 3, 100.0], CellType(family="decimal", digits=2)),
    ],
)
def test_the_precision_of_a_column_is_its_own(cells, expected):
    assert number_type(cells, number_cells({"x": cells}, "x")) == expected


def test_numbers_are_written_as_they_came():
    assert CellType(family="integer").written(3.0, as_text=True) == "3"
    assert type(CellType(family="integer").written(3.0, as_text=False)) is int
    assert CellType(family="decimal", digits=2).written(3.1, as_text=True) == "3.10"
    assert CellType(family="decimal", digits=1).written(3.1499, as_text=False) == 3.1


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-02-29", "1969-12-31"],
        ["29/02/2020", "31/12/1969"],
        ["12/31/2019", "01/02/2020"],
        ["29.02.2020", "31.12.1969"],
        ["2020-02-29T10:30:00", "2020-02-29T00:00:00"],
        ["29/02/2020 10:30", "01/03/2020 00:00"],
        [date(2020, 2, 29), date(1969, 12, 31)],
        [datetime(2020, 2, 29, 10, 30), datetime(1969, 12, 31)],
        [1_582_934_400, 1_500_000_000],
        [1_582_934_400_000, 1_500_000_000_000],
    ],
)
def test_dates_come_back_in_their_form(cells):
    form = date_form([*cells, None, "NA"] if not isinstance(cells[0], int) else cells)
    days = date_cells({"x": cells}, "x", form)
    kind = CellType(family="date", form=form)
    assert [kind.written(day, as_text=False) for day in days] == cells


def test_days_by_hand():
    np.testing.assert_array_equal(date_cells({"x": ["02/01/1970", "NA"]}, "x", "%d/%m/%Y"), [1.0, np.nan])
    assert date_cells({"x": [86_400_000 * 365]}, "x", "milliseconds").tolist() == [365.0]
    assert CellType(family="date", form="%Y-%m-%d").resolution == 1.0
    assert CellType(family="date", form="%Y-%m-%d %H:%M").resolution == pytest.approx(1 / 1440)
    assert CellType(family="decimal", digits=2).resolution == pytest.approx(0.01)


@pytest.mark.parametrize("cells", [["x", "2020-01-01"], [1, 2], ["2020-01-01", "01/02/2020"], [None], ["2020-13-01"]])
def test_what_is_no_date(cells):
    assert date_form(cells) is None


def test_a_cell_of_another_form_is_named():
    with pytest.raises(InvalidInput, match="column 'x' at row 2 is not a date") as error:
        date_cells({"x": ["2020-01-01", "secret"]}, "x", "%Y-%m-%d")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("cell", "form", "released"),
    [
        ("03/25/21", "%m/%d/%y", "03/25/21"),
        ("25 Mar 2021", "%d %b %Y", "25 Mar 2021"),
        ("March 25, 2021", "%B %d, %Y", "March 25, 2021"),
        ("2021-03-25T02:00:00+02:00", "%Y-%m-%dT%H:%M:%S%z", "2021-03-25T00:00:00+0000"),
    ],
)
def test_dates_in_other_common_forms(cell, form, released):
    assert date_form([cell]) == form
    assert date_cells({"x": [cell]}, "x", form).tolist() == [18_711.0]  # 51 years, 13 leap days, 83 days
    assert CellType(family="date", form=form).written(18_711.0, as_text=True) == released

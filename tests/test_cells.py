"""Cells as numbers and dates, and back in the form they came in.

Cells as numbers, texts or categories: what fits is taken as it is, what does not is named by row and never shown.
"""

import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.cells import (
    CellType,
    categories,
    date_cells,
    date_form,
    is_missing,
    missing_cells,
    number_cells,
    number_type,
    strings,
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


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_numbers_and_their_spellings_are_the_same_numbers(values):
    as_text = number_cells({"a": [repr(value) for value in values]}, "a")
    assert as_text.tolist() == number_cells({"a": values}, "a").tolist() == values
    assert as_text.dtype == np.float64


@pytest.mark.parametrize("value", [3, "3", " 3 ", "3e0", 3.0, np.float32(3), Decimal(3), Fraction(3), True + 2])
def test_one_number_in_many_forms(value):
    assert number_cells({"a": [value]}, "a").tolist() == [3.0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("Ann", "is not a number"),
        ([1.0, 2.0], "is not a number"),
        ({}, "is not a number"),
        (10**400, "is not a number"),
        (-math.inf, "is infinite"),
        ("1e999", "is infinite"),
    ],
)
@pytest.mark.parametrize("first", [1, 41])
def test_a_cell_that_is_not_a_finite_number_is_named_by_its_row(bad, message, first):
    with pytest.raises(InvalidInput) as refused:
        number_cells({"age": [1.0, 2.0, bad, 4.0]}, "age", first=first)
    assert str(refused.value).startswith(f"column 'age' at row {first + 2} {message}, expected")
    assert "Ann" not in str(refused.value)


def test_all_bad_cells_are_counted_and_the_first_rows_named():
    with pytest.raises(InvalidInput, match=r"2 cells that are not a number \(rows 2, 4\)"):
        number_cells({"a": ["1", "x", "2", "y"]}, "a")
    with pytest.raises(InvalidInput, match=r"9 cells that are not a number \(rows 2, 3, 4, 5, 6 and 4 more\)"):
        number_cells({"a": ["1", *["x"] * 9]}, "a")


@pytest.mark.parametrize(
    ("cells", "expected", "form"),
    [
        (["34567,89", "-0,5", "7"], [34567.89, -0.5, 7.0], "0,5"),
        (["1,234.5", "12", "1,000,000.25"], [1234.5, 12.0, 1000000.25], "1,000.5"),
        (["1.234,5", "12", "1.000.000,25"], [1234.5, 12.0, 1000000.25], "1.000,5"),
        (["1.5", "2"], [1.5, 2.0], ""),
    ],
)
def test_decimal_commas_and_thousands_are_read_and_written_as_they_came(cells, expected, form):
    assert number_cells({"a": cells}, "a").tolist() == expected
    kind = number_type(cells, np.array(expected))
    assert kind.form == form
    written = [kind.written(value, as_text=True) for value in expected]
    assert number_cells({"a": written}, "a", form=form).tolist() == expected


def test_3_0_keeps_its_form():
    texts, objects = (number_type(cells, np.array([3.0, 42.0])) for cells in (["3.0", "42.0"], [3.0, 42.0]))
    assert [texts.written(3.0, as_text=True), texts.written(42.0, as_text=True)] == ["3.0", "42.0"]
    assert isinstance(objects.written(3.0, as_text=False), float)


def test_dates_without_marks_are_dates():
    cells = [20210305, 20201231]
    assert date_form(cells) == date_form(["20210305", "20201231"]) == "%Y%m%d"
    days = date_cells({"a": cells}, "a", "%Y%m%d")
    assert days[0] - days[1] == 64.0
    kind = CellType(family="date", form="%Y%m%d")
    assert (kind.written(float(days[0]), as_text=True), kind.written(float(days[0]), as_text=False)) == (
        "20210305",
        20210305,
    )
    assert date_form([20211305, 20201231]) is None


def test_texts_are_taken_as_they_are_and_other_values_are_spelled():
    assert strings({"a": ["Ann", "", 7, 2.5, True]}, "a") == ["Ann", "", "7", "2.5", "True"]


def test_a_missing_text_is_refused_and_an_empty_one_is_data():
    with pytest.raises(InvalidInput, match="column 'a' at row 12 is missing, expected text"):
        strings({"a": ["Ann", "", None]}, "a", first=10)


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, np.array([1]), math.nan])
def test_what_is_not_a_plain_value_is_not_a_category(value):
    with pytest.raises(InvalidInput, match="column 'a' at row 2 is not a category, expected a plain value"):
        categories({"a": ["x", value]}, "a")


def test_categories_keep_their_types_and_are_a_list_of_their_own():
    cells = ["1", 1, True, None, (1, 2), 0.5]
    found = categories({"a": cells}, "a")
    assert found == cells
    assert [type(cell) for cell in found] == [type(cell) for cell in cells]
    found.append("more")
    assert len(cells) == 6


@pytest.mark.parametrize("read", [number_cells, strings, categories])
def test_refusals_never_quote_a_cell(read):
    with pytest.raises(InvalidInput) as refused:
        read({"a": ["Annabel", None, ["Annabel"], "Annabel"]}, "a")
    assert "Annabel" not in str(refused.value)

"""Cells as numbers, texts or categories: what fits is taken as it is, what does not is named by row and never shown."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.cells import categories, numbers, strings


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_numbers_and_their_spellings_are_the_same_numbers(values):
    as_text = numbers({"a": [repr(value) for value in values]}, "a")
    assert as_text.tolist() == numbers({"a": values}, "a").tolist() == values
    assert as_text.dtype == np.float64


@pytest.mark.parametrize("value", [3, "3", " 3 ", "3e0", 3.0, np.float32(3), Decimal(3), Fraction(3), True + 2])
def test_one_number_in_many_forms(value):
    assert numbers({"a": [value]}, "a").tolist() == [3.0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("Ann", "is not a number"),
        ("", "is not a number"),
        ("1,5", "is not a number"),
        ([1.0, 2.0], "is not a number"),
        ({}, "is not a number"),
        (10**400, "is not a number"),
        (math.nan, "is NaN, expected a finite number"),
        ("nan", "is NaN, expected a finite number"),
        (-math.inf, "is infinite, expected a finite number"),
        ("1e999", "is infinite, expected a finite number"),
    ],
)
@pytest.mark.parametrize("first", [1, 41])
def test_a_cell_that_is_not_a_finite_number_is_named_by_its_row(bad, message, first):
    with pytest.raises(InvalidInput) as refused:
        numbers({"age": [1.0, 2.0, bad, 4.0]}, "age", first=first)
    assert str(refused.value) == f"column 'age' at row {first + 2} {message}"


def test_the_first_of_several_bad_cells_is_named():
    with pytest.raises(InvalidInput, match="at row 2 is not a number"):
        numbers({"a": ["1", "x", "2", "y"]}, "a")
    with pytest.raises(InvalidInput, match="at row 1 is NaN"):
        numbers({"a": [math.nan, math.inf]}, "a")


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


@pytest.mark.parametrize("read", [numbers, strings, categories])
def test_refusals_never_quote_a_cell(read):
    with pytest.raises(InvalidInput) as refused:
        read({"a": ["Annabel", None, ["Annabel"], "Annabel"]}, "a")
    assert "Annabel" not in str(refused.value)

"""Cells of a table as points: distances by hand for every pair of values, and new cells."""

from datetime import date
from math import nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableSettings
from oddshift.data.codecs.table.cells import (
    BETWEEN_COLUMNS,
    cell_space,
    column_numbers,
    learn_domains,
    read_cells,
    refuse_bad_cells,
)
from oddshift.data.formats.cells import CellType

COLUMNS = {
    "age": [10, 20, 30, 40, 20, 30],
    "born": [date(2000, 1, day) for day in (1, 2, 3, 4, 5, 6)],
    "city": ["oslo", "rome", "oslo", None, "rome", "lima"],
}
SETTINGS = TableSettings(
    numeric=("age",),
    dates=("born",),
    categorical=("city",),
    weight=3.0,
    domains={"age": (10, 20, 40), "city": ("oslo", "rome")},
)


def domains(settings=SETTINGS, columns=COLUMNS):
    return learn_domains(columns, settings)


def test_two_values_of_a_column_are_as_far_apart_as_they_differ():
    made = domains()
    space = cell_space(made, 3.0)
    starts = np.cumsum([0, *map(len, made)])
    spread = np.std([10, 20, 40])  # of the declared values, so that the unit says nothing about the data
    for a, one in enumerate((10, 20, 40)):
        for b, two in enumerate((10, 20, 40)):
            assert space.distances[a, b] == pytest.approx(abs(one - two) / spread)
    oslo, rome = starts[2], starts[2] + 1
    assert space.distances[oslo, rome] == pytest.approx(3.0)


def test_distances_of_declared_values_do_not_depend_on_the_data():
    asked = TableSettings(numeric=("age",), domains={"age": (10, 20, 40)})
    one, two = (cell_space(learn_domains({"age": ages}, asked), 1.0) for ages in ([10, 20], [40, 40, 39, 11]))
    assert one.distances.tolist() == two.distances.tolist()


def test_values_of_different_columns_are_never_alternatives():
    made = domains()
    space = cell_space(made, 3.0)
    column = np.repeat(np.arange(3), [len(domain) for domain in made])
    apart = space.distances[column[:, None] != column[None, :]]
    within = space.distances[column[:, None] == column[None, :]]
    assert apart.min() >= BETWEEN_COLUMNS > within.max()


@pytest.mark.parametrize("missing", ["keep", "value"])
def test_a_missing_cell_is_kept_or_is_a_value_of_its_own(missing):
    settings = TableSettings(categorical=("city",), domains={"city": ("oslo", "rome")}, missing=missing, weight=2.0)
    (domain,) = learn_domains(COLUMNS, settings)
    found = read_cells(domain, COLUMNS, settings, 1)
    assert found.outside == 1
    if missing == "keep":
        assert found.values.tolist() == [0, 1, 0, -1, 1, -1]
        assert found.kept.tolist() == [3]
    else:
        assert found.values.tolist() == [0, 1, 0, 2, 1, -1]
        assert found.kept.tolist() == []
        assert cell_space((domain,), 2.0).distances[0, 2] == pytest.approx(2.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-50, 100), min_size=1, max_size=6))
def test_a_number_is_taken_for_the_nearest_value_of_its_domain(numbers):
    asked = TableSettings(numeric=("age",), domains={"age": (10, 20, 40)})
    (domain,) = learn_domains(COLUMNS, asked)
    found = read_cells(domain, {"age": numbers}, asked, 1)
    for number, value in zip(numbers, found.values.tolist(), strict=True):
        gaps = [abs(number - known) for known in domain.values]
        assert gaps[value] <= min(gaps) + 1e-9
    assert found.outside == 0 or min(numbers) < 10 or max(numbers) > 40


def test_numbers_and_dates_of_a_column_and_what_is_missing():
    integer, day = CellType(family="integer"), CellType(family="date", form="%Y-%m-%d")
    assert column_numbers({"a": ["1", " ", 3]}, "a", integer) == pytest.approx([1, nan, 3], nan_ok=True)
    assert column_numbers({"a": ["1970-01-03", "na"]}, "a", day) == pytest.approx([2, nan], nan_ok=True)


def test_the_first_bad_cell_of_a_table_is_named():
    refuse_bad_cells(COLUMNS, SETTINGS)
    with pytest.raises(InvalidInput, match="column 'age' at row 2 is not a number"):
        refuse_bad_cells({**COLUMNS, "age": [1, "Ann", 3, 4, 5, 6]}, SETTINGS)
    dates = ["2000-01-01"] * 19 + ["Ann"]
    with pytest.raises(InvalidInput, match="column 'born' at row 20 is not a date, expected dates like the others"):
        refuse_bad_cells({**COLUMNS, "born": dates}, SETTINGS)


@pytest.mark.parametrize(("cells", "only"), [([5, 5, 5], 5.0), ([None, None], 0.0)])
def test_a_column_of_numbers_without_two_values_has_one_of_them(cells, only):
    (domain,) = learn_domains({"a": cells}, TableSettings(numeric=("a",)))
    assert domain.values == (only,)

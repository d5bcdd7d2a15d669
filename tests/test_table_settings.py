"""What is asked of a table: roles that do not overlap, names that exist, and rows that belong together."""

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableSettings
from oddshift.data.codecs.table.codec import table_notes
from oddshift.data.codecs.table.settings import groups_of

CELL = {"numeric": ("age",), "categorical": ("sex",)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numeric": (), "categorical": ()}, "0 secret columns, expected at least one, each named once"),
        ({"dates": ("age",)}, "3 secret columns, expected at least one, each named once"),
        ({"joint_by": "user"}, "joint_by='user', expected one of column, document"),
        ({"unknown": "keep"}, "unknown='keep', expected one of mask, refuse"),
        ({"missing": "drop"}, "missing='drop', expected one of keep, value"),
        ({"binning": "even"}, "binning='even', expected one of auto, equal, log, quantile"),
        ({"weight": 0.0}, "weight=0.0, expected a finite number > 0"),
        ({"weight": float("inf")}, "weight=inf, expected a finite number > 0"),
        ({"bins": 1}, "bins=1, expected a whole number >= 2"),
        ({"most_categories": 1}, "most_categories=1, expected a whole number >= 2"),
        ({"most_cells": -1}, "most_cells=-1, expected a whole number >= 0"),
        ({"joint_by": "column", "group": "who"}, "joint_by='column' needs no group and no public columns"),
        ({"joint_by": "column", "public": ("city",)}, "joint_by='column' needs no group"),
        ({"public": ("age",)}, "column 'age' has two roles, expected one of secret, public and masked"),
        ({"public": ("city",), "masked": ("city",)}, "column 'city' has two roles"),
        ({"masked": ("sex",)}, "column 'sex' has two roles"),
        ({"domains": {"city": ("a", "b")}}, "domains names 'city', expected secret columns"),
        ({"once": ("sex",)}, "once needs a group and names of secret columns"),
        ({"repeats": "once"}, "repeats='once' needs a group"),
        ({"repeats": "twice"}, "repeats='twice'"),
        ({"once": ("city",), "group": "who"}, "once needs a group and names of secret columns"),
        ({"tier_of": {"age": "A"}, "tier_names": ("A",)}, "tier_of needs a tier for every secret"),
        ({"tier_of": {"age": "A", "sex": "B"}, "tier_names": ("A",)}, r"a tier outside tier_names=\('A',\)"),
    ],
)
def test_what_cannot_be_meant_is_refused(changes, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        TableSettings(**{**CELL, **changes})
    assert "\n" not in str(refused.value)


def test_values_of_a_domain_are_not_shown():
    made = TableSettings(**CELL, domains={"sex": ("Annabel", "other")})
    assert "Annabel" not in repr(made)


def test_secret_columns_are_numbers_then_dates_then_categories():
    made = TableSettings(numeric=("n",), dates=("d",), categorical=("c",), public=("p",), masked=("m",), group="p")
    assert made.secret == ("n", "d", "c")
    assert made.wanted(()) == ("n", "d", "c", "p")


@pytest.mark.parametrize(
    ("cells", "groups"),
    [
        (["a", "b", "a"], [0, 1, 0]),
        ([1, "1", 1], [0, 1, 0]),
        ([None, None, "a"], [0, 1, 2]),
        (["", "a", ""], [0, 1, 2]),
        ([float("nan"), float("nan"), "a"], [0, 1, 2]),
    ],
)
def test_rows_without_a_group_stand_for_themselves(cells, groups):
    assert groups_of({"who": cells}, "who", 3).tolist() == groups


def test_without_a_column_of_groups_every_row_is_one():
    assert groups_of({"a": [1, 1]}, None, 2).tolist() == [0, 1]
    assert groups_of({"a": [1, 1]}, "who", 2).tolist() == [0, 1]


def test_rows_of_a_group_are_one_unit():
    units, name = TableSettings(**CELL, group="who").units({"age": [1, 2, 3], "sex": list("fmf"), "who": [7, 8, 7]})
    assert (units.tolist(), name) == ([0, 1, 0], "document")
    with pytest.raises(InvalidInput, match="the data has no column 'sex' among its 1"):
        TableSettings(**CELL).units({"age": [1]})


def test_which_points_belong_to_the_group():
    class Domain:
        def __init__(self, name, size):
            self.name, self.size = name, size

        def __len__(self):
            return self.size

    all_columns = TableSettings(**CELL, group="who", repeats="once")
    assert all_columns.is_once([Domain("age", 3), Domain("sex", 2)]).all()
    made = TableSettings(**CELL, group="who", once=("sex",))
    found = made.is_once([Domain("age", 3), Domain("sex", 2)])
    assert found.tolist() == [False, False, False, True, True]
    assert found.dtype == np.bool_


def notes(**changes):
    return list(table_notes(TableSettings(**{**CELL, **changes}), ()))


def test_a_note_for_every_choice_that_a_user_should_know():
    said = notes(public=("city",), masked=("name", ""), group="who", once=("sex",))
    assert any(line.startswith("drawn once for all rows of one who that agree") for line in said)
    assert "released unchanged: column city" in said
    assert "released under pseudonyms: column who, which says whose rows are read together" in said
    assert "left empty on release: columns name, without a name" in said
    assert not any("pseudonyms" in line for line in notes(group="who", masked=("who",)))
    assert not any("pseudonyms" in line for line in notes(group="who", public=("who",)))

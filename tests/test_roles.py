"""What the columns of a file seem to be: each rule at its edge, and no cell in a refusal."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.app.init.columns import MOST_CATEGORIES, Column, counted
from oddshift.app.init.roles import _refuse_data_as_names, guess
from oddshift.app.init.suggestion import Suggestion, suggest_epsilon
from oddshift.base.errors import InvalidInput
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


def column(name, cells):
    return counted(name, cells)


def test_counts_of_a_column_by_hand():
    found = column("x", [" a ", "b b", None, "", "a", "  "])
    assert found == Column("x", rows=6, distinct=2, missing=3, is_number=False, is_running=False, words=4 / 3)


@pytest.mark.parametrize(
    ("cells", "is_number", "is_running"),
    [
        (["1", "2", "3"], True, True),
        ([1, 2, 4], True, False),
        ([3, 2, 1], True, False),
        (["1.5", "2.5", "3.5"], True, True),
        (["1", "x"], False, False),
        (["nan", "1"], True, False),
        (["inf", "1"], False, False),
        (["forty", *"1234567890" * 2], True, False),
        (["forty", *"123456789" * 2], False, False),
        (["NA", "1", "2", "N/A", "3"], True, True),
        ([], False, False),
        ([None, ""], False, False),
        ([0, 0, 0], True, False),
    ],
)
def test_numbers_are_finite_and_running_ones_rise_by_one(cells, is_number, is_running):
    found = column("x", cells)
    assert (found.is_number, found.is_running) == (is_number, is_running)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("User_ID", "user"),
        ("user id", "user"),
        ("Customer-Id", "customer"),
        ("id", "id"),
        ("ID", "id"),
        ("trip__id", "trip"),
        ("Latitude (deg)", "latitudedeg"),
        ("userid", "userid"),
        ("covid", "covid"),
    ],
)
def test_a_name_is_read_without_marks_and_without_a_final_id(name, stem):
    assert Column(name, 1, 1, 0, False, False, 1.0).stem == stem


@pytest.mark.parametrize(
    ("name", "is_identifier"),
    [
        ("id", True),
        ("order_id", True),
        ("row key", True),
        ("uuid", True),
        ("paid", False),
        ("monkey", False),
        ("Index", True),
    ],
)
def test_identifiers_by_name_end_in_a_word_of_their_own(name, is_identifier):
    assert Column(name, 100, 10, 0, True, False, 1.0).is_identifier == is_identifier


def test_words_that_differ_in_most_rows_are_identifiers_and_numbers_are_not():
    assert not Column("x", 100, 50, 0, False, False, 1.0).is_identifier
    assert Column("x", 100, 51, 0, False, False, 1.0).is_identifier
    assert not Column("x", 100, 99, 0, True, False, 1.0).is_identifier


def plain(name, **counts):
    return replace(Column(name, 1000, 20, 0, False, False, 1.0), **counts)


def test_text_needs_two_words_under_its_name_and_five_under_any():
    table = plain("city")
    for name, words, kind in (("body", 2.0, "text"), ("body", 1.9, "table"), ("x", 5.0, "text"), ("x", 4.9, "table")):
        assert guess([plain(name, words=words), table], "f").kind == kind
    assert guess([plain("body", words=9.0, is_number=True), table], "f").kind == "table"


def test_text_may_have_holes_but_not_be_empty():
    assert guess([plain("body", words=9.0, missing=10)], "f").text == ("body",)
    with pytest.raises(InvalidInput, match="f: no column of text"):
        guess([plain("body", words=0.0, missing=1000, distinct=0)], "f")


def test_places_need_both_coordinates_as_numbers_and_may_have_blanks():
    lat, lon = plain("lat", is_number=True, distinct=500), plain("lon", is_number=True, distinct=500)
    user = plain("user")
    assert guess([lat, lon, user], "f").kind == "location"
    assert guess([replace(lat, missing=1), lon, user], "f").kind == "location"
    assert guess([lat, lon], "f").kind == "location", "points without a user or a time"
    assert guess([plain("lat", distinct=500), lon, user, plain("city")], "f").kind == "table"


@pytest.mark.parametrize(("distinct", "is_user"), [(2, False), (3, True), (999, True), (1000, False)])
def test_a_user_repeats_and_there_are_at_least_three(distinct, is_user):
    text = plain("text", words=9.0, distinct=900)
    found = guess([plain("user", distinct=distinct), text], "f")
    assert (found.user == "user") == is_user


@pytest.mark.parametrize(("distinct", "is_group"), [(6, False), (29, False), (30, True), (400, True)])
def test_few_groups_of_a_long_table_are_a_category(distinct, is_group):
    found = guess([plain("school", distinct=distinct), plain("city")], "f")
    assert (found.user == "school") == is_group
    assert ("school" in found.categorical) != is_group
    keyed = guess([plain("school_id", distinct=distinct), plain("city")], "f")
    assert keyed.user == "school_id", "a key is a key"


@pytest.mark.parametrize(
    ("distinct", "rows", "is_category"),
    [
        (MOST_CATEGORIES, 1000, True),
        (MOST_CATEGORIES + 1, 1000, True),
        (50, 100, True),
        (51, 100, False),
        (1, 100, False),
    ],
)
def test_categories_repeat_twice_and_many_of_them_are_said_to_be_many(distinct, rows, is_category):
    columns = [plain("city", distinct=distinct, rows=rows), plain("age", is_number=True, rows=rows)]
    found = guess(columns, "f")
    assert ("city" in found.categorical) == is_category
    assert found.wide == (("city",) if is_category and distinct > MOST_CATEGORIES else ())


def test_a_number_with_two_values_is_a_category():
    found = guess([plain("flag", is_number=True, distinct=2), plain("age", is_number=True, distinct=3)], "f")
    assert (found.numeric, found.categorical) == (("age",), ("flag",))


def test_every_column_has_a_role_or_a_reason(tmp_path):
    names = ["age", "city", "id", "holes", "empty", "one", "user", "code", "some"]
    columns = [
        plain("age", is_number=True, distinct=60),
        plain("city"),
        plain("id", distinct=1000),
        plain("holes", missing=4),
        plain("empty", missing=1000, distinct=0),
        plain("some", distinct=1, missing=5),
        plain("one", distinct=1),
        plain("user", distinct=300),
        plain("code", distinct=200),
    ]
    found = guess(columns, "f")
    used = {*found.numeric, *found.categorical, found.user}
    assert used | {name for name, _ in (*found.left_out, *found.masked)} == set(names)
    assert found.categorical == ("city", "holes", "code"), "a few blanks do not unprotect a column"
    assert dict(found.left_out) == {"empty": "all of its cells are empty", "one": "it has one value"}
    assert dict(found.masked) == {"id": "it looks like an identifier", "some": "it has one value or none"}


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("who", ["ann@example.org", "bob@example.org", "x"] * 40, "it holds e-mail addresses"),
        ("reach", ["415-555-0199", "(212) 555 0101"] * 60, "it holds phone numbers"),
        ("First Name", [f"name{k}" for k in range(60)] * 2, "it names people"),
        ("phone", [4155550100 + k for k in range(120)], "it names people"),
        ("code", [f"c{k}" for k in range(120)], "it looks like an identifier"),
    ],
)
def test_names_and_addresses_are_left_empty_and_never_released_unsaid(name, cells, why):
    found = guess([counted("age", list(range(20, 80)) * 2), counted(name, cells)], "f")
    assert dict(found.masked) == {name: why}
    assert (found.numeric, found.categorical, found.left_out) == (("age",), (), ())


def test_a_name_of_few_values_is_a_category():
    found = guess([counted("name", ["adelie", "gentoo"] * 60), counted("mass", list(range(30, 90)) * 2)], "f")
    assert (found.categorical, found.masked) == (("name",), ())


@pytest.mark.parametrize(
    "cells",
    [["2020-01-31", "2021-03-01"], ["31/01/2020", "01/02/2021"], ["2020-01-31 10:00:00", "2020-01-31 11:00:00"]],
)
def test_dates_are_dates(cells):
    found = guess([counted("born", cells * 40), counted("age", [1, 2, 3, 4] * 20)], "f")
    assert (found.dates, found.numeric) == (("born",), ("age",))
    stamps = guess([counted("time", [1_500_000_000, 1_600_000_000] * 40), counted("age", [1, 2, 3, 4] * 20)], "f")
    assert stamps.dates == ("time",)


def test_a_key_that_repeats_groups_rows_and_says_why():
    found = guess([plain("id", is_number=True, distinct=500), plain("age", is_number=True, distinct=40)], "f")
    assert found.user == "id"
    assert found.user_why == "it is a key that repeats, and each of its 500 values has 2.0 rows on average"
    assert dict(found.masked) == {"id": "it looks like an identifier"}, "and it is not released"
    patients = guess([plain("patient", distinct=250), plain("age", is_number=True, distinct=40)], "f")
    assert "its name suggests whose rows these are" in patients.user_why
    once = guess([plain("id", is_number=True, distinct=990), plain("age", is_number=True, distinct=40)], "f")
    assert once.user == ""


def test_the_index_column_that_pandas_writes_is_left_empty(tmp_path):
    _refuse_data_as_names(tmp_path / "people.csv", ["", "age"])
    found = guess([counted("", list(range(100))), counted("age", [1, 2, 3, 4] * 25)], "f")
    assert dict(found.masked) == {"": "it looks like an identifier"}


@pytest.mark.parametrize(
    "names",
    [["ann@example.com", "b"], ["a", "3.5"], ["a", " "], ["a", "a"], ["x" * 61, "b"], []],
)
def test_a_row_of_data_is_refused_as_names_and_not_quoted(names, tmp_path):
    with pytest.raises(InvalidInput, match="header row") as caught:
        _refuse_data_as_names(tmp_path / "people.csv", names)
    assert "people.csv" in str(caught.value)
    assert not any(name.strip() and name in str(caught.value) for name in names if len(name) > 1)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_another_separator_is_named(mark, tmp_path):
    with pytest.raises(InvalidInput, match="expected commas"):
        _refuse_data_as_names(tmp_path / "f.csv", [f"name{mark}age"])


def test_a_suggestion_ignores_points_of_no_tier_and_tiers_of_one_point():
    """Two far pairs, each a tier; a point of no tier right beside them decides nothing but the outputs."""
    space = Space(np.array([[0.0], [1.0], [100.0], [101.0], [50.0]]))
    pairs = Tiers([0, 0, 1, 1, -1], names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    found = suggest_epsilon(space, pairs, np.random.default_rng(0), odds=3.0)
    assert found.nearest == 1.0
    kept = 1 / (1 + np.exp(-0.5 * found.epsilon))
    assert (kept - 0.5) / 0.5 == pytest.approx(0.25, abs=0.01)
    lonely = Tiers([0, 0, 1, -1, -1], names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    assert suggest_epsilon(space, lonely, np.random.default_rng(0)).nearest == 1.0
    alone = Tiers([0, 1, -1, -1, -1], names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    with pytest.raises(InvalidInput, match="no tier has two distinct values"):
        suggest_epsilon(space, alone, np.random.default_rng(0))


def test_a_suggestion_has_two_digits_and_a_factor_that_cannot_overflow():
    space = Space(np.random.default_rng(1).normal(size=(60, 3)))
    found = suggest_epsilon(space, one_tier(space), np.random.default_rng(0))
    assert found.epsilon == float(f"{found.epsilon:.2g}")
    assert Suggestion(2.0, 0.5).factor == pytest.approx(np.e)
    assert np.isfinite(Suggestion(1e6, 1e6).factor)


def places(**others):
    return [
        column("lat", [1.5, 2.5, 3.5] * 4),
        column("lon", [1.5, 2.5, 3.5] * 4),
        *(column(n, c) for n, c in others.items()),
    ]


def test_a_heading_is_not_a_trip_and_a_number_of_one_is():
    assert guess(places(track=[10.5, 20.25, 359.0] * 4), "x").trip == ""
    assert guess(places(track=[1, 1, 2] * 4), "x").trip == "track"


def test_aircraft_and_ships_are_users_of_places_and_not_of_tables():
    found = guess(places(callsign=list("aabbcc") * 2, icao24=list("aabbcc") * 2), "x")
    assert (found.user, [name for name, _ in found.masked]) == ("icao24", ["callsign"])
    table = guess([column("car", list("aabbcc") * 20), column("x", [1, 2, 3] * 40)], "x")
    assert table.user == ""


def test_of_two_columns_that_name_a_group_the_person_comes_first():
    rows = [
        column("hospital", list("aabbcc") * 20),
        column("patient", [n // 2 for n in range(120)]),
        column("x", [1, 2, 3] * 40),
    ]
    assert guess(rows, "x").user == "patient"

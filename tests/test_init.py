"""A first configuration: the roles of columns, the suggested ε, and files that work as they are written."""

import json
import re
import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

import oddshift as od
from oddshift.app.cli import app
from oddshift.app.configuration import parse_config
from oddshift.app.init import start
from oddshift.app.init.columns import Column
from oddshift.app.init.roles import Roles, guess, roles_of
from oddshift.app.init.sections import OwnFiles, SectionChoice, data_section
from oddshift.app.init.suggestion import ODDS, UsefulBudget, suggest_epsilon
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.mechanisms.utility import constant_output, expected_loss
from oddshift.model.release import one_tier
from oddshift.model.space import Space


def column(name, *, rows=100, distinct=40, missing=0, number=False, running=False, words=1.0):
    return Column(name, rows, distinct, missing, number, running, words)


def number(name, **counts):
    return column(name, number=True, **counts)


def test_texts_by_name_or_by_length_and_their_user():
    found = guess([column("Title", words=4), column("story", words=30), column("Author_ID"), column("city")], "x")
    assert found.kind == "text"
    assert found.text == ("Title", "story")
    assert found.user == "Author_ID"
    assert found.left_out == (("city", "no role was found for it"),)


def test_a_column_that_groups_texts_is_the_unit_and_says_why():
    found = guess([column("text", words=9), column("article", rows=100, distinct=20)], "x")
    assert found.user == "article"
    assert found.user_why.endswith("each of its 20 values has 5.0 rows on average")
    section = tomllib.loads(data_section("a.csv", found, SectionChoice(vectors="v.npz", vectors_why="given")))["data"]
    assert (section["user"], section["joint_by"]) == ("article", "user")
    alone = guess([column("text", words=9), column("city")], "x")
    section = tomllib.loads(data_section("a.csv", alone, SectionChoice(vectors="v.npz", vectors_why="given")))["data"]
    assert "user" not in section
    assert section["joint_by"] == "document"


def test_a_user_whose_every_row_differs_says_nothing():
    assert guess([column("text", words=9), column("user", distinct=100)], "x").user == ""


def test_places_under_common_names():
    fixes = [number("Latitude"), number("LNG"), column("device-id"), column("when"), column("track_id")]
    found = guess(fixes, "x")
    assert (found.kind, found.lat, found.lon) == ("location", "Latitude", "LNG")
    assert (found.user, found.timestamp, found.trip) == ("device-id", "when", "track_id")
    assert guess(fixes[:2], "x").kind == "location", "each fix stands for itself"


def test_a_table_leaves_identifiers_holes_and_constants_out():
    columns = [
        number("age"),
        number("flag", distinct=2),
        number("row", distinct=100, running=True),
        number("customer_id"),
        number("height", missing=3),
        number("one", distinct=1),
        column("city", distinct=4),
        column("street", distinct=90),
    ]
    found = guess(columns, "x")
    assert (found.kind, found.numeric, found.categorical) == ("table", ("age", "height"), ("flag", "city"))
    assert found.user == "customer_id", "rows of one customer are read together"
    assert dict(found.left_out) == {"one": "it has one value"}
    why = dict(found.masked)
    assert why["row"] == why["customer_id"] == "it looks like an identifier"
    assert why["street"] == "it names people"
    with pytest.raises(InvalidInput, match="no column of text"):
        guess([column("street", distinct=90)], "x")


def test_a_first_row_that_is_data_is_refused_and_not_quoted(tmp_path):
    for first in ("ann@example.com,hello", "3.5,ann", "x,x", f"{'ann ' * 30},b"):
        (tmp_path / "data.csv").write_text(f"{first}\na,b\nc,d\ne,f\n")
        with pytest.raises(InvalidInput, match="header row") as refused:
            roles_of(tmp_path / "data.csv")
        assert "ann" not in str(refused.value)


@pytest.mark.parametrize(("first", "says"), [("age,,sex", "column 2 "), ("age,sex,age", "columns 1 and 3 ")])
def test_blank_and_double_names_are_named_by_their_place(first, says, tmp_path):
    (tmp_path / "data.csv").write_text(f"{first}\n1,2,3\n4,5,6\n7,8,9\n")
    with pytest.raises(InvalidInput, match=says):
        roles_of(tmp_path / "data.csv")


def test_other_separators_are_read_or_named(tmp_path):
    for mark in (";", "\t"):
        rows = "".join(f"{k % 7}{mark}{'xy'[k % 2]}\n" for k in range(40))
        (tmp_path / "data.csv").write_text(f"age{mark}group of people\n{rows}")
        assert roles_of(tmp_path / "data.csv").numeric == ("age",)
    (tmp_path / "data.csv").write_text("name|age\nann|3\nbob|4\n")
    with pytest.raises(InvalidInput, match=r"separated by '\|', expected commas"):
        roles_of(tmp_path / "data.csv")


def test_other_files_and_kinds(tmp_path):
    (tmp_path / "letters").mkdir()
    for k in range(3):
        (tmp_path / "letters" / f"{k}.txt").write_text("three words here\n")
    assert roles_of(tmp_path / "letters") == Roles(kind="text", rows=3)
    (tmp_path / "x.txt").write_text("one\ntwo\nthree\n")
    assert roles_of(tmp_path / "x.txt") == Roles(kind="text", rows=3)
    assert roles_of_written(tmp_path, "x.npz").kind == "vectors"
    rows = [{"text": "three words here", "n": k} for k in range(5)]
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert roles_of(tmp_path / "x.jsonl").text == ("text",)
    for name, message in (("x.xlsx", "expected one of"), ("gone.csv", "is not a file or folder")):
        with pytest.raises(InvalidInput, match=message):
            roles_of_written(tmp_path, name) if name == "x.xlsx" else roles_of(tmp_path / name)


def roles_of_written(folder, name):
    (folder / name).write_bytes(b"something")
    return roles_of(folder / name)


def test_the_suggested_epsilon_keeps_the_odds_of_the_nearest_alternative():
    space = od.Space(np.random.default_rng(0).normal(size=(400, 3)))
    found = suggest_epsilon(space, one_tier(space), np.random.default_rng(0))
    far = space.distances + np.diag(np.full(400, np.inf))
    assert found.nearest == pytest.approx(np.median(far.min(axis=1)))
    assert found.factor == pytest.approx(ODDS, rel=0.25)
    assert found.factor <= ODDS
    assert suggest_epsilon(space, one_tier(space), np.random.default_rng(0), odds=10.0).factor <= 10.0


def test_the_nearest_alternative_is_of_the_same_tier():
    line = od.Space(np.array([[0.0], [0.1], [5.0], [5.1]]))
    tiers = od.Tiers([0, 1, 0, 1], names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    assert suggest_epsilon(line, tiers, np.random.default_rng(0)).nearest == pytest.approx(5.0)


def test_the_odds_are_kept_in_every_column_of_a_table():
    line = od.Space(np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [6.0]]))
    tiers = od.Tiers([0, 0, 0, 0, 1, 1], names=("age", "sex"), scales=(1.0, 1.0), is_public=True)
    rng = np.random.default_rng(0)
    assert suggest_epsilon(line, tiers, rng).nearest == pytest.approx(0.1), "the two values of sex weigh little"
    found = suggest_epsilon(line, tiers, rng, every_tier=True)
    assert found.nearest == pytest.approx(1.0)
    assert found.factor <= ODDS


def test_the_suggestion_follows_the_unit_of_distance():
    points = np.arange(50.0)[:, None]
    near, far = (od.Space(points * scale) for scale in (1.0, 1000.0))
    rng = np.random.default_rng(0)
    ratio = suggest_epsilon(near, one_tier(near), rng).epsilon / suggest_epsilon(far, one_tier(far), rng).epsilon
    assert ratio == pytest.approx(1000.0, rel=0.1)
    with pytest.raises(InvalidInput, match="no tier has two distinct values"):
        suggest_epsilon(od.Space([[0.0]]), one_tier(od.Space([[0.0]])), rng)
    with pytest.raises(InvalidInput, match=r"odds=1\.0, expected more than 1"):
        suggest_epsilon(near, one_tier(near), rng, odds=1.0)


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No data folder, so no vectors and no pipeline but the user's."""
    monkeypatch.setenv("ODDSHIFT_DATA", str(tmp_path / "none"))
    return tmp_path


def test_a_written_path_is_found_from_anywhere(nowhere, monkeypatch):
    rng = np.random.default_rng(0)
    (nowhere / "data").mkdir()
    rows = [f"{a},{b}" for a, b in zip(rng.integers(20, 60, 40), rng.choice(["x", "y"], 40), strict=True)]
    (nowhere / "data" / "t.csv").write_text("\n".join(["age,group of people", *rows]))
    inside = start(nowhere / "data" / "t.csv", nowhere / "t.toml")
    assert tomllib.loads(inside.config)["data"]["path"] == "data/t.csv"
    (nowhere / "configs").mkdir()
    beside = start(nowhere / "data" / "t.csv", nowhere / "configs" / "t.toml")
    assert tomllib.loads(beside.config)["data"]["path"] == str(nowhere / "data" / "t.csv")
    monkeypatch.chdir(nowhere / "configs")
    assert parse_config(inside.config, "t.toml", nowhere).data.path.is_file()


def test_odd_column_names_stay_names(nowhere):
    names = ['a "quoted" one', "back\\slash", "ünï # code"]
    rng = np.random.default_rng(0)
    rows = ["a quoted one,back\\slash,ünï # code".replace("a quoted one", '"a ""quoted"" one"')]
    rows += [",".join(map(str, row)) for row in rng.integers(0, 30, (40, 3))]
    (nowhere / "t.csv").write_text("\n".join(rows))
    assert parse_config(start(nowhere / "t.csv", nowhere / "t.toml").config, "t.toml").data.settings.numeric == tuple(
        names
    )


def test_text_with_nothing_to_find_says_what_to_give(nowhere):
    (nowhere / "t.csv").write_text("text\n" + "\n".join(f"nothing to find in number {k} of these" for k in range(20)))
    with pytest.raises(InvalidInput, match="--words FILE"):
        start(nowhere / "t.csv", nowhere / "t.toml")
    (nowhere / "names.txt").write_text("nothing\nfind\nthese")
    found = start(nowhere / "t.csv", nowhere / "t.toml", OwnFiles(words=nowhere / "names.txt"))
    assert 'kind = "gazetteer", path = "names.txt"' in found.config
    assert found.values == 3


def test_vectors_and_a_pipeline_of_the_data_folder_are_taken(data, tmp_path, empty_cache, monkeypatch):
    monkeypatch.setenv("ODDSHIFT_DATA", str(data))
    people, cities = ("John", "Mary", "Peter", "David"), ("Paris", "London", "Rome")
    texts = [f"Microsoft hired {name} in {city}." for city in cities for name in people]
    (tmp_path / "t.csv").write_text("\n".join(["text", *texts]))
    found = start(tmp_path / "t.csv", tmp_path / "t.toml")
    assert "glove.6B.100d.npz" in found.config
    assert 'kind = "pipeline"' in found.config
    assert 'kind = "capitals"' not in found.config
    assert set(found.tiers) <= {"PERSON", "ORG", "GPE"}


@pytest.mark.parametrize(
    ("loss", "epsilon", "said"),
    [
        (0.2, 1.0, "have an expected loss of 0.200, where one constant word of each kind has 0.300"),
        (0.4, 2.0, "above epsilon = 2 perturbing loses less than masking"),
        (0.4, None, 'has 0.300: [mechanism] name = "mask" reveals nothing that the rest does not, and serves as well'),
    ],
)
def test_a_budget_is_said_to_pay_or_not(loss, epsilon, said):
    assert said in UsefulBudget(loss, 0.3, epsilon, nearest=1.5).sentence


def test_what_a_first_budget_is_worth_stands_in_the_configuration_and_is_computed(nowhere):
    rng = np.random.default_rng(0)
    names = [f"Name{i}" for i in range(60)]
    rows = [f"{names[i % 60]} saw {names[(7 * i + 1) % 60]} in the garden today." for i in range(120)]
    (nowhere / "n.csv").write_text("\n".join(["text", *rows]))
    (nowhere / "names.txt").write_text("\n".join(names))
    around = np.eye(30)[0] * 6.0 + rng.normal(size=(60, 30)) * np.array([[0.1], *[[1.0]] * 59])  # the first is central
    vectors = [f"{name.lower()} {' '.join(f'{x:.4f}' for x in row)}" for name, row in zip(names, around, strict=True)]
    (nowhere / "v.txt").write_text("\n".join(vectors) + "\n")
    files = OwnFiles(words=nowhere / "names.txt", vectors=nowhere / "v.txt")
    found = start(nowhere / "n.csv", nowhere / "n.toml", files)
    least = float(re.search(r"above epsilon = (\S+) perturbing", found.use).group(1))
    assert least > found.epsilon
    assert all(part in found.config.replace("\n# ", " ") for part in (found.use[1:40], "above epsilon"))
    space = Space([[float(x) for x in line.split()[1:]] for line in vectors])
    constant = constant_output(space, np.ones(60))[1]
    at_first = od.calibrate(lambda epsilon: Exponential(space, epsilon), found.epsilon).epsilon
    there = at_first * least / found.epsilon
    cheap, dear = (expected_loss(Exponential(space, there * by), np.ones(60)) for by in (1.2, 1 / 1.2))
    assert cheap < constant < dear  # the names are about equally frequent


def test_nothing_found_with_vectors_of_a_file_says_the_same(nowhere):
    rng = np.random.default_rng(0)
    np.savez(nowhere / "v.npz", words=np.array(["nothing", "here"]), vectors=rng.normal(size=(2, 3)))
    (nowhere / "t.csv").write_text("text\n" + "\n".join(f"nothing to find here in row {k}" for k in range(20)))
    with pytest.raises(InvalidInput, match="--words FILE"):
        start(nowhere / "t.csv", nowhere / "t.toml", OwnFiles(vectors=nowhere / "v.npz"))


def test_vectors_of_a_file(nowhere):
    rng = np.random.default_rng(0)
    np.savez(nowhere / "v.npz", vectors=rng.normal(size=(60, 3)), group=np.repeat(np.arange(20), 3))
    found = start(nowhere / "v.npz", nowhere / "v.toml")
    assert found.documents == (12, 4, 4)
    assert found.certify_units < found.needed_units == 63


def test_any_name_is_quoted_so_that_toml_reads_it_back():
    """Quotes, backslashes, line breaks, control characters, and the one that JSON leaves as it is and TOML refuses."""
    from oddshift.app.init.sections import _list, quoted

    for name in ('a "b"', "back\\slash", "line\nbreak", "tab\t", "\x00\x1f\x7f", "ε é 語 😀"):
        assert tomllib.loads(f"x = {quoted(name)}")["x"] == name
        assert tomllib.loads(f"x = {_list([name, 'b'])}")["x"] == [name, "b"]
        assert tomllib.loads(f"{quoted(name)} = 1") == {name: 1}


def test_what_is_too_few_is_said_in_the_terms_of_the_file(nowhere):
    (nowhere / "few.csv").write_text("age\n" + "\n".join(str(20 + k % 7) for k in range(40)))
    ended = CliRunner().invoke(app, ["init", str(nowhere / "few.csv"), "--out", str(nowhere / "few.toml")])
    assert "63 rows" in ended.output

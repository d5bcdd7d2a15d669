"""Honest intake, each clause with a file: what is missing, who is named, which rows belong together."""

import csv
from datetime import datetime

import numpy as np
import pytest

import oddshift as od
from oddshift.app.configuration import parse_config
from oddshift.app.init import start
from oddshift.app.init.roles import roles_of, roles_of_columns
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec, TableSettings

RNG = np.random.default_rng(0)
ROWS = 200


def written(path, columns, mark=","):
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter=mark).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


def people(**more):
    columns = {"age": RNG.integers(20, 80, ROWS).tolist(), "sex": RNG.choice(["f", "m"], ROWS).tolist()}
    return {**columns, **more}


def fixes(**more):
    """Twenty users with ten fixes each."""
    where = {
        "lat": np.round(38 + RNG.normal(0, 0.02, ROWS), 5).tolist(),
        "lon": np.round(23.7 + RNG.normal(0, 0.02, ROWS), 5).tolist(),
        "vehicle": np.repeat([f"v{k}" for k in range(20)], 10).tolist(),
        "timestamp": (1_600_000_000 + 300 * np.arange(ROWS)).tolist(),
    }
    return {**where, **more}


def test_a_blank_latitude_leaves_a_file_of_places(tmp_path):
    columns = fixes()
    columns["lat"][7] = ""
    assert roles_of(written(tmp_path / "x.csv", columns)).kind == "location"
    assert "location" in start(tmp_path / "x.csv", tmp_path / "x.toml").config


@pytest.mark.parametrize("blank", ["", "NA", "null", "NaN", "n/a"])
def test_a_few_blanks_leave_every_column_protected(blank):
    columns = people(score=[blank if k % 9 == 0 else str(k % 5) for k in range(ROWS)])
    columns["sex"][3] = blank
    found = roles_of_columns(columns, "x")
    assert {*found.numeric, *found.categorical} == {"age", "sex", "score"}
    assert found.left_out == ()


def test_names_and_addresses_are_left_empty(tmp_path):
    columns = people(
        name=[f"Ann {k}" for k in range(ROWS)],
        email=[f"a{k}@x.org" for k in range(ROWS)],
        comment=["came late and left early again"] * ROWS,
    )
    columns["born"] = [f"{1 + k % 28:02d}/0{1 + k % 9}/19{50 + k % 40}" for k in range(ROWS)]
    config = start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml").config
    settings = parse_config(config, "x", tmp_path).data.settings
    assert set(settings.masked) == {"name", "email", "comment"}
    assert settings.dates == ("born",)
    assert settings.public == ()


def test_remarks_next_to_a_table_are_masked_and_a_file_of_texts_stays_one():
    remarks = ["the patient came late and left"] * (ROWS - 1) + ["nothing new to say this time"]
    assert roles_of_columns(people(pay=[7 * k % 50 for k in range(ROWS)], comment=remarks), "x").kind == "table"
    assert roles_of_columns(people(pay=[7 * k % 50 for k in range(ROWS)], text=remarks), "x").kind == "text"
    assert roles_of_columns({"sex": people()["sex"], "comment": remarks}, "x").kind == "text"


def test_other_columns_of_places_are_left_empty_and_said(tmp_path):
    columns = fixes(speed=RNG.integers(0, 90, ROWS).tolist(), name=[f"Ann {k}" for k in range(ROWS)])
    found = start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml")
    settings = parse_config(found.config, "x", tmp_path).data.settings
    assert set(settings.masked) == {"speed", "name"}
    assert dict(found.roles.masked)["name"] == "it names people"
    codec = od.read(tmp_path / "x.csv").fit(np.ones(ROWS, dtype=bool))
    encoded = codec.encode(columns)
    shown = encoded.decode(encoded.records.points)
    assert set(shown) == {"lat", "lon", "speed", "name"}
    assert set(shown["speed"]) == set(shown["name"]) == {None}


@pytest.mark.parametrize(("cell", "says"), [("forty", "is not a number"), ("inf", "is infinite")])
def test_one_bad_cell_is_named_by_its_row_in_the_file(cell, says, tmp_path):
    columns = people(pay=[cell if k == 133 else str(1000 + k % 50) for k in range(ROWS)])
    with pytest.raises(InvalidInput, match=rf"x\.csv: column 'pay' at row 134 {says}"):
        start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml")


def test_one_bad_date_is_named_and_the_column_stays_one_of_dates(tmp_path):
    columns = people(born=["soon" if k == 77 else f"19{50 + k % 40}-01-02" for k in range(ROWS)])
    assert roles_of_columns(columns, "x").dates == ("born",)
    with pytest.raises(InvalidInput, match=r"x\.csv: column 'born' at row 78 is not a date"):
        start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml")


def test_one_bad_latitude_is_named_by_its_row(tmp_path):
    columns = fixes()
    columns["lat"][150] = "forty"
    with pytest.raises(InvalidInput, match=r"x\.csv: column 'lat' at row 151 is not a number"):
        start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml")


def test_repeating_ids_are_groups_and_independence_is_not_declared(tmp_path):
    columns = {"id": np.repeat(np.arange(100), 2).tolist(), "sex": RNG.choice(["f", "m"], ROWS).tolist()}
    config = start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml").config
    asked = parse_config(config, "x", tmp_path)
    assert asked.data.settings.group == "id"
    assert "independent" not in config


@pytest.mark.parametrize(
    ("columns", "is_declared"),
    [
        ({"sex": ["f", "m"] * 100}, True),
        ({"sex": ["f", "m"] * 100, "code": [f"x{k}" for k in range(ROWS)]}, False),  # a key may link rows
        ({"sex": ["f", "m"] * 100, "site": ["one"] * ROWS}, False),  # a public column stands next to it
        ({"sex": ["f", "m"] * 100, "age": [k % 7 for k in range(ROWS)]}, False),
    ],
)
def test_independence_is_declared_only_where_nothing_could_link_two_secrets(columns, is_declared, tmp_path):
    config = start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml").config
    assert ("independent = true" in config) is is_declared


def test_points_alone_are_read_and_not_declared_independent(tmp_path):
    columns = {name: cells for name, cells in fixes().items() if name in {"lat", "lon"}}
    found = start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml")
    assert found.roles.kind == "location"
    assert "independent" not in found.config


@pytest.mark.parametrize(
    "moments",
    [
        [str(1_600_000_000_000 + 300_000 * k) for k in range(ROWS)],
        [f"{1 + k % 28:02d}/03/2020 {k % 10:02d}:30" for k in range(ROWS)],
        [f"2020-03-{1 + k % 28:02d}T{k % 10:02d}:30:00Z" for k in range(ROWS)],
    ],
)
def test_moments_of_fixes_in_many_forms(moments, tmp_path):
    columns = fixes(timestamp=moments, vehicle=[f"v{k}" for k in range(20) for _ in range(10)])
    assert roles_of(written(tmp_path / "x.csv", columns)).timestamp == "timestamp"
    assert start(tmp_path / "x.csv", tmp_path / "x.toml").secrets > 0


@pytest.mark.parametrize(("name", "mark"), [("x.csv", ";"), ("x.tsv", "\t"), ("x.csv", ",")])
def test_separators(name, mark, tmp_path):
    found = roles_of(written(tmp_path / name, people(), mark))
    assert (found.numeric, found.categorical) == (("age",), ("sex",))


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index"])
def test_index_columns_are_left_empty(name, tmp_path):
    columns = {name: list(range(ROWS)), **people()}
    found = roles_of(written(tmp_path / "x.csv", columns))
    assert [hidden for hidden, _ in found.masked] == [name]


def test_arrays_are_vectors(tmp_path):
    np.save(tmp_path / "x.npy", RNG.normal(size=(40, 3)))
    assert roles_of(tmp_path / "x.npy").kind == "vectors"


def test_times_of_day_keep_their_form():
    columns = {"at": [f"{k % 24:02d}:{(7 * k) % 60:02d}" for k in range(ROWS)]}
    assert roles_of_columns(columns, "x").dates == ("at",)
    codec = TableCodec.fit(columns, TableSettings(dates=("at",)))
    encoded = codec.encode(columns)
    shown = encoded.decode(encoded.records.points)["at"]
    assert all(len(cell) == 5 and cell[2] == ":" for cell in shown)
    minutes = [np.array([60 * int(c[:2]) + int(c[3:]) for c in cells]) for cells in (columns["at"], shown)]
    assert np.abs(minutes[0] - minutes[1]).max() <= 90


def test_an_unknown_category_is_masked_and_counted():
    columns = people()
    codec = TableCodec.fit(columns, TableSettings(numeric=("age",), categorical=("sex",)))
    later = codec.encode({"age": [30, 500, ""], "sex": ["x", "f", "m"]})
    assert later.counts.unseen == 2
    assert later.decode(later.records.points)["sex"] == [None, "f", "m"]


def test_cells_that_are_often_missing_are_a_secret_value(tmp_path):
    dead = [k % 4 == 0 for k in range(ROWS)]
    columns = people(
        dead=["yes" if d else "no" for d in dead],
        cause=["heart" if d and k % 8 else "other" if d else "" for k, d in enumerate(dead)],
        score=["" if k == 7 else str(k % 5) for k in range(ROWS)],
    )
    config = start(written(tmp_path / "x.csv", columns), tmp_path / "x.toml").config
    settings = parse_config(config, "x", tmp_path).data.settings
    assert settings.blank_values == ("cause",), "one blank score says nothing"
    codec = TableCodec.fit(columns, settings)
    by_name = {domain.name: domain for domain in codec.vocabulary.domains}
    assert by_name["cause"].has_missing
    assert not by_name["cause"].keeps_missing
    assert by_name["score"].keeps_missing
    encoded = codec.encode(columns)
    assert encoded.decode(encoded.records.points)["cause"][1] is None
    assert len(encoded.kept["cause"]) == 0


def test_only_secret_columns_have_blank_values():
    with pytest.raises(InvalidInput, match="blank_values names 'z', expected secret columns"):
        TableSettings(numeric=("a",), blank_values=("z",))


def test_numbers_with_decimal_commas_are_numbers_and_leave_as_they_came(tmp_path):
    columns = people(pay=[f"{30_000 + 7 * k},{k % 100:02d}" for k in range(ROWS)])
    found = roles_of(written(tmp_path / "x.csv", columns, ";"))
    assert set(found.numeric) == {"age", "pay"}
    codec = TableCodec.fit(columns, TableSettings(numeric=("pay",)))
    shown = codec.encode(columns)
    assert all("," in cell and "." not in cell for cell in shown.decode(shown.records.points)["pay"])


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y-%m-%d"])
def test_both_ends_of_a_stay_are_dates(form):
    days = np.datetime64("2021-01-01") + np.arange(ROWS)
    start_date, end_date = ([day.astype(object).strftime(form) for day in some] for some in (days, days[::-1] + 400))
    assert set(roles_of_columns(people(start_date=start_date, end_date=end_date), "x").dates) == {
        "start_date",
        "end_date",
    }


@pytest.mark.parametrize(
    "form",
    [
        "%m/%d/%y",
        "%d.%m.%y",
        "%d %b %Y",
        "%d-%b-%Y",
        "%b %d, %Y",
        "%B %d, %Y",
        "%m/%d/%Y %I:%M %p",
        "%Y-%m-%dT%H:%M:%S.%fZ",
    ],
)
def test_dates_in_many_forms_are_dates_and_keep_their_form(form):
    days = np.datetime64("2021-01-01T09:30") + np.arange(ROWS) * np.timedelta64(1, "D")
    visit = [day.astype(object).strftime(form) for day in days]
    assert roles_of_columns(people(visit=visit), "x").dates == ("visit",)
    codec = TableCodec.fit({"visit": visit}, TableSettings(dates=("visit",)))
    shown = codec.encode({"visit": visit})
    assert all(datetime.strptime(cell, form) for cell in shown.decode(shown.records.points)["visit"])


@pytest.mark.parametrize("name", ["pidnum", "rownames", "Unnamed: 0", "caseid", "subject_no"])
def test_columns_that_number_rows_are_identifiers(name):
    found = roles_of_columns(people(**{name: RNG.permutation(10_000)[:ROWS].tolist()}), "x")
    assert dict(found.masked) == {name: "it looks like an identifier"}
    assert name not in found.numeric


def test_people_with_coordinates_are_a_table_and_said_so():
    where = {name: fixes()[name] for name in ("lat", "lon")}
    found = roles_of_columns(people(**where, pay=[k % 40 for k in range(ROWS)]), "x")
    assert found.kind == "table"
    assert set(found.numeric) == {"age", "pay"}
    assert set(dict(found.masked)) == {"lat", "lon"}
    assert 'kind = "location"' in dict(found.masked)["lat"]
    assert roles_of_columns(fixes(speed=[k % 9 for k in range(ROWS)]), "x").kind == "location"


def test_names_that_repeat_are_left_empty():
    names = [f"Ann {k % 40}" for k in range(ROWS)]
    assert dict(roles_of_columns(people(name=names), "x").masked) == {"name": "it names people"}
    assert dict(roles_of_columns(people(customer_name=names), "x").masked) == {"customer_name": "it names people"}


@pytest.mark.parametrize(("coding", "named"), [("cp1252", "WINDOWS-1252"), ("utf-16", "UTF-16")])
def test_other_encodings_are_refused_with_a_way_out(coding, named, tmp_path):
    (tmp_path / "x.csv").write_bytes("age,city\n1,Malmö\n2,Lund\n3,Älmhult\n".encode(coding))
    with pytest.raises(InvalidInput, match=rf"x\.csv line \d is not UTF-8 .*iconv -f {named} -t UTF-8 x\.csv > "):
        roles_of(tmp_path / "x.csv")

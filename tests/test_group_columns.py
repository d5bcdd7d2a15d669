"""Values that belong to a group of rows: found in a file, drawn once for all rows that agree, audited so."""

import csv

import numpy as np
import pytest

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.app.configuration import parse_config
from oddshift.app.init import start
from oddshift.app.init.columns import columns_of_group
from oddshift.app.init.roles import roles_of_columns
from oddshift.app.run import Run
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MechanismSettings
from oddshift.model.release import draw_once
from oddshift.protect import Ledger, protect
from oddshift.protect.policies.store import save_policy


def patients(count=300, seed=0):
    """Two visits for each patient: the sex stays, the result of a test depends on it, the mood is anything."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, count)
    who = np.tile(np.arange(count), 2)  # the two rows of a patient are far apart
    test = np.where(rng.random(2 * count) < 0.8, sex[who], 1 - sex[who])
    return {
        "patient": [f"p{k}" for k in who],
        "sex": ["fm"[x] for x in sex[who]],
        "test": ["+-"[x] for x in test],
        "mood": rng.choice(list("abc"), 2 * count).tolist(),
    }


SETTINGS = {"categorical": ["sex", "test", "mood"], "group": "patient", "masked": ["patient"], "once": ["sex"]}


def test_columns_in_which_rows_of_a_group_agree():
    columns = patients()
    names = ["sex", "test", "mood"]
    assert columns_of_group(columns, "patient", names) == ("sex",)
    few = {name: cells[:40] for name, cells in columns.items()}
    assert columns_of_group(few, "patient", names) == (), "no patient came twice"
    crowd = {**columns, "patient": ["one", "two"] * 300}
    assert columns_of_group(crowd, "patient", names) == (), "two groups of hundreds are not people"
    one_off = {**columns, "sex": ["m" if k < 5 else cell for k, cell in enumerate(columns["sex"])]}
    assert columns_of_group(one_off, "patient", names) == ("sex",), "a few slips do not matter"


def test_a_first_configuration_names_them(tmp_path):
    columns = patients()
    with (tmp_path / "x.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    config = start(tmp_path / "x.csv", tmp_path / "x.toml").config
    settings = parse_config(config, "x", tmp_path).data.settings
    assert settings.group == "patient"
    assert settings.once == ("sex",)


@pytest.mark.parametrize("changes", [{"group": None}, {"once": ["patient"]}])
def test_once_needs_a_group_and_secret_columns(changes):
    with pytest.raises(InvalidInput, match="once needs a group"):
        od.table(patients(), settings={**SETTINGS, **changes})


def test_only_some_points_are_drawn_once():
    space = od.Space(np.arange(4.0)[:, None])
    records = od.Records.from_documents(space, [[0, 2, 0, 2], [0, 0]])
    found = draw_once(records, np.array([True, True, False, False]))
    assert found.records.points.tolist() == [0, 2, 2, 0]
    assert found.position.tolist() == [0, 1, 0, 2, 3, 3]
    assert draw_once(records).records.points.tolist() == [0, 2, 0]


def test_the_audited_records_hold_the_value_of_a_group_once():
    prepared = prepare(od.table(patients(), settings=SETTINGS), 0)
    fit = prepared.split.fit
    assert set(fit.lengths.tolist()) == {5}  # one sex, two tests, two moods


def test_rows_far_apart_in_a_file_are_released_alike(tmp_path, monkeypatch):
    monkeypatch.setattr("oddshift.data.formats.data_file.BLOCK", 500)
    columns = patients()
    settings = AdaptSettings(
        epsilon=1.0, delta=0.1, independent=True, grid=(0.5, 1.0), documents=60, attackers=("portfolio",)
    )
    made = Run(prepare(od.table(columns, settings=SETTINGS), 0), MechanismSettings(calibrated=True)).adapt(settings)
    if made.policy is None:
        pytest.fail(str(made.result.warnings))
    save_policy(tmp_path / "policy", made.policy.policy)
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    asked = od_protect_settings()
    protect(path, out, made.policy.policy, Ledger.beside(tmp_path / "policy" / "policy.json"), asked)
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    half = len(rows) // 2
    first, second = rows[:half], rows[half:]
    assert [row["sex"] for row in first] == [row["sex"] for row in second]
    assert {row["patient"] for row in rows} == {""}
    changed = np.mean([row["sex"] != cell for row, cell in zip(rows, columns["sex"], strict=True)])
    assert 0.1 < changed < 0.5
    moods = np.mean([a["mood"] == b["mood"] for a, b in zip(first, second, strict=True)])
    assert moods < 0.7, "other columns are drawn for every row"


def od_protect_settings():
    from oddshift.protect import ProtectSettings

    return ProtectSettings(allow_uncertified=True)


def test_a_row_without_a_group_is_drawn_alone():
    columns = {"who": ["a", "", "", "a"], "sex": ["f"] * 4, "age": [1, 2, 3, 4]}
    fit = {"who": ["a", "b"] * 10, "sex": ["f", "m"] * 10, "age": list(range(20))}
    settings = TableSettings(categorical=("sex",), numeric=("age",), group="who", once=("sex",))
    encoded = TableCodec.fit(fit, settings).encode(columns)
    assert len(encoded.groups) == 3
    assert len(set(encoded.groups)) == 3
    assert encoded.is_once.sum() == 4


def panel(people=60, years=5):
    """Five years of sixty people, one after the other, under a name that says nothing."""
    rng = np.random.default_rng(0)
    return {
        "k": [str(1000 + 7 * person) for person in range(people) for _ in range(years)],
        "year": [1980 + year for _ in range(people) for year in range(years)],
        "sex": [sex for sex in rng.integers(2, size=people).tolist() for _ in range(years)],
        "schooling": [years_of for years_of in rng.integers(8, 16, size=people).tolist() for _ in range(years)],
        "wage": rng.normal(20, 5, size=people * years).round(2).tolist(),
        "flag": [0] * (people * years - 1) + [1],
    }


def test_a_key_without_a_telling_name_is_found_by_its_runs():
    found = roles_of_columns(panel(), "x")
    assert found.user == "k"
    assert {"sex", "schooling"} <= set(found.once)
    assert "follow each other" in found.user_why


@pytest.mark.parametrize("spoiled", ["k", "sex", "schooling"])
def test_rows_in_another_order_or_columns_that_do_not_agree_make_no_key(spoiled):
    columns = panel()
    columns[spoiled] = np.random.default_rng(1).permutation(columns[spoiled]).tolist()
    assert roles_of_columns(columns, "x").user == ""


def test_few_subjects_are_people_and_few_schools_are_a_category():
    rng = np.random.default_rng(0)
    days = {"Reaction": rng.normal(300, 30, 180).round(2).tolist(), "Days": list(range(10)) * 18}
    assert roles_of_columns({**days, "Subject": np.repeat(np.arange(300, 318), 10).tolist()}, "x").user == "Subject"
    assert roles_of_columns({**days, "School": np.repeat(np.arange(300, 318), 10).tolist()}, "x").user == ""


def test_few_values_of_many_rows_are_no_people():
    party = {"subject": [k % 7 for k in range(940)], "age": [20 + k % 53 for k in range(940)]}
    assert roles_of_columns(party, "x").user == ""


def test_subjects_of_messages_are_no_people():
    subjects = [f"about the meeting of group {n // 4}" for n in range(80)]
    assert roles_of_columns({"subject": subjects, "words": list(range(80))}, "x").kind == "text"

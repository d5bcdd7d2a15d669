"""Pseudonyms of users and trips: rows stay together, names do not come out, and another release has other ones."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import NamedCells, PlaceCodec, PlaceSettings, TableCodec, TableSettings
from oddshift.data.formats import data_file
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Ledger, ProtectSettings, protect
from oddshift.protect.policies import make_policy, save_policy
from oddshift.protect.pseudonyms import pseudonyms
from oddshift.protect.release import ReleasePolicy
from oddshift.protect.stream import ReleaseStream

FREE = ProtectSettings(allow_uncertified=True, allow_repeat=True)
CELLS = Space([[39.9, 116.3], [40.0, 116.3], [40.1, 116.3]], "haversine")


def renamed(cells, key=b"k", owners=None, column="user"):
    return pseudonyms([NamedCells(column, owners or ("",) * len(cells), tuple(cells))], key)[column]


def test_equal_names_get_equal_pseudonyms_and_another_key_gives_others():
    names = ["ann", "bob", "ann", "Ann"]
    shown = renamed(names)
    assert shown[0] == shown[2]
    assert len(set(shown)) == 3
    assert not set(shown) & set(renamed(names, b"other"))
    assert all(len(name) == 16 and name.isalnum() for name in shown)


@pytest.mark.parametrize("start", [0, 2**31 - 400, 2**40, 2**60])
def test_whole_numbers_become_other_whole_numbers_without_collisions(start):
    cells = list(range(start, start + 400))
    shown = renamed(cells)
    assert len(set(shown)) == 400
    assert all(type(number) is int for number in shown)
    limit = 2**31 if start < 2**31 else 2**53 if start < 2**53 else 2**62
    assert min(shown) >= 0
    assert max(shown) < limit
    assert abs(np.corrcoef(cells, shown)[0, 1]) < 0.2
    assert renamed([str(cell) for cell in cells]) == [str(number) for number in shown]


def test_types_are_kept_missing_stays_missing_and_other_things_are_left_empty():
    shown = renamed([3, 3.0, "3", "03", 2.5, -1, 2**70, True, object()])
    assert [type(cell) for cell in shown[:7]] == [int, float, str, str, float, int, int]
    assert shown[1] == shown[0]
    assert not shown[3].isdecimal()
    assert shown[7:] == [None, None]
    assert renamed(["", None, "NA"]) == ["", None, "NA"]


def test_trips_of_two_users_are_two_trips():
    ann, bob = renamed(["1", "1"], owners=("ann", "bob"), column="trip")
    assert ann != bob
    assert renamed(["1"]) != renamed(["1"], column="trip")


def test_clear_names_users_and_trips_only():
    assert PlaceSettings().renamed == ("user", "trip")
    assert PlaceSettings(clear=("trip",)).renamed == ("user",)
    with pytest.raises(InvalidInput, match="neither who nor which trip"):
        PlaceSettings(clear=("lat",))


def policy(**changes):
    codec = PlaceCodec(PlaceSettings(every=0.0, masked=("speed",), **changes), CELLS)
    return make_policy(codec, Exponential(CELLS, 1.0), codec.tiers)


def fixes(count=40, user=lambda k: f"ann{k % 4}"):
    """Fixes of four people, each with two trips."""
    rows = []
    for k in range(count):
        place = {"lat": 39.9 + 0.01 * (k % 20), "lon": 116.3, "speed": k}
        rows.append({**place, "user": user(k), "timestamp": str(1_600_000_000 + 60 * k), "trip": f"t{k // 20}"})
    return rows


def released(tmp_path, rows, ending=".jsonl", settings=FREE, out="out"):
    source, goal = tmp_path / f"in{ending}", tmp_path / f"{out}{ending}"
    if ending == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), source)
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if not (tmp_path / "policy").is_dir():
        save_policy(tmp_path / "policy", policy())
    protect(source, goal, policy(), Ledger.beside(tmp_path / "policy"), settings)
    return (
        parquet.read_table(goal).to_pylist()
        if ending == ".parquet"
        else list(map(json.loads, goal.read_text().splitlines()))
    )


def pairs(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]


def is_renaming(before, after):
    """Whether one list is the other under other names, one for each."""
    return len(set(zip(before, after, strict=True))) == len(set(before)) == len(set(after))


def test_a_release_groups_rows_as_before_and_names_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 300)  # a few rows at a time
    rows = fixes()
    shown = released(tmp_path, rows)
    assert is_renaming(pairs(rows, "user"), pairs(shown, "user"))
    assert is_renaming(pairs(rows, "user", "trip"), pairs(shown, "user", "trip"))
    assert len(set(pairs(shown, "trip"))) == 8, "a trip of another user is another trip"
    assert not set(pairs(rows, "user")) & set(pairs(shown, "user"))
    assert not set(pairs(rows, "trip")) & set(pairs(shown, "trip"))
    assert pairs(shown, "timestamp") == pairs(rows, "timestamp")
    again = released(tmp_path, rows, out="again")
    assert not set(pairs(shown, "user")) & set(pairs(again, "user")), "two releases cannot be joined"


def test_names_are_released_only_when_they_are_asked_for(tmp_path):
    rows = fixes()
    shown = released(tmp_path, rows, settings=replace(FREE, clear=("user",)))
    assert pairs(shown, "user") == pairs(rows, "user")
    assert not set(pairs(rows, "trip")) & set(pairs(shown, "trip"))
    with pytest.raises(InvalidInput, match="'speed' is protected or left empty"):
        released(tmp_path, rows, settings=replace(FREE, clear=("speed",)), out="other")


def test_an_index_without_a_name_is_unknown_like_any_other_column(tmp_path):
    with pytest.raises(InvalidInput, match="column '' is not known to the policy"):
        released(tmp_path, [{"": k, **row} for k, row in enumerate(fixes())])


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64(), pa.dictionary(pa.int8(), pa.string())])
def test_columns_keep_their_types(tmp_path, kind):
    is_text = pa.types.is_dictionary(kind)
    rows = fixes(user=lambda k: f"ann{k % 4}" if is_text else k % 4)
    table = pa.Table.from_pylist(rows)
    place = table.column_names.index("user")
    typed = table.set_column(place, "user", table.column("user").cast(kind))
    monthly = tmp_path / "in.parquet"
    parquet.write_table(typed, monthly)
    save_policy(tmp_path / "policy", policy())
    protect(monthly, tmp_path / "out.parquet", policy(), Ledger.beside(tmp_path / "policy"), FREE)
    shown = parquet.read_table(tmp_path / "out.parquet")
    assert shown.schema.field("user").type == kind
    assert is_renaming(pairs(rows, "user"), pairs(shown.to_pylist(), "user"))


def test_all_files_of_a_data_set_share_pseudonyms(tmp_path):
    save_policy(tmp_path / "policy", policy())
    (tmp_path / "in").mkdir()
    rows = fixes()
    for number in range(2):
        lines = rows[20 * number : 20 * number + 20]
        (tmp_path / "in" / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    protect(tmp_path / "in", tmp_path / "out", policy(), Ledger.beside(tmp_path / "policy"), FREE)
    shown = [json.loads(line) for n in range(2) for line in (tmp_path / "out" / f"{n}.jsonl").read_text().splitlines()]
    assert is_renaming(pairs(rows, "user"), pairs(shown, "user"))


def test_streams_and_frames_get_pseudonyms_too(tmp_path):
    save_policy(tmp_path / "policy", policy())
    rows = fixes()
    stream = ReleaseStream(policy(), Ledger.beside(tmp_path / "policy"), FREE)
    shown = list(map(json.loads, stream.answers([json.dumps(row) for row in rows])))
    assert is_renaming(pairs(rows, "user", "trip"), pairs(shown, "user", "trip"))
    assert not set(pairs(rows, "user")) & set(pairs(shown, "user"))
    frame = {name: [row[name] for row in rows] for name in rows[0]}
    assert is_renaming(frame["user"], ReleasePolicy(policy()).apply(frame)["user"])
    assert ReleasePolicy(policy()).apply(frame, clear=["user"])["user"] == frame["user"]


def visits(tmp_path, **changes):
    """Two visits of each of twenty patients, and a policy that reads them together."""
    columns = {"patient": [f"ann{k // 2}" for k in range(40)], "age": [30 + k // 2 for k in range(40)]}
    codec = TableCodec.fit(columns, TableSettings(numeric=("age",), group="patient", **changes))
    made = make_policy(codec, Exponential(codec.space, 1.0), codec.tiers)
    save_policy(tmp_path / "policy", made)
    (tmp_path / "in.csv").write_text("patient,age\n" + "".join(f"ann{k // 2},{30 + k // 2}\n" for k in range(40)))
    return made, [f"ann{k // 2}" for k in range(40)]


@pytest.mark.parametrize(
    ("changes", "clear", "expected"),
    [
        ({}, (), "renamed"),
        ({}, ("patient",), "same"),
        ({"public": ("patient",)}, (), "same"),
        ({"masked": ("patient",)}, (), "empty"),
    ],
)
def test_groups_of_rows_get_pseudonyms_unless_they_have_another_role(tmp_path, changes, clear, expected):
    made, names = visits(tmp_path, **changes)
    done = protect(
        tmp_path / "in.csv", tmp_path / "out.csv", made, Ledger.beside(tmp_path / "policy"), replace(FREE, clear=clear)
    )
    shown = [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    if expected == "renamed":
        assert is_renaming(names, shown)
        assert not set(names) & set(shown)
        assert "patient" not in done.as_they_are
    else:
        assert shown == (names if expected == "same" else [""] * 40)
        assert ("patient" in done.as_they_are) == (expected == "same")
    frame = {"patient": names, "age": [30 + k // 2 for k in range(40)]}
    applied = ReleasePolicy(made).apply(frame, clear=clear)["patient"]
    assert is_renaming(names, applied) == (expected != "empty")
    assert bool(set(names) & set(applied)) == (expected == "same")

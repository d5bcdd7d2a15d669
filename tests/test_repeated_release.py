"""Nothing is released twice: averaging attacks, races, kills and links, through files and in memory."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Ledger, ProtectSettings, Sanitizer, UserLimit, protect
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.policies import make_policy, save_policy
from oddshift.protect.staging import PREFIX, SIDECAR
from system_calls import can_trace, run_until

CORPUS = people(200)
MASKING = replace(CORPUS.codec, settings=replace(CORPUS.codec.settings, unknown="mark"))
POLICY = make_policy(MASKING, Exponential(CORPUS.space, 0.3), CORPUS.tiers)
FREE = ProtectSettings(allow_uncertified=True)
ROUNDS = int(os.environ.get("ODDSHIFT_ROUNDS", "12"))
"""Rounds of every race: 200 for a long run."""

KILLS = max(20, ROUNDS // 2)
"""Processes killed at random system calls: 100 in a long run."""


def settings(**changes):
    return ProtectSettings(allow_uncertified=True, **changes)


@pytest.fixture
def home(tmp_path):
    save_policy(tmp_path / "policy", POLICY)
    return tmp_path


@pytest.fixture
def ledger(home):
    return Ledger.beside(home / "policy")


def write(path, texts, ids=None):
    """Rows of texts and ids in the format that the name asks for."""
    rows = [{"id": str(n if ids is None else ids[n]), "text": text} for n, text in enumerate(texts)]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["id", "text"])
            writer.writeheader()
            writer.writerows(rows)
    return path


def released(path):
    if path.suffix == ".jsonl":
        return [json.loads(line)["text"] for line in path.read_text().splitlines()]
    with path.open(newline="") as stream:
        return [row["text"] for row in csv.DictReader(stream)]


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl"])
def test_copies_of_a_text_in_one_file_have_one_value(home, ledger, name):
    source = write(home / name, [CORPUS.texts[0]] * 200 + list(CORPUS.texts[1:20]))
    done = protect(source, home / f"out{source.suffix}", POLICY, ledger, FREE)
    assert len(set(released(home / f"out{source.suffix}")[:200])) == 1
    assert (done.copies, done.repeated) == (199, 0)


def test_rows_of_one_id_in_one_file_have_one_value(home, ledger):
    source = write(home / "in.csv", CORPUS.texts, ["same"] * 200)
    protect(source, home / "out.csv", POLICY, ledger, settings(id="id"))
    assert len(set(released(home / "out.csv"))) == 1


@pytest.mark.parametrize("second", ["b.csv", "b.jsonl", "b.parquet", "folder", "longer", "spaced"])
@pytest.mark.parametrize("by", ["", "id"])
def test_the_same_records_in_another_file_are_refused(home, ledger, second, by):
    protect(write(home / "a.csv", CORPUS.texts), home / "out.csv", POLICY, ledger, settings(id=by))
    if second == "folder":
        if by:
            pytest.skip("a folder has no ids")
        (home / "folder").mkdir()
        (home / "elsewhere.txt").write_text(CORPUS.texts[7])
        (home / "folder" / "x.txt").symlink_to(home / "elsewhere.txt")
        other, rows = home / "folder", "row 1"
    elif second == "longer":
        texts, ids = ["A new line.", *CORPUS.texts], ["new", *range(200)]
        other, rows = write(home / "b.csv", texts, ids), "rows 2, 3, 4"
    elif second == "spaced":
        other, rows = write(home / "b.csv", [f" {text.upper()} " for text in CORPUS.texts]), "rows 1, 2, 3"
    else:
        other, rows = write(home / second, CORPUS.texts), "rows 1, 2, 3"
    out = home / f"again{other.suffix}"
    with pytest.raises(InvalidInput, match=f"released before.*{rows}"):
        protect(other, out, POLICY, ledger, settings(id=by))
    assert not out.exists()
    assert not out.with_name(out.name + SIDECAR).exists()


def test_the_averaging_attack_in_memory(ledger):
    """200 copies in one call have one value; a second call, a seeded one too, is refused."""
    sanitizer = Sanitizer(POLICY, ledger=ledger)
    assert len(set(sanitizer.texts([CORPUS.texts[0]] * 200))) == 1
    for _ in range(3):
        with pytest.raises(InvalidInput, match="1 of 2 records was released before"):
            sanitizer.texts([CORPUS.texts[1], CORPUS.texts[0]])
    assert len(sanitizer.texts([CORPUS.texts[1]])) == 1
    assert len(set(sanitizer.texts([CORPUS.texts[2]] * 50, ids=["a"] * 50))) == 1
    with pytest.raises(InvalidInput, match="released before"):
        sanitizer.texts(["other words"], ids=["a"])
    with pytest.raises(InvalidInput, match="points are not records"):
        sanitizer.points([0])
    with pytest.raises(InvalidInput, match="2 ids for 1 records"):
        sanitizer.texts(["x"], ids=["a", "b"])


def test_files_and_memory_share_a_ledger(home, ledger):
    protect(write(home / "a.csv", CORPUS.texts[:5]), home / "out.csv", POLICY, ledger, FREE)
    with pytest.raises(InvalidInput, match="released before"):
        Sanitizer(POLICY, ledger=ledger).texts([CORPUS.texts[3]])


def test_vectors_with_and_without_ids_in_memory(tmp_path):
    space = Space(np.random.default_rng(0).normal(size=(50, 3)))
    policy = encoding.vector_policy(Exponential(space, 0.5))
    sanitizer = Sanitizer(policy, ledger=Ledger(tmp_path / LEDGER))
    sanitizer.rows(space.points)
    with pytest.raises(InvalidInput, match=r"50 of 50 rows \(100\.0%\) were released before"):
        sanitizer.rows(space.points)
    same = sanitizer.rows(np.repeat(space.points[:1], 30, axis=0), ids=["a"] * 30)
    assert len(np.unique(same, axis=0)) == 1


def test_kept_releases_are_given_again(home, ledger):
    """The second file has two old records, a copy of one of them, and a new one."""
    keep = settings(keep_releases=True)
    first = protect(write(home / "a.csv", CORPUS.texts[:50]), home / "a.out.csv", POLICY, ledger, keep)
    texts = [CORPUS.texts[60], CORPUS.texts[3], CORPUS.texts[9], CORPUS.texts[3]]
    done = protect(write(home / "b.jsonl", texts), home / "b.out.jsonl", POLICY, ledger, keep)
    before, after = released(home / "a.out.csv"), released(home / "b.out.jsonl")
    assert after[1:] == [before[3], before[9], before[3]]
    assert (first.kept, done.kept, done.composed_epsilon) == (0, 3, first.composed_epsilon)
    with pytest.raises(InvalidInput, match="released before"):
        protect(home / "b.jsonl", home / "c.jsonl", POLICY, ledger, FREE)


@pytest.mark.parametrize("past", ["refuse", "mask", "drop"])
def test_records_past_the_budget_of_their_user(home, ledger, past):
    ids = ["u", "v", "u", "u", "v"]
    limit = UserLimit(budget=0.6, past=past)
    asked = settings(user="id", limit=limit)
    source = write(home / "a.csv", CORPUS.texts[:5], ids)
    if past == "refuse":
        with pytest.raises(InvalidInput, match=r"1 of 5 records is beyond the budget 0\.6 of their user: row 4"):
            protect(source, home / "o.csv", POLICY, ledger, asked)
        assert not (home / "o.csv").exists()
        return
    done = protect(source, home / "o.csv", POLICY, ledger, asked)
    found = released(home / "o.csv")
    assert done.past_budget == 1
    assert len(found) == (5 if past == "mask" else 4)
    assert ("" in found) == (past == "mask")
    assert ledger.totals().user_most_spent == pytest.approx(0.6)


def test_every_name_is_told_before_anything_is_written(home, ledger):
    told = []
    folder = home / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "ann.txt").write_text(CORPUS.texts[0])

    def tell(names):
        told.append(names)
        assert not list(home.glob(f"{PREFIX}*/part"))

    protect(folder, home / "out", POLICY, ledger, FREE, tell=tell)
    assert told == [("folder", "deep/ann.txt")]


def test_a_key_in_the_middle_is_refused_unless_allowed(home, ledger):
    lines = [{"text": CORPUS.texts[0], "a": 1}, {"text": CORPUS.texts[1], "a": 1, "Ann-Secret": 2}]
    (home / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InvalidInput, match="line 2 has a key that the first line lacks") as caught:
        protect(home / "in.jsonl", home / "out.jsonl", POLICY, ledger, FREE)
    assert "Secret" not in str(caught.value)
    done = protect(home / "in.jsonl", home / "out.jsonl", POLICY, ledger, settings(allow_new_keys=True))
    assert done.as_they_are == ("a", "Ann-Secret")


def test_what_cannot_be_asked_for(home, ledger):
    source = write(home / "a.csv", CORPUS.texts[:2])
    with pytest.raises(InvalidInput, match="without their column"):
        settings(limit=UserLimit(budget=1.0))
    with pytest.raises(InvalidInput, match="has no column 'nobody'"):
        protect(source, home / "o.csv", POLICY, ledger, settings(id="nobody"))
    with pytest.raises(InvalidInput, match="has no column 'nobody'"):
        protect(source, home / "o.csv", POLICY, ledger, settings(user="nobody"))


def test_eight_threads_share_a_sanitizer_without_mixing_rows():
    """Far from each other and with a large ε every point is released as itself, unless rows are mixed up."""
    space = Space(100.0 * np.arange(300.0)[:, None])
    policy = encoding.vector_policy(Exponential(space, 10.0))
    for trial in range(10):
        sanitizer = Sanitizer(policy)
        start = threading.Barrier(8)
        orders = [np.random.default_rng([trial, n]).permutation(300) for n in range(8)]

        def run(order, sanitizer=sanitizer, start=start):
            start.wait()
            return all((sanitizer.points(part) == part).all() for part in np.array_split(order, 30))

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(run, orders))


RACE = """
import os, sys, time, traceback
sys.modules.update(torch=None, transformers=None)  # nothing here needs what takes longest to import
from pathlib import Path
from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger, ProtectSettings, protect
from oddshift.protect.policies import load_policy
home, processes, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
policy = load_policy(home / "policy")

def race(me):
    for turn in range(rounds):
        begin = start + 0.25 * turn
        time.sleep(max(0.0, begin - time.time() - 0.003))
        while time.time() < begin:  # the last moments without sleep, so that all begin at once
            pass
        place = home / f"policy{turn}"
        try:
            source, out = home / f"in{turn}.csv", home / f"out{turn}-{me}.csv"
            protect(source, out, policy, Ledger.beside(place), ProtectSettings(allow_uncertified=True))
        except InvalidInput as error:
            assert "released before" in str(error), error

start = time.time() + 0.2
children = []
for me in range(processes):
    child = os.fork()
    if child == 0:
        try:
            race(me)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
ended = [os.waitpid(child, 0)[1] for child in children]
sys.exit(any(ended))
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 8])
def test_of_processes_at_once_exactly_one_releases(home, processes):
    """Every round has a new ledger, so the making of the database is raced for too.

    The processes part from one that has imported everything, so that they begin together; they share nothing else.
    """
    for turn in range(ROUNDS):
        (home / f"policy{turn}").mkdir()
        write(home / f"in{turn}.csv", CORPUS.texts[:30])
    command = [sys.executable, "-c", RACE, str(home), str(processes), str(ROUNDS)]
    subprocess.run(command, check=True)
    for turn in range(ROUNDS):
        assert len(list(home.glob(f"out{turn}-?.csv"))) == 1, f"round {turn}"
        assert Ledger.beside(home / f"policy{turn}").totals().records == 30
    assert list(home.glob(f"{PREFIX}*")) == []


@pytest.mark.parametrize(("method", "is_released"), [("claim", False), ("publishing", False), ("finish", True)])
def test_a_failure_says_whether_something_was_released(home, ledger, monkeypatch, method, is_released):
    """The disk may fail after a release became visible: then it is not denied."""

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    source = write(home / "a.csv", CORPUS.texts[:5])
    monkeypatch.setattr(Ledger, method, fail)
    said = r"o\.csv was released" if is_released else "nothing was released"
    with pytest.raises(InvalidInput, match=rf"Input/output error .*; .*{said}$"):
        protect(source, home / "o.csv", POLICY, ledger, FREE)
    assert (home / "o.csv").exists() == is_released
    monkeypatch.undo()
    if is_released:
        with pytest.raises(InvalidInput, match="released before"):
            protect(source, home / "again.csv", POLICY, ledger, FREE)


def killed(home, ledger, turn, call):
    """Release an input in another process that is killed at a system call; gives whether it was, and the stops."""
    work = lambda: protect(home / "in.csv", home / f"out{turn}.csv", POLICY, ledger, FREE)  # noqa: E731
    ended, stops = run_until(work, call)
    assert ended in (0, -signal.SIGKILL)
    return ended != 0, stops


@pytest.mark.slow
@pytest.mark.skipif(not can_trace(), reason="this system does not let a process trace its child")
def test_killed_at_random_system_calls_nothing_is_lost_or_doubled(home, ledger):
    """After every kill the records are visible once, or free, or waiting to be taken over; never twice, never lost."""
    chance = random.Random(0)
    write(home / "in.csv", [f"{text} whole" for text in CORPUS.texts[:25]])
    was_killed, calls = killed(home, ledger, "whole", None)
    assert not was_killed
    assert calls > 500
    hits = 0
    for turn in range(KILLS):
        write(home / "in.csv", [f"{text} {turn}" for text in CORPUS.texts[:25]])
        hits += killed(home, ledger, turn, chance.randrange(1, calls))[0]
        out, again = home / f"out{turn}.csv", home / f"again{turn}.csv"
        is_visible = out.exists()
        assert not is_visible or len(released(out)) == 25, "half a release is visible"
        if is_visible:
            with pytest.raises(InvalidInput, match="released before"):
                protect(home / "in.csv", again, POLICY, ledger, settings(take_over=True))
        else:
            protect(home / "in.csv", again, POLICY, ledger, settings(take_over=True))
        assert out.exists() == is_visible
        assert again.exists() != is_visible
        assert list(home.glob(f"{PREFIX}*/*")) == []  # killed while the folder is made or removed, it may stay, empty
        assert ledger.check() == []
    assert hits > 0.9 * KILLS

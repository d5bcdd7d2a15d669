"""The file of a ledger: for its owner alone, never through a link, whole or refused, and never older than it was."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger
from oddshift.protect.ledger import store
from oddshift.protect.ledger.store import COUNT, LEDGER, identity, reading, secret_key, writing
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch

TERMS = ClaimTerms(policy="p", epsilon=1.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / LEDGER


def claim(path, number):
    return Ledger(path).claim([KeyBatch(number.to_bytes(16, "big"))], TERMS, is_final=True)


def copied(path):
    """The database as it is, with everything that its log holds."""
    other = path.with_name("copy.db")
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(other)) as target:
        db.backup(target)
    return other


def put_back(copy, path):
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    shutil.copy(copy, path)


def test_whatever_the_mask_only_the_owner_can_read(path):
    before = os.umask(0)
    try:
        claim(path, 1)
        with reading(path):
            assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {0o600}
            assert len(list(path.parent.iterdir())) == 5
    finally:
        os.umask(before)


def test_every_change_raises_the_counter_and_the_file_beside(path):
    for number in range(1, 4):
        claim(path, number)
        with reading(path) as db:
            name, counter = identity(db)
        assert counter == number
        assert path.with_name(COUNT).read_text().split() == [name, f"{number:020d}"]


def test_a_failed_change_changes_nothing(path):
    claim(path, 1)

    def fail():
        with writing(path) as db:
            db.execute("DELETE FROM record")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail()
    assert Ledger(path).totals().records == 1
    assert Ledger(path).totals().changes == 1


def test_a_ledger_that_was_put_back_is_refused(path):
    claim(path, 1)
    copy = copied(path)
    claim(path, 2)
    put_back(copy, path)
    for attempt in (lambda: claim(path, 2), lambda: Ledger(path).totals(), lambda: Ledger(path).check()):
        with pytest.raises(InvalidInput, match=r"older than its last release \(change 1, expected 2 or more\)"):
            attempt()


def test_a_lost_counter_is_made_anew_and_a_late_one_is_no_alarm(path):
    claim(path, 1)
    early = path.with_name(COUNT).read_bytes()
    claim(path, 2)
    path.with_name(COUNT).write_bytes(early)  # as if the process had died between the two files
    claim(path, 3)
    path.with_name(COUNT).unlink()
    claim(path, 4)
    assert path.with_name(COUNT).read_text().split()[1] == f"{4:020d}"


def test_a_missing_or_another_ledger_is_noticed(path, tmp_path):
    claim(path, 1)
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    with pytest.raises(InvalidInput, match=r"is missing although releases\.count counts its releases"):
        claim(path, 1)
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / LEDGER
    claim(other, 1)
    put_back(copied(other), path)
    with pytest.raises(InvalidInput, match="another ledger than the one"):
        claim(path, 1)


@pytest.mark.parametrize("content", [b"x", b"a b c", b"name -5", b"\xff\xfe 12x"])
def test_a_damaged_counter_is_one_line(path, content):
    claim(path, 1)
    path.with_name(COUNT).write_bytes(content)
    with pytest.raises(InvalidInput, match=r"releases\.count is damaged"):
        claim(path, 2)


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite format 3\0" + b"\xff" * 5000, b'{"key": "ab"}\n'])
def test_what_is_not_a_database_is_one_line(path, content):
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"is damaged or not a ledger|cannot be used"):
        claim(path, 1)


def test_a_newer_version_is_one_line(path):
    claim(path, 1)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = 9 WHERE name = 'version'")
    with pytest.raises(InvalidInput, match="is a ledger of version 9, expected 4"):
        claim(path, 2)


def test_links_are_not_followed(path, tmp_path):
    target = tmp_path / "precious"
    target.write_bytes(b"mine")
    path.symlink_to(target)
    with pytest.raises(InvalidInput, match="is a symbolic link"):
        claim(path, 1)
    path.unlink()
    path.with_name(COUNT).symlink_to(target)
    with pytest.raises((InvalidInput, OSError)):
        claim(path, 1)
    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize("left", ["nothing", "a header", "an empty counter"])
def test_a_ledger_that_a_killed_process_had_begun_is_made_by_the_next_one(path, left):
    path.touch()
    if left == "a header":
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = WAL")
        assert path.stat().st_size > 0
    elif left == "an empty counter":
        path.with_name(COUNT).touch()
    ledger = Ledger(path)
    assert not ledger.exists
    assert ledger.unfinished() == []
    assert len(ledger.keys().secret) == 32
    assert claim(path, 1).records == 1


def test_a_change_while_a_reader_looks_is_not_taken_for_an_older_copy(path, monkeypatch):
    claim(path, 1)

    def meanwhile(connection):
        monkeypatch.undo()
        claim(path, 2)
        return identity(connection)

    monkeypatch.setattr(store, "identity", meanwhile)
    assert Ledger(path).totals().records == 1
    assert Ledger(path).totals().records == 2


def test_reading_needs_a_ledger(path):
    with pytest.raises(InvalidInput, match="is not a file"):
        Ledger(path).totals()
    assert not path.exists()
    path.touch()
    with pytest.raises(InvalidInput, match="is empty, expected a ledger"):
        Ledger(path).totals()


def test_the_key_is_random_and_stays(path, tmp_path):
    with writing(path) as db:
        first = secret_key(db)
    with reading(path) as db:
        assert secret_key(db) == first
    (tmp_path / "other").mkdir()
    with writing(tmp_path / "other" / LEDGER) as db:
        assert secret_key(db) != first
    assert len(first) == 32

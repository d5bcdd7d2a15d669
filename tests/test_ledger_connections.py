"""A ledger that stays open: the same claims, each on disk when it returns, and no file that was put in its place."""

import os
import sqlite3
import threading
from contextlib import closing

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger
from oddshift.protect.ledger import store
from test_ledger_store import TERMS, KeyBatch, claim, copied, put_back


def claim_in(ledger, number):
    return ledger.claim([KeyBatch(number.to_bytes(16, "big"))], TERMS, is_final=True)


def held(path):
    """What another process finds in the file."""
    with closing(sqlite3.connect(path)) as db:
        return [int.from_bytes(key, "big") for (key,) in db.execute("SELECT key FROM record ORDER BY key")]


@pytest.fixture
def ledger(tmp_path):
    return Ledger.beside(tmp_path)


def test_claims_are_visible_to_others_at_once_and_the_file_is_opened_once(ledger, monkeypatch):
    opened = []
    monkeypatch.setattr(store, "_use_log", lambda db, old=store._use_log: (opened.append(db), old(db)))
    with ledger.kept_open() as kept:
        for number in range(1, 4):
            claim_in(kept, number)
            assert held(ledger.path) == list(range(1, number + 1))
        assert len(opened) == 1
        claim(ledger.path, 9)  # by somebody else
        with pytest.raises(InvalidInput, match="1 of 1 records was released before"):
            claim_in(kept, 9)
        claim_in(kept, 4)
    assert held(ledger.path) == [1, 2, 3, 4, 9]
    assert ledger.totals().changes == 5


def test_a_claim_that_fails_changes_nothing_and_the_next_one_works(ledger):
    with ledger.kept_open() as kept:
        claim_in(kept, 1)
        with pytest.raises(InvalidInput, match="released before"):
            claim_in(kept, 1)
        claim_in(kept, 2)
    assert held(ledger.path) == [1, 2]


@pytest.mark.parametrize("way", ["renamed", "deleted", "copied over", "log deleted"])
def test_a_file_that_takes_its_place_is_refused(ledger, way):
    path = ledger.path
    with ledger.kept_open() as kept:
        claim_in(kept, 1)
        old = copied(path)
        claim_in(kept, 2)
        if way == "renamed":
            os.replace(old, path)
        elif way == "deleted":
            path.unlink()
        elif way == "copied over":
            put_back(old, path)
        else:
            path.with_name(path.name + "-wal").unlink()
        with pytest.raises(InvalidInput, match=r"was replaced while it was in use"):
            claim_in(kept, 3)


def test_threads_have_connections_of_their_own(ledger):
    with ledger.kept_open() as kept:
        claim_in(kept, 100)
        workers = [threading.Thread(target=claim_in, args=(kept, number)) for number in range(1, 7)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert held(ledger.path) == [*range(1, 7), 100]
    assert not kept.engine.kept._open


def test_a_ledger_is_the_same_open_or_not(ledger):
    with ledger.kept_open() as kept:
        assert kept == ledger
        assert repr(kept) == repr(ledger)

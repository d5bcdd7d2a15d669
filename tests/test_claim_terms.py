"""The terms of a claim: limits that make sense, batches cut for the database, rows as a refusal lists them."""

import sqlite3

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger import terms
from oddshift.protect.ledger.terms import (
    PAST,
    Claimed,
    KeyBatch,
    UserLimit,
    as_rows,
    counted,
    listed,
    statement_batches,
)
from oddshift.protect.overrides import kept_cells, read_cells
from oddshift.protect.record_keys import WIDTH

NONE = np.zeros(0, dtype=np.int64)


@pytest.mark.parametrize("budget", [0, -1.0, float("nan"), float("-inf")])
def test_a_budget_is_above_zero(budget):
    with pytest.raises(InvalidInput, match=r"^budget=.*, expected > 0 for the budget of a user$"):
        UserLimit(budget=budget)


@pytest.mark.parametrize("past", PAST)
def test_what_may_happen_past_a_budget(past):
    assert UserLimit(budget=1.0, past=past).past == past


@pytest.mark.parametrize("past", ["", "warn", "Mask"])
def test_anything_else_past_a_budget_is_refused(past):
    with pytest.raises(InvalidInput, match=r"past=.*, expected one of refuse, mask, drop, noise"):
        UserLimit(budget=1.0, past=past)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans())), st.integers(1, 7))
def test_batches_are_cut_and_joined_into_ones_of_the_same_size(sizes, at_once):
    """Records stay in order, each next to its own user; where users begin or end to be counted a batch ends."""
    numbers = iter(range(1000))
    given = []
    for size, has_users in sizes:
        keys = b"".join(next(numbers).to_bytes(WIDTH, "big") for _ in range(size))
        given.append(KeyBatch(keys, keys[::-1] if has_users else b""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms, "AT_ONCE", at_once)
        parts = list(statement_batches(given))
    assert cut(parts) == cut(given)
    assert all(0 < len(part) <= at_once for part in parts)


def cut(batches):
    """Every record and its user."""
    found = []
    for batch in batches:
        assert len(batch.users) in {0, len(batch.keys)}
        for start in range(0, len(batch.keys), WIDTH):
            found.append((batch.keys[start : start + WIDTH], batch.users[start : start + WIDTH]))
    return found


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([5], "row 5"),
        ([3, 1, 2], "rows 1, 2, 3"),
        (list(range(20, 0, -1)), "rows " + ", ".join(map(str, range(1, 21)))),
        (list(range(1, 22)), "rows " + ", ".join(map(str, range(1, 21))) + " and 1 more"),
        (list(range(1, 5001)), "rows " + ", ".join(map(str, range(1, 21))) + " and 4,980 more"),
    ],
)
def test_a_refusal_lists_the_first_twenty_rows(rows, words):
    assert listed(rows) == words


@pytest.mark.parametrize(
    ("rows", "total", "words"),
    [([1], 9, "1 of 9 records was"), ([1, 2], 1234, "2 of 1,234 records were"), ([], 3, "0 of 3 records were")],
)
def test_a_refusal_counts_in_whole_words(rows, total, words):
    assert counted(rows, total) == words


def test_rows_are_sorted_and_may_be_none():
    assert as_rows({9, 1, 4}).tolist() == [1, 4, 9]
    assert as_rows([]).dtype == np.int64


def test_repeats_are_named_records_and_rows_beyond_chance():
    found = Claimed(
        release=1,
        records=9,
        repeated=np.array([2, 5]),
        copies=NONE.reshape(-1, 2),
        kept=NONE,
        past=NONE,
        noisier=NONE,
        composed=1.0,
        rows_again=3,
    )
    assert found.repeats == 5


CELLS = st.none() | st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=4),
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=6),
    max_size=3,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cells")


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.integers(1, 10**9), CELLS, max_size=5))
def test_kept_cells_come_back_by_row_and_none_for_others(folder, rows):
    path = folder / "cells.db"
    path.unlink(missing_ok=True)
    with kept_cells(path) as kept:
        kept.put(rows.items())
        assert {row: kept.get(row) for row in rows} == rows
        assert kept.get(10**9 + 1) is None
    assert path.stat().st_mode & 0o777 == 0o600


def test_kept_cells_are_complete_when_they_close_and_show_nothing(tmp_path):
    with kept_cells(tmp_path / "cells.db") as kept:
        kept.put([(1, {"name": "Ann"}), (2, None)])
        assert "Ann" not in repr(kept)
    with sqlite3.connect(tmp_path / "cells.db") as db:
        stored = dict(db.execute("SELECT row, cells FROM cells"))
    assert {row: read_cells(text) for row, text in stored.items()} == {1: {"name": "Ann"}, 2: None}


def test_kept_cells_are_never_put_into_an_old_file_or_through_a_link(tmp_path):
    (tmp_path / "old.db").write_bytes(b"")
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
    for name in ("old.db", "link.db"):
        with pytest.raises(FileExistsError), kept_cells(tmp_path / name):
            pass
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_row_has_one_release(tmp_path):
    with pytest.raises(sqlite3.IntegrityError), kept_cells(tmp_path / "cells.db") as kept:
        kept.put([(1, None), (1, {"a": 1})])

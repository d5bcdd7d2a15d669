"""Cells that are not drawn anew: each record has one value, kept ones their earlier one, those past a budget none."""

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.terms import Claimed
from oddshift.protect.overrides import Overrides, kept_cells


def claimed(kept=(), copies=(), past=()):
    rows = {name: np.array(value, dtype=np.int64) for name, value in (("kept", kept), ("past", past))}
    pairs = np.array(copies, dtype=np.int64).reshape(-1, 2)
    return Claimed(release=1, records=0, repeated=np.empty(0, np.int64), copies=pairs, composed=1.0, **rows)


@pytest.fixture
def cells(tmp_path):
    with kept_cells(tmp_path / "cells.db") as made:
        yield made


def apply(found, cells, blocks, keeps=None, **rest):
    """Run the blocks of a column through the overrides; gives what is shown and what is kept of each."""
    overrides = Overrides(found, cells, lambda row: {"text": f"earlier {row}"}, rest.pop("empty", ""), **rest)
    out, first = [], 1
    for number, block in enumerate(blocks):
        keep = None if keeps is None else np.array(keeps[number])
        rows = len(block) if keep is None else len(keep)
        shown, keep = overrides.apply(first, rows, {"text": list(block)}, keep)
        out.append((shown["text"], None if keep is None else keep.tolist()))
        first += rows
    return out


def test_without_a_claim_on_rows_nothing_changes(cells):
    assert apply(claimed(), cells, [["a", "b"], ["c"]]) == [(["a", "b"], None), (["c"], None)]


def test_copies_get_the_value_of_the_first_across_blocks(cells):
    found = apply(claimed(copies=[(2, 1), (4, 3), (5, 1)]), cells, [["a", "b", "c"], ["d", "e", "f"]])
    assert [shown for shown, _ in found] == [["a", "a", "c"], ["c", "a", "f"]]


def test_kept_rows_get_their_earlier_release(cells):
    assert apply(claimed(kept=[2, 3]), cells, [["a", "b"], ["c"]])[1][0] == ["earlier 3"]


@pytest.mark.parametrize("empty", ["", None])
def test_rows_past_a_budget_are_masked(cells, empty):
    assert apply(claimed(past=[2]), cells, [["a", "b", "c"]], empty=empty)[0][0] == ["a", empty, "c"]


def test_rows_past_a_budget_are_left_out(cells):
    ((shown, keep),) = apply(claimed(past=[1, 3]), cells, [["a", "b", "c", "d"]], is_dropping=True)
    assert shown == ["b", "d"]
    assert keep == [False, True, False, True]


def test_rows_that_the_policy_leaves_out_stay_out(cells):
    """Row 2 is thinned: it has no cell, no copy of it can be served from it, and row 3 keeps its own place."""
    found = claimed(copies=[(4, 2), (5, 3)], past=[1])
    ((shown, keep),) = apply(found, cells, [["a", "c", "d", "e"]], [[True, False, True, True, True]], is_dropping=True)
    assert shown == ["c", "d", "c"]
    assert keep == [False, False, True, True, True]


def test_everything_new_is_noted_when_releases_are_kept(cells):
    found = claimed(kept=[1], copies=[(4, 2)], past=[3])
    apply(found, cells, [["a", "b", "c", "d", "e"]], is_keeping=True)
    assert [cells.get(row) for row in range(1, 6)] == [None, {"text": "b"}, None, None, {"text": "e"}]


def test_a_kept_release_of_other_columns_is_refused(cells):
    overrides = Overrides(claimed(kept=[1]), cells, lambda row: {"other": "x"}, "")
    with pytest.raises(InvalidInput, match="row 1 was released before without its column 'text'"):
        overrides.apply(1, 1, {"text": ["a"]}, None)


def test_cells_come_back_as_they_were(cells, tmp_path):
    values = {"a": 0.1 + 0.2, "b": [1.5, -2.0], "c": None, "d": 'é\n"', "e": 7}
    cells.put([(3, values), (4, None)])
    assert cells.get(3) == values
    assert cells.get(4) is None
    assert cells.get(5) is None
    assert (tmp_path / "cells.db").stat().st_mode & 0o777 == 0o600

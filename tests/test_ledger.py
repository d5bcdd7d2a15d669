"""The ledger: records are claimed once, all or none, with what is new, repeated, copied or past a budget."""

import stat
import threading

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger, UserLimit
from oddshift.protect.ledger import terms
from oddshift.protect.ledger.releases import StagedFolder
from oddshift.protect.ledger.store import COUNT, LEDGER
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch
from oddshift.protect.record_keys import WIDTH

ONCE = ClaimTerms(policy="p", epsilon=1.0)
REPEAT = ClaimTerms(policy="p", epsilon=1.0, may_repeat=True)
HERE = StagedFolder("/nowhere/.oddshift-1", 1, 2)


@pytest.fixture
def ledger(any_ledger):
    return any_ledger


def batch(ledger, ids, users=()):
    keys = ledger.keys()
    return KeyBatch(keys.ids(list(ids), "id"), keys.users(list(users), "user") if users else b"")


def claim(ledger, ids, terms=ONCE, users=(), **rest):
    return ledger.claim([batch(ledger, ids, users)], terms, **rest)


def test_new_records_are_claimed_and_then_held(ledger):
    first = claim(ledger, range(100), is_final=True)
    assert (first.release, first.records, first.composed) == (1, 100, 1.0)
    with pytest.raises(InvalidInput) as caught:
        claim(ledger, [500, 99, 501])
    assert str(caught.value) == (
        "1 of 3 records was released before, and releases of a record add up (--allow-repeat adds one): row 2"
    )
    assert claim(ledger, [500, 501]).records == 2, "a refused claim must claim nothing"


def test_a_refusal_lists_twenty_rows_and_counts_the_rest(ledger):
    claim(ledger, range(100))
    with pytest.raises(InvalidInput, match="50 of 60 records were released before") as caught:
        claim(ledger, range(50, 110))
    assert str(caught.value).endswith("rows " + ", ".join(map(str, range(1, 21))) + " and 30 more")


def test_copies_within_an_input_are_claimed_once(ledger, monkeypatch):
    monkeypatch.setattr(terms, "AT_ONCE", 3)
    found = claim(ledger, ["a", "b", "a", "a", "c", "b", "a"])
    assert found.records == 3
    assert found.copies.tolist() == [[3, 1], [4, 1], [6, 2], [7, 1]]
    assert len(found.repeated) == 0


@pytest.mark.parametrize("at_once", [1, 2, 5, 1 << 18])
def test_batches_of_any_size_find_the_same(ledger, monkeypatch, at_once):
    monkeypatch.setattr(terms, "AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    ids = rng.integers(40, size=60).tolist()
    claim(ledger, range(5), is_final=True)
    found = ledger.claim([batch(ledger, ids[:25]), batch(ledger, ids[25:])], REPEAT)
    seen, copies = {}, []
    for row, one in enumerate(ids, 1):
        if one in seen:
            copies.append([row, seen[one]])
        seen.setdefault(one, row)
    assert found.copies.tolist() == copies
    assert found.repeated.tolist() == sorted(row for one, row in seen.items() if one < 5)
    assert found.records == len(seen)


def test_repeated_releases_compose(ledger):
    claim(ledger, ["a", "b"])
    assert claim(ledger, ["a", "c"], REPEAT).composed == 2.0
    third = claim(ledger, ["a", "b"], ClaimTerms(policy="other", epsilon=0.5, may_repeat=True))
    assert third.composed == 2.5
    assert third.repeated.tolist() == [1, 2]
    assert claim(ledger, ["d"], REPEAT).composed == 1.0
    assert claim(ledger, ["d"], ClaimTerms(policy="q", epsilon=np.inf, may_repeat=True)).composed == np.inf
    assert ledger.totals().most_composed == np.inf


def test_another_policy_is_no_excuse(ledger):
    claim(ledger, ["a"])
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, ["a"], ClaimTerms(policy="another", epsilon=1.0))


def test_an_abandoned_claim_leaves_nothing(ledger):
    found = claim(ledger, ["a", "b"], users=["u", "u"])
    ledger.abandon(found.release)
    assert ledger.totals().records == ledger.totals().users == 0
    assert claim(ledger, ["a"]).composed == 1.0
    with pytest.raises(InvalidInput, match="release 1 is abandoned, expected claimed or publishing"):
        ledger.finish(found.release)
    with pytest.raises(InvalidInput, match="release 77 is unknown"):
        ledger.abandon(77)


def test_the_way_of_a_release(ledger):
    found = claim(ledger, ["a"], staged=HERE)
    assert ledger.unfinished() == [(1, HERE, False)]
    ledger.publishing(found.release)
    assert ledger.unfinished() == [(1, HERE, True)]
    ledger.finish(found.release)
    assert ledger.unfinished() == []
    with pytest.raises(InvalidInput, match="release 1 is finished, expected claimed"):
        ledger.publishing(found.release)
    with pytest.raises(InvalidInput, match="release 1 is finished, expected claimed or publishing"):
        ledger.abandon(found.release)


def test_a_release_is_prepared_and_then_claims(ledger):
    number = ledger.prepare(ONCE, HERE)
    assert ledger.unfinished() == [(number, HERE, False)]
    assert claim(ledger, ["a"], release=number).release == number
    with pytest.raises(InvalidInput, match="release 1 is claimed, expected preparing"):
        claim(ledger, ["b"], release=number)
    other = ledger.prepare(ONCE, HERE)
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, ["a"], release=other)
    assert ledger.totals().releases == {"claimed": 1, "preparing": 1}
    ledger.abandon(other)
    assert ledger.totals().releases == {"claimed": 1}


@pytest.mark.parametrize(
    ("is_publishing", "is_visible", "state"), [(0, 1, "crashed"), (1, 0, "crashed"), (1, 1, "finished")]
)
def test_a_dead_release_is_settled_and_its_claims_stay(ledger, is_publishing, is_visible, state):
    found = claim(ledger, ["a"], staged=HERE)
    if is_publishing:
        ledger.publishing(found.release)
    ledger.settle(found.release, lambda: bool(is_visible))
    assert ledger.totals().releases == {state: 1}
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, ["a"])


def test_only_the_records_of_a_dead_release_can_be_taken_over(ledger):
    take = ClaimTerms(policy="p", epsilon=1.0, may_take_over=True)
    claim(ledger, ["a"], is_final=True)
    dead = claim(ledger, ["b"], staged=HERE)
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, ["b"], take)
    ledger.settle(dead.release, lambda: False)
    with pytest.raises(InvalidInput, match="--take-over claims those of a release that died"):
        claim(ledger, ["b"])
    with pytest.raises(InvalidInput, match=r"released before.*: row 1$"):
        claim(ledger, ["a", "b"], take)
    taken = claim(ledger, ["b"], take)
    assert (taken.records, taken.composed, len(taken.repeated)) == (1, 1.0, 0)
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, ["b"], take)


def test_a_record_is_taken_over_from_every_release_that_died_with_it(ledger):
    take = ClaimTerms(policy="p", epsilon=1.0, may_take_over=True)
    for _ in range(2):
        dead = claim(ledger, ["a"], REPEAT, staged=HERE)
        ledger.settle(dead.release, lambda: False)
    assert (ledger.totals().records, ledger.totals().repeated) == (1, 1)
    taken = claim(ledger, ["a"], take, staged=HERE)
    assert (ledger.totals().records, ledger.totals().repeated) == (1, 0)
    ledger.abandon(taken.release)
    assert claim(ledger, ["a"]).records == 1  # none of the two holds it any more


def test_what_is_taken_over_and_then_past_a_budget_stays_with_the_dead(ledger):
    take = ClaimTerms(policy="p", epsilon=1.0, may_take_over=True, limit=UserLimit(budget=1.0, past="drop"))
    dead = claim(ledger, ["a"], users=["v"], staged=HERE)
    ledger.settle(dead.release, lambda: False)
    assert claim(ledger, ["b", "a"], take, users=["u", "u"]).past.tolist() == [2]
    assert ledger.totals().records == 2
    with pytest.raises(InvalidInput, match="--take-over claims those of a release that died"):
        claim(ledger, ["a"])
    assert claim(ledger, ["a"], take, users=["w"]).records == 1
    assert ledger.totals().records == 2


def test_kept_releases_are_given_again(ledger):
    keep = ClaimTerms(policy="p", epsilon=1.0, is_kept=True)
    found = claim(ledger, ["a", "b"], keep)
    one, two = batch(ledger, ["a"]).keys, batch(ledger, ["b"]).keys
    ledger.finish(found.release, [(one, '{"text": "x"}'), (two, '{"text": "y"}'), (bytes(WIDTH), "null")])
    again = claim(ledger, ["b", "c", "a"], keep)
    assert again.kept.tolist() == [1, 3]
    assert again.records == 1
    assert again.composed == 1.0
    keys = batch(ledger, ["b", "zz"]).keys
    assert ledger.kept_cells(keys, "p") == ['{"text": "y"}', None]
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, ["a"], ClaimTerms(policy="other", epsilon=1.0, is_kept=True))
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, ["a"], ONCE)


def test_a_preview_says_the_same_and_claims_nothing(ledger):
    claim(ledger, ["a"])
    before = ledger.totals()
    assert ledger.preview([batch(ledger, ["b", "b"])], ONCE).copies.tolist() == [[2, 1]]
    with pytest.raises(InvalidInput, match="released before"):
        ledger.preview([batch(ledger, ["a"])], ONCE)
    assert ledger.totals() == before


def test_a_record_without_content_is_never_a_repeat(ledger):
    nothing = KeyBatch(bytes(2 * WIDTH) + batch(ledger, ["a"]).keys)
    assert ledger.claim([nothing], ONCE).records == 1
    assert ledger.claim([KeyBatch(bytes(WIDTH))], ONCE).records == 0


def test_users_spend_their_budget_record_by_record(ledger):
    limit = ClaimTerms(policy="p", epsilon=0.1, limit=UserLimit(budget=0.3, past="mask"))
    found = claim(ledger, range(5), limit, users=["u", "u", "v", "u", "u"])
    assert found.past.tolist() == [5]
    assert found.records == 4
    later = claim(ledger, [10, 11, 12, 13], limit, users=["u", "v", "v", "v"])
    assert later.past.tolist() == [1, 4]
    totals = ledger.totals()
    assert (totals.users, totals.user_releases) == (2, 6)
    assert totals.user_most_spent == pytest.approx(0.3)
    assert claim(ledger, [4], limit, users=["w"]).records == 1, "a record past a budget is not claimed"


def test_past_the_budget_an_input_is_refused(ledger):
    limit = ClaimTerms(policy="p", epsilon=1.0, limit=UserLimit(budget=1.5))
    with pytest.raises(InvalidInput, match=r"1 of 2 records is beyond the budget 1\.5 of their user: row 2"):
        claim(ledger, ["a", "b"], limit, users=["u", "u"])
    assert claim(ledger, ["b"], limit, users=["u"]).records == 1


def test_a_copy_spends_nothing_and_shares_what_becomes_of_its_record(ledger):
    limit = ClaimTerms(policy="p", epsilon=1.0, limit=UserLimit(budget=1.0, past="drop"))
    found = claim(ledger, ["a", "a", "b", "b"], limit, users=["u"] * 4)
    assert found.copies.tolist() == [[2, 1]]
    assert found.past.tolist() == [3, 4]


def test_a_mechanism_without_a_bound_fits_no_budget(ledger):
    limit = ClaimTerms(policy="p", epsilon=np.inf, limit=UserLimit(budget=100.0))
    with pytest.raises(InvalidInput, match="beyond the budget 100"):
        claim(ledger, ["a"], limit, users=["u"])


@pytest.mark.parametrize(("budget", "past"), [(0.0, "refuse"), (-1.0, "mask"), (float("nan"), "mask"), (1.0, "ignore")])
def test_budgets_that_are_none(budget, past):
    with pytest.raises(InvalidInput, match="expected"):
        UserLimit(budget=budget, past=past)


def test_an_epsilon_below_zero_is_refused(ledger):
    with pytest.raises(InvalidInput, match=r"epsilon=-1\.0 of a release"):
        claim(ledger, ["a"], ClaimTerms(policy="p", epsilon=-1.0))


def test_totals_and_files_show_no_record(tmp_path):
    ledger = Ledger(tmp_path / LEDGER)
    claim(ledger, ["Ann-Secret-7"], users=["Bob-Secret-8"])
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert b"Secret" not in path.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} >= {LEDGER, COUNT}
    assert "Secret" not in repr(ledger.totals())
    assert ledger.check() == []


def test_eight_threads_claim_each_record_once(ledger):
    won, lost = [], []
    ledger.keys()

    def run():
        try:
            won.append(claim(ledger, range(300)).release)
        except InvalidInput:
            lost.append(1)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 7)

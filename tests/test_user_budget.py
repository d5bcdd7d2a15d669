"""Budgets of users over many releases, against a slow bookkeeper who adds up fractions in a dictionary."""

from fractions import Fraction

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import UserLimit
from oddshift.protect.ledger import terms
from oddshift.protect.ledger.composition import refuse_past
from oddshift.protect.ledger.terms import NOISIER, ClaimTerms, KeyBatch

EPSILON = Fraction(1, 2)


class Bookkeeper:
    """Every user's budget as a fraction, one record at a time."""

    def __init__(self, budget, past):
        self.budget, self.past, self.spent = budget, past, {}

    def release(self, users):
        """Rows past the budget, and rows with more noise."""
        past, noisier = [], []
        for row, user in enumerate(users, start=1):
            already = self.spent.get(user, Fraction(0))
            if already + EPSILON <= self.budget:
                self.spent[user] = already + EPSILON
            elif self.past == "noise" and already + EPSILON / NOISIER <= self.budget:
                self.spent[user] = already + EPSILON / NOISIER
                noisier.append(row)
            else:
                past.append(row)
        return past, noisier


@pytest.fixture
def ledger(any_ledger):
    return any_ledger


def claim(ledger, ids, users, limit, **terms):
    keys = ledger.keys()
    batch = KeyBatch(keys.ids(list(ids), "id"), keys.users(list(users), "user"))
    return ledger.claim([batch], ClaimTerms(policy="p", epsilon=float(EPSILON), limit=limit, **terms))


@pytest.mark.parametrize("past", ["mask", "drop", "noise"])
@pytest.mark.parametrize("at_once", [2, 1 << 18])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_row_past_a_budget_is_found_over_several_releases(ledger, monkeypatch, past, at_once, seed):
    monkeypatch.setattr(terms, "AT_ONCE", at_once)
    rng, keeper = np.random.default_rng(seed), Bookkeeper(Fraction(2), past)
    limit, first = UserLimit(budget=2.0, past=past), 0
    for _ in range(4):
        users = rng.choice(["ann", "bob", "cyd"], 7).tolist()
        found = claim(ledger, range(first, first + 7), users, limit)
        first += 7
        expected_past, expected_noisier = keeper.release(users)
        assert found.past.tolist() == expected_past
        assert found.noisier.tolist() == expected_noisier
        assert found.records == 7 - len(expected_past)
    assert ledger.totals().user_most_spent == float(max(keeper.spent.values()))
    assert max(keeper.spent.values()) <= 2


@pytest.mark.parametrize(("epsilon", "budget", "fits"), [(0.1, 0.3, 3), (0.1, 1.0, 10), (0.7, 2.1, 3), (1.1, 3.3, 3)])
@pytest.mark.parametrize("together", [True, False])
def test_as_many_releases_fit_as_the_quotient_says_although_floats_round(ledger, epsilon, budget, fits, together):
    keys = ledger.keys()
    terms = ClaimTerms(policy="p", epsilon=epsilon, limit=UserLimit(budget=budget, past="mask"))
    sizes = [fits + 1] if together else [1] * (fits + 1)
    past, first = [], 0
    for size in sizes:
        batch = KeyBatch(keys.ids(range(first, first + size), "id"), keys.users(["ann"] * size, "user"))
        past += [first + row for row in ledger.claim([batch], terms).past.tolist()]
        first += size
    assert past == [fits + 1]


def test_a_refused_input_spends_nothing(ledger):
    refusing = UserLimit(budget=1.0)
    with pytest.raises(InvalidInput, match="1 of 3 records is beyond the budget 1 of their user: row 3"):
        claim(ledger, "abc", ["ann"] * 3, refusing)
    assert claim(ledger, "ab", ["ann"] * 2, refusing).records == 2
    with pytest.raises(InvalidInput, match="2 of 2 records are beyond the budget 1 of their user: rows 1, 2"):
        claim(ledger, "cd", ["ann"] * 2, refusing)


def test_copies_and_empty_records_spend_nothing(ledger):
    found = claim(ledger, ["a", "a", "b"], ["ann"] * 3, UserLimit(budget=1.0))
    assert (found.records, found.copies.tolist()) == (2, [[2, 1]])
    assert ledger.totals().user_most_spent == 1.0


def test_without_a_limit_users_are_counted_and_never_stopped(ledger):
    assert claim(ledger, range(50), ["ann"] * 50, None).past.tolist() == []
    totals = ledger.totals()
    assert (totals.users, totals.user_releases, totals.user_most_spent) == (1, 50, 25.0)


def test_one_user_does_not_spend_the_budget_of_another(ledger):
    limit = UserLimit(budget=0.5, past="mask")
    assert claim(ledger, "abc", ["ann", "bob", "ann"], limit).past.tolist() == [3]


@pytest.mark.parametrize("past", ["mask", "drop", "noise"])
def test_only_a_refusal_refuses(past):
    refuse_past([1, 2], 9, ClaimTerms(policy="p", epsilon=1.0, limit=UserLimit(budget=1.0, past=past)))
    refuse_past([], 9, ClaimTerms(policy="p", epsilon=1.0, limit=UserLimit(budget=1.0)))
    refuse_past([1, 2], 9, ClaimTerms(policy="p", epsilon=1.0))

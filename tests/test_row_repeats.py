"""Rows without a name: a share beyond chance is the same data again, honest repeats are not."""

import math

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger, UserLimit
from oddshift.protect.ledger.composition import seen_by_chance, tail
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch

ROWS = ClaimTerms(policy="p", epsilon=1.0, is_named=False)
AGAIN = ClaimTerms(policy="p", epsilon=1.0, is_named=False, may_repeat=True)


@pytest.fixture
def ledger(any_ledger):
    return any_ledger


def claim(ledger, values, terms=ROWS, users=()):
    keys = ledger.keys()
    batch = KeyBatch(keys.rows([list(values)]), keys.users(list(users), "user") if users else b"")
    return ledger.claim([batch], terms, is_final=True)


@pytest.mark.parametrize(("count", "of", "chance"), [(0, 4, 0.3), (1, 4, 0.3), (3, 4, 0.5), (4, 4, 0.9), (7, 20, 0.2)])
def test_tail_is_the_sum_of_binomial_terms(count, of, chance):
    exact = sum(math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(count, of + 1))
    assert tail(count, of, chance) == pytest.approx(exact, rel=1e-12)


def test_distinct_rows_released_twice_are_refused(ledger):
    values = np.random.default_rng(0).normal(size=50).tolist()
    assert claim(ledger, values).share == 0.0
    for copy in (values, values[::-1], [*values, 0.5], values[:10], [*values[:25], *range(25)]):
        with pytest.raises(InvalidInput, match=r"rows \(.*%\) were released before with this ledger"):
            claim(ledger, copy)
    assert claim(ledger, range(100, 150)).records == 50


def test_honest_repeats_pass(ledger):
    """Three categories: every row of every sample stands in the ledger, as chance says."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        found = claim(ledger, rng.integers(3, size=40).tolist())
    assert found.share == 1.0
    assert found.chance > 0.97
    assert found.repeats == 0
    assert found.composed == 1.0


def test_the_chance_is_that_of_good_and_turing(ledger):
    claim(ledger, ["a", "a", "b", "c", "c", "c", "d"])
    assert ledger.engine.read(seen_by_chance) == (7 - 2 + 1) / (7 + 2)


def test_samples_of_one_population_are_rarely_refused(tmp_path):
    """Rows from a heavy-tailed law: at most a few in a hundred second samples are taken for the first."""
    rng = np.random.default_rng(2)
    refused = 0
    for trial in range(40):
        (tmp_path / str(trial)).mkdir()
        ledger = Ledger(tmp_path / str(trial) / LEDGER)
        claim(ledger, rng.zipf(1.6, size=200).tolist())
        try:
            claim(ledger, rng.zipf(1.6, size=200).tolist())
        except InvalidInput:
            refused += 1
    assert refused <= 4


def test_repeated_rows_compose_when_they_are_asked_for(ledger):
    values = list(range(30))
    claim(ledger, values)
    found = claim(ledger, values, AGAIN)
    assert (found.repeats, found.composed, found.share) == (30, 2.0, 1.0)
    assert claim(ledger, values, AGAIN).composed == 3.0


def test_rows_of_users_are_counted(ledger):
    limit = ClaimTerms(policy="p", epsilon=1.0, is_named=False, limit=UserLimit(budget=2.0, past="drop"))
    found = claim(ledger, range(5), limit, users=["u", "u", "u", "v", "u"])
    assert found.past.tolist() == [3, 5]
    assert found.records == 3
    assert ledger.totals().unnamed_rows == 3

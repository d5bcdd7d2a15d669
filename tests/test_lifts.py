"""Lifts: few counts say little about a rare value, many counts are believed, and laws stay laws."""

import numpy as np
import pytest
from studies.place_worlds import routes as hidden_routes

from oddshift.attackers import chain_laws
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain_laws import fit_classes, lifted_laws
from oddshift.attackers.law_attacker import Dense, LawAttacker
from oddshift.audit.scan import Budget, scan
from oddshift.mechanisms import Exponential
from oddshift.model.release import one_tier, perturb

KINDS, VALUES = 12, 30


def routes(rng, documents):
    """Twelve kinds with one value of their own in 70 of 100 cases, and the same law otherwise: laws, counts, base."""
    common = rng.dirichlet(np.full(VALUES, 0.4), size=6)
    laws = np.tile(0.3 * common, (KINDS, 1, 1))
    for law in laws:
        law[np.arange(6), [rng.choice(VALUES, p=row) for row in common]] += 0.7
    counts = np.array([[rng.multinomial(documents, row) for row in law] for law in laws], dtype=float)
    base = counts.sum(axis=0) + 1e-2
    return laws, counts, base / base.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("documents", [80, 400])
def test_laws_are_closer_to_the_truth_than_counts_over_one_strength(documents):
    """Over all values alike, as pairs of candidates are drawn: a log law that is wrong about rare values counts."""
    laws, counts, base = routes(np.random.default_rng(0), documents)
    common = laws.mean(axis=0) > 1e-3
    found = lifted_laws(counts, base)

    def wrong(estimate):
        ratio = np.log(estimate / estimate.mean(axis=0)) - np.log(laws / laws.mean(axis=0))
        return np.abs(ratio[:, common]).mean()

    strengths = [(counts + s * base) / (documents + s) for s in (1.0, 3.0, 8.0, 30.0)]
    assert wrong(found) < 0.75 * min(map(wrong, strengths))


def test_one_count_of_a_rare_value_says_next_to_nothing():
    """A value that one of twelve kinds held once is about as likely in the others."""
    _, counts, base = routes(np.random.default_rng(1), 400)
    counts[:, 0, 0], base[0, 0] = 0.0, 1 / (400 * KINDS)
    counts[3, 0, 0] = 1.0
    found = lifted_laws(counts, base / base.sum(axis=1, keepdims=True))[:, 0, 0]
    by_strength = (counts + 3.0 * base)[:, 0, 0]
    assert found[3] > found[0]
    assert np.log(found[3] / found[0]) < 1.5
    assert np.log(by_strength[3] / by_strength[0]) > 5.0


def test_many_counts_are_believed():
    counts = np.array([[[9_000.0, 900.0, 100.0]], [[100.0, 4_900.0, 5_000.0]]])
    base = counts.sum(axis=0) / counts.sum()
    np.testing.assert_allclose(lifted_laws(counts, base), counts / 10_000, rtol=0.1)


def test_kinds_that_do_not_differ_get_the_law_of_all():
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.ones(40), size=3)
    counts = np.array([[rng.multinomial(200, row) for row in base] for _ in range(4)], dtype=float)
    found = lifted_laws(counts, base)
    np.testing.assert_allclose(found.sum(axis=2), 1.0)
    assert np.abs(found - base).max() < 0.3 * np.abs(counts / 200 - base).max()


def test_blocks_give_the_same(monkeypatch):
    _, counts, base = routes(np.random.default_rng(2), 50)
    counts[5] = 0.0  # a kind without documents has a law too
    whole = lifted_laws(counts, base)
    np.testing.assert_allclose(whole.sum(axis=2), 1.0)
    monkeypatch.setattr(chain_laws, "AT_ONCE", 500)
    np.testing.assert_allclose(lifted_laws(counts, base), whole)


def test_hidden_routes_are_not_overstated():
    """Counts over one strength of the law of the place find more than 1.3 times what there is here."""
    world, rng = hidden_routes(2), np.random.default_rng(0)
    mechanism, tiers = Exponential(world.space, 1.5), one_tier(world.space)
    known, secrets = knowledge(mechanism, tiers, world.records(4_000, rng)), world.records(1_000, rng)
    release, budget = perturb(secrets, mechanism, tiers, rng), Budget(mechanism, tiers, 1.5)

    def rate(law):
        attacker, fresh = LawAttacker(known, Dense(law), ""), np.random.default_rng(0)
        return scan(attacker, release, secrets, budget, fresh, laws=("anchored",), detailed=False).anchored.mean()

    assert 0.85 < rate(fit_classes(known, np.random.default_rng(0))) / rate(world.law) < 1.1

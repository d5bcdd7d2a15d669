"""The chain of second order against enumeration, from a table and from counts, and what counts keep."""

from itertools import product

import numpy as np
import pytest

from oddshift.attackers import second_order
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.second_order import fit_second_order
from oddshift.attackers.sparse_law import set_labels
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SPACE = Space(np.random.default_rng(0).random((5, 2)) * 3)
PUBLIC = Tiers(np.array([0, 0, 1, 1, 1]), names=("a", "b"), scales=(1.0, 1.0), is_public=True)
TIERS = {"one tier": one_tier(SPACE), "public tiers": PUBLIC}


def known_of(documents, tiers):
    return knowledge(Exponential(SPACE, 2.0), tiers, Records.from_documents(SPACE, documents))


def summing(rng, length):
    """Each value is the sum of the two before it, 9 times in 10: one of them alone says nothing."""
    x = list(rng.integers(5, size=min(2, length)))
    while len(x) < length:
        x.append((x[-1] + x[-2]) % 5 if rng.random() < 0.9 else int(rng.integers(5)))
    return x


def enumerated(law, known, outputs, sets, t):
    """log Pr[other outputs | value at t], by all documents of these sets."""
    labels = set_labels(known.tiers)
    seen = np.exp(known.mechanism.log_columns(outputs))
    before, after = np.zeros(5), np.zeros(5)
    allowed = [np.flatnonzero(labels == g) for g in sets]
    for x in product(*allowed):
        chance = law.chain.law[x[0]]
        for s in range(1, len(x)):
            b, c = np.array([x[s - 1]]), np.array([x[s]])
            plain = law.chain.predicted(b, c, labels)
            chance *= (plain if s == 1 else law.pairs.predicted(np.array([x[s - 2]]), b, c, plain, labels=labels))[0]
        before[x[t]] += chance
        after[x[t]] += chance * np.prod([seen[s, x[s]] for s in range(len(x)) if s != t])
    return np.log(after[allowed[t]] / before[allowed[t]]), allowed[t]


@pytest.fixture
def counts(monkeypatch):
    """Few points are many, so that nothing but counts is read."""
    monkeypatch.setattr(second_order, "TRIPLE_POINTS", 0)


@pytest.mark.parametrize("tiers", TIERS.values(), ids=TIERS)
@pytest.mark.parametrize("points", [0, 64], ids=["counts", "a table"])
def test_terms_are_those_of_enumeration(tiers, points, monkeypatch):
    monkeypatch.setattr(second_order, "TRIPLE_POINTS", points)
    rng = np.random.default_rng(1)
    known = known_of([summing(rng, rng.integers(1, 5)) for _ in range(600)], tiers)
    law = fit_second_order(known)
    assert law.pairs is not None
    assert law.pairs.rest.min() < 0.9
    release = perturb(known.fit.take(np.arange(8)), known.mechanism, tiers, rng)
    for block in law.terms(known, release):
        for position, context in zip(block.positions, block.context, strict=True):
            document = np.searchsorted(release.offsets, position, side="right") - 1
            mine = slice(*release.offsets[document : document + 2])
            shown = release.position_tiers[mine]
            told, points = enumerated(law, known, release.outputs[mine], shown, position - mine.start)
            gap = context[points] - told
            np.testing.assert_allclose(gap, gap[0], atol=1e-10)


def test_pairs_that_say_more_than_their_second_value_are_kept(counts):
    rng = np.random.default_rng(0)
    found = fit_second_order(known_of([summing(rng, 6) for _ in range(400)], TIERS["one tier"]))
    assert len(found.pairs.a) == 25
    following = found.pairs.own.toarray().argmax(axis=1)
    assert (following == (found.pairs.a + found.pairs.b) % 5).all()


@pytest.mark.parametrize("length", [1, 2, 6])
def test_a_chain_of_first_order_says_nothing_here(length, counts):
    """Whoever follows needs no pairs, so nothing is said twice, and lone positions hear nothing."""
    rng = np.random.default_rng(2)
    moves = [np.where(rng.random(length) < 0.7, 1, rng.integers(5, size=length)) for _ in range(200)]
    known = known_of([(rng.integers(5) + np.cumsum(each)) % 5 for each in moves], TIERS["one tier"])
    found = fit_second_order(known)
    assert found.pairs is None
    release = perturb(known.fit, known.mechanism, known.tiers, rng)
    assert not any(block.context.any() for block in found.terms(known, release))


def test_pairs_seen_once_have_no_law_of_their_own(counts):
    found = fit_second_order(known_of([[0, 1, 2], [3, 4, 0], [1, 3]], TIERS["one tier"]))
    assert found.pairs is None


def test_a_gain_that_is_not_worth_reading_is_left(counts):
    rng = np.random.default_rng(0)
    known = known_of([summing(rng, 6) for _ in range(400)], TIERS["one tier"])
    assert fit_second_order(known, 0.5).pairs is not None
    assert fit_second_order(known, 2.0).pairs is None  # log 5 is all that there is to tell


def test_a_table_reads_what_neither_neighbour_tells_alone():
    rng = np.random.default_rng(3)
    *_, steps = second_order.smoothed_steps(known_of([summing(rng, 6) for _ in range(800)], TIERS["one tier"]))
    np.testing.assert_allclose(steps.sum(axis=2), 1.0)
    a, b = np.meshgrid(np.arange(5), np.arange(5), indexing="ij")
    assert steps[a, b, (a + b) % 5].min() > 0.8

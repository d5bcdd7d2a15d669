"""Dense laws of documents against enumeration of all documents, on laws small enough for it.

Lifts: few counts say little about a rare value, many counts are believed, and laws stay laws.
"""

from itertools import pairwise, product

import numpy as np
import pytest
from studies.place_worlds import routes as hidden_routes
from studies.world_laws import SecondOrder

from oddshift.attackers import chain_laws
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain_laws import PlaceClasses, RegimeChains, fit_chain, fit_classes, fit_regimes, lifted_laws
from oddshift.attackers.law_attacker import Dense, LawAttacker, length_batches
from oddshift.audit.scan import Budget, scan
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import gather, ring, two_tiers

K, LENGTH = 3, 4
RNG = np.random.default_rng(0)


def rows(*shape):
    return RNG.dirichlet(np.ones(K), size=shape)


FIRST, STEP, THIRD = rows(), rows(K), rows(K, K)
REGIMES = RegimeChains(np.array([0.3, 0.7]), rows(2), rows(2, K))
CLASSES = PlaceClasses(np.array([0.4, 0.6]), rows(2, LENGTH))
ORDER_2 = SecondOrder(FIRST, STEP, THIRD)


def of_regimes(x):
    return sum(
        share * first[x[0]] * np.prod([step[a, b] for a, b in pairwise(x)])
        for share, first, step in zip(REGIMES.shares, REGIMES.first, REGIMES.steps, strict=True)
    )


def of_classes(x):
    return sum(
        s * np.prod([law[t, v] for t, v in enumerate(x)]) for s, law in zip(CLASSES.shares, CLASSES.laws, strict=True)
    )


def of_second_order(x):
    return FIRST[x[0]] * STEP[x[0], x[1]] * np.prod([THIRD[x[t - 1], x[t - 2], x[t]] for t in range(2, LENGTH)])


LAWS = {"regimes": (REGIMES, of_regimes), "classes": (CLASSES, of_classes), "second": (ORDER_2, of_second_order)}


def enumerated(probability, seen):
    """Σ over all documents of probability x likelihood of the other positions, for every position and value."""
    found = np.zeros(seen.shape)
    for x in product(range(K), repeat=LENGTH):
        for t in range(LENGTH):
            others = np.prod([seen[s, x[s]] for s in range(LENGTH) if s != t])
            found[t, x[t]] += probability(x) * others
    return np.log(found)


@pytest.mark.parametrize("name", LAWS)
def test_messages_are_those_of_enumeration(name):
    law, probability = LAWS[name]
    seen = np.random.default_rng(1).random((5, LENGTH, K))
    found = law.messages(seen)
    for document, likelihood in zip(found, seen, strict=True):
        gap = document - enumerated(probability, likelihood)
        np.testing.assert_allclose(gap, np.broadcast_to(gap[:, :1], gap.shape), atol=1e-12)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("length", [1, 2])
def test_short_documents_are_read_too(name, length):
    found = LAWS[name][0].messages(np.random.default_rng(1).random((2, length, K)))
    assert found.shape == (2, length, K)
    assert np.isfinite(found).all()


def test_impossible_likelihoods_leave_messages_finite():
    seen = np.zeros((1, LENGTH, K))
    seen[:, :, 0] = 1e-320
    for law, _ in LAWS.values():
        assert np.isfinite(law.messages(seen)).all()


def test_a_dense_law_conditions_on_public_tiers():
    """With tiers known, c is the ratio of the restricted sums, and the prior the restricted law."""
    space = Space(np.arange(4.0)[:, None])
    tiers = two_tiers(words=4)
    em, records = Exponential(space, 1.0), Records.from_documents(space, [[0, 2], [3, 1]])
    known = knowledge(em, tiers, records)
    step = np.random.default_rng(2).dirichlet(np.ones(4), size=4)
    first = np.array([0.1, 0.2, 0.3, 0.4])
    release = perturb(records, em, tiers, np.random.default_rng(0))
    attacker = LawAttacker(known, Dense(RegimeChains(np.ones(1), first[None], step[None])), "chain")
    shift, prior = gather(attacker, release)
    own = em.log_columns(release.outputs)
    seen = np.exp(own[1])
    odds = (shift - own)[0, 0] - (shift - own)[0, 1]
    # position 0 of the first document is of tier 0, its neighbour of tier 1
    ratio = [sum(step[x, b] * seen[b] for b in (2, 3)) / sum(step[x, b] for b in (2, 3)) for x in (0, 1)]
    assert odds == pytest.approx(np.log(ratio[0] / ratio[1]))
    assert np.isneginf(prior[0, 2:]).all()
    law = [first[x] * (step[x, 2] + step[x, 3]) for x in (0, 1)]
    assert np.exp(prior[0, 0] - prior[0, 1]) == pytest.approx(law[0] / law[1])


def test_batches_hold_whole_documents_of_one_length():
    world = ring(length=None, documents=40, tiers=two_tiers())
    seen = []
    for positions in length_batches(world.release, width=8, entries=100):
        assert positions.size * 8 <= 100 or len(positions) == 1
        assert (np.diff(positions, axis=1) == 1).all()
        seen.extend(positions.ravel())
    assert sorted(seen) == list(range(len(world.release.outputs)))


def documents_of(draw, n, seed=0):
    rng = np.random.default_rng(seed)
    space = Space(np.random.default_rng(9).normal(size=(8, 2)))
    records = Records.from_documents(space, [draw(rng) for _ in range(n)])
    return knowledge(Exponential(space, 2.0), one_tier(space), records)


def test_a_chain_is_estimated():
    def draw(rng):
        values = [int(rng.integers(8))]
        for _ in range(4):
            values.append(int((values[-1] + 3) % 8 if rng.random() < 0.8 else rng.integers(8)))
        return values

    step = fit_chain(documents_of(draw, 2_000)).steps[0]
    np.testing.assert_allclose(step.sum(axis=1), 1.0)
    np.testing.assert_allclose(step[np.arange(8), (np.arange(8) + 3) % 8], 0.825, atol=0.04)


def test_near_points_stand_in_for_a_point_that_was_never_seen():
    """A walk on a line in which point 4 never occurs as a context: its row is that of its neighbours, moved along."""
    space = Space(np.arange(9.0)[:, None])
    walks = [[k, k + 1] for k in range(8) if k != 4] * 20
    known = knowledge(Exponential(space, 1.0), one_tier(space), Records.from_documents(space, walks))
    row = fit_chain(known).steps[0, 4]
    assert set(np.argsort(row)[-2:]) <= {3, 4, 5, 6}
    assert row[[3, 4, 5, 6]].sum() > 0.9


def test_regimes_are_told_apart_by_the_other_transitions():
    """One regime goes up, the other down: a single chain cannot say which, a mixture can."""

    def draw(rng):
        start, way = int(rng.integers(8)), int(rng.choice([1, -1]))
        return [(start + way * t) % 8 for t in range(5)]

    found = fit_regimes(documents_of(draw, 600), np.random.default_rng(0))
    assert len(found.shares) >= 2
    seen = np.full((1, 5, 8), 1.0)
    seen[0, [0, 1, 2], [2, 3, 4]] = 50.0  # 2, 3, 4, then nothing is seen
    assert found.messages(seen)[0, 4].argmax() == 6


def test_places_have_laws_of_their_own():
    def draw(rng):
        return [[0, 1, 2, 3], [4, 5, 6, 7]][int(rng.integers(2))]

    found = fit_classes(documents_of(draw, 300), np.random.default_rng(0))
    seen = np.ones((1, 4, 8))
    seen[0, 0, 4] = 50.0
    assert [int(row.argmax()) for row in found.messages(seen)[0, 1:]] == [5, 6, 7]


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

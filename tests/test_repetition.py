"""Copies and reuse: the pair formula against enumeration, what is counted, and the terms by a loop."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import REUSED, Copies, Reuse, equal_again, fit_copies
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import gather, ring, two_tiers

SPACE = Space(np.random.default_rng(0).normal(size=(20, 2)))
EM = Exponential(SPACE, 4.0)


def known_from(documents, tiers=None):
    return knowledge(EM, one_tier(SPACE) if tiers is None else tiers, Records.from_documents(SPACE, documents))


@pytest.mark.parametrize("excess", [0.6, 0.0, -1.0])
def test_two_positions_are_exact(excess):
    """Enumeration of the pair law: X_2 = X_1 with probability e(x), otherwise any other value by its frequency."""
    known = known_from([list(range(20)) * 3])
    law = np.exp(known.log_prior)
    release = perturb(Records.from_documents(SPACE, [[3, 7]]), EM, known.tiers, np.random.default_rng(0))
    found, own = (
        gather(a, release)[0] for a in (LawAttacker(known, Copies(np.full((1, 5), excess)), "copies"), Own(known))
    )
    e, seen = equal_again(law, excess), np.exp(own[1])
    given = np.diag(e) + (1 - np.eye(20)) * ((1 - e) / (1 - law))[:, None] * law
    np.testing.assert_allclose(given.sum(axis=1), 1.0)
    expected = np.log(given @ seen)
    gap = (found - own)[0] - expected
    np.testing.assert_allclose(gap, gap[0], atol=1e-9)


def test_the_excess_is_counted_by_distance():
    """Distance 1 never equal, distance 2 always."""
    rng = np.random.default_rng(0)
    documents = [[a, b, a] for a, b in (rng.choice(20, size=2, replace=False) for _ in range(500))]
    excess = fit_copies(known_from(documents)).excess[0]
    assert excess[0] < -0.85
    assert excess[1] > 0.95
    assert abs(excess[2]) < 1e-9  # nothing was seen that far apart


def test_tiers_are_counted_each_for_itself():
    tiers = two_tiers(words=20)
    rng = np.random.default_rng(0)
    documents = [[a, a, *rng.integers(10, 20, size=2)] for a in rng.integers(10, size=300)]
    excess = fit_copies(known_from(documents, tiers)).excess
    assert excess[0, 0] > 0.9
    assert abs(excess[1, 0]) < 0.3


@pytest.mark.parametrize("is_public", [True, False])
def test_terms_are_sums_over_pairs_of_one_candidate_set(is_public):
    """The formula of the file, pair by pair, with another excess for every tier and distance."""
    tiers = two_tiers(words=20, is_public=is_public)
    rng = np.random.default_rng(0)
    known = known_from([rng.integers(20, size=6).tolist() for _ in range(30)], tiers)
    excess = rng.uniform(-0.9, 0.9, size=(2 if is_public else 1, 5))
    fresh = Records.from_documents(SPACE, [rng.integers(20, size=n).tolist() for n in (11, 1, 5, 0, 2)])
    release = perturb(fresh, EM, tiers, rng)
    own = gather(Own(known), release)[0]
    expected = own.copy()
    for start, stop in zip(release.offsets[:-1], release.offsets[1:], strict=True):
        for here in range(start, stop):
            for there in range(start, stop):
                label = tiers.labels[fresh.points[here]]
                if here == there or (is_public and label != tiers.labels[fresh.points[there]]):
                    continue
                mine = tiers.labels == label if is_public else np.full(20, True)
                law = np.exp(known.log_prior) * mine / np.exp(known.log_prior)[mine].sum()
                ratio = np.exp(own[there]) / (np.exp(own[there]) @ law)
                number = np.flatnonzero(abs(here - there) >= np.array([1, 2, 3, 4, 8]))[-1]
                e = equal_again(law, excess[label if is_public else 0, number])
                term = np.log(e * ratio + (1 - e) * (1 - law * ratio) / (1 - law))
                expected[here, mine] += term[mine]
    found = gather(LawAttacker(known, Copies(excess), "copies"), release)[0]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_the_term_is_that_of_a_loop(tiers):
    world = ring(documents=60, length=0, tiers=tiers)
    known, release = world.known, world.release
    labels = release.position_tiers
    document = np.repeat(np.arange(len(release)), release.lengths)
    seen = 0
    for block in Reuse().terms(known, release):
        law = np.exp(known.log_prior[block.points])
        law /= law.sum()
        columns = np.exp(known.mechanism.log_matrix[block.points][:, release.outputs])
        ratio = columns / (law @ columns)
        for row, position in enumerate(block.positions):
            others = [
                s
                for s in np.flatnonzero(document == document[position])
                if s != position and (labels is None or labels[s] == labels[position])
            ]
            mean = np.mean([ratio[:, s] for s in others], axis=0) if others else np.ones(len(law))
            np.testing.assert_allclose(block.context[row], np.log(1 - REUSED + REUSED * mean), atol=1e-12)
            seen += 1
    assert seen == len(release.outputs)

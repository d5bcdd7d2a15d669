"""The co-occurrence attacker against its formula written out, and against what it should find.

Copies and reuse: the pair formula against enumeration, what is counted, and the terms by a loop.
"""

import numpy as np
import pytest

from oddshift.attackers import cooccurrence
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import (
    REUSED,
    Copies,
    Reuse,
    document_blocks,
    equal_again,
    fit_cooccurrence,
    fit_copies,
)
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import gather, ring, two_tiers


def slow_terms(world):
    """The formula, position by position, with dense counts."""
    known, release = world.known, world.release
    size = len(known.log_prior)
    counts = np.zeros((size, size))
    for document in known.fit.documents:
        for s, a in enumerate(document):
            for t, b in enumerate(document):
                counts[a, b] += s != t
    result = np.zeros((len(release.outputs), size))
    for low, high in zip(release.offsets[:-1], release.offsets[1:], strict=True):
        for place in range(low, high):
            for other in set(range(low, high)) - {place}:
                allowed = np.ones(size, dtype=bool)
                if release.position_tiers is not None:
                    allowed = known.tiers.labels == release.position_tiers[other]
                likelihood = np.exp(known.mechanism.log_matrix[:, release.outputs[other]]) * allowed
                inside, prior = counts * allowed, np.exp(known.log_prior) * allowed
                seen, kinds = inside.sum(axis=1), (inside > 0).sum(axis=1)
                weight = np.where(seen > 0, seen / np.maximum(seen + kinds, 1), 0.0)
                law = inside / np.maximum(seen, 1)[:, None]
                ratio = (law @ likelihood) / (prior @ likelihood / prior.sum())
                result[place] += np.log(1 - weight + weight * ratio)
            result[place] /= np.sqrt(max(high - low - 1, 1))
    return result


@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_it_is_the_formula(tiers):
    world = ring(documents=40, length=None, tiers=tiers)
    attacker = fit_cooccurrence(world.known)
    expected = slow_terms(world)
    for block in attacker.terms(world.release):
        at = np.ix_(block.positions, block.points)
        np.testing.assert_allclose(block.context, expected[at], atol=1e-12)


def test_a_word_never_seen_in_company_learns_nothing():
    space = Space(np.eye(4))
    known = knowledge(
        Exponential(space, 2.0), one_tier(space), Records.from_documents(space, [[0, 1], [1, 0], [2], [3]])
    )
    release = perturb(Records.from_documents(space, [[0, 1]]), known.mechanism, known.tiers, np.random.default_rng(0))
    (block,) = fit_cooccurrence(known).terms(release)
    assert (block.context[:, 2:] == 0).all()
    assert (block.context[:, :2] != 0).all()


def test_blocks_hold_whole_documents():
    release = ring(documents=50, length=None).release
    blocks = list(document_blocks(release, 10, entries=60))
    assert [b.start for b in blocks[1:]] == [b.stop for b in blocks[:-1]]
    assert blocks[0].start == 0
    assert blocks[-1].stop == len(release)
    assert all(len(b) == 1 or release.offsets[b.stop] - release.offsets[b.start] <= 6 for b in blocks)


@pytest.mark.parametrize("entries", [0, 64_000_000])
@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_what_is_prepared_for_a_release_gives_the_terms_of_its_blocks(tiers, entries, monkeypatch):
    """Blocks of a few documents, evidence of a few outputs at a time, kept for the release or not."""
    monkeypatch.setattr(cooccurrence, "KEPT_EVIDENCE", entries)
    monkeypatch.setattr(cooccurrence, "_TOGETHER", 3)
    world = ring(documents=40, length=None, tiers=tiers)
    attacker = fit_cooccurrence(world.known)
    expected = slow_terms(world)
    prepared = attacker.prepared(world.release)
    assert (prepared.law.kept is None) == (entries == 0)
    for documents in (np.arange(0, 15), np.arange(15, 40)):
        first = world.release.offsets[documents[0]]
        for block in prepared.terms(world.release.take(documents)):
            at = np.ix_(first + block.positions, block.points)
            np.testing.assert_allclose(block.context, expected[at], atol=1e-12)


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

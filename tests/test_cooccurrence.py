"""The co-occurrence attacker against its formula written out, and against what it should find."""

import numpy as np
import pytest

from oddshift.attackers import cooccurrence
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.cooccurrence import document_blocks, fit_cooccurrence
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import ring, two_tiers


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

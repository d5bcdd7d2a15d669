"""Spacing and the chain keyed by it."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain import UNKNOWN, fit_gap_chain, gap_classes
from oddshift.mechanisms import Exponential
from oddshift.model.records import Context, Records, offsets_of
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import World, gather, log_score

SPACE = Space(np.random.default_rng(0).normal(size=(6, 2)))


def spaced(documents, gaps):
    """Documents whose secrets stand so many tokens apart; a single word, "of", fills the rest."""
    tokens, lengths = [], []
    for document, apart in zip(documents, gaps, strict=True):
        row = [-1] * bool(len(document))
        for gap in apart:
            row += [0] * (gap - 1) + [-1]
        tokens += row
        lengths.append(len(row))
    context = Context(
        tokens=np.array(tokens, dtype=np.int64),
        offsets=offsets_of(lengths),
        symbols=("of",),
        breaks=np.zeros(len(tokens), dtype=np.bool_),
    )
    return Records.from_documents(SPACE, documents, context=context)


def test_gaps_by_hand():
    records = spaced([[0, 1, 2, 3, 4], [], [5], [1, 2]], [[1, 2, 3, 4], [], [], [9]])
    assert gap_classes(records).tolist() == [UNKNOWN, 0, 1, 1, 2, UNKNOWN, UNKNOWN, 2]


def test_masked_words_count_as_tokens():
    context = Context(
        tokens=np.array([-1, -2, -1]), offsets=np.array([0, 3]), symbols=(), breaks=np.zeros(3, dtype=np.bool_)
    )
    assert gap_classes(Records.from_documents(SPACE, [[0, 1]], context=context)).tolist() == [UNKNOWN, 1]


def test_no_secret_has_no_gap():
    context = Context(
        tokens=np.array([0]), offsets=np.array([0, 1]), symbols=("a",), breaks=np.zeros(1, dtype=np.bool_)
    )
    assert len(gap_classes(Records.from_documents(SPACE, [[]], context=context))) == 0


def by_gap(n, seed):
    """Adjacent secrets follow each other, distant ones are independent."""
    rng = np.random.default_rng(seed)
    documents, gaps = [], []
    for _ in range(n):
        values, apart = [int(rng.integers(6))], []
        for _ in range(3):
            near = rng.random() < 0.5
            apart.append(1 if near else 6)
            values.append((values[-1] + 1) % 6 if near and rng.random() < 0.95 else int(rng.integers(6)))
        documents.append(values)
        gaps.append(apart)
    return spaced(documents, gaps)


@pytest.fixture(scope="module")
def world():
    em, tiers, fresh = Exponential(SPACE, 1.0), one_tier(SPACE), by_gap(300, 2)
    return World(knowledge(em, tiers, by_gap(800, 1)), fresh, perturb(fresh, em, tiers, np.random.default_rng(3)))


def test_steps_differ_by_gap(world):
    chain = fit_gap_chain(world.known).law.chain
    follow = [float(law.own[[0], [1]][0]) for law in chain.laws]
    assert follow[0] > 0.85
    assert follow[2] < 0.3
    assert follow[2] < follow[UNKNOWN] < follow[0]


def test_every_row_is_a_law(world):
    for law in fit_gap_chain(world.known).law.chain.laws:
        assert law.own.min() >= 0
        assert law.rest.min() >= 0
        np.testing.assert_allclose(np.asarray(law.own.sum(axis=1)).ravel() + law.rest[:, 0], 1.0)


def test_spacing_tells_more_than_order_alone(world):
    chain = fit_gap_chain(world.known)
    blind = World(world.known, world.secrets, world.release.without_context())
    assert log_score(chain, world) < log_score(chain, blind) - 0.02


def test_records_without_spacing_give_one_step_for_all_gaps(world):
    bare = knowledge(world.known.mechanism, world.known.tiers, Records.from_documents(SPACE, world.known.fit.documents))
    chain = fit_gap_chain(bare)
    with_gaps, without = (gather(chain, release)[0] for release in (world.release, world.release.without_context()))
    np.testing.assert_array_equal(with_gaps, without)

"""Topic shares: folding in leaves the position itself out, and long-range dependence is found."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.topics import STRENGTH, fit_topic_shares, fold_in
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import World

SPACE = Space(np.random.default_rng(0).normal(size=(16, 3)))


def test_certain_topics_are_counted_by_hand():
    """Positions 1 and 2 are surely of topic 0: seen from position 0 its share is (s/2 + 2)/(s + 2)."""
    of_topic = np.array([[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]])
    shares = fold_in(of_topic, np.array([0.5, 0.5]))
    assert shares[0, 0, 0] == pytest.approx((STRENGTH / 2 + 2) / (STRENGTH + 2))
    assert shares[0, 1, 0] == pytest.approx((STRENGTH / 2 + 1) / (STRENGTH + 2))


def test_the_own_output_says_nothing_about_the_shares():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 1, 4, 3))
    other[:, 1:] = one[:, 1:]
    shares = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(fold_in(one, shares)[:, 0], fold_in(other, shares)[:, 0])
    assert np.abs(fold_in(one, shares)[:, 1] - fold_in(other, shares)[:, 1]).max() > 1e-3


def world(seed=0):
    rng = np.random.default_rng(seed)
    em, tiers = Exponential(SPACE, 2.5), one_tier(SPACE)

    def draw(n):
        return Records.from_documents(SPACE, [8 * int(rng.integers(2)) + rng.integers(8, size=6) for _ in range(n)])

    fit, fresh = draw(400), draw(200)
    return World(knowledge(em, tiers, fit), fresh, perturb(fresh, em, tiers, rng))


def test_laws_are_laws():
    found = fit_topic_shares(world().known, np.random.default_rng(0))
    np.testing.assert_allclose(found.laws.sum(axis=2), 1.0)
    assert found.shares.sum() == pytest.approx(1.0)

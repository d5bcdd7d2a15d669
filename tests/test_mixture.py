"""Mixtures of kinds: likelihood by hand, recovery of what was mixed, and one kind where there is one."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from oddshift.attackers import hidden_classes
from oddshift.attackers.hidden_classes import Bags, Mixture, bags_of, choose_mixture, one_kind


def bags(values, groups, size):
    """One observation of every group for each document."""
    n = len(values)
    columns = (np.arange(groups) * size + values).ravel()
    return csr_array((np.ones(columns.size), (np.repeat(np.arange(n), groups), columns)), shape=(n, groups * size))


def test_likelihood_and_membership_by_hand():
    mixture = Mixture(np.array([0.25, 0.75]), np.array([[[0.5, 0.5]], [[0.1, 0.9]]]))
    belongs, score = mixture.belongs(bags(np.array([[0], [1]]), 1, 2))
    np.testing.assert_allclose(np.exp(score), [0.25 * 0.5 + 0.75 * 0.1, 0.25 * 0.5 + 0.75 * 0.9])
    assert belongs[0, 0] == pytest.approx(0.125 / 0.2)


def test_vague_membership_is_a_power_of_the_sharp_one():
    mixture = Mixture(np.array([0.25, 0.75]), np.array([[[0.5, 0.5]], [[0.1, 0.9]]]))
    features = bags(np.array([[0], [1]]), 1, 2)
    powers = mixture.belongs(features)[0] ** 0.4
    np.testing.assert_allclose(mixture.vaguely_belongs(features, 0.4), powers / powers.sum(axis=1, keepdims=True))


def test_what_was_mixed_is_recovered():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.full(6, 0.2), size=(3, 5))
    kind = rng.integers(3, size=900)
    values = np.array([[rng.choice(6, p=laws[k, g]) for g in range(5)] for k in kind])
    features = bags(values, 5, 6)
    base = np.asarray(features.sum(axis=0)).reshape(5, 6) + 1.0
    base /= base.sum(axis=1, keepdims=True)
    found = choose_mixture(features, base, np.arange(900), np.random.default_rng(1))
    truth = Mixture(np.full(3, 1 / 3), np.maximum(laws, 1e-9))
    assert len(found.shares) >= 3
    assert found.log_likelihood(features).mean() > truth.log_likelihood(features).mean() - 0.1
    np.testing.assert_allclose(found.laws.sum(axis=2), 1.0)


def test_documents_of_one_kind_stay_one_kind():
    values = np.random.default_rng(0).integers(4, size=(300, 3))
    base = np.full((3, 4), 0.25)
    assert len(choose_mixture(bags(values, 3, 4), base, np.arange(300), np.random.default_rng(0)).shares) == 1


def test_few_documents_are_not_split():
    values, base = np.zeros((5, 2), int), np.full((2, 3), 1 / 3)
    found = choose_mixture(bags(values, 2, 3), base, np.arange(5), np.random.default_rng(0))
    np.testing.assert_array_equal(found.laws, one_kind(base).laws)


def test_more_steps_never_lower_the_likelihood():
    rng = np.random.default_rng(0)
    features, base = bags(rng.integers(4, size=(200, 3)), 3, 4), np.full((3, 4), 0.25)
    found_bags = bags_of(features, base)
    _, found = hidden_classes._run(found_bags, 4, 0.01, np.random.default_rng(0))
    plain = one_kind(found_bags.base).log_likelihood(found_bags.features).sum()
    assert found.log_likelihood(found_bags.features).sum() >= plain


def test_only_features_that_occur_are_estimated():
    """Laws of those that do are counts over the base, whatever the others are."""
    features, base = bags(np.array([[0, 2], [0, 1], [2, 1]]), 2, 4), np.full((2, 4), 0.25)
    found = bags_of(features, base)
    assert isinstance(found, Bags)
    assert (found.features.shape, found.starts.tolist(), found.group.tolist()) == ((3, 4), [0, 2], [0, 0, 1, 1])
    made = found.maximise(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 2.0)
    np.testing.assert_allclose(made.laws[0], np.array([2 + 0.5, 0.5, 1 + 0.5, 1 + 0.5]) / 4)
    np.testing.assert_allclose(made.laws[1], np.array([0.5, 1 + 0.5, 1 + 0.5, 0.5]) / 3)
    np.testing.assert_allclose(made.shares, [3 / 5, 2 / 5])

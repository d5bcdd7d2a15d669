"""Weights of sparse terms: the same score and gradient as with dense terms."""

import numpy as np
import pytest
from scipy.sparse import random_array

from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.sparse_law import sparse_terms
from oddshift.attackers.term_weights import ContextTerms, likeliest_weights


@pytest.fixture
def both():
    """The same terms kept in both ways: 40 positions, 12 points of which the last is impossible.

    log π is the first of the dense terms.
    """
    rng = np.random.default_rng(0)
    law, truth = np.append(rng.dirichlet(np.ones(11)), 0.0), rng.integers(0, 11, 40)
    terms = [random_array((40, 12), density=d, rng=rng, format="csr") for d in (0.1, 0.4)]
    all_terms = (np.tile(np.log(law + (law == 0)), (40, 1)), *(term.toarray() for term in terms))
    dense = ContextTerms(np.tile(np.where(law > 0, 0.0, -np.inf), (40, 1)), all_terms, truth, Units(np.arange(40), 40))
    return sparse_terms(terms, law, truth), dense


@pytest.mark.parametrize(
    "weights", [(1.0, 0.0, 0.0), (1.0, 1.0, 0.5), (0.4, 0.2, 2.0), (0.0, 30.0, 0.0), (800.0, 900.0, 0.0)]
)
def test_score_and_gradient_are_those_of_dense_terms(both, weights):
    (found, slope), (expected, dense_slope) = (each.loss(np.array(weights)) for each in both)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope, dense_slope, atol=1e-12)


def test_the_best_weights_are_the_same(both):
    sparse, dense = both
    start = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(likeliest_weights(sparse, start), likeliest_weights(dense, start), atol=1e-4)


def test_a_law_that_is_too_steep_is_flattened():
    """Truths are uniform and no term tells anything: π^γ is best at γ = 0."""
    from scipy.sparse import csr_array

    held = sparse_terms([csr_array((500, 5))], np.array([0.6, 0.1, 0.1, 0.1, 0.1]), np.arange(500) % 5)
    assert likeliest_weights(held, np.array([1.0, 0.0]))[0] == pytest.approx(0.0, abs=1e-3)

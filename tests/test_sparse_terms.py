"""Weights of sparse terms: the same score and gradient as with dense terms."""

import numpy as np
import pytest
from scipy.sparse import random_array

from oddshift.attackers.combination import ContextTerms, likeliest_weights
from oddshift.attackers.gains import Units
from oddshift.attackers.sparse_terms import sparse_terms
from oddshift.base.logarithms import log


@pytest.fixture
def both():
    """The same terms kept in both ways: 40 positions, 12 points, and a point of probability 0 that is never true."""
    rng = np.random.default_rng(0)
    law = np.append(rng.dirichlet(np.ones(11)), 0.0)
    truth = rng.integers(0, 11, 40)
    terms = [random_array((40, 12), density=d, rng=rng, format="csr") for d in (0.1, 0.4)]
    dense = ContextTerms(
        np.tile(log(law), (40, 1)), tuple(term.toarray() for term in terms), truth, Units(np.arange(40), 40)
    )
    return sparse_terms(terms, law, truth), dense


@pytest.mark.parametrize("weights", [(0.0, 0.0), (1.0, 0.5), (30.0, 0.0)])
def test_score_and_gradient_are_those_of_dense_terms(both, weights):
    (found, slope), (expected, dense_slope) = (each.loss(np.array(weights)) for each in both)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope, dense_slope, atol=1e-12)


def test_the_best_weights_are_the_same(both):
    sparse, dense = both
    np.testing.assert_allclose(likeliest_weights(sparse), likeliest_weights(dense), atol=1e-4)

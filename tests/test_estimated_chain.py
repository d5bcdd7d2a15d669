"""Steps of an estimated chain: sparse bigrams and a rest of rank one are the dense matrix that they stand for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from oddshift.attackers.estimated_chain import ChainStep, EstimatedChain, totals
from oddshift.model.tiers import Tiers

POINTS = 7
BEFORE, AFTER = np.array([0, 2, 3, 6]), np.array([1, 2, 4, 5, 6])


def step(topics, seed=0):
    rng = np.random.default_rng(seed)
    bigram = rng.dirichlet(np.ones(POINTS), size=POINTS) * (rng.random((POINTS, POINTS)) < 0.4)
    laws = rng.dirichlet(np.ones(POINTS), size=topics)
    return ChainStep(csr_array(bigram), rng.random(POINTS), laws, laws)


@pytest.mark.parametrize("documents", [1, 3])
@pytest.mark.parametrize("topics", [1, 4])
def test_a_step_is_its_dense_matrix(topics, documents):
    """T(a, b) = λ(a)·bigram(a → b) + (1 − λ(a))·topic(b), one document at a time or several."""
    made = step(topics)
    cut, rng = made.between(BEFORE, AFTER), np.random.default_rng(1)
    rows = made.weight[:, None] * made.bigram.toarray()
    dense = np.stack([(rows + (1.0 - made.weight)[:, None] * law)[np.ix_(BEFORE, AFTER)] for law in made.topics])
    left, right = (rng.random((topics, documents, len(points))) for points in (BEFORE, AFTER))
    np.testing.assert_allclose(cut.ahead(left), np.einsum("kda,kab->kdb", left, dense), atol=1e-14)
    np.testing.assert_allclose(cut.back(right), np.einsum("kab,kdb->kda", dense, right), atol=1e-14)


def test_the_first_law_is_that_of_the_candidates_and_is_cut_once():
    chain = EstimatedChain(np.full(2, 0.5), (step(2), step(2, seed=1)))
    cut = chain.over(Tiers([0, 1, 0, 0, 1, 1, 0], names=("a", "b"), scales=(1.0, 1.0), is_public=True), 1)
    assert cut.first(1)[:, 0].tolist() == chain.steps[1].first[:, [1, 4, 5]].tolist()
    assert cut.first(1) is cut.first(1)


def test_totals_add_up_candidates():
    mass = np.random.default_rng(2).random((5, 3))
    np.testing.assert_allclose(totals(mass), mass.sum(axis=0), atol=1e-15)

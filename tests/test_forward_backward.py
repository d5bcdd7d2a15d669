"""Forward-backward against enumeration of every sequence, for each arithmetic and kind of transition."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from oddshift.attackers.estimated_chain import EstimatedChain, PatternSteps, totals
from oddshift.attackers.sparse_law import SparseLaw
from oddshift.leakage.forward_backward import LOGARITHMS, DenseSteps, LogSteps, both_sides, forward
from oddshift.model.tiers import Tiers

K, LENGTH = 4, 5


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    first = rng.dirichlet(np.ones(K))
    transitions = rng.dirichlet(np.ones(K), size=(LENGTH - 1, K))
    seen = [rng.random(K) for _ in range(LENGTH)]
    return first, transitions, seen


def enumerated(first, transitions, seen, *, without):
    """Σ over all sequences of their probability and the likelihood of every output but one, by value at that place."""
    total = np.zeros(len(first))
    for values in product(range(len(first)), repeat=len(seen)):
        weight = first[values[0]] * np.prod([transitions[t][values[t], values[t + 1]] for t in range(len(seen) - 1)])
        weight *= np.prod([seen[t][values[t]] for t in range(len(seen)) if t != without])
        total[values[without]] += weight
    return total


def together(left, right):
    """Both messages of one row as numbers, what was divided out put back."""
    return left.values * right.values * np.exp(left.log_scale + right.log_scale)[..., None]


def test_scaled_messages_are_the_sums_over_all_sequences(chain):
    first, transitions, seen = chain
    for t, left, right in both_sides(first, seen, DenseSteps(transitions)):
        np.testing.assert_allclose(together(left, right), enumerated(first, transitions, seen, without=t), rtol=1e-12)
        assert left.values.max() <= 1.0


def test_logarithms_give_the_same(chain):
    first, transitions, seen = chain
    steps = LogSteps(transitions)
    for t, left, right in both_sides(np.log(first), [np.log(s) for s in seen], steps, LOGARITHMS):
        expected = enumerated(first, transitions, seen, without=t)
        np.testing.assert_allclose(np.exp(left.values + right.values), expected, rtol=1e-12)


def test_logarithms_reach_where_numbers_underflow():
    """A likelihood of e^−2000 that every sequence needs: the posterior is finite in logarithms."""
    steps, seen = LogSteps(np.array([[[0.9, 0.1], [0.1, 0.9]]])), [np.array([-2000.0, -np.inf]), np.zeros(2)]
    sides = {
        t: left.values + right.values for t, left, right in both_sides(np.log([0.5, 0.5]), seen, steps, LOGARITHMS)
    }
    np.testing.assert_allclose(sides[1], np.log(0.5) - 2000.0 + np.log([0.9, 0.1]), rtol=1e-12)


def test_positions_come_from_the_last_to_the_first_each_once(chain):
    first, transitions, seen = chain
    assert [t for t, _, _ in both_sides(first, seen, DenseSteps(transitions))] == [4, 3, 2, 1, 0]
    assert [t for t, _, _ in both_sides(first, seen[:1], DenseSteps(transitions[:0]))] == [0]


def test_a_batch_is_each_document_alone(chain):
    first, transitions, _ = chain
    seen = list(np.random.default_rng(1).random((LENGTH, 3, K)))
    batch = {
        t: together(left, right)
        for t, left, right in both_sides(np.broadcast_to(first, (3, K)), seen, DenseSteps(transitions))
    }
    for document in range(3):
        alone = [s[document] for s in seen]
        for t, left, right in both_sides(first, alone, DenseSteps(transitions)):
            np.testing.assert_allclose(batch[t][document], together(left, right), rtol=1e-12)


def test_a_forward_message_without_outputs_is_the_law_of_the_secret(chain):
    first, transitions, _ = chain
    nothing = [np.ones(K)] * LENGTH
    law = first
    for t, message in enumerate(forward(first, nothing, DenseSteps(transitions))):
        law = law @ transitions[t - 1] if t else law
        np.testing.assert_allclose(message.values / message.values.sum(), law, rtol=1e-12)


@pytest.mark.parametrize("documents", [1, 3, 6])
@pytest.mark.parametrize("pattern", [(0, 1), (1, 0), (0, 0)])
def test_sparse_steps_of_rank_one_are_the_dense_matrix_they_stand_for(documents, pattern):
    """own(a, b) + rest(a)·law(b), over the candidates of both positions alone."""
    rng = np.random.default_rng(2)
    own = rng.dirichlet(np.ones(K), size=K) * (rng.random((K, K)) < 0.7)
    law = SparseLaw(csr_array(own), rng.random((K, 2)), rng.dirichlet(np.ones(K)))
    tiers = Tiers([0, 1, 1, 0], names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    sparse = PatternSteps(EstimatedChain((law,), np.ones(K)).over(tiers), pattern)
    here, there = (np.flatnonzero(tiers.labels == tier) for tier in pattern)
    to_there, to_here = rng.random((documents, len(here))), rng.random((documents, len(there)))
    ahead, back = sparse.ahead(0, to_there), sparse.back(0, to_here)
    dense = (own + law.rest[:, pattern[1], None] * law.law)[np.ix_(here, there)]
    np.testing.assert_allclose(ahead, to_there @ dense, rtol=1e-12)
    np.testing.assert_allclose(back, to_here @ dense.T, rtol=1e-12)


def test_the_first_law_is_that_of_the_candidates_and_is_cut_once():
    first = np.random.default_rng(1).dirichlet(np.ones(7))
    law = SparseLaw(csr_array(np.eye(7)), np.zeros((7, 2)), first)
    tiers = Tiers([0, 1, 0, 0, 1, 1, 0], names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    cut = EstimatedChain((law,), first).over(tiers)
    assert cut.first(1)[0].tolist() == first[[1, 4, 5]].tolist()
    assert cut.first(1) is cut.first(1)


def test_totals_add_up_candidates():
    mass = np.random.default_rng(2).random((5, 3))
    np.testing.assert_allclose(totals(mass), mass.sum(axis=0), atol=1e-15)

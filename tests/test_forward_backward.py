"""Forward-backward against enumeration of every sequence, for each arithmetic and kind of transition."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

import oracles
from oddshift import Independent, InvalidInput, Joint, Markov, exact_leakage, log_posterior, most_likely
from oddshift.attackers.estimated_chain import EstimatedChain, PatternSteps, totals
from oddshift.attackers.sparse_law import SparseLaw
from oddshift.base.errors import ImpossibleObservation, TooLarge
from oddshift.base.logarithms import log
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


UNIT = [[0.0, 1.0], [1.0, 0.0]]
EM = np.log([[0.72, 0.28], [0.28, 0.72]])
TOY = Joint([[0.01, 0.49], [0.49, 0.01]])
CHAIN = Markov([0.5, 0.5], [[0.02, 0.98], [0.98, 0.02]], 2)


@pytest.mark.parametrize("prior", [TOY, CHAIN])
def test_the_toy_of_the_paper(prior):
    leak = exact_leakage(prior, [EM, EM], UNIT)
    assert leak.single == pytest.approx(0.944462, abs=1e-6)
    assert leak.joint == pytest.approx(1.845681, abs=1e-6)
    assert leak.rate(1.0) == pytest.approx(0.592928, abs=1e-9)
    (a, _), outputs = leak.witness
    assert outputs in {(0, 1), (1, 0)}
    assert oracles.posterior(TOY.table, [np.exp(EM)] * 2, outputs, 0)[a] == pytest.approx(0.863619, abs=1e-6)
    assert repr(leak) == "Leakage(single=0.944462, joint=1.845681)"


def test_alphabets_may_differ():
    prior = Joint(np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]]))
    channels = [np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])]
    logs = [np.log(c) for c in channels]
    for outputs in oracles.observations(channels):
        for t, got in enumerate(log_posterior(prior, logs, outputs)):
            assert np.exp(got) == pytest.approx(oracles.posterior(prior.table, channels, outputs, t))
    far = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=float)
    leak = exact_leakage(prior, logs, far, target=1)
    assert leak.joint == pytest.approx(oracles.largest(prior.table, channels, far, 1))
    for law in ("uniform", "anchored", "worst"):
        assert leak.rate(0.3, law) == pytest.approx(oracles.rate(prior.table, channels, far, 1, 0.3, law))


def test_independent_secrets_ignore_the_context():
    prior = Independent([[0.3, 0.7], [0.6, 0.4]])
    got = log_posterior(prior, [EM, EM], (0, 1))
    assert np.exp(got[0]) == pytest.approx(np.array([0.3 * 0.72, 0.7 * 0.28]) / (0.3 * 0.72 + 0.7 * 0.28))
    leak = exact_leakage(prior, [EM, EM], UNIT, target=1)
    assert leak.joint == leak.single


def test_masking_is_not_zero_leakage():
    masked, released = np.zeros((2, 1)), log([[1.0, 0.0], [0.0, 1.0]])
    leak = exact_leakage(Joint([[0.4, 0.1], [0.05, 0.45]]), [masked, released], UNIT)
    assert leak.single == 0.0
    assert leak.joint == pytest.approx(np.log(0.8 / 0.1))  # P(x_2 = 0 | 0)/P(x_2 = 0 | 1)


def test_excluded_values_are_infinite():
    copy = Joint([[0.5, 0.0], [0.0, 0.5]])
    leak = exact_leakage(copy, [EM, log([[1.0, 0.0], [0.0, 1.0]])], UNIT)
    assert leak.joint == np.inf
    assert leak.rate(100.0) == 1.0
    (a, b), outputs = leak.witness
    after = oracles.posterior(copy.table, [np.exp(EM), np.eye(2)], outputs, 0)
    assert {after[a], after[b]} == {0.0, 1.0}


def test_zero_probability_observations_raise():
    only_first = log([[1.0, 0.0], [1.0, 0.0]])
    for prior in (TOY, CHAIN, Independent([[0.5, 0.5]] * 2)):
        with pytest.raises(ImpossibleObservation, match="probability 0"):
            log_posterior(prior, [only_first, EM], (1, 0))
        with pytest.raises(ImpossibleObservation, match="probability 0"):
            most_likely(prior, [only_first, EM], (1, 0))
    copies = Markov([0.5, 0.5], np.eye(2), 2)
    with pytest.raises(ImpossibleObservation, match="probability 0"):
        log_posterior(copies, [log(np.eye(2)), log(np.eye(2))], (0, 1))


@pytest.mark.parametrize(
    ("matrices", "outputs", "message"),
    [
        ([EM], (0, 0), "1 log_matrices, expected 2, one for each position"),
        (None, (0, 0), "log_matrices is a NoneType, expected a sequence"),
        ([EM, EM], 0, "outputs is an int, expected a sequence"),
        ([EM, EM], (0,), "1 outputs, expected 2, one for each position"),
        ([EM, EM], (0, 2), r"outputs\[1\]=2, expected a whole number in \[0, 1\]"),
        ([EM, EM], (-1, 0), r"outputs\[0\]=-1, expected a whole number in \[0, 1\]"),
        ([EM, EM], (0.5, 0), r"outputs\[0\]=0\.5, expected a whole number in \[0, 1\]"),
        ([EM, EM], ([], 0), r"outputs\[0\]=\[\], expected a whole number"),
        ([EM, EM], ([0, 1], 0), r"outputs\[0\]=\[0, 1\], expected a whole number"),
        ([EM, np.zeros((3, 1))], (0, 0), r"log_matrices\[1\] has 3 rows, expected 2, one for each value"),
        ([EM, np.log([[0.5, 0.5], [0.5, 0.4]])], (0, 0), r"log_matrices\[1\] row 1 sums to 0.9, expected 1"),
        ([EM, [[np.nan, 0.0], [0.0, 0.0]]], (0, 0), r"log_matrices\[1\] has NaN"),
    ],
)
def test_refusals(matrices, outputs, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        log_posterior(TOY, matrices, outputs)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("distances", "target", "message"),
    [
        (UNIT, 2, r"target=2, expected a whole number in \[0, 1\]"),
        (UNIT, -1, "target=-1"),
        ([[0, 1], [2, 0]], 0, r"distances\[0, 1\] = 1.0 and \[1, 0\] = 2.0, expected symmetry"),
        (np.zeros((2, 2)), 0, "points 0 and 1 are at distance 0"),
        (np.zeros((3, 3)), 0, r"distances has shape \(3, 3\), expected \(2, 2\)"),
    ],
)
def test_leakage_refusals(distances, target, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        exact_leakage(TOY, [EM, EM], distances, target)
    assert "\n" not in str(caught.value)


def test_long_chains_have_posteriors_but_no_enumeration():
    chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 500)
    posteriors = log_posterior(chain, [EM] * 500, [0, 1] * 250)
    assert len(posteriors) == 500
    assert np.exp(posteriors[250]).sum() == pytest.approx(1.0)
    assert np.isfinite(np.concatenate(posteriors)).all()
    with pytest.raises(TooLarge, match="upper_bound works at any length"):
        exact_leakage(chain, [EM] * 500, UNIT)


def test_map_decoding_is_the_best_of_all():
    rng = np.random.default_rng(3)
    for _ in range(20):
        steps = rng.dirichlet(np.ones(3), (3, 3))
        chain = Markov(rng.dirichlet(np.ones(3)), steps, 4)
        channels = [rng.dirichlet(np.ones(2), 3) for _ in range(4)]
        outputs = tuple(rng.integers(0, 2, 4))
        best, weights = oracles.path(oracles.table_of(chain), channels, outputs)
        logs = [np.log(c) for c in channels]
        for prior in (chain, Joint(chain.joint_table())):
            assert weights[most_likely(prior, logs, outputs)] == pytest.approx(best)


def test_one_position_one_value():
    leak = exact_leakage(Joint([1.0]), [np.zeros((1, 1))], [[0.0]])
    assert (leak.single, leak.joint, leak.rate(1.0)) == (0.0, 0.0, 0.0)

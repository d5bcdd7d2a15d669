import numpy as np
import pytest

import oracles
from oddshift import Independent, InvalidInput, Joint, Markov, exact_leakage, log_posterior, most_likely
from oddshift.base.errors import ImpossibleObservation, TooLarge
from oddshift.base.logarithms import log

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

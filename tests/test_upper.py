""" """

import numpy as np
import pytest

import oracles
from oddshift import Independent, InvalidInput, Joint, Markov, exact_leakage, upper_bound
from oddshift.base.errors import TooLarge
from oddshift.base.logarithms import log
from oddshift.leakage.transport import bottleneck, log_lipschitz_ratio, soft_coupling
from oddshift.leakage.upper import METHODS

UNIT = [[0.0, 1.0], [1.0, 0.0]]
EM = np.log([[0.72, 0.28], [0.28, 0.72]])
TOY = Joint([[0.01, 0.49], [0.49, 0.01]])
SINGLE = np.log(0.72 / 0.28)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("lp", 1.845681),
        ("coupling", 1.876373),
        ("w_infinity", 2 * SINGLE),
        ("diameter", 2 * SINGLE),
        ("tv", SINGLE + np.log(1 + 0.96 * (0.72 / 0.28 - 1))),
        ("prior", SINGLE + np.log(49.0)),
    ],
)
def test_the_toy(method, expected):
    assert upper_bound(TOY, [EM, EM], UNIT, method=method) == pytest.approx(expected, abs=1e-6)


def test_hmm_on_the_toy_and_on_independent_secrets():
    chain = Markov([0.5, 0.5], [[0.02, 0.98], [0.98, 0.02]], 2)
    assert upper_bound(chain, [EM, EM], UNIT, method="hmm") == pytest.approx(1.845681, abs=1e-6)
    prior = Independent([[0.3, 0.7], [0.6, 0.4]])
    for method in METHODS:
        expected = 2 * SINGLE if method == "diameter" else SINGLE
        assert upper_bound(prior, [EM, EM], UNIT, method=method) == pytest.approx(expected, abs=1e-6)


def test_one_position_has_no_context():
    for method in METHODS:
        assert upper_bound(Markov([0.5, 0.5], np.eye(2), 1), [EM], UNIT, method=method) == pytest.approx(SINGLE)


def test_unbounded_contexts_are_infinite_only_where_they_matter():
    revealed = log(np.eye(2))
    assert upper_bound(TOY, [EM, revealed], UNIT, method="diameter") == np.inf
    assert upper_bound(TOY, [EM, revealed], UNIT, method="tv") == np.inf
    exact = exact_leakage(TOY, [EM, revealed], UNIT).joint
    for method in ("lp", "prior"):
        assert upper_bound(TOY, [EM, revealed], UNIT, method=method) == pytest.approx(exact)
    apart = Joint(np.outer([0.5, 0.5], [0.3, 0.7]))
    assert upper_bound(apart, [EM, revealed], UNIT, method="lp") == pytest.approx(SINGLE)


def test_hmm_works_at_any_length():
    chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 60)
    long = upper_bound(chain, [EM] * 60, UNIT, target=30, method="hmm")
    window = Markov(chain.marginals[20], chain.transitions[:20], 21)
    exact = exact_leakage(window, [EM] * 21, UNIT, target=10).joint
    assert exact <= long == pytest.approx(exact, abs=1e-2)
    with pytest.raises(TooLarge, match="method='hmm'"):
        upper_bound(chain, [EM] * 60, UNIT, target=30, method="lp")


def test_hmm_survives_likelihoods_beyond_the_range_of_floats():
    steep = np.array([[0.0, -900.0], [-900.0, 0.0]])
    chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 3)
    exact = exact_leakage(chain, [steep] * 3, UNIT).joint
    assert exact <= upper_bound(chain, [steep] * 3, UNIT, method="hmm") <= exact + 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "guess"}, "method='guess', expected one of coupling, diameter"),
        ({"target": 2}, r"target=2, expected a whole number in \[0, 1\]"),
        ({"method": "hmm"}, r"method='hmm' with Joint\(sizes=\(2, 2\)\), expected a Markov or Independent prior"),
        ({"distances": np.zeros((2, 2))}, "points 0 and 1 are at distance 0"),
        ({"log_matrices": [EM]}, "1 log_matrices, expected 2"),
    ],
)
def test_refusals(arguments, message):
    given = {"prior": TOY, "log_matrices": [EM, EM], "distances": UNIT, **arguments}
    with pytest.raises(InvalidInput, match=message) as caught:
        upper_bound(**given)
    assert "\n" not in str(caught.value)


def test_the_hmm_recursion_by_the_primal_programme():
    rng = np.random.default_rng(2)
    steps = rng.dirichlet(np.ones(3), (2, 3))
    chain = Markov(rng.dirichlet(np.ones(3)), steps, 3)
    channels = [rng.dirichlet(np.ones(2), 3) for _ in range(3)]
    spread = np.zeros((3, 3))
    for t in (2, 1):
        spread = np.array(
            [
                [
                    max(
                        oracles.lipschitz_ratio(steps[t - 1][a] * y, steps[t - 1][b] * y, spread) for y in channels[t].T
                    )
                    for b in range(3)
                ]
                for a in range(3)
            ]
        )
    own = np.array([[max(np.log(channels[0][a] / channels[0][b])) for b in range(3)] for a in range(3)])
    far = 1.0 - np.eye(3)
    got = upper_bound(chain, [np.log(c) for c in channels], far, method="hmm")
    assert got == pytest.approx((own + spread).max(), abs=1e-7)


@pytest.mark.parametrize("method", ["diameter", "tv", "w_infinity", "coupling", "lp"])
def test_rounding_never_puts_a_bound_below_the_exact_leakage(method):
    rng = np.random.default_rng(0)
    silent, far = [np.zeros((3, 1))] * 3, 0.1 * (1.0 - np.eye(3))
    for _ in range(20):
        prior = Joint(rng.dirichlet(np.ones(27)).reshape(3, 3, 3))
        assert exact_leakage(prior, silent, far).joint <= upper_bound(prior, silent, far, method=method) < 1e-10


def test_a_matching_is_never_looser_than_the_diameter():
    assert upper_bound(TOY, [EM, EM], UNIT, method="w_infinity") <= upper_bound(TOY, [EM, EM], UNIT, method="diameter")


P, Q = np.array([0.8, 0.2]), np.array([0.3, 0.7])
STEP = np.array([[0.0, 1.0], [1.0, 0.0]])


def test_by_hand():
    assert bottleneck(P, Q, STEP) == pytest.approx(1.0, abs=1e-9)
    assert bottleneck(P, P, STEP) == pytest.approx(0.0, abs=1e-9)
    assert soft_coupling(P, Q, STEP) == pytest.approx(np.log((0.2 + 0.5 * np.e) / 0.7), abs=1e-9)
    assert log_lipschitz_ratio(P, Q, STEP) == pytest.approx(np.log((0.8 * np.e + 0.2) / (0.3 * np.e + 0.7)), abs=1e-9)


def test_directed_spreads():
    oneway = np.array([[0.0, 2.0], [0.5, 0.0]])
    assert bottleneck(P, Q, oneway) == pytest.approx(2.0, abs=1e-9)
    assert bottleneck(Q, P, oneway) == pytest.approx(0.5, abs=1e-9)


def test_weights_need_not_sum_to_one():
    assert log_lipschitz_ratio(3 * P, Q / 2, STEP) == pytest.approx(log_lipschitz_ratio(P, Q, STEP) + np.log(6.0))


def test_nothing_on_one_side():
    nothing = np.zeros(2)
    assert log_lipschitz_ratio(nothing, Q, STEP) == -np.inf
    assert log_lipschitz_ratio(P, nothing, STEP) == np.inf


def test_unbounded_spreads():
    apart = np.array([[0.0, np.inf], [np.inf, 0.0]])
    assert log_lipschitz_ratio(P, Q, apart) == pytest.approx(np.log(0.8 / 0.3))
    assert log_lipschitz_ratio(P, np.array([1.0, 0.0]), apart) == np.inf
    assert soft_coupling(P, Q, apart) == np.inf
    assert bottleneck(P, Q, apart) == np.inf


def test_a_tiny_mass_that_travels_far_counts():
    p, q, far = np.array([1 - 1e-13, 1e-13]), np.array([1.0, 0.0]), np.array([[0.0, 40.0], [40.0, 0.0]])
    truth = np.log(p[0] + p[1] * np.exp(40.0))
    assert truth > 10
    for bound in (log_lipschitz_ratio, soft_coupling, bottleneck):
        assert bound(p, q, far) >= truth - 1e-9
    assert log_lipschitz_ratio(p, q, far) == pytest.approx(truth, abs=1e-9)


def spread_of(rng, n):
    points = rng.normal(size=(n, 2))
    return np.abs(points[:, None] - points[None]).sum(axis=2)


@pytest.mark.parametrize("seed", range(12))
def test_against_dense_programmes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    p, q, spread = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n)), spread_of(rng, n)
    assert log_lipschitz_ratio(p, q, spread) == pytest.approx(oracles.lipschitz_ratio(p, q, spread), abs=1e-7)
    assert bottleneck(p, q, spread) == pytest.approx(oracles.w_infinity(p, q, spread), abs=1e-9)
    assert soft_coupling(p, q, spread) == pytest.approx(oracles.soft_coupling(p, q, spread), abs=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_small_masses_keep_the_order(seed):
    rng = np.random.default_rng(seed)
    n = 9
    p, q = rng.dirichlet(np.full(n, 0.08)) + 1e-12, rng.dirichlet(np.full(n, 0.08)) + 1e-12
    p, q, spread = p / p.sum(), q / q.sum(), 3.0 * spread_of(rng, n)
    exact_family = [np.exp(-spread[:, x]) for x in range(n)]  # each is log-Lipschitz, so each bounds from below
    below = max(np.log((p * g).sum() / (q * g).sum()) for g in exact_family)
    lp, soft, w = log_lipschitz_ratio(p, q, spread), soft_coupling(p, q, spread), bottleneck(p, q, spread)
    assert below - 1e-9 <= lp <= soft + 1e-7
    assert min(lp, soft) <= w + 1e-7
    assert soft <= w + 1e-7

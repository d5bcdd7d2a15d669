import numpy as np
import pytest

import oracles
from oddshift import Independent, InvalidInput, Joint, Markov, exact_leakage, upper_bound
from oddshift.base.errors import TooLarge
from oddshift.base.logarithms import log
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

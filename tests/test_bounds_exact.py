"""Coverage of every bound by enumeration: no simulation, the probability of an error is summed over all samples.

Searches return the safe end, whatever the first guess; extreme inputs keep every bound in [0, 1].
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import InvalidInput, bounds
from oddshift.bounds.checks import bracketed_reach, first_reach
from oddshift.bounds.means import binomial_below

RATES = [Fraction(k, 40) for k in range(1, 40)]


def pmf(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def zero_one(k, n):
    return np.array([1.0] * k + [0.0] * (n - k))


@pytest.mark.parametrize("name", sorted(set(bounds.METHODS) - {"betting_plugin"}))
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_a_bound_on_a_rate_errs_with_at_most_alpha_whatever_the_rate(name, alpha):
    """Pr[upper < p] and Pr[lower > p], summed exactly over the 11 possible counts of 10 trials."""
    n, method = 10, bounds.METHODS[name]
    uppers = [method.upper(zero_one(k, n), alpha) for k in range(n + 1)]
    lowers = [method.lower(zero_one(k, n), alpha) for k in range(n + 1)]
    for p in RATES:
        below = sum(pmf(k, n, p) for k in range(n + 1) if uppers[k] < p)
        above = sum(pmf(k, n, p) for k in range(n + 1) if lowers[k] > p)
        assert below <= alpha
        assert above <= alpha


@pytest.mark.parametrize("name", sorted(set(bounds.METHODS) - {"betting_plugin"}))
def test_a_pvalue_is_small_no_more_often_than_it_says(name):
    n, method = 8, bounds.METHODS[name]
    for delta in (Fraction(1, 10), Fraction(3, 10)):
        pvalues = [method.pvalue(zero_one(k, n), float(delta), 0.05) for k in range(n + 1)]
        for p in (delta, delta + Fraction(1, 20), delta + Fraction(1, 2)):
            for level in sorted({round(v, 12) for v in pvalues}):
                assert sum(pmf(k, n, p) for k in range(n + 1) if pvalues[k] <= level) <= level * (1 + 1e-9)


@pytest.mark.parametrize("name", ["betting_plugin", "betting", "maurer_pontil", "hoeffding_bentkus", "hoeffding"])
def test_a_bound_on_a_mean_of_fractions_errs_with_at_most_alpha(name):
    """Every ordered sample of 6 values among 0, ½ and 1 with its exact probability: 729 samples for each law."""
    n, alpha, method = 6, 0.2, bounds.METHODS[name]
    samples = list(itertools.product((0.0, 0.5, 1.0), repeat=n))
    key = (lambda s: s) if method.ordered else (lambda s: tuple(sorted(s)))
    upper = {key(s): method.upper(np.array(key(s)), alpha) for s in samples}
    lower = {key(s): method.lower(np.array(key(s)), alpha) for s in samples}
    for law in ((0.7, 0.2, 0.1), (0.4, 0.2, 0.4), (0.05, 0.9, 0.05), (0.9, 0.0, 0.1), (0.1, 0.3, 0.6)):
        mean = 0.5 * law[1] + law[2]
        chance = {s: math.prod(law[int(2 * z)] for z in s) for s in samples}
        assert sum(p for s, p in chance.items() if upper[key(s)] < mean - 1e-12) <= alpha
        assert sum(p for s, p in chance.items() if lower[key(s)] > mean + 1e-12) <= alpha


@given(st.integers(1, 30), st.data())
@settings(max_examples=60, deadline=None)
def test_the_binomial_tail_is_the_sum_of_its_terms(n, data):
    k = data.draw(st.integers(-2, n + 2))
    p = Fraction(data.draw(st.integers(0, 20)), 20)
    expected = float(sum(pmf(j, n, p) for j in range(min(k, n) + 1)))
    assert binomial_below(k, n, float(p)) == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_zero_failures_give_the_rule_of_three():
    assert bounds.clopper_pearson_upper(0, 1000, 0.05) == pytest.approx(1 - 0.05 ** (1 / 1000), rel=1e-9)
    assert bounds.clopper_pearson_lower(1000, 1000, 0.05) == pytest.approx(0.05 ** (1 / 1000), rel=1e-9)


def test_the_robbins_mixture_is_an_e_value_in_expectation():
    """E[E(m)] over Bin(n, m) is at most 1: exactly m times a uniform mixture of laws, over m."""
    for n, m in ((5, 0.3), (12, 0.7), (1, 0.5)):
        mean = sum(pmf(k, n, m) * math.exp(bounds.robbins_log_e(k, n, m)) for k in range(n + 1))
        assert mean <= 1 + 1e-9
        assert mean == pytest.approx(1.0, abs=1e-9)


def test_the_betting_mixture_is_an_e_value_in_expectation():
    for n, m in ((5, 0.3), (9, 0.8)):
        mean = sum(pmf(k, n, m) * math.exp(bounds.betting_log_e(zero_one(k, n), m)) for k in range(n + 1))
        assert mean == pytest.approx(1.0, abs=1e-12)
        larger = sum(pmf(k, n, m + 0.1) * math.exp(bounds.betting_log_e(zero_one(k, n), m)) for k in range(n + 1))
        assert larger < 1.0


def test_betting_evidence_by_hand():
    """One value of 0 against m = ½: each stake λ has wealth 1 + λ/2, and E is their mean."""
    assert math.exp(bounds.betting_log_e([0.0], 0.5)) == pytest.approx(np.mean(1 + bounds.BETS / 2))
    assert math.exp(bounds.betting_log_e([1.0, 0.0], 0.5)) == pytest.approx(np.mean(1 - bounds.BETS**2 / 4))
    assert bounds.betting_log_e([1.0], 0.0) == pytest.approx(math.log(np.mean(1 - bounds.BETS)))


def test_the_stakes_are_a_fixed_grid_that_nobody_can_change():
    assert len(bounds.BETS) == 20
    assert bounds.BETS[0] == pytest.approx(1 / 200)
    assert bounds.BETS[-1] == pytest.approx(1.0)
    assert np.diff(np.log(bounds.BETS)) == pytest.approx(np.full(19, math.log(200) / 19))
    with pytest.raises(ValueError, match="read-only"):
        bounds.BETS[0] = 0.5


def test_hoeffding_by_hand():
    width = math.sqrt(math.log(1 / 0.05) / 200)
    assert bounds.hoeffding_upper(0.3, 100, 0.05) == pytest.approx(0.3 + width)
    assert bounds.hoeffding_lower(0.3, 100, 0.05) == pytest.approx(0.3 - width)
    assert bounds.hoeffding_lower(0.3, 100, 0.05, sides=2) == pytest.approx(0.3 - math.sqrt(math.log(40) / 200))
    assert bounds.hoeffding_pvalue(0.3, 100, 0.3 + width) == pytest.approx(0.05)
    assert bounds.hoeffding_pvalue(0.5, 100, 0.3) == 1.0
    assert bounds.hoeffding_upper(0.9, 1, 0.05) == 1.0


def test_maurer_pontil_by_hand():
    values = [0.0, 1.0, 0.5, 0.5]
    variance, log_term = 0.5 / 3, math.log(2 / 0.5)
    width = math.sqrt(2 * variance * log_term / 4) + 7 * log_term / (3 * 3)
    assert bounds.maurer_pontil_lower([1.0] * 100, 0.5) == pytest.approx(1 - 7 * log_term / (3 * 99))
    assert bounds.maurer_pontil_upper(np.repeat(values, 100), 0.5) == pytest.approx(
        0.5 + math.sqrt(2 * (50 / 399) * log_term / 400) + 7 * log_term / (3 * 399)
    )
    assert bounds.maurer_pontil_upper(values, 0.5) == min(1.0, 0.5 + width)
    assert bounds.maurer_pontil_pvalue([0.3], 0.5) == 1.0
    assert bounds.maurer_pontil_pvalue(values, 0.5) == 1.0


def test_hoeffding_bentkus_is_the_smaller_of_its_two_parts():
    mean, n, delta = 0.1, 50, 0.3
    divergence = 0.1 * math.log(0.1 / 0.3) + 0.9 * math.log(0.9 / 0.7)
    bentkus = math.e * sum(pmf(k, n, delta) for k in range(6))
    found = bounds.hoeffding_bentkus_pvalue(mean, n, delta)
    assert found == pytest.approx(min(math.exp(-n * divergence), bentkus), rel=1e-9)
    assert bounds.hoeffding_bentkus_pvalue(0.3, n, 0.3) == 1.0
    assert bounds.hoeffding_bentkus_pvalue(0.0, n, 0.3) == pytest.approx(0.7**n, rel=1e-9)


def test_a_part_of_a_count_is_rounded_up_in_bentkus_part():
    """⌈n·mean⌉ = 6 at a mean of 5.01 of 50: rounding down would claim more than is proven."""
    n, delta = 50, 0.45
    low, high = (math.e * sum(pmf(k, n, delta) for k in range(top + 1)) for top in (5, 6))
    divergence = bounds.hoeffding_bentkus_pvalue(5.01 / 50, n, delta)
    kl = 0.1002 * math.log(0.1002 / delta) + 0.8998 * math.log(0.8998 / (1 - delta))
    assert divergence == pytest.approx(min(high, math.exp(-n * kl)), rel=1e-6)
    assert low < high


def test_the_papers_exponent_by_hand():
    assert bounds.failure_exponent(1000, 0.1, 0.5) == pytest.approx((2 * 1000 * 0.05**2 - math.log(2)) / math.log(10))
    assert bounds.failure_exponent(1000, 0.1, 1.0) == pytest.approx(-math.log10(2))


@pytest.mark.parametrize(
    ("lower", "upper", "delta", "state"),
    [
        (0.0, 0.05, 0.05, "certified"),
        (0.05, 0.2, 0.05, "undecided"),
        (0.0500001, 0.2, 0.05, "violated"),
        (0.0, 0.0500001, 0.05, "undecided"),
        (0.9, 1.0, None, "undecided"),
    ],
)
def test_a_decision_at_its_edges(lower, upper, delta, state):
    assert bounds.decision(lower, upper, delta) == state


def test_a_decision_from_bounds_that_cross_is_refused():
    with pytest.raises(InvalidInput, match=r"the lower bound 0\.2 lies above the upper bound 0\.04"):
        bounds.decision(0.2, 0.04, 0.05)


SHAPES = {
    "line": lambda m: m,
    "steep": lambda m: 1e6 * m,
    "flat then steep": lambda m: m**9,
    "step": lambda m: float(m >= 0.37),
    "log": lambda m: math.log(m) if m > 0 else -math.inf,
}


@given(st.sampled_from(sorted(SHAPES)), st.floats(0.01, 0.99), st.floats(0, 1), st.floats(1e-12, 0.5))
@settings(max_examples=150, deadline=None)
def test_both_searches_end_on_the_safe_side(name, crossing, guess, width):
    function = SHAPES[name]
    level = function(crossing) if name != "step" else 0.5
    truth = crossing if name != "step" else 0.37
    for found in (first_reach(function, level, 0.0, 1.0), bracketed_reach(function, level, guess, width)):
        assert function(found) >= level
        assert found == pytest.approx(truth, rel=1e-9)


def test_a_level_that_is_never_reached_gives_the_upper_end():
    assert first_reach(lambda m: m, 2.0, 0.0, 1.0) == 1.0
    assert bracketed_reach(lambda m: m, 2.0, 0.3, 0.01) == 1.0
    assert bracketed_reach(lambda m: m + 5, 2.0, 0.3, 0.01) == 0.0


def test_costly_functions_are_called_few_times():
    calls = []

    def function(m):
        calls.append(m)
        return 3000 * math.log1p(m)

    bracketed_reach(function, 3000 * math.log1p(0.2), 0.2 + 1e-9, 1e-8)
    assert len(calls) <= 8


@pytest.mark.parametrize("name", sorted(bounds.METHODS))
@pytest.mark.parametrize("values", [np.zeros(3), np.ones(3), np.array([0.0, 1.0]), np.zeros(5000), np.ones(5000)])
@pytest.mark.parametrize("alpha", [1e-12, 0.05, 0.999])
def test_extreme_samples_and_levels(name, values, alpha):
    method = bounds.METHODS[name]
    lower, upper = method.lower(values, alpha), method.upper(values, alpha)
    assert 0.0 <= lower <= 1.0
    assert 0.0 <= upper <= 1.0
    if alpha < 0.5:
        assert lower <= values.mean() <= upper
    for delta in (1e-9, 0.5, 1 - 1e-9):
        assert 0.0 <= method.pvalue(values, delta, alpha) <= 1.0


@pytest.mark.parametrize("name", sorted(bounds.METHODS))
def test_a_stricter_level_never_narrows_a_bound(name):
    values = np.array([0.0, 0.0, 1.0, 0.0] * 25)
    method = bounds.METHODS[name]
    uppers = [method.upper(values, alpha) for alpha in (0.2, 0.05, 0.01, 0.001)]
    lowers = [method.lower(values, alpha) for alpha in (0.2, 0.05, 0.01, 0.001)]
    assert uppers == sorted(uppers)
    assert lowers == sorted(lowers, reverse=True)


@pytest.mark.parametrize("name", sorted(set(bounds.METHODS) - {"betting_plugin"}))
def test_more_violations_never_lower_a_bound(name):
    method = bounds.METHODS[name]
    uppers = [method.upper(np.r_[np.ones(k), np.zeros(60 - k)], 0.05) for k in range(0, 61, 3)]
    assert uppers == sorted(uppers)


@pytest.mark.parametrize("name", sorted(bounds.METHODS))
def test_lower_bounds_mirror_upper_ones(name):
    values = np.array([0.0, 1.0, 0.0, 0.0, 1.0] * 12)
    method = bounds.METHODS[name]
    assert method.lower(values, 0.05) == pytest.approx(1 - method.upper(1 - values, 0.05), abs=1e-9)

"""Bounds against hand-computable numbers, slow oracles and each other.

Planners, levels over time, and clustering.
"""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import bounds
from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting

VECTORS = Path(__file__).parent / "vectors_certificates.json"
CASES = {case["id"]: case for case in json.loads(VECTORS.read_text())}

fractions = st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.125, 0.25, 0.5, 1.0]), min_size=2, max_size=60)
levels = st.sampled_from([0.001, 0.01, 0.05, 0.2])


def value(case_id):
    case = CASES[case_id]
    return case["inputs"], case["expected"]


def test_failure_exponent_of_the_paper():
    for case_id in ("C01_paper_prop_k", "C02_paper_printed_k"):
        given_, expected = value(case_id)
        xi = float(1 / Fraction(given_["xi"].removeprefix("1/")))
        assert bounds.failure_exponent(given_["S"], given_["delta"], xi) == pytest.approx(expected, abs=1e-6)


def test_reference_values():
    i, expected = value("C04_hoeffding_2s")
    assert bounds.hoeffding_upper(i["phat"], i["n"], i["a"], sides=2) == pytest.approx(expected, abs=1e-9)
    i, expected = value("C05_cp_upper_zero")
    assert bounds.clopper_pearson_upper(i["k"], i["n"], i["a"]) == pytest.approx(expected, abs=1e-9)
    i, expected = value("C09_hb_pvalue")
    assert bounds.hoeffding_bentkus_pvalue(i["mean"], i["n"], i["delta"]) == pytest.approx(expected, abs=1e-9)
    i, expected = value("C12_betting_upper")
    assert np.allclose(bounds.BETS, i["lam"], rtol=1e-14)
    assert bounds.betting_upper(i["z"], i["a"]) == pytest.approx(expected, abs=1e-9)
    i, expected = value("C15_plan_cp")
    assert bounds.plan_clopper_pearson(i["delta"], i["p"], i["a"], i["power"]) == expected


def test_clopper_pearson_inverts_the_binomial_tail():
    for k, n, alpha in [(0, 1, 0.05), (3, 17, 0.01), (50, 100, 1e-9), (999, 1000, 0.05), (7, 10**6, 0.05)]:
        upper = bounds.clopper_pearson_upper(k, n, alpha)
        tail = bounds.clopper_pearson_pvalue(k, n, upper)
        assert tail <= alpha
        assert tail == pytest.approx(alpha, rel=1e-6)
        mirrored = 1 - bounds.clopper_pearson_lower(n - k, n, alpha)
        assert mirrored == pytest.approx(upper, rel=1e-9)
    assert bounds.clopper_pearson_upper(5, 5, 0.05) == 1.0
    assert bounds.clopper_pearson_lower(0, 5, 0.05) == 0.0


def slow_betting_log_e(values, m):
    with np.errstate(divide="ignore"):
        logs = [float(np.sum(np.log1p(bet * (m - np.asarray(values))))) for bet in bounds.BETS]
    peak = max(logs)
    return peak + math.log(sum(math.exp(x - peak) for x in logs) / len(logs)) if peak > -math.inf else -math.inf


@given(fractions, levels)
@settings(max_examples=60, deadline=None)
def test_betting_upper_is_the_first_m_that_is_rejected(values, alpha):
    upper = bounds.betting_upper(values, alpha)
    if upper < 1.0:
        assert slow_betting_log_e(values, upper) >= math.log(1 / alpha)
    assert slow_betting_log_e(values, upper - 1e-7) < math.log(1 / alpha)
    assert bounds.betting_upper(values[::-1], alpha) == upper


@given(fractions, levels, st.sampled_from(sorted(set(bounds.METHODS) - {"clopper_pearson", "robbins"})))
@settings(max_examples=120, deadline=None)
def test_every_method_brackets_the_mean_and_agrees_with_its_pvalue(values, alpha, name):
    method, array = bounds.METHODS[name], np.array(values)
    lower, upper = method.lower(array, alpha), method.upper(array, alpha)
    assert 0 <= lower <= upper <= 1
    if name != "betting_plugin":  # whose running intersection may leave the sample mean
        assert lower <= array.mean() + 1e-12
        assert upper >= array.mean() - 1e-12
    if 0 < upper < 1:
        assert method.pvalue(array, min(upper + 1e-6, 1 - 1e-9), alpha) <= alpha * (1 + 1e-6)
        if upper - 1e-6 > 0:
            assert method.pvalue(array, upper - 1e-6, alpha) > alpha * (1 - 1e-6)


@pytest.mark.parametrize("name", ["clopper_pearson", "robbins"])
def test_count_methods_take_zero_one_only(name):
    method = bounds.METHODS[name]
    values = np.array([0.0] * 40 + [1.0] * 3)
    upper = method.upper(values, 0.05)
    assert method.pvalue(values, upper, 0.05) == pytest.approx(0.05, rel=1e-5)
    with pytest.raises(InvalidInput, match=r"values\[1\] = 0.5, expected 0 or 1"):
        method.upper(np.array([0.0, 0.5]), 0.05)


def test_many_distinct_values_agree_with_the_slow_sum():
    rng = np.random.default_rng(3)
    for values in (rng.random(20_000) * 0.1, rng.beta(0.1, 5, 9_000), (rng.random(30_000) < 0.3) * rng.random(30_000)):
        upper = bounds.betting_upper(values, 0.05)
        assert slow_betting_log_e(values, upper) >= math.log(20)
        assert slow_betting_log_e(values, upper * (1 - 1e-8)) < math.log(20) + 1e-6
        assert bounds.betting_upper(rng.permutation(values), 0.05) == upper
        assert bounds.betting_lower(1 - values, 0.05) == pytest.approx(1 - upper, abs=1e-10)


def test_plugin_bets_use_the_past_only():
    values = np.array([0.0, 1.0, 0.5, 0.25, 0.0])
    changed = np.array([0.0, 1.0, 0.5, 0.9, 0.3])
    from oddshift.bounds.betting import plugin_bets

    assert np.array_equal(plugin_bets(values, 0.05)[:4], plugin_bets(changed, 0.05)[:4])
    assert plugin_bets(values, 0.05)[0] == pytest.approx(min(1.0, math.sqrt(2 * math.log(20) / (5 * 0.25))))


def slow_plugin_upper(values, alpha):
    n, wealth_at = len(values), {}
    stakes, total, squares = [], 0.5, 0.25
    for t, z in enumerate(values):
        stakes.append(min(1.0, math.sqrt(2 * math.log(1 / alpha) / (n * squares / (t + 1)))))
        total += z
        squares += (z - total / (t + 2)) ** 2
    for m in np.linspace(0, 1, 2001):
        wealth = np.cumprod([1 + s * (m - z) for s, z in zip(stakes, values, strict=True)])
        wealth_at[m] = wealth.max()
    return min((m for m, w in wealth_at.items() if w >= 1 / alpha), default=1.0)


def test_plugin_upper_against_a_grid_of_means():
    values = np.random.default_rng(5).integers(0, 5, 200) / 20
    upper = bounds.betting_plugin_upper(values, 0.05)
    assert slow_plugin_upper(values, 0.05) - 0.0005 - 1e-9 <= upper <= slow_plugin_upper(values, 0.05)


def test_robbins_against_quadrature():
    for k, n, m in [(0, 5, 0.3), (2, 30, 0.2), (5, 9, 0.6)]:
        t = (np.arange(200_000) + 0.5) / 200_000 * m
        integral = float(np.sum(t**k * (1 - t) ** (n - k)) * m / 200_000)
        expected = math.log(integral / (m ** (k + 1) * (1 - m) ** (n - k)))
        assert bounds.robbins_log_e(k, n, m) == pytest.approx(expected, abs=1e-8)
    assert bounds.robbins_upper(5, 5, 0.05) == 1.0
    assert bounds.robbins_upper(0, 10**6, 0.05) < 3e-5


def test_bounds_are_ordered_as_expected_on_clustered_fractions():
    values = np.random.default_rng(8).binomial(20, np.random.default_rng(9).beta(0.9, 8.1, 1000)) / 20
    upper = {name: bounds.METHODS[name].upper(values, 0.05) for name in ("betting", "betting_plugin", "hoeffding")}
    assert upper["betting_plugin"] < upper["betting"] < upper["hoeffding"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.betting_upper([0.1], 1.5), "alpha=1.5, expected 0 < alpha < 1"),
        (lambda: bounds.clopper_pearson_upper(5, 3, 0.05), r"k=5, expected a whole number in \[0, 3\]"),
        (lambda: bounds.clopper_pearson_upper(0, 0, 0.05), "n=0, expected a whole number >= 1"),
        (lambda: bounds.hoeffding_upper(0.1, 10, 0.0), "alpha=0.0"),
        (lambda: bounds.hoeffding_upper(0.1, 10, 0.1, sides=3), "sides=3"),
        (lambda: bounds.hoeffding_bentkus_pvalue(0.1, 10, 1.0), "delta=1.0, expected 0 < delta < 1"),
        (lambda: bounds.hoeffding_bentkus_pvalue(-0.1, 10, 0.5), "mean=-0.1"),
        (lambda: bounds.maurer_pontil_upper([0.5], 0.05), "expected at least 2"),
        (lambda: bounds.failure_exponent(10, 0.1, 1.5), "xi=1.5"),
        (lambda: bounds.decision(0.0, 0.1, 0.0), "delta=0.0"),
    ],
)
def test_refusals_show_the_value_in_one_line(call, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("delta", "method", "needs"),
    [
        (0.01, "clopper_pearson", 299),
        (0.01, "betting", 561),
        (0.05, "betting", 115),
        (0.1, "betting", 59),
        (0.01, "betting_plugin", 308),
        (0.05, "betting_plugin", 63),
        (0.1, "clopper_pearson", 29),
    ],
)
def test_zero_failure_minimum(delta, method, needs):
    assert bounds.zero_failures(delta, 0.05, method) == needs
    upper = bounds.METHODS[method].upper
    assert upper(np.zeros(needs), 0.05) <= delta < upper(np.zeros(needs - 1), 0.05)


@pytest.mark.parametrize("method", sorted(bounds.METHODS))
def test_zero_failure_minimum_is_where_the_method_first_certifies(method):
    needs = bounds.zero_failures(0.1, 0.05, method)
    assert bounds.METHODS[method].upper(np.zeros(needs), 0.05) <= 0.1
    assert bounds.METHODS[method].upper(np.zeros(needs - 1), 0.05) > 0.1


def test_the_plug_in_bettor_is_planned_far_beyond_what_can_be_added_up(monkeypatch):
    """The stakes below 1 by their integral: near the sum where both are possible, and a billion values in no time."""
    summed = betting.plugin_zeros_log_e(200_000, 1.5e-5, 0.05)
    monkeypatch.setattr(betting, "_SUMMED", 1_000)
    assert betting.plugin_zeros_log_e(200_000, 1.5e-5, 0.05) == pytest.approx(summed, rel=1e-5)
    assert 2.9e9 < bounds.zero_failures(1e-9, 0.05, "betting_plugin") < 3.2e9


def slow_power(n, delta, p, alpha):
    from scipy import stats

    k = int(np.sum(stats.binom.cdf(np.arange(n), n, delta) <= alpha)) - 1
    return stats.binom.cdf(k, n, p)


def test_clopper_pearson_plan_and_its_saw_tooth():
    assert bounds.plan_clopper_pearson(0.1, 0.05, 0.05, 0.9) == 239
    assert bounds.plan_clopper_pearson(0.1, 0.05, 0.05, 0.9, stable=True) == 263
    assert slow_power(239, 0.1, 0.05, 0.05) >= 0.9 > slow_power(238, 0.1, 0.05, 0.05)
    assert slow_power(262, 0.1, 0.05, 0.05) < 0.9
    assert all(slow_power(n, 0.1, 0.05, 0.05) >= 0.9 for n in range(263, 420))
    assert bounds.plan_clopper_pearson(0.01, 0.0, 0.05, 0.9) == 299


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.plan_clopper_pearson(0.1, 0.1, 0.05, 0.9),
        lambda: bounds.plan_clopper_pearson(0.1, 0.05, 0.05, 1.0),
        lambda: bounds.plan_clopper_pearson(0.1, "none", 0.05, 0.9),
        lambda: bounds.betting_log_e([0.5], math.nan),
        lambda: bounds.robbins_log_e(1, 3, 1.5),
        lambda: bounds.plan_clopper_pearson(0.1, 0.09999, 0.05, 0.9),
        lambda: bounds.zero_failures(0.0, 0.05),
        lambda: bounds.zero_failures(0.1, 0.05, "guess"),
        lambda: bounds.spend(0.05, 0),
        lambda: bounds.design_effect([3], [2]),
        lambda: bounds.design_effect([0.5], [2]),
        lambda: bounds.design_effect([0], [0]),
        lambda: bounds.design_effect([0, 1], [2]),
    ],
)
def test_refusals(call):
    with pytest.raises(InvalidInput):
        call()


def test_spending_sums_to_the_level():
    assert sum(bounds.spend(0.05, r) for r in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


def test_design_effect_by_hand():
    alike = bounds.design_effect([10, 0] * 50, [10, 10] * 50)
    assert alike.design_effect == pytest.approx(10 * 100 / 99)
    assert alike.effective_n == pytest.approx(99)
    rng = np.random.default_rng(1)
    loose = bounds.design_effect(rng.binomial(10, 0.3, 5000), np.full(5000, 10))
    assert loose.design_effect == pytest.approx(1, abs=0.1)
    icc = rng.beta(0.3 * 4, 0.7 * 4, 5000)  # intra-class correlation 1/5
    tight = bounds.design_effect(rng.binomial(10, icc), np.full(5000, 10))
    assert tight.design_effect == pytest.approx(1 + 9 * 0.2, rel=0.1)

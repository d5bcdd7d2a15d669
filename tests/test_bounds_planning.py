"""Planners, levels over time, and clustering."""

import math

import numpy as np
import pytest

from oddshift import bounds
from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting


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

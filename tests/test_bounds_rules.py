"""Multiplicity by brute force, clusters and streams by hand, plans at their edges.

Bounds and multiplicity rules against statsmodels, which implements them independently of us.
"""

import math
import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import bounds
from oddshift.base.errors import InvalidInput


def test_each_round_spends_a_quarter_when_its_number_doubles():
    assert bounds.spend(0.05, 4) == pytest.approx(bounds.spend(0.05, 2) / 4)
    assert bounds.spend(0.1, 1) == pytest.approx(0.6 / math.pi**2)


def slow_design_effect(violations, trials):
    n, total = len(trials), sum(trials)
    rate = sum(violations) / total
    spread = n / (n - 1) * sum((v - rate * t) ** 2 for v, t in zip(violations, trials, strict=True)) / total**2
    return spread / (rate * (1 - rate) / total)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(4, 9)), min_size=2, max_size=8))
@settings(max_examples=80, deadline=None)
def test_the_design_effect_is_the_ratio_of_variances(clusters):
    violations, trials = zip(*clusters, strict=True)
    found = bounds.design_effect(violations, trials)
    assert (found.clusters, found.trials) == (len(trials), sum(trials))
    assert found.rate == pytest.approx(sum(violations) / sum(trials))
    if 0 < sum(violations) < sum(trials):
        expected = max(slow_design_effect(violations, trials), 1 / sum(trials))
        assert found.design_effect == pytest.approx(expected)
    assert found.effective_n == pytest.approx(found.trials / found.design_effect)


@pytest.mark.parametrize("violations", [[0, 0, 0], [2, 4, 6]])
def test_where_no_spread_can_be_seen_the_worst_case_is_reported(violations):
    """Σt²/Σt = (4 + 16 + 36)/12 with trials 2, 4, 6."""
    found = bounds.design_effect(violations, [2, 4, 6])
    assert found.design_effect == pytest.approx(56 / 12)
    assert found.effective_n == pytest.approx(12 * 12 / 56)


def test_one_cluster_is_worth_one_trial():
    found = bounds.design_effect([3], [10])
    assert (found.design_effect, found.effective_n) == (10.0, 1.0)
    assert found.rate == 0.3


def test_two_clusters_are_enough_to_see_a_spread():
    assert bounds.design_effect([1, 0], [2, 2]).design_effect == pytest.approx(slow_design_effect([1, 0], [2, 2]))


def test_clusters_of_one_trial_each_are_independent_trials():
    """With t = 1 the spread is p̂(1 − p̂) itself, times n/(n−1)."""
    assert bounds.design_effect([1, 0, 1, 0], [1, 1, 1, 1]).design_effect == pytest.approx(4 / 3)


def test_clusters_that_agree_perfectly_are_not_worth_infinitely_many_trials():
    found = bounds.design_effect([1, 1, 1], [4, 4, 4])
    assert found.design_effect == pytest.approx(1 / 12)
    assert found.effective_n == pytest.approx(144.0)


@pytest.mark.parametrize(
    ("violations", "trials", "message"),
    [
        ([1, 3], [2, 2], r"violations\[1\] = 3, expected a number in \[0, 2\]"),
        ([-1], [2], r"violations\[0\] = -1, expected a number in \[0, 2\]"),
        ([0.5], [2], r"violations has 0\.5, expected whole numbers"),
        ([0], [2.5], r"trials has 2\.5, expected whole numbers"),
        ([0, 0], [2, 0], "trials has 0, expected at least 1 in every cluster"),
        ([0], [2, 2], "violations has 1 entries, trials 2, expected equally many"),
        ([], [], "violations is empty"),
    ],
)
def test_what_no_cluster_can_be_is_refused_with_its_value(violations, trials, message):
    with pytest.raises(InvalidInput, match=message):
        bounds.design_effect(violations, trials)


@pytest.mark.parametrize(("delta", "alpha"), [(0.5, 0.5), (0.9, 0.05), (0.001, 0.05), (0.05, 1e-9)])
def test_the_zero_failure_formula_of_clopper_pearson(delta, alpha):
    needs = bounds.zero_failures(delta, alpha, "clopper_pearson")
    assert (1 - delta) ** needs <= alpha * (1 + 1e-12)
    assert (1 - delta) ** (needs - 1) > alpha * (1 - 1e-12)


def test_a_plan_out_of_reach_is_refused_and_says_so():
    with pytest.raises(InvalidInput, match="need more than 5000000 values, expected a larger delta"):
        bounds.zero_failures(1e-7, 0.05, "hoeffding_bentkus")


def slow_power(n, delta, p, alpha):
    """Certify when Pr[Bin(n, δ) ≤ k] ≤ alpha; power is the chance of such a k under p."""
    tail = power = 0.0
    for k in range(n + 1):
        tail += math.comb(n, k) * delta**k * (1 - delta) ** (n - k)
        if tail > alpha:
            return power
        power += math.comb(n, k) * p**k * (1 - p) ** (n - k)
    return power


@pytest.mark.parametrize(
    ("delta", "p", "alpha", "power"), [(0.3, 0.1, 0.05, 0.8), (0.5, 0.2, 0.1, 0.9), (0.2, 0.0, 0.01, 0.5)]
)
def test_the_planned_number_is_the_first_with_the_power(delta, p, alpha, power):
    n = bounds.plan_clopper_pearson(delta, p, alpha, power)
    assert slow_power(n, delta, p, alpha) >= power
    assert all(slow_power(m, delta, p, alpha) < power for m in range(1, n))
    stable = bounds.plan_clopper_pearson(delta, p, alpha, power, stable=True)
    assert stable >= n
    assert all(slow_power(m, delta, p, alpha) >= power for m in range(stable, stable + 60))
    assert stable == 1 or slow_power(stable - 1, delta, p, alpha) < power


def test_one_value_is_enough_where_its_zero_is_rare_enough():
    assert bounds.plan_clopper_pearson(0.96, 0.0, 0.05, 0.5) == 1
    assert bounds.zero_failures(0.96, 0.05, "clopper_pearson") == 1


@pytest.mark.parametrize("stable", [False, True])
def test_a_plan_does_not_depend_on_how_many_numbers_are_looked_at_together(monkeypatch, stable):

    from oddshift.bounds import methods

    whole = bounds.plan_clopper_pearson(0.3, 0.1, 0.05, 0.8, stable)
    for block in (1, 2, 7):
        monkeypatch.setattr(methods, "_BLOCK", block)
        assert bounds.plan_clopper_pearson(0.3, 0.1, 0.05, 0.8, stable) == whole


@pytest.fixture(scope="module")
def stats():
    """Their package, imported where a test needs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what another library warns about while it is imported is not ours to judge
        pytest.importorskip("statsmodels.stats.multitest")
        pytest.importorskip("statsmodels.stats.proportion")
    return sys.modules["statsmodels.stats"]


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.2])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 100), (3, 100), (97, 100), (100, 100), (17, 5000)])
def test_clopper_pearson(stats, k, n, alpha):
    """Their interval is two-sided at 2a, so each of its ends is one-sided at a; ours lie outside theirs by rounding."""
    lower, upper = stats.proportion.proportion_confint(k, n, alpha=2 * alpha, method="beta")
    assert bounds.clopper_pearson_lower(k, n, alpha) == pytest.approx(0.0 if k == 0 else lower, rel=1e-9)
    assert bounds.clopper_pearson_upper(k, n, alpha) == pytest.approx(1.0 if k == n else upper, rel=1e-9)
    if 0 < k < n:
        assert bounds.clopper_pearson_lower(k, n, alpha) <= lower * (1 + 1e-13)
        assert bounds.clopper_pearson_upper(k, n, alpha) >= upper * (1 - 1e-13)

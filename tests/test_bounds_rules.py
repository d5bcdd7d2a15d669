"""Multiplicity by brute force, clusters and streams by hand, plans at their edges."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import bounds
from oddshift.base.errors import InvalidInput

ALPHA = 0.06


def slow_holm(p, alpha):
    """The closure of Bonferroni: reject i when every group that holds it has some p ≤ alpha / size."""
    everyone = range(len(p))
    groups = [g for size in range(1, len(p) + 1) for g in itertools.combinations(everyone, size)]
    return tuple(all(min(p[j] for j in g) <= alpha / len(g) for g in groups if i in g) for i in everyone)


@given(st.lists(st.integers(0, 24).map(lambda k: k / 200), min_size=1, max_size=6))
@settings(max_examples=120, deadline=None)
def test_holm_is_the_closure_of_bonferroni(p):
    assert bounds.holm(p, ALPHA) == slow_holm(p, ALPHA)


def test_levels_are_reached_with_equality():
    assert bounds.bonferroni([0.03, 0.03 + 1e-12], 0.06) == (True, False)
    assert bounds.holm([0.06, 0.03], 0.06) == (True, True)
    assert bounds.fixed_sequence([0.06, 0.06 + 1e-12], 0.06) == (True, False)
    assert bounds.intersection_union([0.06, 0.06], 0.06)


def test_results_come_in_the_order_of_the_pvalues():
    assert bounds.holm([0.5, 0.001, 0.5, 0.01], 0.05) == (False, True, False, True)
    assert bounds.bonferroni([0.5, 0.001], 0.05) == (False, True)


def test_holm_stops_at_the_first_that_fails_although_a_later_one_would_pass():
    """Ordered: .02 > .05/3, so .024 (which is below .05/2) is not rejected either."""
    assert bounds.holm([0.024, 0.02, 0.9], 0.05) == (False, False, False)


@pytest.mark.parametrize("rule", [bounds.bonferroni, bounds.holm, bounds.fixed_sequence, bounds.intersection_union])
@pytest.mark.parametrize(
    ("p", "alpha", "message"),
    [
        ([], 0.05, "pvalues is empty"),
        ([0.1, -0.1], 0.05, r"pvalues\[1\] = -0\.1, expected numbers in \[0, 1\]"),
        ([math.nan], 0.05, "pvalues has NaN"),
        ([0.1], 1.0, r"alpha=1\.0, expected 0 < alpha < 1"),
        (["0.1"], 0.05, "pvalues is not a numeric array"),
    ],
)
def test_rules_refuse_what_is_no_pvalue(rule, p, alpha, message):
    with pytest.raises(InvalidInput, match=message):
        rule(p, alpha)


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


def test_a_stream_keeps_its_total_its_peaks_and_its_restarts():
    stream = bounds.BettingStream(0.2, "m").update([0.5, 0.25]).update([0.0])
    assert (stream.n, stream.total) == (3, 0.75)
    assert stream.log_peak_above >= stream.log_e_above
    again = stream.update([1.0], "other").update([1.0], "third")
    assert (again.n, again.restarts, again.subject, again.total) == (1, 2, "third", 1.0)


def test_a_fresh_stream_has_evidence_one_and_says_nothing():
    stream = bounds.BettingStream(0.2, "m")
    assert (stream.log_e_below, stream.log_e_above) == (pytest.approx(0.0), pytest.approx(0.0))
    assert stream.state(0.05) == "undecided"
    counts = bounds.RobbinsStream(0.05, "m")
    assert (counts.log_e(0.1), counts.lower, counts.upper, counts.state(0.1)) == (0.0, 0.0, 1.0, "undecided")


def test_an_old_stream_is_not_changed_by_an_update():
    stream = bounds.BettingStream(0.2, "m")
    stream.update([0.0] * 50)
    assert stream == bounds.BettingStream(0.2, "m")


def test_a_peak_within_one_block_is_not_a_look():
    """Sixty zeros then thirty ones in one block end below the level that the zeros alone reached."""
    values = [0.0] * 60 + [1.0] * 30
    at_once = bounds.BettingStream(0.2, "m").update(values)
    in_steps = bounds.BettingStream(0.2, "m").update(values[:60]).update(values[60:])
    assert in_steps.state(0.05) == "certified"
    assert at_once.state(0.05) == "undecided"
    assert in_steps.log_e_below == pytest.approx(at_once.log_e_below)


def test_the_stronger_evidence_decides_when_both_have_been_seen():
    stream = bounds.BettingStream(0.5, "m").update([0.0] * 30).update([1.0] * 400)
    assert stream.log_peak_below > math.log(20) < stream.log_peak_above
    assert stream.log_peak_above > stream.log_peak_below
    assert stream.state(0.05) == "violated"


def test_a_robbins_stream_keeps_the_tightest_bounds_it_has_seen():
    early = bounds.RobbinsStream(0.05, "m").update([0] * 100)
    late = early.update([1] * 20)
    assert late.upper == early.upper == bounds.robbins_upper(0, 100, 0.05)
    assert late.lower == max(early.lower, bounds.robbins_lower(20, 120, 0.05))
    assert late.log_e(0.5) == bounds.robbins_log_e(20, 120, 0.5)


def test_a_robbins_stream_at_its_edges():
    stream = bounds.RobbinsStream(0.05, "m", k=5, n=50, lower=0.04, upper=0.2)
    assert stream.state(0.2) == "certified"
    assert stream.state(0.04) == "undecided"
    assert stream.state(0.0399) == "violated"


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.integers(1, 10))
@settings(max_examples=40, deadline=None)
def test_counts_of_a_stream_do_not_depend_on_how_it_was_cut(values, pieces):
    stream = bounds.RobbinsStream(0.05, "m")
    for block in np.array_split(values, min(pieces, len(values))):
        stream = stream.update(block)
    assert (stream.k, stream.n) == (sum(values), len(values))


@pytest.mark.parametrize("subject", ["", None, 7])
def test_a_stream_speaks_of_a_named_subject(subject):
    for make in (lambda s: bounds.BettingStream(0.1, s), lambda s: bounds.RobbinsStream(0.05, s)):
        with pytest.raises(InvalidInput, match=r"subject=.*expected a name or hash"):
            make(subject)


def test_streams_refuse_values_outside_zero_and_one_with_their_place():
    with pytest.raises(InvalidInput, match=r"values\[2\] = 1\.5, expected numbers in \[0, 1\]"):
        bounds.BettingStream(0.1, "m").update([0.0, 1.0, 1.5])
    with pytest.raises(InvalidInput, match="values is empty"):
        bounds.RobbinsStream(0.05, "m").update([])


def test_plans_say_enough_at_exactly_what_they_need():
    plan = bounds.plan_zero_failures(0.1, 0.05, "clopper_pearson")
    assert plan.needs == 29
    assert plan.says(29).startswith("enough: needs 29, has 29 (clopper_pearson, delta=0.1, alpha=0.05, power 1")
    assert plan.says(28).startswith("undecided: needs 29, has 28")
    assert plan.says(0).startswith("undecided: needs 29, has 0")
    for bad in (-1, 2.5, "29"):
        with pytest.raises(InvalidInput, match=r"has=.*expected a whole number >= 0"):
            plan.says(bad)


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


def test_a_resampled_plan_repeats_under_its_seed_and_names_its_pilot():
    pilot = [0.0] * 9 + [0.1]
    first, second = (
        bounds.plan_resampled(pilot, 0.1, 0.05, 0.8, replicates=60, rng=np.random.default_rng(3)) for _ in "ab"
    )
    assert first == second
    assert first.assumes == "assuming values like a pilot of 10"
    assert first.needs >= bounds.zero_failures(0.1, 0.05)


@pytest.mark.parametrize(
    ("replicates", "method", "message"), [(9, "betting", "replicates=9"), (50, "guess", "method='guess'")]
)
def test_a_resampled_plan_refuses(replicates, method, message):
    with pytest.raises(InvalidInput, match=message):
        bounds.plan_resampled([0.0], 0.1, 0.05, 0.8, method=method, replicates=replicates, rng=np.random.default_rng(0))


def test_one_value_is_enough_where_its_zero_is_rare_enough():
    assert bounds.plan_clopper_pearson(0.96, 0.0, 0.05, 0.5) == 1
    assert bounds.zero_failures(0.96, 0.05, "clopper_pearson") == 1


@pytest.mark.parametrize("stable", [False, True])
def test_a_plan_does_not_depend_on_how_many_numbers_are_looked_at_together(monkeypatch, stable):
    from oddshift.bounds import planners

    whole = bounds.plan_clopper_pearson(0.3, 0.1, 0.05, 0.8, stable)
    for block in (1, 2, 7):
        monkeypatch.setattr(planners, "_BLOCK", block)
        assert bounds.plan_clopper_pearson(0.3, 0.1, 0.05, 0.8, stable) == whole

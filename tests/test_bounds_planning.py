"""Planners, multiplicity rules, clustering and streams."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import bounds
from oddshift.base.errors import InvalidInput, NoGuarantee
from oddshift.base.storage import load, save
from oddshift.bounds import betting
from oddshift.bounds.betting import BETS


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


def test_resampled_plan_is_enough_for_its_pilot_and_says_what_is_missing():
    rng = np.random.default_rng(4)
    pilot = rng.binomial(20, rng.beta(0.3, 5.7, 200)) / 20  # mean .05, ICC .14
    plan = bounds.plan_resampled(pilot, 0.1, 0.05, 0.8, rng=rng)
    fresh = [rng.choice(pilot, plan.needs) for _ in range(300)]
    power = np.mean([bounds.betting_upper(values, 0.05) <= 0.1 for values in fresh])
    assert 0.7 < power < 0.9
    assert plan.says(plan.needs - 1).startswith(f"undecided: needs {plan.needs}, has {plan.needs - 1}")
    assert plan.says(plan.needs).startswith("enough")
    assert plan.needs > bounds.zero_failures(0.1, 0.05)
    with pytest.raises(NoGuarantee, match="no n is enough"):
        bounds.plan_resampled(pilot, 0.01, 0.05, 0.8, rng=rng)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.plan_clopper_pearson(0.1, 0.1, 0.05, 0.9),
        lambda: bounds.plan_clopper_pearson(0.1, 0.05, 0.05, 1.0),
        lambda: bounds.plan_clopper_pearson(0.1, "none", 0.05, 0.9),
        lambda: bounds.plan_resampled([0.0], 0.1, 0.05, 0.9, rng=None),
        lambda: bounds.betting_log_e([0.5], math.nan),
        lambda: bounds.robbins_log_e(1, 3, 1.5),
        lambda: bounds.plan_clopper_pearson(0.1, 0.09999, 0.05, 0.9),
        lambda: bounds.zero_failures(0.0, 0.05),
        lambda: bounds.zero_failures(0.1, 0.05, "guess"),
        lambda: bounds.spend(0.05, 0),
        lambda: bounds.holm([0.1, 1.1], 0.05),
        lambda: bounds.design_effect([3], [2]),
        lambda: bounds.design_effect([0.5], [2]),
        lambda: bounds.design_effect([0], [0]),
        lambda: bounds.design_effect([0, 1], [2]),
    ],
)
def test_refusals(call):
    with pytest.raises(InvalidInput):
        call()


pvalues = st.lists(st.floats(0, 0.2), min_size=1, max_size=8)


@given(pvalues)
@settings(max_examples=80, deadline=None)
def test_multiplicity_rules_relate_as_they_should(p):
    bonferroni, holm, sequence = bounds.bonferroni(p, 0.05), bounds.holm(p, 0.05), bounds.fixed_sequence(p, 0.05)
    assert all(h or not b for b, h in zip(bonferroni, holm, strict=True))
    assert bounds.intersection_union(p, 0.05) == all(x <= 0.05 for x in p)
    assert bounds.intersection_union(p, 0.05) == all(sequence)
    first_failure = next((i for i, x in enumerate(p) if x > 0.05), len(p))
    assert sequence == tuple(i < first_failure for i in range(len(p)))


def test_holm_controls_the_family_and_best_of_k_does_not():
    rng = np.random.default_rng(0)
    p = rng.random((4000, 10))
    assert np.mean([any(bounds.holm(row, 0.05)) for row in p]) < 0.06
    assert np.mean(p.min(axis=1) <= 0.05) > 0.35


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


def test_betting_stream_equals_the_batch_however_it_is_cut():
    values = np.random.default_rng(2).integers(0, 4, 500) / 30
    whole = bounds.BettingStream(0.1, "model-1").update(values)
    parts = bounds.BettingStream(0.1, "model-1")
    for block in np.array_split(values, 17):
        parts = parts.update(block)
    assert parts.n == whole.n == 500
    assert parts.log_e_below == pytest.approx(whole.log_e_below, abs=1e-9)
    assert whole.log_e_below == pytest.approx(bounds.betting_log_e(values, 0.1), abs=1e-9)
    assert whole.log_e_above == pytest.approx(bounds.betting_log_e(1 - values, 0.9), abs=1e-9)
    assert whole.state(0.05) == "certified"


def test_streams_are_saved_continued_and_restarted(tmp_path):
    stream = bounds.BettingStream(0.1, "model-1").update([0.0] * 30)
    save(tmp_path / "stream.json", stream)
    again = load(tmp_path / "stream.json", bounds.BettingStream)
    assert again == stream
    assert again.update([0.0] * 29).state(0.05) == "certified"
    moved = again.update([0.0] * 29, subject="model-2")
    assert (moved.n, moved.subject, moved.restarts, moved.state(0.05)) == (29, "model-2", 1, "undecided")
    counts = bounds.RobbinsStream(0.05, "model-1").update([0, 1, 0] * 40)
    save(tmp_path / "counts.json", counts)
    assert load(tmp_path / "counts.json", bounds.RobbinsStream) == counts
    assert counts.upper == bounds.robbins_upper(40, 120, 0.05)
    assert counts.update([1], subject="model-2").n == 1


def test_streams_find_violations_and_refuse_fractions():
    assert bounds.BettingStream(0.1, "m").update([0.5] * 100).state(0.05) == "violated"
    assert bounds.BettingStream(0.1, "m").update([0.1] * 100).state(0.05) == "undecided"
    assert bounds.RobbinsStream(0.05, "m").update([1] * 50).state(0.5) == "violated"
    with pytest.raises(InvalidInput, match=r"values has 0\.5, expected 0 or 1"):
        bounds.RobbinsStream(0.05, "m").update([0.5])
    with pytest.raises(InvalidInput, match="subject=''"):
        bounds.BettingStream(0.1, "")
    with pytest.raises(InvalidInput, match=f"expected {len(BETS)}"):
        bounds.BettingStream(0.1, "m", log_wealths_below=(0.0,))


def test_evidence_of_a_stream_survives_a_bad_end():
    good = bounds.BettingStream(0.1, "m").update([0.0] * 100)
    later = good.update([1.0] * 50)
    assert later.log_e_below < math.log(20) <= later.log_peak_below
    assert good.state(0.05) == "certified"

"""P-values and evidence of every method, against fractions and enumeration; the arguments that they refuse."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import bounds
from oddshift.base.errors import InvalidInput, NoGuarantee
from oddshift.bounds.betting import BETS, log_wealths, plugin_bets, tally
from oddshift.bounds.checks import bracket, count, error_level, unit_closed, unit_values

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12)
DELTAS = st.sampled_from([0.05, 0.3, 0.6])


@settings(max_examples=50)
@given(VALUES)
def test_a_tally_holds_every_value_as_often_as_it_came(values):
    found = tally(values)
    assert found.n == len(values)
    assert np.repeat(found.values, found.counts).tolist() == sorted(values)


@settings(max_examples=50)
@given(VALUES, DELTAS)
def test_wealth_is_the_product_of_one_bet_after_another(values, m):
    stakes = np.array([0.1, 0.5, 1.0])
    expected = [math.prod(1 + stake * (m - z) for z in values) for stake in stakes]
    with np.errstate(divide="ignore"):
        assert np.exp(log_wealths(tally(values), m, stakes)) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=50)
@given(VALUES, DELTAS)
def test_the_betting_pvalue_is_one_over_the_mean_wealth(values, delta):
    wealth = np.mean([math.prod(1 + stake * (delta - z) for z in values) for stake in BETS])
    assert bounds.betting_pvalue(values, delta) == pytest.approx(min(1.0, 1 / wealth), rel=1e-6)


@settings(max_examples=50)
@given(VALUES, DELTAS, st.sampled_from([0.01, 0.1]))
def test_the_plugin_pvalue_is_one_over_the_largest_wealth_on_the_way(values, delta, alpha):
    stakes, wealth, peak = plugin_bets(np.array(values), alpha), 1.0, 0.0
    for stake, z in zip(stakes, values, strict=True):
        wealth *= 1 + stake * (delta - z)
        peak = max(peak, wealth)
    assert bounds.betting_plugin_pvalue(values, delta, alpha) == pytest.approx(min(1.0, 1 / peak), rel=1e-6)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_the_robbins_pvalue_is_one_over_the_mixture(k):
    n, delta, steps = 6, 0.4, 200_000
    t = (np.arange(steps) + 0.5) * delta / steps
    mixture = np.mean((t / delta) ** k * ((1 - t) / (1 - delta)) ** (n - k))
    assert bounds.robbins_pvalue(k, n, delta) == pytest.approx(min(1.0, 1 / mixture), rel=1e-6)


@pytest.mark.parametrize("name", sorted(bounds.METHODS))
def test_more_violations_never_make_a_pvalue_smaller(name):
    found = [bounds.METHODS[name].pvalue(np.array([0.0] * (40 - k) + [1.0] * k), 0.3, 0.05) for k in range(0, 41, 4)]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(found))
    assert 0 < found[0] < 0.05
    assert found[-1] == 1.0


@pytest.mark.parametrize("name", sorted(bounds.METHODS))
def test_a_higher_threshold_is_easier_to_be_below(name):
    values = np.array([0.0] * 57 + [1.0] * 3)
    found = [bounds.METHODS[name].pvalue(values, delta, 0.05) for delta in (0.02, 0.1, 0.2, 0.4, 0.8)]
    assert all(a >= b for a, b in itertools.pairwise(found))
    assert found[0] > 0.05 > found[-1] > 0


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), st.integers(1, 300), st.sampled_from([0.01, 0.05, 0.2]))
def test_hoeffding_bentkus_bounds_the_mean_from_both_sides_and_is_never_wider_than_hoeffding(mean, n, alpha):
    upper, lower = bounds.hoeffding_bentkus_upper(mean, n, alpha), bounds.hoeffding_bentkus_lower(mean, n, alpha)
    assert lower <= mean <= upper
    assert upper <= bounds.hoeffding_upper(mean, n, alpha) + 1e-9
    assert lower >= bounds.hoeffding_lower(mean, n, alpha) - 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unit_values([0.5, 1.5]), r"values\[1\] = 1\.5, expected numbers in \[0, 1\]"),
        (lambda: unit_values([-0.1]), r"values\[0\] = -0\.1, expected numbers in \[0, 1\]"),
        (lambda: unit_values([]), r"values is empty \(shape \(0,\)\), expected at least one entry"),
        (lambda: unit_values([math.nan]), r"values has NaN at \(0,\), expected numbers"),
        (lambda: unit_values([[0.5]]), r"values has shape \(1, 1\), expected 1 axes"),
        (lambda: unit_closed(1.01, "mean"), "mean=1.01, expected 0 <= mean <= 1"),
        (lambda: unit_closed(math.nan, "mean"), "mean=nan, expected 0 <= mean <= 1"),
        (lambda: unit_closed("0.5", "mean"), "mean='0.5', expected a number"),
        (lambda: count(5, 3), r"k=5, expected a whole number in \[0, 3\]"),
        (lambda: count(0, 0), "n=0, expected a whole number >= 1"),
        (lambda: count(1.0, 3), r"k=1\.0, expected a whole number in \[0, 3\]"),
        (lambda: count(True, 3), r"k=True, expected a whole number in \[0, 3\]"),
        (lambda: error_level(0.5), "alpha=0.5, expected 0 < alpha < 0.5"),
        (lambda: error_level(0.0), "alpha=0.0, expected 0 < alpha < 0.5"),
        (lambda: error_level(math.nan), "alpha=nan, expected 0 < alpha < 0.5"),
    ],
)
def test_arguments_out_of_range_are_refused_with_their_value(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_arguments_at_their_ends_are_taken():
    assert unit_values([0, 1]).tolist() == [0.0, 1.0]
    assert (unit_closed(0, "x"), unit_closed(1, "x")) == (0.0, 1.0)
    assert count(np.int64(3), 3) == (3, 3)
    assert error_level(0.499) == 0.499


def test_bounds_that_cross_are_no_bounds():
    assert bracket(0.2, 0.2) == (0.2, 0.2)
    with pytest.raises(NoGuarantee, match=r"the lower bound 0\.3 lies above the upper bound 0\.2"):
        bracket(0.3, 0.2)

"""Searches return the safe end, whatever the first guess; extreme inputs keep every bound in [0, 1]."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import bounds
from oddshift.bounds.checks import bracketed_reach, first_reach

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

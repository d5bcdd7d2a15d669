"""Calibration on families whose exact ε is known as a function of the nominal one."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import InvalidInput, calibrate
from oddshift.base.errors import NoGuarantee


@dataclass(frozen=True)
class Known:
    """Stands for a mechanism: a nominal ε and the exact one that a family gives it."""

    epsilon: float
    exact_epsilon: float


SHAPES = {
    "half": lambda e: e / 2,
    "label": lambda e: e,
    "square": lambda e: e * e,
    "root": lambda e: e**0.5,
    "late": lambda e: max(0.0, e - 5.0),
    "double": lambda e: 2 * e,
}


@given(st.sampled_from(sorted(SHAPES)), st.floats(0.01, 50.0))
@settings(max_examples=120, deadline=None)
def test_the_exact_epsilon_ends_just_below_the_target_and_never_above(name, target):
    shape, calls = SHAPES[name], []

    def family(epsilon):
        calls.append(epsilon)
        return Known(epsilon, shape(epsilon))

    best = calibrate(family, target)
    assert best.exact_epsilon <= target
    assert best.exact_epsilon >= target * (1 - 1e-5)
    assert best.exact_epsilon == shape(best.epsilon)
    assert len(calls) < 120


def test_a_family_that_jumps_over_the_target_gives_the_largest_nominal_below_the_jump():
    best = calibrate(lambda e: Known(e, 0.5 if e < 3.0 else 2.0), 1.0)
    assert best.exact_epsilon == 0.5
    assert best.epsilon == pytest.approx(3.0, rel=1e-5)
    assert best.epsilon < 3.0


def test_a_family_that_becomes_infinite_is_searched_by_halving():
    best = calibrate(lambda e: Known(e, 0.1 if e < 7.0 else float("inf")), 1.0)
    assert best.epsilon == pytest.approx(7.0, rel=1e-5)
    assert best.exact_epsilon == 0.1


def test_a_target_that_is_met_exactly_is_accepted():
    assert calibrate(lambda e: Known(e, 1.0), 1.0).exact_epsilon == 1.0


def test_a_family_far_above_its_label_is_followed_down():
    best = calibrate(lambda e: Known(e, 1000.0 * e), 1.0)
    assert best.epsilon == pytest.approx(0.001, rel=1e-5)
    with pytest.raises(NoGuarantee, match=r"no nominal epsilon down to .* has an exact epsilon <= target=1$"):
        calibrate(lambda e: Known(e, 1e9 * e), 1.0)


@pytest.mark.parametrize("target", [0.0, -1.0, float("nan"), float("inf"), None, "1"])
def test_a_target_is_a_finite_number_above_zero(target):
    with pytest.raises(InvalidInput, match=r"target=.*expected a"):
        calibrate(lambda e: Known(e, e), target)

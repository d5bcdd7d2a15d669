"""One comparison with ε: strictly more, with one tolerance, the same wherever leakage is compared."""

import numpy as np
import pytest

import oddshift as od
import oracles
from oddshift import InvalidInput, mpl
from oddshift.audit.measurement import worst_exceeds
from oddshift.base.errors import ImpossibleObservation
from oddshift.base.logarithms import log
from oddshift.leakage.mpl import ROUNDING, exceeds, exceeds_budget, nearest_distance, shift_limit, violation_rate

UNIT = [[0.0, 1.0], [1.0, 0.0]]
LINE = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]


def test_by_hand():
    before, after = [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]
    leak = mpl(np.log(before), np.log(after), LINE)
    assert leak[0, 1] == pytest.approx(np.log(3.0))
    assert leak[1, 2] == pytest.approx(np.log(5.0) / 2)
    assert leak[2, 0] == pytest.approx(np.log(15.0) / 3)
    assert leak.diagonal().tolist() == [0, 0, 0]
    assert leak == pytest.approx(oracles.mpl(before, after, LINE))


def test_a_constant_in_the_posterior_does_not_matter():
    shifted = mpl(np.log([0.5, 0.5]), np.log([0.72, 0.28]) - 40.0, UNIT)
    assert shifted[0, 1] == pytest.approx(np.log(0.72 / 0.28))


def test_excluded_values():
    leak = mpl(np.log([0.2, 0.3, 0.5]), log([1.0, 0.0, 0.0]), LINE)
    assert leak.tolist() == [[0, np.inf, np.inf], [np.inf, 0, 0], [np.inf, 0, 0]]


@pytest.mark.parametrize(
    ("before", "after", "distances", "message"),
    [
        ([0.0, -np.inf], [0.0, 0.0], UNIT, "log_prior has -inf for value 1, expected a prior probability > 0"),
        ([0.0, 0.0], [0.0, np.inf], UNIT, "log_posterior has inf for value 1"),
        ([0.0, np.nan], [0.0, 0.0], UNIT, "log_prior has NaN"),
        ([0.0, 0.0], [0.0, np.nan], UNIT, "log_posterior has NaN"),
        ([0.0, 0.0], [0.0], UNIT, "log_prior has 2 values and log_posterior 1"),
        ([0.0, 0.0], [0.0, 0.0], [[0.0]], r"distances has shape \(1, 1\), expected \(2, 2\)"),
        ([0.0, 0.0], [0.0, 0.0], np.zeros((2, 2)), "points 0 and 1 are at distance 0, expected distinct points"),
        ([0.0, 0.0], [0.0, 0.0], [[0, -1], [-1, 0]], "expected distances >= 0"),
    ],
)
def test_refusals(before, after, distances, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        mpl(before, after, distances)
    assert "\n" not in str(caught.value)


def test_an_impossible_observation_raises():
    with pytest.raises(ImpossibleObservation, match="expected an observation that can occur"):
        mpl(np.log([0.5, 0.5]), [-np.inf, -np.inf], UNIT)


JOINT = np.array([[0.05, 0.095, 0.355], [0.005, 0.05, 0.445]])


def test_rates_of_one_release_by_hand():
    half = np.log([0.5, 0.5])
    budget = np.log(2.0)
    for law in ("uniform", "worst"):
        assert violation_rate(np.log(JOINT), half, np.array(UNIT), budget, law) == pytest.approx(0.055)
    assert violation_rate(np.log(JOINT), half, np.array(UNIT), budget, "anchored") == pytest.approx(0.055)
    assert violation_rate(np.log(JOINT), half, np.array(UNIT), 5.0) == 0.0


def test_the_budget_itself_is_no_violation():
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    assert violation_rate(np.log(joint), np.log([0.5, 0.5]), np.array(UNIT), np.log(4.0)) == 0.0
    assert violation_rate(np.log(joint), np.log([0.5, 0.5]), np.array(UNIT), np.log(4.0) - 1e-9) == 1.0


def test_one_value_cannot_leak():
    assert violation_rate(np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), 1.0) == 0.0


@pytest.mark.parametrize(("epsilon", "law"), [(-1.0, "uniform"), (np.nan, "uniform"), (np.inf, "worst"), (1.0, "best")])
def test_rate_refusals(epsilon, law):
    with pytest.raises(InvalidInput, match="expected"):
        violation_rate(np.log(JOINT), np.log([0.5, 0.5]), np.array(UNIT), epsilon, law)


TWO = od.Space([[0.0], [0.5]])


def test_the_limit_is_epsilon_times_the_distance_and_a_rounding():
    assert shift_limit(2.0, 0.5) == pytest.approx(1.0, abs=3 * ROUNDING)
    assert shift_limit(2.0, 0.5) >= 1.0 + ROUNDING
    np.testing.assert_allclose(shift_limit(2.0, np.array([0.0, 0.5, np.inf])), [ROUNDING, 1.0, np.inf], atol=1e-11)


@pytest.mark.parametrize(("excess", "beyond"), [(0.0, False), (ROUNDING / 2, False), (1e-11, True), (-1e-9, False)])
def test_exactly_epsilon_does_not_exceed_it_and_a_little_more_does(excess, beyond):
    gap = 1.0 + excess
    assert bool(exceeds(np.array([gap]), 0.5, 2.0)[0]) is beyond
    assert exceeds_budget(gap / 0.5, 2.0, nearest=0.5) is beyond


@pytest.mark.parametrize("excess", [0.0, ROUNDING / 2, 1e-11, 0.3])
def test_every_rate_uses_the_same_limit(excess):
    """Two points at distance .5 whose odds shift by 1 + excess, against ε = 2."""
    shift = np.array([[0.0, 1.0 + excess]])
    expected = excess > ROUNDING
    log_joint = np.log([[0.5], [0.5]]) + shift.T
    law = log_joint - np.logaddexp.reduce(log_joint.ravel())
    rates = [violation_rate(law, np.log([0.5, 0.5]), TWO.distances, 2.0, pairs) for pairs in ("uniform", "worst")]
    assert [rate > 0.5 for rate in rates] == [expected, expected]
    assert bool(worst_exceeds(shift, TWO, np.arange(2), 2.0)[0]) is expected


def test_near_points_may_differ_by_the_rounding_of_their_logarithms():
    """1e-13 nats of rounding at a distance of 1e-6 look like 1e-7 per unit: not a violation of the mechanism."""
    assert not exceeds_budget(1.0 + 1e-7, 1.0, nearest=1e-6)
    assert exceeds_budget(1.0 + 1e-7, 1.0, nearest=1.0)


def test_the_nearest_distance_is_the_smallest_of_all_pairs(monkeypatch):
    space = od.Space(np.random.default_rng(0).normal(size=(30, 2)))
    apart = space.distances + np.diag(np.full(30, np.inf))
    assert nearest_distance(space) == pytest.approx(apart.min())
    assert nearest_distance(TWO) == 0.5


def test_an_exponential_mechanism_never_exceeds_its_own_epsilon():
    space = od.Space(np.random.default_rng(1).normal(size=(40, 3)) * 1e-3)
    em = od.Exponential(space, 2.0)
    assert not exceeds_budget(em.exact_epsilon, 2.0, nearest_distance(space))

import numpy as np
import pytest

import oracles
from oddshift import InvalidInput, mpl
from oddshift.base.errors import ImpossibleObservation
from oddshift.base.logarithms import log
from oddshift.leakage.mpl import violation_rate

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

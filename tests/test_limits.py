"""One comparison with ε: strictly more, with one tolerance, the same wherever leakage is compared."""

import numpy as np
import pytest

import oddshift as od
from oddshift.audit.measurement import worst_exceeds
from oddshift.leakage.mpl import ROUNDING, exceeds, exceeds_budget, nearest_distance, shift_limit, violation_rate

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

"""The oracles themselves on the paper's toy, so that a wrong oracle cannot approve a wrong library."""

import numpy as np
import pytest

import oracles

TOY = np.array([[0.01, 0.49], [0.49, 0.01]])
EM = np.array([[0.72, 0.28], [0.28, 0.72]])
UNIT = np.array([[0.0, 1.0], [1.0, 0.0]])


def test_the_toy_of_the_paper():
    assert oracles.epsilon(EM, UNIT) == pytest.approx(0.944462, abs=1e-6)
    assert oracles.largest(TOY, [EM, EM], UNIT, 0) == pytest.approx(1.845681, abs=1e-6)
    assert oracles.rate(TOY, [EM, EM], UNIT, 0, 1.0, "uniform") == pytest.approx(0.592928, abs=1e-9)


def test_inverse_is_half_open():
    assert [oracles.inverse([0.25, 0.0, 0.75], z) for z in (0.0, 0.2499, 0.25, 0.9)] == [0, 0, 2, 2]


def test_programmes_on_two_points():
    p, q, spread = np.array([0.8, 0.2]), np.array([0.3, 0.7]), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert oracles.lipschitz_ratio(p, q, spread) == pytest.approx(np.log((0.8 * np.e + 0.2) / (0.3 * np.e + 0.7)))
    assert oracles.w_infinity(p, q, spread) == 1.0
    assert oracles.soft_coupling(p, q, spread) == pytest.approx(np.log((0.2 + 0.5 * np.e) / 0.7))

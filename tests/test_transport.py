import numpy as np
import pytest

import oracles
from oddshift.leakage.transport import bottleneck, log_lipschitz_ratio, soft_coupling

P, Q = np.array([0.8, 0.2]), np.array([0.3, 0.7])
UNIT = np.array([[0.0, 1.0], [1.0, 0.0]])


def test_by_hand():
    assert bottleneck(P, Q, UNIT) == pytest.approx(1.0, abs=1e-9)
    assert bottleneck(P, P, UNIT) == pytest.approx(0.0, abs=1e-9)
    assert soft_coupling(P, Q, UNIT) == pytest.approx(np.log((0.2 + 0.5 * np.e) / 0.7), abs=1e-9)
    assert log_lipschitz_ratio(P, Q, UNIT) == pytest.approx(np.log((0.8 * np.e + 0.2) / (0.3 * np.e + 0.7)), abs=1e-9)


def test_directed_spreads():
    oneway = np.array([[0.0, 2.0], [0.5, 0.0]])
    assert bottleneck(P, Q, oneway) == pytest.approx(2.0, abs=1e-9)
    assert bottleneck(Q, P, oneway) == pytest.approx(0.5, abs=1e-9)


def test_weights_need_not_sum_to_one():
    assert log_lipschitz_ratio(3 * P, Q / 2, UNIT) == pytest.approx(log_lipschitz_ratio(P, Q, UNIT) + np.log(6.0))


def test_nothing_on_one_side():
    nothing = np.zeros(2)
    assert log_lipschitz_ratio(nothing, Q, UNIT) == -np.inf
    assert log_lipschitz_ratio(P, nothing, UNIT) == np.inf


def test_unbounded_spreads():
    apart = np.array([[0.0, np.inf], [np.inf, 0.0]])
    assert log_lipschitz_ratio(P, Q, apart) == pytest.approx(np.log(0.8 / 0.3))
    assert log_lipschitz_ratio(P, np.array([1.0, 0.0]), apart) == np.inf
    assert soft_coupling(P, Q, apart) == np.inf
    assert bottleneck(P, Q, apart) == np.inf


def test_a_tiny_mass_that_travels_far_counts():
    p, q, far = np.array([1 - 1e-13, 1e-13]), np.array([1.0, 0.0]), np.array([[0.0, 40.0], [40.0, 0.0]])
    truth = np.log(p[0] + p[1] * np.exp(40.0))
    assert truth > 10
    for bound in (log_lipschitz_ratio, soft_coupling, bottleneck):
        assert bound(p, q, far) >= truth - 1e-9
    assert log_lipschitz_ratio(p, q, far) == pytest.approx(truth, abs=1e-9)


def spread_of(rng, n):
    points = rng.normal(size=(n, 2))
    return np.abs(points[:, None] - points[None]).sum(axis=2)


@pytest.mark.parametrize("seed", range(12))
def test_against_dense_programmes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    p, q, spread = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n)), spread_of(rng, n)
    assert log_lipschitz_ratio(p, q, spread) == pytest.approx(oracles.lipschitz_ratio(p, q, spread), abs=1e-7)
    assert bottleneck(p, q, spread) == pytest.approx(oracles.w_infinity(p, q, spread), abs=1e-9)
    assert soft_coupling(p, q, spread) == pytest.approx(oracles.soft_coupling(p, q, spread), abs=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_small_masses_keep_the_order(seed):
    rng = np.random.default_rng(seed)
    n = 9
    p, q = rng.dirichlet(np.full(n, 0.08)) + 1e-12, rng.dirichlet(np.full(n, 0.08)) + 1e-12
    p, q, spread = p / p.sum(), q / q.sum(), 3.0 * spread_of(rng, n)
    exact_family = [np.exp(-spread[:, x]) for x in range(n)]  # each is log-Lipschitz, so each bounds from below
    below = max(np.log((p * g).sum() / (q * g).sum()) for g in exact_family)
    lp, soft, w = log_lipschitz_ratio(p, q, spread), soft_coupling(p, q, spread), bottleneck(p, q, spread)
    assert below - 1e-9 <= lp <= soft + 1e-7
    assert min(lp, soft) <= w + 1e-7
    assert soft <= w + 1e-7

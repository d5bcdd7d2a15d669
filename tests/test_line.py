"""Geometric noise and randomized response against their own definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import Geometric, InvalidInput, RandomizedResponse, Space, scaled


def slow_geometric(n, a):
    """Two-sided geometric noise on the whole line, what falls beyond an end counted at that end."""
    noise = {k: a ** abs(k) * (1 - a) / (1 + a) for k in range(-400, 401)}
    rows = np.zeros((n, n))
    for x in range(n):
        for k, p in noise.items():
            rows[x, min(max(x + k, 0), n - 1)] += p
    return rows


@pytest.mark.parametrize(("n", "step", "epsilon"), [(2, 1.0, 0.5), (3, 0.5, 0.7), (6, 2.0, 0.1), (5, 1.5, 2.0)])
def test_geometric_noise_gathers_its_tails_at_the_ends(n, step, epsilon):
    mechanism = Geometric(Space(10.0 + step * np.arange(n)[:, None]), epsilon)
    assert np.exp(mechanism.log_matrix) == pytest.approx(slow_geometric(n, np.exp(-epsilon * step)), abs=1e-12)


@given(st.integers(2, 12), st.floats(0.01, 3.0), st.floats(0.1, 5.0))
@settings(max_examples=40, deadline=None)
def test_geometric_noise_reaches_its_claim_exactly(n, epsilon, step):
    mechanism = Geometric(Space(step * np.arange(n)[:, None]), epsilon)
    assert mechanism.exact_epsilon == pytest.approx(epsilon, rel=1e-9)
    assert mechanism.claimed_epsilon == epsilon


def test_geometric_noise_without_end_stays_normalised():
    rows = np.exp(Geometric(Space(np.arange(50.0)[:, None]), 1e-12).log_matrix)
    assert rows.sum(axis=1) == pytest.approx(np.ones(50))
    assert rows[20, 0] == pytest.approx(0.5, abs=1e-9)  # flat noise leaves the line on either side
    sure = np.exp(Geometric(Space(np.arange(5.0)[:, None]), 1e5).log_matrix)
    assert sure == pytest.approx(np.eye(5))


def test_manhattan_is_a_line_too_and_another_metric_is_not():
    points = [[0.0], [1.0], [2.0]]
    assert Geometric(Space(points, "manhattan"), 1.0).exact_epsilon == pytest.approx(1.0)
    for metric in ("hamming", scaled("euclidean", 2.0)):
        with pytest.raises(InvalidInput, match="expected at least 2 points in one column"):
            Geometric(Space(points, metric), 1.0)


@pytest.mark.parametrize("points", [[[0.0], [1.0], [2.0 + 1e-6]], [[0.0], [1.0], [0.5]], [[2.0], [1.0], [0.0]]])
def test_points_out_of_step_or_order_are_refused_without_being_shown(points):
    with pytest.raises(InvalidInput, match="not in order at equal steps") as caught:
        Geometric(Space(points), 1.0)
    assert "0." not in str(caught.value)


@given(st.integers(2, 8), st.floats(0.05, 4.0), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_randomized_response_keeps_the_point_with_odds_of_the_smallest_distance(n, epsilon, seed):
    space = Space(np.random.default_rng(seed).normal(size=(n, 3)))
    smallest = min(space.distances[a, b] for a in range(n) for b in range(a))
    rows = np.exp(RandomizedResponse(space, epsilon).log_matrix)
    for x in range(n):
        others = np.delete(rows[x], x)
        assert others == pytest.approx(np.full(n - 1, others[0]))
        assert rows[x, x] / others[0] == pytest.approx(np.exp(epsilon * smallest))
        assert rows[x].sum() == pytest.approx(1.0)
    assert RandomizedResponse(space, epsilon).exact_epsilon == pytest.approx(epsilon, rel=1e-9)


def test_reprs_show_sizes_and_budget_only():
    space = Space([[17.25], [18.25]])
    assert repr(Geometric(space, 0.5)) == "Geometric(Space(n=2, metric=euclidean), epsilon=0.5)"
    assert repr(RandomizedResponse(space, 0.5)) == "RandomizedResponse(Space(n=2, metric=euclidean), epsilon=0.5)"

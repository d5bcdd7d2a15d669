"""The interior-point method against a dense solver, and its bound against multipliers of any kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.mechanisms import interior_point
from oddshift.mechanisms.interior_point import Ratios, cheapest_channel, proven_bound


def made_program(seed, n=5, m=4):
    """Random costs with a least cost of 0 in every row, and both directions of all pairs at random distances."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    left, right = np.nonzero(~np.eye(n, dtype=bool))
    costs = rng.random((n, m))
    far = np.linalg.norm(points[left] - points[right], axis=1)
    return costs - costs.min(axis=1, keepdims=True), Ratios(n, left, right, np.exp(-far))


def optimum(costs, ratios):
    """The dense program."""
    from scipy.optimize import linprog

    n, m = costs.shape
    rows = np.zeros((len(ratios.factor), n))
    rows[np.arange(len(rows)), ratios.left] = ratios.factor
    rows[np.arange(len(rows)), ratios.right] -= 1.0
    all_rows = np.kron(rows, np.eye(m))
    return linprog(costs.ravel(), all_rows, np.zeros(len(all_rows)), np.kron(np.eye(n), np.ones(m)), np.ones(n)).fun


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_it_finds_the_optimum_of_the_dense_program_and_proves_it(seed):
    costs, ratios = made_program(seed)
    channel, multipliers = cheapest_channel(costs, ratios, 1e-9)
    best = optimum(costs, ratios)
    assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-7)
    assert (ratios.rows @ channel).max() <= 1e-9
    assert (costs * channel).sum() == pytest.approx(best, abs=1e-7)
    assert best - 1e-7 <= proven_bound(costs, ratios, multipliers) <= best + 1e-9


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 1.0, 100.0]))
@settings(max_examples=30, deadline=None)
def test_the_bound_holds_for_any_multipliers(seed, size):
    costs, ratios = made_program(seed)
    multipliers = size * np.random.default_rng(seed).random((len(ratios.factor), costs.shape[1]))
    assert proven_bound(costs, ratios, multipliers) <= optimum(costs, ratios) + 1e-9


def test_the_bound_is_rounded_down():
    """Exact arithmetic on the same numbers is at least the bound; without the allowance for rounding it need not be."""
    from fractions import Fraction

    costs, ratios = made_program(3)
    _, multipliers = cheapest_channel(costs, ratios, 1e-9)
    priced = [[Fraction(c) for c in row] for row in costs.tolist()]
    for row, (a, b, g) in enumerate(zip(ratios.left, ratios.right, ratios.factor.tolist(), strict=True)):
        for y, value in enumerate(multipliers[row].tolist()):
            priced[a][y] += Fraction(g) * Fraction(value)
            priced[b][y] -= Fraction(value)
    exact = sum(min(row) for row in priced)
    found = proven_bound(costs, ratios, multipliers)
    assert Fraction(found) < exact
    assert float(exact - Fraction(found)) < 1e-12


def test_without_constraints_every_point_takes_its_cheapest_output():
    nothing = np.zeros(0, dtype=np.int64)
    solution = cheapest_channel(np.array([[0.3, 0.0]]), Ratios(1, nothing, nothing, np.zeros(0)), 1e-9)
    assert solution.channel.tolist() == [[0.0, 1.0]]


def test_equal_costs_are_solved_before_the_first_step(monkeypatch):
    monkeypatch.setattr(interior_point, "_step", lambda *given: pytest.fail("a step was taken"))
    _, ratios = made_program(1)
    solution = cheapest_channel(np.zeros((5, 4)), ratios, 1e-9)
    assert solution.channel == pytest.approx(0.25)
    assert not solution.multipliers.any()


def test_a_step_that_fails_leaves_the_last_point(monkeypatch):
    monkeypatch.setattr(interior_point, "_factored", lambda matrix: None)
    costs, ratios = made_program(1)
    solution = cheapest_channel(costs, ratios, 1e-9)
    assert solution.channel == pytest.approx(0.25)
    assert proven_bound(costs, ratios, solution.multipliers) <= optimum(costs, ratios)


def test_a_matrix_that_rounding_made_indefinite_is_factored_with_a_ridge():
    ones = np.ones((3, 3))
    matrix = ones.copy()
    assert interior_point._factored(matrix) is not None
    factor = np.triu(matrix)
    assert factor.T @ factor == pytest.approx(ones, abs=1e-5)
    assert interior_point._factored(np.diag([1.0, -1.0])) is None

"""Channels that are nearly private, made private: against the constraints themselves, and against what it costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.mechanisms import optimal
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.optimal import made_private
from oddshift.model.space import Space


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 0.3, 1.0, 40.0, 900.0]))
@settings(max_examples=40, deadline=None)
def test_any_rows_become_a_private_channel(seed, epsilon):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, size=2)
    space = Space(rng.normal(size=(n, 2)))
    table = made_private(rng.dirichlet(np.ones(m), n), np.full(n, 1.0 / n), space.distances, epsilon)
    assert np.isfinite(table).all()
    assert np.exp(table).sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert true_epsilon(table, space.distances) <= epsilon


@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-6, 1e-3])
def test_a_private_channel_moves_no_more_than_its_error(error):
    rng = np.random.default_rng(4)
    space = Space(rng.normal(size=(20, 2)))
    prior = np.full(20, 0.05)
    rows = np.exp(Exponential(space, 1.0).log_matrix)
    broken = rows * (1.0 + error * rng.uniform(-1.0, 1.0, rows.shape))
    epsilon = Exponential(space, 1.0).exact_epsilon
    table = made_private(broken / broken.sum(axis=1, keepdims=True), prior, space.distances, epsilon)
    moved = np.abs(np.exp(table) - rows).sum(axis=1).max()
    nearest = np.where(np.eye(20, dtype=bool), np.inf, space.distances).min()
    assert moved <= 10.0 * error / (1.0 - np.exp(-epsilon * nearest)) + 1e-9


def test_outputs_that_no_point_releases_stay_possible_from_all_of_them():
    table = made_private(
        np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0
    )
    assert np.isfinite(table).all()
    assert np.exp(table[:, 1]).max() < 1e-9


def test_negative_entries_count_as_nothing():
    table = made_private(
        np.array([[1.1, -0.1], [0.5, 0.5]]), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0
    )
    assert true_epsilon(table, [[0.0, 1.0], [1.0, 0.0]]) <= 1.0


def test_it_fills_up_until_the_exact_epsilon_agrees(monkeypatch):
    found = []

    def strict(table, distances):
        found.append(true_epsilon(table, distances))
        return found[-1] + 0.5  # as if rounding had cost half of the budget

    monkeypatch.setattr(optimal, "true_epsilon", strict)
    made_private(np.eye(2), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0)
    assert len(found) > 2
    assert found[-1] <= 0.5

"""Means in float32 against float64: the error is within its bound, and no destination of a remap changes."""

import numpy as np
import pytest

from oddshift.mechanisms import Exponential, kernel_sums, remap
from oddshift.mechanisms.remap import Remap
from oddshift.model.space import Space


def made_points(kind):
    rng = np.random.default_rng(7)
    normal = rng.normal(size=(90, 20))
    return {
        "normal": normal,
        "far from the origin": normal + 300.0,
        "nearly equal": np.concatenate([normal, normal[:30] + 1e-5 * rng.normal(size=(30, 20))]),
        "of very different sizes": normal * rng.lognormal(0.0, 2.0, (90, 1)),
        "clustered": rng.normal(size=(6, 20))[rng.integers(0, 6, 90)] + 0.05 * normal,
    }[kind]


KINDS = ("normal", "far from the origin", "nearly equal", "of very different sizes", "clustered")


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(kernel_sums, "_COARSE_SIDE", 32)
    monkeypatch.setattr(remap, "_COARSE", 0)


@pytest.mark.parametrize("knows_totals", [True, False])
@pytest.mark.parametrize("epsilon", [0.01, 2.0, 20.0])
@pytest.mark.parametrize("kind", KINDS)
def test_means_are_within_their_error(kind, epsilon, knows_totals):
    points = made_points(kind)
    space, prior = Space(points), np.random.default_rng(1).dirichlet(np.ones(len(points)))
    units = points / np.linalg.norm(points, axis=1)[:, None]
    kernel = np.exp(-0.5 * epsilon * space.distances)
    total = kernel.sum(axis=1)
    found = kernel_sums.coarse_means(space, 0.5 * epsilon, prior, units, np.log(total) if knows_totals else None)
    weights = prior / total
    exact = kernel @ (units * (weights / weights.max())[:, None])
    away = np.linalg.norm(found.means / found.means[0, 0] * exact[0, 0] - exact, axis=1)
    slack = np.abs(1.0 - exact[0, 0] / found.means[0, 0]) * np.linalg.norm(exact, axis=1)  # of the common factor
    assert (away <= found.error + slack + 1e-12).all()


def test_the_error_is_small_where_points_are_ordinary():
    points = made_points("normal")
    units = points / np.linalg.norm(points, axis=1)[:, None]
    found = kernel_sums.coarse_means(Space(points), 1.0, np.full(90, 1 / 90), units)
    assert (found.error < 1e-3 * np.linalg.norm(found.means, axis=1)).all()


def test_an_error_that_cannot_be_bounded_is_infinite():
    points = 1e6 * made_points("normal")
    units = points / np.linalg.norm(points, axis=1)[:, None]
    assert np.isinf(kernel_sums.coarse_means(Space(points), 10.0, np.full(90, 1 / 90), units).error).all()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 20.0])
@pytest.mark.parametrize("kind", KINDS)
def test_no_destination_changes(kind, epsilon, monkeypatch):
    space = Space(made_points(kind))
    prior = np.random.default_rng(2).dirichlet(np.full(len(space), 0.3))
    coarse = Remap(Exponential(space, epsilon), prior, "cosine").destination
    monkeypatch.setattr(remap, "_COARSE", 10**9)
    assert (coarse == Remap(Exponential(space, epsilon), prior, "cosine").destination).all()


def test_float64_decides_what_float32_cannot(monkeypatch):
    """Two outputs whose directions differ by 1e-9: only float64 tells which one is nearer to a mean."""
    points = made_points("normal")
    points[1] = 2.0 * points[0] + 1e-9
    asked = []
    exact = remap._means_again

    def counted(mechanism, prior, units, rows):
        asked.append(rows)
        return exact(mechanism, prior, units, rows)

    monkeypatch.setattr(remap, "_means_again", counted)
    em = Exponential(Space(points), 2.0)
    coarse = Remap(em, np.full(90, 1 / 90), "cosine").destination
    assert {0, 1} <= set(asked[0].tolist())
    monkeypatch.setattr(remap, "_COARSE", 10**9)
    assert (coarse == Remap(em, np.full(90, 1 / 90), "cosine").destination).all()


def test_totals_that_the_exact_epsilon_needed_are_not_computed_again(monkeypatch):
    em = Exponential(Space(made_points("normal")), 2.0)
    assert em.known_log_z is None
    assert em.exact_epsilon > 0
    assert em.known_log_z is em.log_z
    monkeypatch.setattr(kernel_sums._Tiles, "normalisers", lambda tiles: pytest.fail("computed again"))
    Remap(em, np.full(90, 1 / 90), "cosine")

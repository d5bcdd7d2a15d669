"""The exponential mechanism over its own points, from half of the pairs: the same as from all of them.

Means in float32 against float64: the error is within its bound, and no destination of a remap changes.
"""

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential, kernel_sums, remap
from oddshift.mechanisms.epsilon import exponential_epsilon, true_epsilon
from oddshift.mechanisms.kernel_sums import OwnNormalisers, own_epsilon, own_normalisers, own_weighted_sums
from oddshift.mechanisms.remap import Remap
from oddshift.model.space import Space


def spaces():
    rng = np.random.default_rng(0)
    clustered = np.concatenate([rng.normal(size=(60, 12)), 1e-3 * rng.normal(size=(40, 12)), [[9.0] * 12]])
    places = np.stack([rng.uniform(39, 41, 70), rng.uniform(115, 117, 70)], axis=1)
    yield "clustered", Space(clustered)
    yield "line", Space(np.arange(30.0)[:, None])
    yield "places", Space(places, "haversine")
    yield "angular", Space(rng.normal(size=(50, 20)), "angular")
    yield "hamming", Space(np.unique(rng.integers(0, 3, (80, 5)).astype(float), axis=0), "hamming")


@pytest.fixture(params=list(spaces()), ids=lambda made: made[0])
def space(request, monkeypatch):
    """Spaces cut into many small tiles, so that every kind of tile occurs."""
    for name, size in (("_SIDE", 16), ("_ROWS", 8), ("_EXTREME", 3), ("BLOCK_ENTRIES", 80)):
        monkeypatch.setattr(kernel_sums, name, size)
    return request.param[1]


def test_normalisers_are_the_sums_over_all_points(space):
    found = own_normalisers(space, 0.7)
    distances = space.distances
    assert found.log_z == pytest.approx(np.log(np.exp(-0.7 * distances).sum(axis=1)), rel=1e-13)
    apart = distances + np.diag(np.full(len(space), np.inf))
    assert found.nearest == pytest.approx(apart.min(axis=1), rel=1e-9)


def test_the_exact_epsilon_is_that_of_all_pairs_and_outputs(space):
    found = own_normalisers(space, 0.7)
    ours = own_epsilon(space, 0.7, found)

    def rows(index):
        distance = space.between(index)
        return distance, 0.7 * distance

    assert ours == pytest.approx(exponential_epsilon(found.log_z, rows), rel=1e-12)
    assert ours == pytest.approx(true_epsilon(Exponential(space, 1.4).log_matrix, space.distances), rel=1e-7)


def test_most_pairs_are_never_computed(monkeypatch):
    space = Space(np.random.default_rng(1).normal(size=(3_000, 12)))
    found, computed = own_normalisers(space, 1.0), []
    steepest = kernel_sums._steepest
    monkeypatch.setattr(kernel_sums, "_steepest", lambda *a: computed.append(len(a[1]) * len(a[2])) or steepest(*a))
    own_epsilon(space, 1.0, found)
    assert sum(computed) < 0.5 * 3_000**2


def test_one_point_shifts_nothing_and_coinciding_points_are_refused():
    assert own_epsilon(Space([[1.0]]), 1.0, own_normalisers(Space([[1.0]]), 1.0)) == 0.0
    space = Space([[0.0], [1.0], [5.0]])
    with pytest.raises(InvalidInput, match="points 0 and 1 are at distance 0 after rounding"):
        own_epsilon(space, 1.0, OwnNormalisers(np.zeros(3), np.array([0.0, 0.0, 4.0])))


def test_weighted_sums_are_those_over_all_points(space):
    values = np.random.default_rng(4).normal(size=(len(space), 3))
    expected = np.exp(-0.7 * space.distances) @ values
    assert own_weighted_sums(space, 0.7, values) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_remap_from_half_of_the_pairs_is_the_one_by_definition():
    """Also where two destinations are nearly as good, and where sums of weights underflow."""
    points = dict(spaces())["clustered"].points
    near = Space(1.0 + np.concatenate([points, points[:2] * (1 + 1e-9), np.full((1, 12), 3e3)]))
    prior = np.random.default_rng(5).dirichlet(np.ones(len(near)))
    prior[-1], em = 0.0, Exponential(near, 1.5)
    unit = near.points / np.linalg.norm(near.points, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_joint = em.log_matrix + np.log(prior / prior.sum())[:, None]
    scores = np.exp(log_joint - log_joint.max(axis=0)).T @ unit @ unit.T
    found = Remap(em, prior / prior.sum(), "cosine").destination
    assert scores[np.arange(len(near)), found] == pytest.approx(scores.max(axis=1), rel=1e-12)


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


@pytest.fixture
def _coarse_tiles(monkeypatch):
    monkeypatch.setattr(kernel_sums, "_COARSE_SIDE", 32)
    monkeypatch.setattr(remap, "_COARSE", 0)


@pytest.mark.usefixtures("_coarse_tiles")
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


@pytest.mark.usefixtures("_coarse_tiles")
def test_the_error_is_small_where_points_are_ordinary():
    points = made_points("normal")
    units = points / np.linalg.norm(points, axis=1)[:, None]
    found = kernel_sums.coarse_means(Space(points), 1.0, np.full(90, 1 / 90), units)
    assert (found.error < 1e-3 * np.linalg.norm(found.means, axis=1)).all()


@pytest.mark.usefixtures("_coarse_tiles")
def test_an_error_that_cannot_be_bounded_is_infinite():
    points = 1e6 * made_points("normal")
    units = points / np.linalg.norm(points, axis=1)[:, None]
    assert np.isinf(kernel_sums.coarse_means(Space(points), 10.0, np.full(90, 1 / 90), units).error).all()


@pytest.mark.usefixtures("_coarse_tiles")
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 20.0])
@pytest.mark.parametrize("kind", KINDS)
def test_no_destination_changes(kind, epsilon, monkeypatch):
    space = Space(made_points(kind))
    prior = np.random.default_rng(2).dirichlet(np.full(len(space), 0.3))
    coarse = Remap(Exponential(space, epsilon), prior, "cosine").destination
    monkeypatch.setattr(remap, "_COARSE", 10**9)
    assert (coarse == Remap(Exponential(space, epsilon), prior, "cosine").destination).all()


@pytest.mark.usefixtures("_coarse_tiles")
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


@pytest.mark.usefixtures("_coarse_tiles")
def test_totals_that_the_exact_epsilon_needed_are_not_computed_again(monkeypatch):
    em = Exponential(Space(made_points("normal")), 2.0)
    assert em.known_log_z is None
    assert em.exact_epsilon > 0
    assert em.known_log_z is em.log_z
    monkeypatch.setattr(kernel_sums._Tiles, "normalisers", lambda tiles: pytest.fail("computed again"))
    Remap(em, np.full(90, 1 / 90), "cosine")

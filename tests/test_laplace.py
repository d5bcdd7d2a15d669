"""Laplace noise: its law, its density, and the probabilities of the cells it is projected on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput, NoGuarantee, TooLarge
from oddshift.mechanisms.channel import estimate_channel
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.laplace import Laplace, ProjectedLaplace
from oddshift.mechanisms.voronoi import voronoi_edges
from oddshift.model.mahalanobis import mahalanobis
from oddshift.model.space import Space


def _rays(x, outputs, epsilon, y, n_rays=200_000):
    """Pr[cell of y | x] by rays: a ray is inside the convex cell from r to s, and Pr[r < R < s] = G(r) − G(s)."""
    angles = (np.arange(n_rays) + 0.5) * 2 * np.pi / n_rays
    start, stop = np.zeros(n_rays), np.full(n_rays, np.inf)
    for z in np.delete(outputs, y, axis=0):
        normal = z - outputs[y]
        room = normal @ ((z + outputs[y]) / 2 - x)
        slope = normal[0] * np.cos(angles) + normal[1] * np.sin(angles)
        with np.errstate(divide="ignore"):
            reach = room / slope
        stop = np.where(slope > 0, np.minimum(stop, reach), stop)
        start = np.where(slope < 0, np.maximum(start, reach), start)
    tails = [(1 + epsilon * r) * np.exp(-epsilon * r) for r in (start, np.clip(stop, 0.0, 1e9 / epsilon))]
    return np.where(start < stop, tails[0] - tails[1], 0.0).mean()


def _channel(points, outputs, epsilon):
    return ProjectedLaplace(Space(points), epsilon, Space(outputs)).log_matrix


# the noise


@pytest.mark.parametrize("k", [1, 2, 3, 25])
def test_the_radius_is_gamma(k):
    from scipy.special import gammainc

    noise = Laplace(Space(np.full((1, k), 2.0)), epsilon=0.7)
    radius = np.sort(np.linalg.norm(noise.perturb(np.zeros(50_000, dtype=int), np.random.default_rng(k)) - 2.0, axis=1))
    reached = np.arange(1, len(radius) + 1) / len(radius)
    assert np.abs(gammainc(k, 0.7 * radius) - reached).max() < 1.95 / np.sqrt(len(radius))  # Kolmogorov, level .001


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_direction_is_uniform(k):
    noise = Laplace(Space(np.zeros((1, k))), epsilon=1.0)
    places = noise.perturb(np.zeros(50_000, dtype=int), np.random.default_rng(k))
    unit = places / np.linalg.norm(places, axis=1, keepdims=True)
    assert np.abs(unit.mean(axis=0)).max() < 4.0 / np.sqrt(k * len(unit))
    assert unit.T @ unit / len(unit) == pytest.approx(np.eye(k) / k, abs=0.02)


def test_the_density_integrates_to_one():
    line = np.linspace(-60.0, 60.0, 240_001)
    one = Laplace(Space([[0.3]]), epsilon=1.4).log_density([0], line[:, None])
    assert np.exp(one).sum() * (line[1] - line[0]) == pytest.approx(1.0, abs=1e-6)
    side = np.linspace(-14.0, 14.0, 561)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    two = Laplace(Space([[0.0, 0.0]]), epsilon=2.0).log_density([0], plane)
    assert np.exp(two).sum() * (side[1] - side[0]) ** 2 == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 300])
def test_the_density_in_any_dimension_is_the_radius_law_over_the_sphere(k):
    from scipy.special import gammaln

    noise = Laplace(Space(np.zeros((1, k))), epsilon=1.7)
    place = np.zeros((1, k))
    place[0, 0] = 2.2
    log_sphere = np.log(2.0) + k / 2 * np.log(np.pi) - gammaln(k / 2) + (k - 1) * np.log(2.2)
    log_radius = k * np.log(1.7) + (k - 1) * np.log(2.2) - 1.7 * 2.2 - gammaln(k)
    assert noise.log_density([0], place)[0, 0] == pytest.approx(log_radius - log_sphere)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_density_ratios_keep_epsilon(k, seed):
    rng = np.random.default_rng(seed)
    space = Space(rng.normal(size=(5, k)))
    rows = Laplace(space, 1.3).log_density(np.arange(5), np.vstack((rng.normal(size=(40, k)) * 3, space.points)))
    gap = np.abs(rows[:, None] - rows[None]).max(axis=2)
    assert (gap <= 1.3 * space.distances * (1 + 1e-12) + 1e-12).all()
    assert gap == pytest.approx(1.3 * space.distances)  # reached at z = a


def test_noise_repeats_under_the_same_seed_and_prints_no_coordinates():
    noise = Laplace(Space([[1.0, 2.0], [3.0, 4.0]]), 1.0)
    one, two = (noise.perturb([0, 1, 1], np.random.default_rng(5)) for _ in range(2))
    assert (one == two).all()
    assert one.shape == (3, 2)
    assert repr(noise) == "Laplace(Space(n=2, metric=euclidean), epsilon=1)"
    assert noise.claimed_epsilon == noise.exact_epsilon == 1.0


# one dimension


def test_a_line_by_hand():
    rows = np.exp(_channel([[0.0], [2.0]], [[0.0], [1.0], [3.0]], 1.0))
    assert rows[0] == pytest.approx([1 - 0.5 * np.exp(-0.5), 0.5 * (np.exp(-0.5) - np.exp(-2)), 0.5 * np.exp(-2)])
    assert rows[1] == pytest.approx([0.5 * np.exp(-1.5), 0.5 * (1 - np.exp(-1.5)), 0.5])  # x on a border


def test_outputs_on_a_line_need_no_order():
    outputs = np.array([[3.0], [-1.0], [0.5]])
    ordered = _channel([[0.0], [2.0]], np.sort(outputs, axis=0), 0.8)
    assert _channel([[0.0], [2.0]], outputs, 0.8) == pytest.approx(ordered[:, [2, 0, 1]])


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("k", [1, 2])
def test_extreme_budgets_and_distances_stay_finite_and_normalised(epsilon, size, k):
    rng = np.random.default_rng(1)
    points = rng.random((12, k)) * size
    rows = _channel(points, points, epsilon)
    assert np.isfinite(rows).all()
    assert np.exp(rows).sum(axis=1) == pytest.approx(1.0, abs=1e-10)
    distances = Space(points).distances
    rounding = 1e-13 / distances[distances > 0].min()  # of logarithms, when ε·d is tiny
    assert true_epsilon(rows, distances) <= epsilon * (1 + 1e-9) + rounding


def test_far_cells_of_a_line_keep_their_digits():
    rows = _channel([[0.0]], [[0.0], [5000.0], [5001.0], [5002.0]], 1.0)
    assert rows[0, 2] == pytest.approx(np.log(0.5) - 5000.5 + np.log(-np.expm1(-1.0)), rel=1e-15)


# the plane


SCENES = {
    "grid, points on borders and corners": ([[0, 0], [0.5, 0.5], [0.5, 0], [3, 1.3]], [[0, 0], [1, 0], [0, 1], [1, 1]]),
    "grid of three": ([[1, 1], [1.5, 0.5], [-2, 0.2]], [[i, j] for i in range(3) for j in range(3)]),
    "two outputs": ([[0, 0], [0.5, 0], [0.2, 9]], [[0, 0], [1, 0]]),
    "outputs on a line": ([[0, 0], [1, 1], [0.3, 2]], [[0, 0], [1, 1], [3, 3], [4, 4]]),
    "outputs on a circle": ([[0, 0], [1, 0], [0.4, 0.1]], [[1, 0], [0, 1], [-1, 0], [0, -1], [0.6, 0.8]]),
    "random": (
        np.random.default_rng(7).random((3, 2)) * 4,
        np.random.default_rng(8).random((9, 2)) * 4,
    ),
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
def test_cells_of_the_plane_agree_with_rays(scene, epsilon):
    points, outputs = (np.array(part, dtype=float) for part in SCENES[scene])
    rows = np.exp(_channel(points, outputs, epsilon))
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    for x in range(len(points)):
        for y in range(len(outputs)):
            assert rows[x, y] == pytest.approx(_rays(points[x], outputs, epsilon, y, 40_000), rel=1e-4, abs=1e-9)


def test_a_fine_count_of_rays_agrees_to_nine_digits():
    points, outputs = (np.array(part, dtype=float) for part in SCENES["random"])
    rows = np.exp(_channel(points, outputs, 1.0))
    for y in range(len(outputs)):
        assert rows[0, y] == pytest.approx(_rays(points[0], outputs, 1.0, y, 400_000), rel=1e-8)


def test_a_half_plane_has_a_closed_integral():
    from scipy.integrate import quad

    for distance in (0.0, 1e-9, 0.3, 4.0, 700.0):
        rows = _channel([[-distance, 0.0]], [[-1.0, 0.0], [1.0, 0.0]], 1.0)
        scaled = quad(
            lambda a, d=distance: (1 + d / np.cos(a)) * np.exp(d - d / np.cos(a)) / (2 * np.pi),
            -np.pi / 2,
            np.pi / 2,
            epsabs=1e-13,
            epsrel=1e-11,
            limit=400,
            points=[-0.1, 0.0, 0.1],
        )[0]
        assert rows[0, 1] + distance == pytest.approx(np.log(scaled), abs=1e-8)


def test_far_cells_are_never_impossible():
    rng = np.random.default_rng(2)
    points = rng.random((20, 2)) * 3000.0
    mechanism = ProjectedLaplace(Space(points), 1.0)
    assert np.isfinite(mechanism.log_matrix).all()
    assert mechanism.log_matrix.min() < -745.0  # these would be zero as floats
    assert mechanism.exact_epsilon <= 1.0 + 1e-9


def test_two_columns_of_far_cells_add_up_to_half_planes():
    columns = np.array([[x, y] for x in (0.0, 60.0) for y in range(-3, 4)])
    whole = _channel([[0.0, 0.2]], columns[[3, 10]], 1.0)[0]
    parts = np.exp(_channel([[0.0, 0.2]], columns, 1.0)[0])
    assert parts[7:].sum() == pytest.approx(np.exp(whole[1]), rel=1e-12)
    mirrored = np.exp(_channel([[60.0, 0.2]], columns, 1.0)[0])
    assert mirrored[7:] == pytest.approx(parts[:7], rel=1e-12)


def test_a_move_of_the_whole_scene_changes_nothing():
    points, outputs = (np.array(part, dtype=float) for part in SCENES["random"])
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    moved = _channel(points @ turn.T + 3.0, outputs @ turn.T + 3.0, 1.5)
    assert moved == pytest.approx(_channel(points, outputs, 1.5), abs=1e-11)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.5, 3.0]))
@settings(max_examples=25, deadline=None)
def test_the_plane_keeps_epsilon_exactly(seed, epsilon):
    rng = np.random.default_rng(seed)
    space = Space(rng.random((8, 2)) * 5)
    mechanism = ProjectedLaplace(space, epsilon, Space(rng.random((rng.integers(1, 9), 2)) * 5))
    assert mechanism.exact_epsilon <= epsilon * (1 + 1e-9)
    assert np.exp(mechanism.log_matrix).sum(axis=1) == pytest.approx(1.0, abs=1e-10)


def test_edges_of_a_square_have_no_diagonal():
    edges = voronoi_edges(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    pairs = set(zip(edges.left.tolist(), edges.right.tolist(), strict=True))
    assert pairs == {(0, 1), (0, 2), (1, 3), (2, 3)}


# sampling


@pytest.mark.parametrize("k", [1, 2])
def test_samples_and_projected_noise_follow_the_matrix(k):
    rng = np.random.default_rng(3)
    mechanism = ProjectedLaplace(Space(rng.random((3, k)) * 3), 1.2, Space(rng.random((6, k)) * 3))
    draws = 200_000
    for x in range(3):
        expected = draws * np.exp(mechanism.log_matrix[x])
        for draw in (mechanism.project, mechanism.sample):
            counts = np.bincount(draw(np.full(draws, x), rng), minlength=6)
            assert ((counts - expected) ** 2 / expected).sum() < 25.7  # chi-square, 5 degrees of freedom, level 1e-4


def test_more_dimensions_sample_but_have_no_matrix():
    mechanism = ProjectedLaplace(Space(np.eye(3)), 2.0)
    assert set(mechanism.sample(np.zeros(500, dtype=int), np.random.default_rng(0))) == {0, 1, 2}
    for refused in (
        lambda: mechanism.log_matrix,
        lambda: mechanism.exact_epsilon,
        lambda: mechanism.invert([0], [0.5]),
    ):
        with pytest.raises(NoGuarantee, match="estimate_channel"):
            refused()
    estimate = estimate_channel(mechanism, 100, np.random.default_rng(0))
    assert estimate.is_estimate
    assert mechanism.claimed_epsilon == 2.0


def test_one_output_is_certain():
    for k in (1, 2):
        assert _channel(np.eye(2)[:, :k], np.full((1, k), 3.0), 1.0) == pytest.approx(0.0, abs=1e-15)


# the distance of Mahalanobis


PLANE = np.random.default_rng(3).normal(size=(7, 2)) * [3.0, 0.4]
STRETCHED = Space(PLANE, mahalanobis(PLANE, 0.9))


def test_noise_for_mahalanobis_integrates_to_one_and_spreads_like_its_density():
    noise = Laplace(STRETCHED, 1.5)
    side = np.linspace(-40.0, 40.0, 1601)
    grid = np.stack(np.meshgrid(PLANE[0, 0] + side, PLANE[0, 1] + side), axis=-1).reshape(-1, 2)
    assert np.exp(noise.log_density([0], grid)).sum() * (side[1] - side[0]) ** 2 == pytest.approx(1.0, abs=2e-3)
    drawn = noise.perturb(np.zeros(50_000, dtype=int), np.random.default_rng(0))
    radius = STRETCHED.metric.between(PLANE[[0]], drawn)[0]
    assert radius.mean() == pytest.approx(2 / 1.5, rel=0.02)  # Gamma(2, 1/ε) in its own distance
    metric = STRETCHED.distances
    for a in range(1, 7):
        gaps = np.abs(noise.log_density([0], drawn[:500]) - noise.log_density([a], drawn[:500]))
        assert gaps.max() <= 1.5 * metric[0, a] * (1 + 1e-9)


def test_projected_mahalanobis_noise_is_what_drawing_and_projecting_gives():
    made, index = ProjectedLaplace(STRETCHED, 1.5), np.full(40_000, 2)
    drawn = np.bincount(made.project(index, np.random.default_rng(1)), minlength=7) / len(index)
    law = np.exp(made.log_matrix[2])
    assert np.abs(drawn - law).max() <= 4.5 * np.sqrt(law.max() / len(index))
    assert made.exact_epsilon == pytest.approx(true_epsilon(made.log_matrix, STRETCHED.distances))
    assert 0.5 < made.exact_epsilon <= 1.5
    with pytest.raises(InvalidInput, match="outputs have another metric than space"):
        ProjectedLaplace(STRETCHED, 1.0, Space(PLANE))


# refusals


def test_bad_input_is_refused_with_its_value():
    plane, globe = Space([[0.0, 0.0], [1.0, 0.0]]), Space([[0.0, 0.0], [1.0, 0.0]], "haversine")
    with pytest.raises(InvalidInput, match="haversine metric, expected euclidean"):
        Laplace(globe, 1.0)
    with pytest.raises(InvalidInput, match="outputs has the haversine metric"):
        ProjectedLaplace(plane, 1.0, globe)
    with pytest.raises(InvalidInput, match=r"epsilon=0\.0"):
        Laplace(plane, 0.0)
    with pytest.raises(InvalidInput, match=r"epsilon=-1\.0"):
        ProjectedLaplace(plane, -1.0)
    with pytest.raises(InvalidInput, match="outputs have 1 columns, expected 2"):
        ProjectedLaplace(plane, 1.0, Space([[0.0]]))
    with pytest.raises(InvalidInput, match="points have 1 columns, expected 2"):
        Laplace(plane, 1.0).log_density([0], [[0.0]])
    with pytest.raises(InvalidInput, match="index has 2"):
        Laplace(plane, 1.0).perturb([2], np.random.default_rng(0))


def test_too_many_outputs_in_the_plane_are_refused_but_sampled():
    mechanism = ProjectedLaplace(Space(np.random.default_rng(0).random((401, 2))), 1.0)
    with pytest.raises(TooLarge, match="sample works"):
        _ = mechanism.log_matrix
    assert len(mechanism.sample([0, 400], np.random.default_rng(0))) == 2

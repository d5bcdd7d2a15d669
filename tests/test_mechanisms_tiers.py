"""Mechanisms with tiers: exact rows and budgets, shortest ways under scaled distances against Floyd-Warshall.

Outputs that keep the tier: a point is released as a point of its own tier, with the exact ε of that mechanism.
"""

import numpy as np
import pytest

import oracles
from oddshift import Exponential, InvalidInput, PathExponential, Remap, Space, Tiered, Tiers, true_epsilon
from oddshift.base.errors import TooLarge
from oddshift.mechanisms import path, path_closure
from oddshift.mechanisms.channel import Channel


def all_ways(distances, scales):
    """Floyd-Warshall, every stop for every pair; scipy's takes distances below 1e-8 for missing edges."""
    ways = 0.5 * (scales[:, None] + scales[None, :]) * distances
    for stop in range(len(ways)):
        ways = np.minimum(ways, ways[:, stop, None] + ways[None, stop, :])
    return ways


@pytest.mark.parametrize("seed", range(40))
def test_the_closure_is_floyd_warshall(seed):
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(2, 90)), float(rng.choice([1e-4, 1.0, 1e5]))
    space = Space(unit * rng.standard_normal((n, int(rng.integers(1, 6)))))
    scales = rng.choice(rng.uniform(0.01, 1.0, int(rng.integers(1, 5))), n)
    closed = path_closure(space.distances, scales)
    assert closed == pytest.approx(all_ways(space.distances, scales), rel=1e-12, abs=0.0)
    assert (closed == closed.T).all()


@pytest.mark.parametrize("scales", [(0.4, 0.9), (0.1, 1.0), (0.7, 1.0), (0.9, 0.4)])
def test_many_dimensions_and_outliers(scales):
    """Far points leave much room for stops, near ones little: both ways of comparing stops are taken."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal((250, 50)) * rng.lognormal(0.0, 0.4, (250, 1))
    labels = (rng.random(250) < 0.4).astype(int)
    far, each = Space(points).distances, np.array(scales)[labels]
    closed = path_closure(far, each)
    assert closed == pytest.approx(all_ways(far, each), rel=1e-12, abs=0.0)
    direct = 0.5 * (each[:, None] + each[None, :]) * far
    assert (closed <= direct * (1 + 1e-12)).all()
    assert (closed < direct * (1 - 1e-9)).any()


@pytest.mark.parametrize("epsilon", [1.0, 2.5, 4.0])
def test_every_pair_keeps_its_request(epsilon):
    """Exact ε by the closed form and by a scan over outputs; each pair within ε times its mean scale."""
    rng = np.random.default_rng(6)
    space = Space(rng.standard_normal((150, 8)))
    labels = rng.integers(-1, 2, 150)
    tiers = Tiers(labels, names=("PII", "PoII"), scales=(0.4, 0.9), is_public=False)
    safe = PathExponential(space, tiers, epsilon)
    scale, rows = tiers.scale_of_points, safe.log_matrix
    assert safe.exact_epsilon == pytest.approx(true_epsilon(rows, space.distances), rel=1e-9)
    asked = epsilon * 0.5 * (scale[:, None] + scale[None, :]) * space.distances
    assert (np.abs(rows[:, None, :] - rows[None, :, :]).max(axis=2) <= asked * (1 + 1e-9)).all()


@pytest.mark.parametrize("axes", [1, 3, 12])
def test_a_space_is_closed_like_its_distances_whatever_the_sizes_of_the_blocks(axes, monkeypatch):
    """Few rows and columns at once, and the matrix product from the first stop on: every branch, the same ways."""
    rng = np.random.default_rng(axes)
    space, scales = Space(rng.standard_normal((120, axes))), rng.choice([0.2, 0.5, 0.9], 120)
    expected = all_ways(space.distances, scales)
    for name, value in {"_ROWS": 7, "_COLUMNS": 11, "_PIECE": 3, "_NEAREST": 1, "_MANY": 1_000}.items():
        monkeypatch.setattr(path, name, value)
    monkeypatch.setattr("oddshift.base.arrays.BLOCK_ENTRIES", 900)
    closed = path.closed_space(space, scales)
    assert closed == pytest.approx(expected, rel=1e-12, abs=0.0)
    assert (closed == closed.T).all()


def test_a_space_that_is_too_large_for_one_array_is_refused(monkeypatch):
    monkeypatch.setattr("oddshift.base.arrays.DENSE_LIMIT", 15)
    with pytest.raises(TooLarge, match="path distances"):
        path.closed_space(Space(np.arange(4.0)[:, None]), np.ones(4))


LINE = Space(np.arange(4.0)[:, None])


def tiers(is_public, scales=(0.4, 1.0), labels=(0, 0, 1, 1)):
    return Tiers(list(labels), names=("PII", "PoII"), scales=scales, is_public=is_public)


def test_each_point_draws_with_its_own_scale():
    rows = Tiered(LINE, tiers(True), 2.0).log_matrix
    assert rows[0, 0] - rows[0, 1] == pytest.approx(0.4)
    assert rows[3, 3] - rows[3, 2] == pytest.approx(1.0)


def test_what_counts_depends_on_who_knows_the_tier():
    public, secret = Tiered(LINE, tiers(True), 2.0), Tiered(LINE, tiers(False), 2.0)
    assert (public.claimed_epsilon, secret.claimed_epsilon) == (2.0, np.inf)
    assert public.exact_epsilon == pytest.approx(
        oracles.log_epsilon(public.log_matrix, LINE.distances, [[0, 1], [2, 3]])
    )
    assert secret.exact_epsilon == pytest.approx(oracles.log_epsilon(secret.log_matrix, LINE.distances))
    assert secret.exact_epsilon > public.exact_epsilon


def test_naive_tiers_leak_across_and_the_path_metric_does_not():
    space = Space(np.random.default_rng(0).normal(size=(60, 5)))
    labels = np.arange(60) % 2
    two = tiers(False, (0.2, 1.0), labels)
    naive, safe = Tiered(space, two, 3.0), PathExponential(space, two, 3.0)
    assert naive.exact_epsilon > 3.0
    assert safe.exact_epsilon <= safe.claimed_epsilon == 3.0
    for tier, scale in enumerate(two.scales):
        inside = np.flatnonzero(labels == tier)
        assert (
            oracles.log_epsilon(safe.log_matrix[inside], space.distances[np.ix_(inside, inside)]) <= scale * 3.0 + 1e-9
        )
    across = np.abs(safe.log_matrix[::2, None, :] - safe.log_matrix[None, 1::2, :]).max(axis=2)
    assert (across <= 3.0 * 0.6 * space.distances[::2, 1::2] + 1e-9).all()


def test_equal_scales_are_the_exponential_mechanism():
    same = PathExponential(LINE, tiers(False, (0.5, 0.5)), 2.0)
    assert same.log_matrix == pytest.approx(Exponential(LINE, 1.0).log_matrix)
    assert same.exact_epsilon == pytest.approx(Exponential(LINE, 1.0).exact_epsilon)


@pytest.mark.parametrize("new", [Tiered, PathExponential])
def test_refusals(new):
    with pytest.raises(InvalidInput, match="tiers label 4 points, expected 2"):
        new(Space([[0.0], [1.0]]), tiers(True), 1.0)
    with pytest.raises(InvalidInput, match=r"epsilon=0\.0"):
        new(LINE, tiers(True), 0.0)


def test_reprs_say_sizes():
    assert repr(Tiered(LINE, tiers(True), 2.0)) == (
        "Tiered(Space(n=4, metric=euclidean), Tiers(PII: 2 x0.4, PoII: 2 x1; public), epsilon=2)"
    )


POINTS = np.random.default_rng(1).normal(size=(24, 3))
LABELS = np.arange(24) % 3


def three_tiers(is_public=True):
    return Tiers(LABELS, names=("PERSON", "ORG", "GPE"), scales=(0.3, 0.6, 1.0), is_public=is_public)


def mechanism(epsilon=2.0):
    return Tiered(Space(POINTS), three_tiers(), epsilon, keeps_tier=True)


def test_an_output_is_never_of_another_tier():
    rows = mechanism().log_matrix
    same = LABELS[:, None] == LABELS[None, :]
    assert np.isneginf(rows[~same]).all()
    assert np.isfinite(rows[same]).all()
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1.0, rtol=1e-12)


def test_inside_a_tier_it_is_the_exponential_mechanism_on_that_tier():
    rows = mechanism().log_matrix
    for tier, scale in enumerate((0.3, 0.6, 1.0)):
        inside = np.flatnonzero(tier == LABELS)
        far = Space(POINTS).distances[np.ix_(inside, inside)]
        weight = np.exp(-0.5 * 2.0 * scale * far)
        np.testing.assert_allclose(np.exp(rows[np.ix_(inside, inside)]), weight / weight.sum(axis=1, keepdims=True))


def test_columns_of_the_candidates_of_a_tier_and_of_any_points():
    kept = mechanism()
    tier = np.flatnonzero(LABELS == 1)
    for outputs, points in ((tier[:3], tier), (np.arange(5), tier), (tier[:2], np.arange(7))):
        np.testing.assert_allclose(
            kept.candidate_columns(outputs, points), kept.log_matrix.T[np.ix_(outputs, points)], rtol=1e-12
        )


def test_points_in_no_tier_are_released_among_themselves_at_the_largest_scale():
    labels = np.where(np.arange(24) < 6, -1, LABELS)
    some = Tiers(labels, names=("PERSON", "ORG", "GPE"), scales=(0.3, 0.6, 0.9), is_public=True)
    kept = Tiered(Space(POINTS), some, 2.0, keeps_tier=True)
    weight = np.exp(-0.5 * 2.0 * 0.9 * Space(POINTS).distances[:6, :6])
    np.testing.assert_allclose(np.exp(kept.log_matrix[:6, :6]), weight / weight.sum(axis=1, keepdims=True))


def test_a_tier_of_one_point_has_no_epsilon():
    alone = Tiers([0, 0, 1], names=("PERSON", "ORG"), scales=(0.5, 1.0), is_public=True)
    kept = Tiered(Space([[0.0], [1.0], [2.0]]), alone, 2.0, keeps_tier=True)
    assert kept.exact_epsilon == pytest.approx(0.5)
    single = Tiers([0, 1], names=("a", "b"), scales=(1, 1), is_public=True)
    assert Tiered(Space([[0.0], [1.0]]), single, 1.0, keeps_tier=True).exact_epsilon == 0.0


@pytest.mark.parametrize("cost", ["cosine", "euclidean"])
def test_remapping_keeps_the_tier_too(cost):
    prior = np.random.default_rng(4).dirichlet(np.ones(24))
    kept = Remap(mechanism(0.8), prior, cost)
    free = Remap(Tiered(Space(POINTS), three_tiers(), 0.8), prior, cost)
    assert (LABELS[kept.destination] == LABELS).all()
    assert (LABELS[free.destination] != LABELS).any()  # without the rule some outputs would leave their tier
    through_rows = Remap(Channel.of(mechanism(0.8)), prior, cost)
    np.testing.assert_array_equal(through_rows.destination, kept.destination)


def test_within_its_tier_a_remap_takes_the_least_expected_cost():
    prior = np.random.default_rng(4).dirichlet(np.ones(24))
    inner = mechanism(0.8)
    kept = Remap(inner, prior, "euclidean")
    joint = prior[:, None] * np.exp(inner.log_matrix)
    for output in range(24):
        tier = np.flatnonzero(LABELS[output] == LABELS)
        cost = [joint[:, output] @ inner.space.distances[:, z] for z in tier]
        assert kept.destination[output] == tier[int(np.argmin(cost))]


def test_what_would_show_a_secret_tier_is_refused():
    with pytest.raises(InvalidInput, match="expected public tiers"):
        Tiered(Space(POINTS), three_tiers(is_public=False), 1.0, keeps_tier=True)
    with pytest.raises(InvalidInput, match="expected the points themselves"):
        Tiered(Space(POINTS), three_tiers(), 1.0, Space(POINTS + 1.0), keeps_tier=True)

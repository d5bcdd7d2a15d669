"""Every registered metric, and each way of building one from others, keeps the promises of a metric."""

import numpy as np
import pytest

from oddshift import Space, mahalanobis, scaled, summed
from oddshift.model.metric import METRICS, Metric, Precomputed, metric_of

RNG = np.random.default_rng(3)
FEW = RNG.normal(size=(40, 3))
MANY = RNG.normal(size=(40, 50)) + 100.0
GLOBE = np.column_stack([RNG.uniform(-90, 90, 40), RNG.uniform(-180, 180, 40)])
LETTERS = np.unique(RNG.integers(0, 3, (60, 4)).astype(float), axis=0)

CASES = {
    "euclidean": (METRICS["euclidean"], FEW),
    "euclidean, many axes": (METRICS["euclidean"], MANY),
    "angular": (METRICS["angular"], FEW),
    "angular, many axes": (METRICS["angular"], MANY),
    "manhattan": (METRICS["manhattan"], FEW),
    "haversine": (METRICS["haversine"], GLOBE),
    "hamming": (METRICS["hamming"], LETTERS),
    "mahalanobis": (mahalanobis(FEW * [1.0, 5.0, 0.2], 0.8), FEW),
    "scaled": (scaled("euclidean", 0.3), FEW),
    "summed": (summed([("manhattan", [0]), (scaled("euclidean", 2.0), [1, 2])]), FEW),
    "function": (metric_of(lambda a, b: float(np.abs(a - b).max())), FEW),
    "precomputed": (Precomputed(Space(FEW).distances), np.arange(40.0)[:, None]),
}
everyone = pytest.mark.parametrize(("metric", "points"), CASES.values(), ids=CASES.keys())


def test_every_registered_metric_has_a_case():
    assert set(METRICS) <= set(CASES)
    assert all(METRICS[name].name == name for name in METRICS)


@everyone
def test_it_is_a_metric(metric, points):
    assert isinstance(metric, Metric)
    metric.check(points)
    far = metric.between(points, points)
    assert far.shape == (len(points), len(points))
    assert far.dtype == np.float64
    assert np.diag(far).tolist() == pytest.approx([0.0] * len(points), abs=1e-12)
    assert far == pytest.approx(far.T, rel=1e-12, abs=1e-12)
    assert (far + np.eye(len(far)) > 0).all()
    assert (far[:, None, :] <= far[:, :, None] + far[None, :, :] + 1e-9 * far.max()).all()


@everyone
def test_blocks_are_parts_of_the_whole(metric, points):
    whole = metric.between(points, points)
    for rows in (slice(0, 1), slice(3, 17)):
        assert metric.between(points[rows], points) == pytest.approx(whole[rows], rel=1e-12, abs=1e-12)
        assert metric.between(points[rows], points[rows]) == pytest.approx(whole[rows, rows], rel=1e-12, abs=1e-12)


@everyone
def test_identity_agrees_with_distance_zero(metric, points):
    twins = np.vstack([points[:5], points[:3]])
    rows, zero = metric.identity(twins), metric.between(twins, twins) <= 1e-12
    if rows is None:
        return
    same = (rows[:, None, :] == rows[None, :, :]).all(axis=2)
    assert (same == zero).all()


@everyone
def test_duplicates_are_merged(metric, points):
    space, of = Space.merged(np.vstack([points[:5], points[:3]]), metric)
    assert len(space) == 5
    assert of.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]


@everyone
def test_arguments_are_left_alone(metric, points):
    before = points.copy()
    metric.between(points, points)
    assert (points == before).all()


def test_directions_are_what_angular_tells_apart():
    points = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]])
    space, of = Space.merged(points, "angular")
    assert of.tolist() == [0, 0, 1]
    assert space.distances[0, 1] == pytest.approx(np.pi)

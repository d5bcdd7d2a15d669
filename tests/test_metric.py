import numpy as np
import pytest

from oddshift import InvalidInput, Space, scaled, summed
from oddshift.model.metric import EARTH_RADIUS_KM, METRICS, Pairwise, metric_of


def between(name, a, b):
    return float(METRICS[name].between(np.array([a], dtype=float), np.array([b], dtype=float))[0, 0])


def test_by_hand():
    assert between("euclidean", [0, 0], [3, 4]) == 5.0
    assert between("manhattan", [0, 0], [3, -4]) == 7.0
    assert between("hamming", [1, 2, 3], [1, 0, 4]) == 2.0
    assert between("angular", [1, 0], [0, 7]) == pytest.approx(np.pi / 2)
    assert between("angular", [1, 0], [-2, 0]) == pytest.approx(np.pi)


def test_haversine_in_kilometres():
    assert between("haversine", [0, 0], [0, 180]) == pytest.approx(np.pi * EARTH_RADIUS_KM)
    assert between("haversine", [90, 0], [-90, 45]) == pytest.approx(np.pi * EARTH_RADIUS_KM)
    assert between("haversine", [48.8566, 2.3522], [51.5074, -0.1278]) == pytest.approx(343.56, abs=0.01)
    assert between("haversine", [0, 179.5], [0, -179.5]) == pytest.approx(np.pi * EARTH_RADIUS_KM / 180)


def test_small_angles_keep_their_digits():
    assert between("angular", [1, 0], [1, 1e-9]) == pytest.approx(1e-9, rel=1e-6)
    assert between("haversine", [45, 10], [45 + 1e-7, 10]) == pytest.approx(
        np.radians(1e-7) * EARTH_RADIUS_KM, rel=1e-5
    )


@pytest.mark.parametrize("columns", [8, 9, 300])
def test_euclidean_near_pairs_far_from_the_origin(columns):
    rng = np.random.default_rng(columns)
    base = rng.normal(size=(1, columns)) * 1e4
    points = np.vstack([base, base + 1e-6 * rng.normal(size=(1, columns)), base + 1e3 * rng.normal(size=(3, columns))])
    slow = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in points] for a in points])
    assert METRICS["euclidean"].between(points, points) == pytest.approx(slow, rel=1e-9, abs=0.0)


def test_scaled_and_summed():
    mixed = summed([("euclidean", [0, 1]), (scaled("hamming", 3.0), [2])])
    points = np.array([[0.0, 0.0, 1.0], [3.0, 4.0, 2.0]])
    assert mixed.between(points, points)[0, 1] == 8.0
    assert mixed.name == "euclidean+3*hamming"
    assert Space(points, mixed).distances[1, 0] == 8.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: metric_of("cosine"), "metric='cosine', expected one of euclidean, angular"),
        (lambda: metric_of(3), "metric is a int, expected a name, a function or a Metric"),
        (lambda: scaled("euclidean", 0.0), "factor=0.0, expected a finite number > 0"),
        (lambda: summed([]), "at least one part"),
        (lambda: summed([("euclidean", [])]), "at least one column"),
        (lambda: summed([("euclidean", [-1])]), "column >= 0"),
        (lambda: Space([[1.0]], summed([("euclidean", [1])])), "reads column 1, the points have 1"),
        (lambda: Space([[0.0, 0.0], [1.0, 0.0]], "angular"), "point 0 is the origin, expected a direction"),
        (lambda: Space([[91.0, 0.0]], "haversine"), r"latitude at row 0 is outside \[-90, 90\]"),
        (lambda: Space([[0.0, 181.0]], "haversine"), r"longitude at row 0 is outside \[-180, 180\]"),
        (lambda: Space([[0.0, 1.0, 2.0]], "haversine"), "3 columns, expected 2"),
        (lambda: Space([[0.0], [1e200]]), r"points reach 1e\+200, expected coordinates up to 1e\+150"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_function_is_a_metric():
    discrete = metric_of(lambda a, b: float((a != b).any()))
    assert isinstance(discrete, Pairwise)
    assert Space([[0.0], [5.0]], discrete).distances.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_same_place_on_earth_is_one_point():
    for twins in ([[10.0, 180.0], [10.0, -180.0]], [[90.0, 0.0], [90.0, 77.0]], [[-90.0, 5.0], [-90.0, -5.0]]):
        with pytest.raises(InvalidInput, match="points 0 and 1 are at distance 0"):
            Space(twins, "haversine")

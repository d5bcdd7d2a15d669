import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import InvalidInput, Space, mahalanobis, scaled, summed
from oddshift.model.metric import EARTH_RADIUS_KM, METRICS, Pairwise, Precomputed, metric_of


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


@pytest.mark.parametrize("columns", [1, 2, 8, 9, 49, 100])
@pytest.mark.parametrize("name", ["euclidean", "manhattan", "hamming"])
def test_blocks_against_the_definition(name, columns):
    """Against one pair at a time; a count of differing columns is whole, whatever the number of columns."""
    rng = np.random.default_rng(columns)
    left, right = rng.integers(-2, 3, (17, columns)) * 0.7, rng.integers(-2, 3, (23, columns)) * 0.7
    rule = {
        "euclidean": lambda a, b: math.sqrt(((a - b) ** 2).sum()),
        "manhattan": lambda a, b: np.abs(a - b).sum(),
        "hamming": lambda a, b: float((a != b).sum()),
    }[name]
    found = METRICS[name].between(left, right)
    assert found == pytest.approx(np.array([[rule(a, b) for b in right] for a in left]), rel=1e-12)
    by_product = name == "euclidean" and columns > 8  # a processor may sum a product of another shape in another order
    apart = np.abs(found[3:9] - METRICS[name].between(left[3:9], right)).max()
    assert apart <= (np.spacing(found.max()) if by_product else 0.0), "a block says what the whole says"
    if name == "hamming":
        assert np.array_equal(found, np.floor(found))


def test_scaled_and_summed():
    mixed = summed([("euclidean", [0, 1]), (scaled("hamming", 3.0), [2])])
    points = np.array([[0.0, 0.0, 1.0], [3.0, 4.0, 2.0]])
    assert mixed.between(points, points)[0, 1] == 8.0
    assert mixed.name == "euclidean+3*hamming"
    assert Space(points, mixed).distances[1, 0] == 8.0


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_mahalanobis_by_the_inverse_of_the_mixed_covariance(share):
    points = np.random.default_rng(0).normal(size=(60, 3)) @ np.array(
        [[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.1]]
    )
    spread = np.cov(points.T, bias=True)
    inverse = np.linalg.inv(share * 3 * spread / np.trace(spread) + (1 - share) * np.eye(3))
    slow = [[math.sqrt((a - b) @ inverse @ (a - b)) for b in points] for a in points]
    found = mahalanobis(points, share).between(points, points)
    assert found == pytest.approx(np.array(slow), rel=1e-9, abs=1e-9)
    if share == 0.0:
        assert found == pytest.approx(Space(points).distances, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mahalanobis([[0.0, 0.0], [1.0, 1.0]], 1.0), "do not spread in all 2 directions"),
        (lambda: mahalanobis([[0.0], [1.0]], 1.5), "share=1.5"),
        (lambda: Space([[0.0]], mahalanobis([[0.0, 1.0], [1.0, 0.0]])), "1 columns, expected 2"),
        (lambda: metric_of("cosine"), "metric='cosine', expected one of euclidean, angular"),
        (lambda: metric_of(3), "metric is an int, expected a name, a function or a Metric"),
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


def slow(name, a, b):
    """Each distance from its definition, in plain Python."""
    if name == "angular":
        cosine = sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))
        return math.acos(max(-1.0, min(1.0, cosine)))
    unit = [sphere(point) for point in (a, b)]
    return EARTH_RADIUS_KM * math.acos(max(-1.0, min(1.0, sum(x * y for x, y in zip(*unit, strict=True)))))


def sphere(place):
    latitude, longitude = map(math.radians, place)
    return (
        math.cos(latitude) * math.cos(longitude),
        math.cos(latitude) * math.sin(longitude),
        math.sin(latitude),
    )


@given(st.lists(st.tuples(st.floats(-89, 89), st.floats(-180, 180)), min_size=2, max_size=5))
@settings(max_examples=60, deadline=None)
def test_haversine_is_the_angle_between_places_on_the_sphere(places):
    got = METRICS["haversine"].between(np.array(places[:1]), np.array(places))
    for j, place in enumerate(places):
        assert got[0, j] == pytest.approx(slow("haversine", places[0], place), abs=1e-3)  # acos loses digits, not ours


@given(st.lists(st.tuples(st.floats(0.5, 3), st.floats(-3, -0.5), st.floats(0.5, 3)), min_size=2, max_size=5))
@settings(max_examples=60, deadline=None)
def test_angular_is_arccos_of_the_cosine_and_forgets_length(points):
    array = np.array(points)
    got = METRICS["angular"].between(array, array)
    assert METRICS["angular"].between(7.5 * array, 0.01 * array) == pytest.approx(got, abs=1e-7)
    for j, point in enumerate(points):
        assert got[0, j] == pytest.approx(slow("angular", points[0], point), abs=1e-7)


def test_the_angle_between_opposite_directions_is_pi_whatever_rounding_does():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 20))
    far = METRICS["angular"].between(points, -points)
    assert np.diag(far) == pytest.approx(np.full(200, np.pi), abs=1e-7)
    assert far.max() <= np.pi


def test_hamming_counts_as_floats_and_sees_minus_zero_as_zero():
    far = METRICS["hamming"].between(np.array([[0.0, 1.0]]), np.array([[-0.0, 2.0]]))
    assert far.dtype == np.float64
    assert far.tolist() == [[1.0]]


def test_a_scale_multiplies_distances_and_merges_nothing():
    points = np.array([[0.0], [2.0], [5.0]])
    kilometres = scaled("manhattan", 1e-3)
    assert kilometres.between(points, points)[0].tolist() == pytest.approx([0.0, 0.002, 0.005])
    assert kilometres.identity(points).tolist() == points.tolist()
    assert kilometres.name == "0.001*manhattan"
    with pytest.raises(InvalidInput, match="latitude"):
        Space([[100.0, 0.0]], scaled("haversine", 2.0))


def test_a_sum_reads_each_part_from_its_own_columns_and_checks_them():
    mixed = summed([("haversine", [1, 2]), ("hamming", [0])])
    points = np.array([[7.0, 0.0, 0.0], [8.0, 0.0, 180.0]])
    assert mixed.between(points, points)[0, 1] == pytest.approx(1.0 + np.pi * EARTH_RADIUS_KM)
    with pytest.raises(InvalidInput, match="latitude at row 1"):
        mixed.check(np.array([[100.0, 0.0, 0.0], [0.0, 100.0, 0.0]]))


def test_a_sum_with_a_function_has_no_identity_of_its_own():
    mixed = summed([("hamming", [0]), (lambda a, b: abs(float(a[0] - b[0])), [1])])
    assert mixed.identity(np.zeros((2, 2))) is None
    space, of = Space.merged([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]], mixed)
    assert len(space) == 2
    assert of.tolist() == [0, 0, 1]


def test_precomputed_distances_follow_the_row_numbers():
    matrix = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    metric = Precomputed(matrix)
    assert metric.between(np.array([[2.0], [0.0]]), np.array([[1.0], [2.0]])).tolist() == [[3.0, 0.0], [1.0, 2.0]]


@pytest.mark.parametrize("points", [[[3.0]], [[-1.0]], [[0.0, 1.0]], [[0.5]]])
def test_precomputed_points_are_whole_row_numbers_of_the_matrix(points):
    with pytest.raises(InvalidInput, match=r"one column of row numbers in \[0, 3\)"):
        Precomputed(1.0 - np.eye(3)).check(np.array(points))


def test_a_function_is_called_once_for_each_pair_with_the_left_point_first():
    calls = []

    def gap(a, b):
        calls.append((float(a[0]), float(b[0])))
        return abs(a[0] - b[0])

    metric = Pairwise(gap)
    assert metric.between(np.array([[0.0], [1.0]]), np.array([[5.0]])).tolist() == [[5.0], [4.0]]
    assert calls == [(0.0, 5.0), (1.0, 5.0)]


def test_directions_that_differ_in_the_twelfth_digit_are_still_two_points():
    near = Space([[1.0, 0.0], [1.0, 1e-11]], "angular")
    assert near.distances[0, 1] == pytest.approx(1e-11, rel=1e-3)
    with pytest.raises(InvalidInput, match="at distance 0"):
        Space([[1.0, 0.0], [1.0, 1e-13]], "angular")


def test_the_date_line_and_the_poles_have_no_gap():
    space = Space([[0.0, 179.999], [0.0, -179.999], [89.999, 0.0], [89.999, 180.0]], "haversine")
    step = np.radians(0.002) * EARTH_RADIUS_KM
    assert space.distances[0, 1] == pytest.approx(step, rel=1e-6)
    assert space.distances[2, 3] == pytest.approx(step, rel=1e-6)

import numpy as np
import pytest

import oddshift as od
from oddshift import InvalidInput, Space
from oddshift.base.errors import TooLarge
from oddshift.model.metric import METRICS


def test_distances_by_hand():
    space = Space([[0.0], [1.0], [3.0]])
    assert space.distances.tolist() == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    assert space.between(np.array([2])).tolist() == [[3, 2, 0]]
    assert space.between(np.array([0]), Space([[5.0]])).tolist() == [[5]]
    assert len(space) == 3


def test_repr_shows_no_coordinates():
    assert repr(Space([[123.0], [456.0]])) == "Space(n=2, metric=euclidean)"


def test_points_are_a_copy_that_cannot_change():
    mine = np.array([[0.0], [1.0]])
    space = Space(mine)
    mine[0] = 7.0
    assert space.points[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        space.points[0] = 7.0


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.0], [np.nan]], r"points has NaN at \(1, 0\), expected numbers"),
        ([[0.0], [np.inf]], r"points has inf at \(1, 0\), expected finite numbers"),
        (np.zeros((0, 2)), r"points is empty \(shape \(0, 2\)\), expected at least one entry"),
        ([], "expected 2 axes"),
        ([0.0, 1.0], r"points has shape \(2,\), expected 2 axes"),
        ([[0.0], [1.0, 2.0]], "not a numeric array"),
        ([[1.0], [0.0], [1.0], [0.0]], r"points 0 and 2 are at distance 0 \(2 duplicates in all\), expected distinct"),
    ],
)
def test_refuses_points(points, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        Space(points)
    assert "\n" not in str(caught.value)


def test_minus_zero_is_zero():
    with pytest.raises(InvalidInput, match="points 0 and 1 are at distance 0"):
        Space([[0.0], [-0.0]])


def test_merged_keeps_the_first_of_each():
    space, of = Space.merged([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]], "angular")
    assert space.points.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert of.tolist() == [0, 1, 0, 1]


def test_merged_with_a_function():
    space, of = Space.merged([[1.2], [5.0], [1.7]], lambda a, b: abs(np.floor(a[0]) - np.floor(b[0])))
    assert len(space) == 2
    assert of.tolist() == [0, 1, 0]


GOOD = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]


def changed(i, j, value, both=True):
    matrix = np.array(GOOD)
    matrix[i, j] = value
    if both:
        matrix[j, i] = value
    return matrix


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (changed(0, 1, -1.0), r"distances\[0, 1\] = -1.0, expected distances >= 0"),
        (changed(1, 1, 0.5), r"distances\[1, 1\] = 0.5, expected 0 on the diagonal"),
        (changed(0, 1, 1.5, both=False), r"distances\[0, 1\] = 1.5 and \[1, 0\] = 1.0, expected symmetry"),
        (changed(0, 2, 2.5), r"distances\[0, 2\] = 2.5 but the way through 1 is 2, expected the triangle inequality"),
        (changed(0, 1, np.nan), "distances has NaN"),
        (changed(0, 1, np.inf), "distances has inf"),
        (np.zeros((2, 3)), r"distances has shape \(2, 3\), expected a square matrix"),
        (np.zeros((0, 0)), "distances is empty"),
        (changed(0, 1, 0.0), "expected the triangle inequality"),
        ([[0.0, 0.0], [0.0, 0.0]], "points 0 and 1 are at distance 0"),
    ],
)
def test_from_distances_refuses(distances, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        Space.from_distances(distances)
    assert "\n" not in str(caught.value)


def test_from_distances_keeps_them():
    assert Space.from_distances(GOOD).distances.tolist() == GOOD


def test_a_shortcut_is_found_wherever_it_is():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(100, 3))
    matrix = Space(points).distances.copy()
    Space.from_distances(matrix)
    a, b = 40, 97
    matrix[a, b] = matrix[b, a] = (matrix[a] + matrix[b])[np.arange(100) != a].min() + 1.0
    with pytest.raises(InvalidInput, match=r"distances\[40, 97\]"):
        Space.from_distances(matrix)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: np.nan if (a != b).any() else 0.0, "gave nan, expected a distance"),
        (lambda a, b: "near", "gave what is no number, expected a distance"),
        (lambda a, b: np.abs(a - b) * np.ones(2), "gave what is no number, expected a distance"),
        (lambda a, b: np.inf if (a != b).any() else 0.0, "inf"),
        (lambda a, b: a[0] - b[0], "expected distances >= 0"),
        (lambda a, b: (a[0] - b[0]) ** 2, "expected the triangle inequality"),
        (lambda a, b: max(a[0] - b[0], 2 * (b[0] - a[0])), "expected symmetry"),
    ],
)
def test_a_function_that_is_no_metric_is_refused(function, message):
    with pytest.raises(InvalidInput, match=message):
        Space([[0.0], [1.0], [2.0]], function)


def test_large_spaces_need_no_matrix():
    space = Space(np.arange(20_000.0)[:, None])
    with pytest.raises(TooLarge, match=r"use Space\.between on blocks"):
        _ = space.distances
    assert space.between(np.array([3, 5])).shape == (2, 20_000)


def test_large_spaces_need_a_named_metric():
    with pytest.raises(TooLarge, match="use a named metric"):
        Space(np.arange(20_000.0)[:, None], lambda a, b: abs(a[0] - b[0]))
    with pytest.raises(TooLarge, match="the triangle inequality cannot be checked"):
        Space.from_distances(1.0 - np.eye(2_001))


def test_candidates_and_contains():
    space, more = Space([[0.0], [1.0]]), Space([[1.0], [-0.0], [2.0]])
    assert space.candidates(None) is space
    assert space.candidates(more) is more
    assert more.contains(space)
    assert not space.contains(more)
    assert not Space([[0.0], [1.0]], "manhattan").contains(space)
    assert not Space([[0.0, 0.0]]).contains(space)
    matrix = Space.from_distances([[0.0, 1.0], [1.0, 0.0]])
    assert matrix.contains(matrix)
    with pytest.raises(InvalidInput, match="outputs have 2 columns, expected 1 like the points"):
        space.candidates(Space([[0.0, 1.0]]))
    with pytest.raises(InvalidInput, match="expected points of the same distance matrix"):
        matrix.candidates(Space.from_distances([[0.0, 2.0], [2.0, 0.0]]))
    with pytest.raises(InvalidInput, match="latitude"):
        Space([[0.0, 1.0]], "haversine").candidates(Space([[100.0, 1.0]]))


def test_a_metric_object_is_taken_as_it_is():
    assert Space([[0.0, 1.0]], METRICS["manhattan"]).metric.name == "manhattan"


@pytest.mark.parametrize(
    "make",
    [
        lambda space: od.Exponential(space, 1.0),
        lambda space: od.Truncated(space, 1.0, 2.0),
        lambda space: od.Geometric(space, 1.0),
        lambda space: od.RandomizedResponse(space, 1.0),
        od.Mask,
        lambda space: od.Deletion(space, 0.5),
        lambda space: od.Channel(space, [[0.0], [0.0]]),
        lambda space: od.Laplace(space, 1.0),
        lambda space: od.ProjectedLaplace(space, 1.0),
    ],
)
def test_a_mechanism_wants_a_space_and_says_so(make):
    with pytest.raises(InvalidInput, match="space is a list, expected a Space"):
        make([[0.0], [1.0]])


def test_outputs_and_generators_of_another_kind_are_refused():
    space = od.Space([[0.0], [1.0]])
    with pytest.raises(InvalidInput, match="outputs is a list, expected a Space"):
        od.Exponential(space, 1.0, outputs=[[0.0]])
    for make in (lambda: od.ProjectedLaplace(space, 1.0, [1]), lambda: od.Channel(space, [[0.0], [0.0]], [1])):
        with pytest.raises(InvalidInput, match="outputs is a list, expected a Space"):
            make()
    for draw in (od.Exponential(space, 1.0).sample, od.Laplace(space, 1.0).perturb):
        with pytest.raises(InvalidInput, match="rng is a NoneType, expected a numpy Generator"):
            draw([0], None)
    with pytest.raises(InvalidInput, match="prior is a list, expected Independent, Joint or Markov"):
        od.log_posterior([0.5, 0.5], [[[0.0], [0.0]]], [0])

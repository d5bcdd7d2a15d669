import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oddshift as od
from oddshift import InvalidInput, Space
from oddshift.base.errors import TooLarge
from oddshift.model import space as space_module


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


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: np.nan if (a != b).any() else 0.0, "returned nan, expected a distance"),
        (lambda a, b: "near", "returned something other than a number, expected a distance"),
        (lambda a, b: np.abs(a - b) * np.ones(2), "returned something other than a number, expected a distance"),
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


def test_nearest_is_the_argmin_and_a_tie_goes_to_the_lower_row(monkeypatch):
    from oddshift.base import arrays

    space = Space([[0.0], [2.0], [1.0]])
    places = np.array([[0.4], [0.6], [1.0], [5.0], [0.5], [-9.0]])
    assert space.nearest(places).tolist() == [0, 2, 2, 1, 0, 0]
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 4)
    assert space.nearest(places).tolist() == [0, 2, 2, 1, 0, 0]
    assert space.nearest(np.empty((0, 1))).tolist() == []


def test_distances_do_not_depend_on_blocks_and_cannot_be_changed(monkeypatch):
    from oddshift.base import arrays

    points = np.random.default_rng(0).normal(size=(13, 3))
    whole = Space(points).distances
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 20)
    assert Space(points).distances.tolist() == whole.tolist()
    with pytest.raises(ValueError, match="read-only"):
        whole[0, 0] = 1.0


@pytest.mark.parametrize("kept", [0, 100])
def test_distances_are_the_same_whether_they_are_kept_or_not(kept, monkeypatch):
    monkeypatch.setattr(space_module, "KEPT_POINTS", kept)
    some = Space(np.random.default_rng(0).normal(size=(30, 20)))
    index = np.array([4, 0, 4])
    found = some.between(index)
    np.testing.assert_allclose(found, [[np.linalg.norm(a - b) for b in some.points] for a in some.points[index]])
    assert ("distances" in vars(some)) == (kept > 0)
    found[:] = 0.0  # whoever asks may change what comes back
    assert some.between(index)[0, 0] > 0.0


def test_the_same_part_is_the_same_space_and_keeps_its_distances():
    whole = Space(np.arange(10.0)[:, None])
    part = whole.part(np.array([1, 5, 7]))
    assert part is whole.part(np.array([1, 5, 7]))
    assert part is not whole.part(np.array([1, 5, 8]))
    assert part.between(np.array([0])).tolist() == [[0.0, 4.0, 6.0]]


def test_only_points_and_metric_are_sent_to_a_worker():
    some = Space(np.arange(4.0)[:, None])
    some.between(np.array([0]))
    some.part(np.array([0, 1]))
    sent = pickle.loads(pickle.dumps(some))
    assert sorted(vars(sent)) == ["metric", "points"]
    np.testing.assert_array_equal(sent.distances, some.distances)


def test_one_point_is_a_space():
    space = Space([[5.0, 5.0]])
    assert space.distances.tolist() == [[0.0]]
    assert space.nearest(np.array([[0.0, 0.0]])).tolist() == [0]
    assert space.contains(space)
    assert len(Space.from_distances([[0.0]])) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
@settings(max_examples=80, deadline=None)
def test_merged_keeps_one_point_for_each_value_in_order_of_appearance(points):
    space, of = Space.merged(np.array(points, dtype=float))
    distinct = list(dict.fromkeys(points))
    assert [tuple(p) for p in space.points.astype(int).tolist()] == distinct
    assert of.tolist() == [distinct.index(p) for p in points]


def test_two_functions_over_the_same_points_are_not_taken_for_each_other():
    points = [[0.0], [1.0]]
    scaled_space = Space(points, od.scaled("euclidean", 2.0))
    assert not scaled_space.contains(Space(points))
    assert not scaled_space.contains(Space(points, od.scaled("euclidean", 3.0)))
    assert scaled_space.contains(Space(points, od.scaled("euclidean", 2.0)))


def test_a_distance_matrix_may_be_off_by_rounding_and_no_more():
    far = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    for error, is_refused in ((1e-10, False), (1e-8, True)):
        stretched = far.copy()
        stretched[0, 2] = stretched[2, 0] = 2.0 * (1 + error)
        uneven = far.copy()
        uneven[0, 1] = 1.0 + error
        for matrix in (stretched, uneven):
            if is_refused:
                with pytest.raises(InvalidInput, match=r"expected (the triangle inequality|symmetry)"):
                    Space.from_distances(matrix)
            else:
                Space.from_distances(matrix)


@given(st.integers(3, 9), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_matrix_is_accepted_exactly_when_every_triangle_closes(n, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(1, 5, (n, n)).astype(float), 1)
    matrix = upper + upper.T
    closes = all(matrix[a, b] <= matrix[a, m] + matrix[m, b] for a in range(n) for b in range(n) for m in range(n))
    if closes:
        assert Space.from_distances(matrix).distances.tolist() == matrix.tolist()
    else:
        with pytest.raises(InvalidInput, match="expected the triangle inequality"):
            Space.from_distances(matrix)


def test_a_shortcut_is_found_in_every_block_of_rows():
    """The check goes through 32 rows at a time and looks only right of the diagonal block."""
    line = np.abs(np.subtract.outer(np.arange(70.0), np.arange(70.0)))
    for a, b in ((0, 2), (0, 69), (31, 33), (32, 34), (63, 65), (67, 69)):
        matrix = line.copy()
        matrix[a, b] = matrix[b, a] = line[a, b] + 0.5
        with pytest.raises(InvalidInput, match=rf"distances\[{a}, {b}\]"):
            Space.from_distances(matrix)


def test_a_space_from_a_matrix_keeps_a_copy():
    mine = np.array(GOOD)
    space = Space.from_distances(mine)
    mine[0, 1] = mine[1, 0] = 9.0
    assert space.distances.tolist() == GOOD
    assert repr(space) == "Space(n=3, metric=precomputed)"


def test_outputs_from_the_same_matrix_are_candidates():
    space = Space.from_distances(GOOD)
    some = Space(np.array([[2.0], [0.0]]), space.metric)
    assert space.candidates(some) is some
    assert space.between(np.array([1]), some).tolist() == [[1.0, 1.0]]


def test_no_refusal_of_points_shows_a_coordinate():
    for points, metric in (
        ([[31.25], [31.25]], "euclidean"),
        ([[131.25, 0.0]], "haversine"),
        ([[0.0, 531.25]], "haversine"),
    ):
        with pytest.raises(InvalidInput) as caught:
            Space(points, metric)
        assert "31.25" not in str(caught.value)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_tile_is_a_block_of_the_distances_that_may_be_changed(is_kept):
    space = Space(np.random.default_rng(0).normal(size=(9, 3)))
    expected = Space(space.points).distances[2:5, 4:9].copy()
    if is_kept:
        _ = space.distances
    tile = space.tile(slice(2, 5), slice(4, 9))
    np.testing.assert_allclose(tile, expected, atol=1e-12)
    tile[:] = 0.0
    np.testing.assert_allclose(space.tile(slice(2, 5), slice(4, 9)), expected, atol=1e-12)

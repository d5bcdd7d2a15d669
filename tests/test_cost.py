import numpy as np
import pytest

from oddshift import InvalidInput, Space
from oddshift.model.cost import COSTS, Matrix, cost_of, directions
from oddshift.model.metric import EARTH_RADIUS_KM

SPACE = Space([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]])
EVERYONE = np.arange(3)


def test_cosine_is_half_of_one_minus_cos():
    costs = cost_of("cosine").between(SPACE, EVERYONE, SPACE)
    assert costs == pytest.approx(np.array([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]), abs=1e-15)


def test_distances_as_costs():
    assert cost_of("euclidean").between(SPACE, np.array([0]), SPACE).tolist() == [[0.0, np.sqrt(5.0), 4.0]]
    poles = Space([[90.0, 0.0], [-90.0, 0.0]], "haversine")
    assert cost_of("haversine").between(poles, np.array([0]), poles)[0, 1] == pytest.approx(np.pi * EARTH_RADIUS_KM)


def test_a_table_is_a_cost():
    table = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]])
    cost = cost_of(table)
    assert isinstance(cost, Matrix)
    assert cost.between(SPACE, np.array([2, 0]), SPACE).tolist() == [[5.0, 6.0, 0.0], [0.0, 1.0, 2.0]]


BY_NUMBER = Space.from_distances(1.0 - np.eye(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cost_of("hops"), "cost='hops', expected one of cosine, euclidean, haversine"),
        (lambda: cost_of([[0.0]]), "cost is a list, expected a name, a table"),
        (lambda: cost_of(np.array([[np.nan]])), "table has NaN"),
        (lambda: cost_of(np.zeros((2, 3))).between(SPACE, EVERYONE, SPACE), r"shape \(2, 3\), expected \(3, 3\)"),
        (lambda: cost_of("cosine").between(Space([[0.0], [1.0]]), EVERYONE[:1], Space([[1.0]])), "is the origin"),
        (lambda: cost_of("haversine").between(Space([[0.0], [1.0]]), EVERYONE[:1], SPACE), "1 columns, expected 2"),
        (lambda: cost_of("euclidean").between(BY_NUMBER, EVERYONE, BY_NUMBER), "expected coordinates"),
        (lambda: cost_of("cosine").between(BY_NUMBER, EVERYONE, BY_NUMBER), "expected coordinates"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_cosine_cost_forgets_lengths_and_lies_between_zero_and_one():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 6))
    costs = cost_of("cosine").between(Space(points), np.arange(40), Space(3.0 * points))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    slow = np.array([[(1 - sum(u * v)) / 2 for v in unit] for u in unit])
    assert costs == pytest.approx(slow, abs=1e-15)
    assert costs.min() >= -1e-15
    assert costs.max() <= 1 + 1e-15


@pytest.mark.parametrize("name", COSTS)
def test_a_cost_has_a_row_for_each_secret_and_a_column_for_each_output(name):
    metric = "haversine" if name == "haversine" else "euclidean"
    secrets = Space([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], metric)
    outputs = Space([[2.0, 2.0], [8.0, 1.0]], metric)
    costs = cost_of(name).between(secrets, np.array([2, 0, 2]), outputs)
    assert costs.shape == (3, 2)
    assert costs[0].tolist() == costs[2].tolist()
    assert costs[0].tolist() != costs[1].tolist()
    assert cost_of(name).name == name


def test_a_distance_cost_may_use_another_metric_than_the_space():
    globe = Space([[0.0, 0.0], [0.0, 3.0]], "haversine")
    assert cost_of("euclidean").between(globe, np.array([0]), globe)[0, 1] == 3.0


def test_a_table_cannot_be_changed_afterwards_and_does_not_print_itself():
    mine = np.array([[0.0, 123.5], [1.0, 0.0]])
    cost = cost_of(mine)
    mine[0, 1] = 9.0
    assert cost.table[0, 1] == 123.5
    with pytest.raises(ValueError, match="read-only"):
        cost.table[0, 0] = 1.0
    assert repr(cost) == "Matrix(2 x 2)"


def test_directions_have_unit_length_and_name_the_origin():
    unit = directions(np.array([[3.0, 4.0], [0.0, -1e-150]]))
    assert unit == pytest.approx(np.array([[0.6, 0.8], [0.0, -1.0]]))
    with pytest.raises(InvalidInput, match="point 1 is the origin, expected a direction"):
        directions(np.array([[1.0, 0.0], [0.0, 0.0]]))

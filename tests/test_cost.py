import numpy as np
import pytest

from oddshift import InvalidInput, Space
from oddshift.model.cost import COSTS, Matrix, cost_of
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


def test_a_cost_is_taken_as_it_is():
    assert cost_of(COSTS["cosine"]) is COSTS["cosine"]


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

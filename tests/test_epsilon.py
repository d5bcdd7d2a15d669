import numpy as np
import pytest

import oracles
from oddshift import Exponential, InvalidInput, Space, WorstCase, true_epsilon, worst_case
from oddshift.base.logarithms import log
from oddshift.mechanisms.epsilon import log_ratios, per_distance

UNIT = [[0.0, 1.0], [1.0, 0.0]]


def test_by_hand():
    assert true_epsilon(np.log([[0.72, 0.28], [0.28, 0.72]]), UNIT) == pytest.approx(np.log(0.72 / 0.28))
    assert true_epsilon(np.log([[0.5, 0.5], [0.5, 0.5]]), UNIT) == 0.0
    assert true_epsilon(np.zeros((1, 1)), [[0.0]]) == 0.0


def test_libqif_published_value():
    line = Space(1.1 * np.arange(10.0)[:, None])
    mechanism = Exponential(line, 0.9)
    assert mechanism.exact_epsilon == pytest.approx(0.64197307180467134, abs=1e-14)
    assert true_epsilon(mechanism.log_matrix, line.distances) == pytest.approx(0.64197307180467134, abs=1e-13)


def test_worst_pair_and_output():
    rows = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.1, 0.3, 0.6]])
    case = worst_case(np.log(rows), [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert case == WorstCase(pytest.approx(np.log(4.0)), (1, 2), 0)


def test_different_supports_are_infinite():
    assert true_epsilon(log([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]), UNIT) == np.inf
    assert true_epsilon(log([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]]), UNIT) == pytest.approx(np.log(1.25))


def test_distance_zero():
    rows = np.log([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]])
    assert true_epsilon(rows, np.zeros((3, 3))) == np.inf
    assert true_epsilon(rows[[0, 0]], np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize("spread", [0.1, 5.0, 1e5])
def test_against_the_loops_at_several_sizes(spread):
    rng = np.random.default_rng(7)
    for n, m in ((2, 1), (7, 3), (3, 400), (60, 5)):
        rows = spread * rng.normal(size=(n, m))
        rows -= rows.max(axis=1, keepdims=True)
        rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
        points = rng.normal(size=(n, 2))
        far = Space(points).distances
        assert true_epsilon(rows, far) == pytest.approx(oracles.log_epsilon(rows, far), rel=1e-13)


def test_ties_everywhere_are_not_slow():
    n = 300
    line = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    rows = -0.5 * line
    rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
    case = worst_case(rows, line)
    a, b = case.pair
    assert abs(rows[a, case.output] - rows[b, case.output]) / line[a, b] == case.epsilon


def test_log_ratios_are_directed():
    ratios = log_ratios(np.log([[0.5, 0.5], [0.9, 0.1]]))
    assert ratios == pytest.approx(np.array([[0.0, np.log(5.0)], [np.log(1.8), 0.0]]))
    assert log_ratios(log([[1.0, 0.0], [0.5, 0.5]])).tolist() == [[0.0, np.log(2.0)], [np.inf, 0.0]]


def test_per_distance():
    assert per_distance(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 4.0])).tolist() == [0.0, np.inf, 0.5]


@pytest.mark.parametrize(
    ("rows", "distances", "message"),
    [
        (np.log([[0.5, 0.4], [0.5, 0.5]]), UNIT, "log_matrix row 0 sums to 0.9, expected 1"),
        ([[0.72, 0.28], [0.28, 0.72]], UNIT, "log_matrix row 0 sums to 3.37"),
        ([[np.nan, 0.0], [0.0, 0.0]], UNIT, r"log_matrix has NaN at \(0, 0\)"),
        ([[0.0, -np.inf], [np.inf, 0.0]], UNIT, "log_matrix row 1 has inf, expected log probabilities <= 0"),
        ([[-np.inf, -np.inf], [0.0, -np.inf]], UNIT, "log_matrix row 0 sums to 0, expected 1"),
        (np.zeros((2, 1)), [[0.0]], r"distances has shape \(1, 1\), expected \(2, 2\)"),
        (np.zeros((2, 1)), [[0.0, -1.0], [-1.0, 0.0]], "distances has -1.0, expected distances >= 0"),
        (np.zeros((2, 1)), [[1.0, 1.0], [1.0, 0.0]], r"distances\[0, 0\] = 1.0, expected 0"),
        (np.zeros((2, 1)), [[0.0, 1.0], [2.0, 0.0]], "symmetr"),
        (np.zeros((2, 1)), [[0.0, np.inf], [np.inf, 0.0]], "distances has inf"),
        (np.zeros(2), UNIT, r"log_matrix has shape \(2,\), expected 2 axes"),
    ],
)
def test_refusals(rows, distances, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        true_epsilon(rows, distances)
    assert "\n" not in str(caught.value)


def test_points_that_rounding_brings_together_are_refused():
    with pytest.raises(InvalidInput, match="points 0 and 1 are at distance 0 after rounding"):
        _ = Exponential(Space([[0.0], [1e-200], [1.0]]), 1.0).exact_epsilon


def test_the_worst_pair_is_ordered_and_its_output_reaches_the_epsilon():
    rng = np.random.default_rng(12)
    for _ in range(30):
        n, m = int(rng.integers(2, 9)), int(rng.integers(1, 7))
        rows = np.log(rng.dirichlet(np.ones(m), n))
        far = Space(rng.normal(size=(n, 2))).distances
        case = worst_case(rows, far)
        a, b = case.pair
        assert a <= b
        if case.epsilon > 0:
            assert abs(rows[a, case.output] - rows[b, case.output]) / far[a, b] == pytest.approx(case.epsilon)


def test_a_pair_far_apart_can_be_the_worst_one():
    """The search starts from nearest neighbours; here the nearest pairs say nothing at all."""
    rows = np.log([[0.5, 0.5], [0.5, 0.5], [0.01, 0.99], [0.01, 0.99]])
    far = Space([[0.0], [0.1], [5.0], [5.1]]).distances
    case = worst_case(rows, far)
    assert case.pair == (1, 2)
    assert case.output == 0
    assert case.epsilon == pytest.approx(np.log(50.0) / 4.9)


def test_differences_below_single_precision_are_still_found():
    """The screen is in float32; a gap of 1e-12 at a distance of 1e-12 is an ε of 1 that it cannot see."""
    rows = np.log(np.full((3, 2), 0.5)) + np.array([[0.0, 0.0], [1e-12, -1e-12], [0.0, 0.0]])
    far = np.array([[0.0, 1e-12, 1.0], [1e-12, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert true_epsilon(rows, far) == pytest.approx(1.0, rel=1e-3)


def test_an_infinite_pair_is_found_wherever_it_is():
    for a, b in ((0, 3), (2, 3), (0, 1)):
        rows = np.full((4, 3), 1 / 3)
        rows[b] = [0.5, 0.5, 0.0]
        rows[a] = [0.25, 0.25, 0.5]
        assert true_epsilon(log(rows), Space(np.arange(4.0)[:, None]).distances) == np.inf


def test_an_output_that_nobody_can_give_does_not_count():
    with_column = log([[0.7, 0.0, 0.3], [0.3, 0.0, 0.7]])
    assert true_epsilon(with_column, UNIT) == pytest.approx(np.log(7 / 3))
    assert log_ratios(with_column)[0, 1] == pytest.approx(np.log(7 / 3))


def test_log_ratios_are_the_loops_over_outputs():
    rng = np.random.default_rng(5)
    rows = rng.dirichlet(np.ones(4), 6)
    rows[2] = [0.0, 0.5, 0.5, 0.0]
    slow = np.zeros((6, 6))
    for a in range(6):
        for b in range(6):
            ratios = [(np.inf if q == 0 else np.log(p / q)) for p, q in zip(rows[a], rows[b], strict=True) if p > 0]
            slow[a, b] = max(0.0, *ratios)
    assert log_ratios(log(rows)) == pytest.approx(slow)
    assert log_ratios(np.zeros((1, 1))).tolist() == [[0.0]]


@pytest.mark.parametrize("off", [0.9e-9, -0.9e-9])
def test_rows_may_be_off_by_rounding(off):
    assert np.isfinite(true_epsilon(np.log([[0.5, 0.5 + off], [0.5, 0.5]]), UNIT))


def test_the_worst_row_is_named_and_a_huge_one_does_not_overflow():
    with pytest.raises(InvalidInput, match=r"log_matrix row 1 sums to 0\.4, expected 1"):
        true_epsilon(np.log([[0.5, 0.45], [0.2, 0.2], [0.5, 0.5]]), np.zeros((3, 3)))
    with pytest.raises(InvalidInput, match=r"log_matrix row 1 sums to .*, expected 1"):
        true_epsilon([[0.0], [5000.0]], UNIT)


def test_distances_may_differ_by_rounding_between_the_two_sides():
    rows = np.log([[0.7, 0.3], [0.3, 0.7]])
    assert np.isfinite(true_epsilon(rows, [[0.0, 1.0], [1.0 + 1e-10, 0.0]]))
    with pytest.raises(InvalidInput, match=r"distances\[0, 1\] = 1\.0 and \[1, 0\] = 1\.00000001, expected symmetry"):
        true_epsilon(rows, [[0.0, 1.0], [1.00000001, 0.0]])

import numpy as np
import pytest

from oddshift.base.logarithms import log, log_matmul, log_normalise, log_sum


def test_log_of_zero_is_silent():
    assert log([0.0, 1.0]).tolist() == [-np.inf, 0.0]


def test_log_sum_far_below_the_range_of_floats():
    assert log_sum(np.array([-2000.0, -2000.0])) == pytest.approx(-2000.0 + np.log(2.0))
    assert log_sum(np.array([-np.inf, -np.inf])) == -np.inf
    assert log_sum(np.array([[0.0, -np.inf], [1.0, 1.0]]), axis=0).tolist() == pytest.approx([np.log(1 + np.e), 1.0])


def test_log_sum_leaves_its_argument_alone():
    values = np.array([1.0, 2.0])
    log_sum(values)
    assert values.tolist() == [1.0, 2.0]


def test_log_normalise():
    assert np.exp(log_normalise(np.array([-1000.0, -1000.0 + np.log(3.0)]))).tolist() == pytest.approx([0.25, 0.75])


def test_log_matmul_is_the_product():
    rng = np.random.default_rng(0)
    left, right = rng.random((4, 5)), rng.random((5, 3))
    assert np.exp(log_matmul(np.log(left), np.log(right))) == pytest.approx(left @ right)


def test_log_matmul_keeps_what_a_product_of_exponentials_would_lose():
    left = np.array([[0.0, -900.0]])
    right = np.array([[-np.inf, -900.0], [0.0, 0.0]])
    assert log_matmul(left, right)[0].tolist() == pytest.approx([-900.0, -900.0 + np.log(2.0)])


def test_log_matmul_of_impossible_rows():
    assert np.isneginf(log_matmul(np.full((2, 2), -np.inf), np.zeros((2, 2)))).all()


def test_log_matmul_of_a_long_chain_of_sparse_factors():
    matrix = log(np.array([[1.0, 0.0], [0.0, 1e-200]]))
    power = matrix
    for _ in range(3):
        power = log_matmul(power, matrix)
    assert power[1, 1] == pytest.approx(4 * np.log(1e-200))
    assert power[0, 1] == -np.inf

"""Log arithmetic against exact fractions, far outside the range of floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.logarithms import log, log_apply, log_matmul, log_normalise, log_sum, peak


def test_log_of_zero_is_silent():
    assert log([0.0, 1.0]).tolist() == [-np.inf, 0.0]


def test_log_sum_far_below_the_range_of_floats():
    assert log_sum(np.array([-2000.0, -2000.0])) == pytest.approx(-2000.0 + np.log(2.0))
    assert log_sum(np.array([-np.inf, -np.inf])) == -np.inf
    assert log_sum(np.array([[0.0, -np.inf], [1.0, 1.0]]), axis=0).tolist() == pytest.approx([np.log(1 + np.e), 1.0])


def test_log_normalise():
    assert np.exp(log_normalise(np.array([-1000.0, -1000.0 + np.log(3.0)]))).tolist() == pytest.approx([0.25, 0.75])


def test_log_matmul_keeps_what_a_product_of_exponentials_would_lose():
    left = np.array([[0.0, -900.0]])
    right = np.array([[-np.inf, -900.0], [0.0, 0.0]])
    assert log_matmul(left, right)[0].tolist() == pytest.approx([-900.0, -900.0 + np.log(2.0)])


def test_log_matmul_of_a_long_chain_of_sparse_factors():
    matrix = log(np.array([[1.0, 0.0], [0.0, 1e-200]]))
    power = matrix
    for _ in range(3):
        power = log_matmul(power, matrix)
    assert power[1, 1] == pytest.approx(4 * np.log(1e-200))
    assert power[0, 1] == -np.inf


def test_log_apply_is_a_product_with_a_matrix_of_numbers_and_loses_nothing():
    rng = np.random.default_rng(1)
    mass, matrix = rng.random(5), rng.random((5, 3))
    assert np.exp(log_apply(np.log(mass), matrix)) == pytest.approx(mass @ matrix)
    far = log_apply(np.array([0.0, -900.0]), np.array([[0.0, 1e-300, 0.0], [1.0, 1.0, 0.0]]))
    assert far.tolist() == pytest.approx([-900.0, np.log(1e-300), -np.inf])
    assert np.isneginf(log_apply(np.full(2, -np.inf), np.ones((2, 3)))).all()


numbers = st.one_of(st.just(-np.inf), st.floats(-800.0, 800.0))
tables = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))


def exact_log(total):
    """ln of a Fraction of any size, which math.log of a float could not hold."""
    if total == 0:
        return -math.inf
    shift = total.numerator.bit_length() - total.denominator.bit_length()
    return math.log(total / Fraction(2) ** shift) + shift * math.log(2)


@given(st.lists(numbers, min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_log_sum_lies_between_the_largest_term_and_the_largest_plus_log_n(values):
    total = float(log_sum(np.array(values)))
    top = max(values)
    if top == -np.inf:
        assert total == -np.inf
    else:
        assert top - 1e-9 <= total <= top + math.log(len(values)) + 1e-9


@given(st.lists(st.integers(-900, 900), min_size=1, max_size=6), st.integers(-5000, 5000))
@settings(max_examples=100, deadline=None)
def test_log_sum_is_exact_for_powers_of_two_and_moves_with_a_shift(exponents, shift):
    expected = exact_log(sum(Fraction(2) ** k for k in exponents))
    values = np.array(exponents) * math.log(2)
    assert float(log_sum(values)) == pytest.approx(expected, rel=1e-13, abs=1e-12)
    assert float(log_sum(values + shift)) == pytest.approx(expected + shift, rel=1e-12, abs=1e-9)


def test_log_sum_takes_the_axis_it_is_given():
    cube = np.log(np.arange(1.0, 25.0).reshape(2, 3, 4))
    for axis in range(3):
        assert np.exp(log_sum(cube, axis)) == pytest.approx(np.exp(cube).sum(axis=axis))
        assert np.exp(log_normalise(cube, axis)).sum(axis=axis) == pytest.approx(np.ones(np.delete((2, 3, 4), axis)))


def test_the_peak_is_kept_as_an_axis_and_is_zero_where_nothing_is_possible():
    values = np.array([[-np.inf, -np.inf], [-3.0, -5.0]])
    assert peak(values, axis=1).tolist() == [[0.0], [-3.0]]
    assert peak(values, axis=0).tolist() == [[-3.0, -5.0]]
    assert not np.isnan(values - peak(values, axis=1)).any()


@given(tables, st.data())
@settings(max_examples=100, deadline=None)
def test_log_matmul_is_the_sum_over_the_middle_index_in_exact_arithmetic(sizes, data):
    m, k, n = sizes
    powers = st.one_of(st.none(), st.integers(-1500, 1500))
    left = data.draw(st.lists(st.lists(powers, min_size=k, max_size=k), min_size=m, max_size=m))
    right = data.draw(st.lists(st.lists(powers, min_size=n, max_size=n), min_size=k, max_size=k))

    def logs(table):
        return np.array([[-np.inf if p is None else p * math.log(2) for p in row] for row in table])

    got = log_matmul(logs(left), logs(right))
    for i in range(m):
        for j in range(n):
            terms = [
                Fraction(2) ** (left[i][t] + right[t][j])
                for t in range(k)
                if left[i][t] is not None and right[t][j] is not None
            ]
            assert got[i, j] == pytest.approx(exact_log(sum(terms, Fraction(0))), rel=1e-12, abs=1e-9)


def test_log_matmul_goes_through_its_doubtful_entries_in_blocks(monkeypatch):
    from oddshift.base import arrays

    rng = np.random.default_rng(4)
    left, right = -900.0 * rng.random((6, 3)), -900.0 * rng.random((3, 5))
    whole = log_matmul(left, right)
    slow = np.array([[log_sum(left[i] + right[:, j]) for j in range(5)] for i in range(6)])
    assert whole == pytest.approx(slow, rel=1e-13)
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 4)
    assert log_matmul(left, right).tolist() == whole.tolist()


def test_arguments_of_log_arithmetic_may_be_read_only_and_are_never_changed():
    values = np.array([[0.0, -700.0], [-np.inf, 3.0]])
    values.setflags(write=False)
    before = values.copy()
    for function in (log_sum, log_normalise, lambda v: log_matmul(v, v), lambda v: peak(v, 0)):
        function(values)
        assert (values == before).all()

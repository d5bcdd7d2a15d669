import numpy as np
import pytest

from oddshift import InvalidInput
from oddshift.base import arrays
from oddshift.base.errors import TooLarge


def one_line(caught):
    return "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1.0, np.nan]], r"x has NaN at \(0, 1\), expected numbers"),
        ([[]], r"x is empty \(shape \(1, 0\)\), expected at least one entry"),
        ([1.0, 2.0], r"x has shape \(2,\), expected 2 axes"),
        ([[1.0], [2.0, 3.0]], "x is not a numeric array of 2 axes"),
        ([["a"]], "x is not a numeric array of 2 axes, expected rows"),
        ([["1"]], "x is not a numeric array of 2 axes, expected rows"),
    ],
)
def test_floats_refuses(value, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        arrays.floats(value, "x", 2)
    assert one_line(caught)


def test_floats_copies_and_allows_infinity():
    mine = np.array([1.0, -np.inf])
    assert arrays.floats(mine, "x", 1) is not mine
    with pytest.raises(InvalidInput, match=r"x has -inf at \(1,\), expected finite numbers"):
        arrays.finite(mine, "x", 1)


def test_probabilities_renormalises_what_is_within_rounding():
    row = arrays.probabilities([0.5, 0.5 + 5e-10], "p", 1)
    assert row.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("value", "ndim", "message"),
    [
        ([0.5, 0.4], 1, "p sums to 0.9, expected 1"),
        ([[0.5, 0.5], [0.5, 0.6]], 2, "p sums to 1.1, expected 1"),
        ([1.5, -0.5], 1, r"p has -0.5 at \(1,\), expected probabilities >= 0"),
        ([[0.5], [0.25, 0.25]], 0, "p is ragged, expected"),
        ([[0.5, 0.5], [0.5, 0.5]], 0, "p sums to 2, expected 1"),
    ],
)
def test_probabilities_refuses(value, ndim, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        arrays.probabilities(value, "p", ndim)
    assert one_line(caught)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, None, "many", "1"])
def test_positive_refuses(value):
    with pytest.raises(InvalidInput, match=r"epsilon=.*expected a"):
        arrays.positive(value, "epsilon")


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, np.nan])
def test_unit_open_refuses(value):
    with pytest.raises(InvalidInput, match="expected 0 < delta < 1"):
        arrays.unit_open(value, "delta")


@pytest.mark.parametrize("value", [0, 6, 2.0, True, "3"])
def test_whole_refuses(value):
    with pytest.raises(InvalidInput, match=r"expected a whole number in \[1, 5\]"):
        arrays.whole(value, "k", 1, 5)


def test_whole_takes_numpy_integers_and_open_ends():
    assert arrays.whole(np.int32(7), "k", 1) == 7


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0, 3], r"index has 3, expected integers in \[0, 3\)"),
        ([-1], r"index has -1, expected integers in \[0, 3\)"),
        ([0.5], "expected 1 axis of integers"),
        ([[0], [1]], "expected 1 axis of integers"),
        ([[0], [1, 2]], "index is ragged"),
    ],
)
def test_indices_refuses(value, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        arrays.indices(value, "index", 3)
    assert one_line(caught)


def test_indices_of_nothing_and_of_one():
    assert arrays.indices([], "index", 3).tolist() == []
    assert arrays.indices(2, "index", 3).tolist() == [2]


def test_blocks_cover_every_row_once():
    for rows, width in ((10, 3_000_000), (1, 10**9), (0, 5)):
        parts = list(arrays.blocks(rows, width))
        assert [i for part in parts for i in range(part.start, part.stop)] == list(range(rows))


def test_dense_says_what_would_work():
    arrays.dense(10, 10, "x", "use blocks")
    with pytest.raises(TooLarge, match="20000 x 20000 entries, expected at most 150000000; use blocks"):
        arrays.dense(20_000, 20_000, "x", "use blocks")


def test_frozen_arrays_cannot_change():
    with pytest.raises(ValueError, match="read-only"):
        arrays.frozen(np.zeros(2))[0] = 1.0


def test_one_of():
    assert arrays.one_of("a", "x", ("a", "b")) == "a"
    with pytest.raises(InvalidInput, match="x='c', expected one of a, b"):
        arrays.one_of("c", "x", ("b", "a"))


def test_what_is_no_sequence_and_no_generator_is_refused():
    assert arrays.listed((1, 2), "x") == [1, 2]
    with pytest.raises(InvalidInput, match="x is a int, expected a sequence"):
        arrays.listed(5, "x")
    with pytest.raises(InvalidInput, match="rng is a NoneType, expected a numpy Generator"):
        arrays.generator(None)

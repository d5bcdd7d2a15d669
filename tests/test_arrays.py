import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_frozen_arrays_cannot_change():
    with pytest.raises(ValueError, match="read-only"):
        arrays.frozen(np.zeros(2))[0] = 1.0


def test_floats_gives_float64_whatever_number_came_and_leaves_the_argument_writable():
    for dtype in (np.int8, np.float32, np.bool_, np.uint64):
        mine = np.ones((2, 3), dtype=dtype)
        array = arrays.floats(mine, "x", 2)
        assert array.dtype == np.float64
        assert array.flags.writeable
        array[0, 0] = 9.0
        assert mine[0, 0] == 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        object(),
        {"a": 1},
        [1, "b"],
        [b"1"],
        [1 + 2j],
        np.array(["1"]),
        np.array(["1", 2], dtype=object),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([3], dtype="timedelta64[s]"),
    ],
)
def test_floats_refuses_what_is_not_numbers_without_showing_it(value):
    with pytest.raises(InvalidInput, match=r"^secret column (is not a numeric|has shape)") as caught:
        arrays.floats(value, "secret column", 1)
    assert one_line(caught)
    assert "object at" not in str(caught.value)


def test_the_first_bad_entry_is_named_in_row_order():
    array = np.zeros((3, 2))
    array[1, 1], array[2, 0] = np.inf, -np.inf
    with pytest.raises(InvalidInput, match=r"x has inf at \(1, 1\)"):
        arrays.finite(array, "x", 2)


def test_probabilities_are_normalised_along_the_last_axis_only():
    rows = arrays.probabilities([[0.25, 0.75], [1.0, 0.0]], "p", 2)
    assert rows.tolist() == [[0.25, 0.75], [1.0, 0.0]]
    cube = arrays.probabilities(np.full((2, 2, 2), 0.125), "p", 0)
    assert cube.sum() == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match=r"p sums to 0\.25, expected 1"):
        arrays.probabilities(np.full((2, 2, 2), 0.125), "p", 3)


@pytest.mark.parametrize(("off", "is_refused"), [(0.9e-9, False), (1.1e-9, True), (-0.9e-9, False), (-1.1e-9, True)])
def test_probabilities_may_be_off_by_the_stated_tolerance_and_no_more(off, is_refused):
    vector = [0.5, 0.5 + off]
    if is_refused:
        with pytest.raises(InvalidInput, match="expected 1"):
            arrays.probabilities(vector, "p", 1)
    else:
        assert arrays.probabilities(vector, "p", 1).sum() == pytest.approx(1.0, abs=1e-15)


def test_the_worst_sum_is_shown_and_not_the_first():
    with pytest.raises(InvalidInput, match=r"p sums to 0\.5, expected 1"):
        arrays.probabilities([[0.5, 0.4], [0.25, 0.25], [0.5, 0.5]], "p", 2)


def test_numbers_come_back_as_python_floats():
    for value in (np.float32(0.5), 0.5, np.float64(0.5)):
        assert type(arrays.positive(value, "x")) is float
        assert type(arrays.unit_open(value, "x")) is float
    assert arrays.positive(3, "x") == 3.0
    assert arrays.positive(5e-324, "x") > 0.0


@pytest.mark.parametrize("value", [b"1", [1.0, 2.0], {}, "0.5"])
def test_float_of_names_the_argument_and_shows_the_value(value):
    with pytest.raises(InvalidInput, match=r"^level=.*, expected a number$") as caught:
        arrays.float_of(value, "level")
    assert one_line(caught)


def test_whole_accepts_both_ends_and_refuses_the_next_number():
    assert [arrays.whole(k, "k", 1, 5) for k in (1, 5)] == [1, 5]
    assert type(arrays.whole(np.int64(2), "k", 1, 5)) is int
    with pytest.raises(InvalidInput, match=r"k=0, expected a whole number >= 1$"):
        arrays.whole(0, "k", 1)
    with pytest.raises(InvalidInput, match=r"k=np.True_|k=True"):
        arrays.whole(np.True_, "k", 0)


def test_secret_indices_are_never_shown_in_a_refusal():
    for bad in ([7], [-7], [0, 1, 77_777]):
        with pytest.raises(
            InvalidInput, match=r"a document has another value, expected integers in \[0, 3\)"
        ) as caught:
            arrays.indices(bad, "a document", 3, is_secret=True)
        assert "7" not in str(caught.value)


def test_indices_are_a_copy_as_int64_of_any_integer_type():
    mine = np.array([0, 2], dtype=np.uint8)
    array = arrays.indices(mine, "index", 3)
    assert array.dtype == np.int64
    array[0] = 1
    assert mine[0] == 0
    same = np.array([0, 2])
    arrays.indices(same, "index", 3)[0] = 1
    assert same[0] == 0


def test_indices_refuse_what_int64_cannot_hold():
    with pytest.raises(InvalidInput, match="index has"):
        arrays.indices(np.array([2**64 - 1], dtype=np.uint64), "index", 3)


@pytest.mark.parametrize("value", [[True, False], ["0"], [None], np.array([0.0])])
def test_indices_refuse_everything_that_is_not_an_integer(value):
    with pytest.raises(InvalidInput, match="expected 1 axis of integers"):
        arrays.indices(value, "index", 3)


def test_listed_does_not_show_the_items_and_takes_generators():
    assert arrays.listed((k for k in range(3)), "x") == [0, 1, 2]
    with pytest.raises(InvalidInput) as caught:
        arrays.listed(98_765, "x")
    assert "98765" not in str(caught.value)


def test_dense_allows_exactly_the_limit():
    rows = arrays.DENSE_LIMIT // 10
    arrays.dense(rows, 10, "x", "use blocks")
    with pytest.raises(TooLarge):
        arrays.dense(rows + 1, 10, "x", "use blocks")


def test_blocks_hold_at_most_the_stated_entries_and_at_least_a_row():
    sizes = [part.stop - part.start for part in arrays.blocks(10, arrays.BLOCK_ENTRIES // 3)]
    assert sizes == [3, 3, 3, 1]
    assert [part.stop - part.start for part in arrays.blocks(2, 10 * arrays.BLOCK_ENTRIES)] == [1, 1]
    assert list(arrays.blocks(5, 0)) == [slice(0, 5)]


@given(st.integers(0, 200), st.integers(0, 50), st.integers(1, 60))
@settings(max_examples=80, deadline=None)
def test_blocks_are_contiguous_and_in_order_for_any_size(rows, width, entries):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK_ENTRIES", entries)
        parts = list(arrays.blocks(rows, width))
    assert [a.stop for a in parts[:-1]] == [b.start for b in parts[1:]]
    assert (parts[0].start, parts[-1].stop) == (0, rows) if rows else parts == []
    assert all((p.stop - p.start) * width <= max(entries, width) for p in parts)


def test_one_of_lists_what_is_known_in_order():
    with pytest.raises(InvalidInput, match=r"^law='c', expected one of a, b, z$"):
        arrays.one_of("c", "law", ("z", "b", "a"))

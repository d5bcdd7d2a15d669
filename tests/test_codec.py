"""What codecs share: counts that add up, columns of one length, outputs that are points, and the point of a row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import checked_outputs, length_of, points_of, rows_by_bytes
from oddshift.data.codecs.coverage import Counts, KindCounts, kind_lines
from oddshift.data.codecs.vector_codec import cell_means, read_codebook
from oddshift.model.space import Space

N = st.integers(0, 50)
KIND = st.builds(KindCounts, found=N, perturbed=N, marked=N, left=N, unchanged=N)
COUNTS = st.builds(
    Counts,
    found=N,
    perturbed=N,
    masked=N,
    unseen=N,
    left_out=N,
    kinds=st.dictionaries(st.sampled_from(["PERSON", "ORG", "GPE"]), KIND),
)


@settings(max_examples=50)
@given(COUNTS, COUNTS, COUNTS)
def test_counts_of_parts_add_up_in_any_order_and_grouping(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Counts() == a


@settings(max_examples=50)
@given(COUNTS, COUNTS)
def test_every_count_is_the_sum_of_both(a, b):
    both = a + b
    for name in ("found", "perturbed", "masked", "unseen", "left_out"):
        assert getattr(both, name) == getattr(a, name) + getattr(b, name)
    for kind in both.kinds:
        parts = [counts.kinds[kind].marked for counts in (a, b) if kind in counts.kinds]
        assert both.kinds[kind].marked == sum(parts)
    assert set(both.kinds) == {*a.kinds, *b.kinds}


def test_after_a_draw_only_the_unchanged_are_counted_anew():
    counts = Counts(found=5, kinds={"PERSON": KindCounts(found=3, unchanged=9), "ORG": KindCounts(found=2)})
    drawn = counts.after_draw({"PERSON": 1, "GPE": 4}, {})
    assert {name: kind.unchanged for name, kind in drawn.kinds.items()} == {"PERSON": 1, "ORG": 0}
    assert drawn.found == 5
    assert counts.kinds["PERSON"].unchanged == 9


def test_kinds_are_told_from_the_most_frequent_on():
    said = kind_lines({"ORG": KindCounts(found=2, marked=2), "PERSON": KindCounts(found=3000, perturbed=2999, left=1)})
    assert said == (
        "PERSON: 3,000 found, 2,999 perturbed, 0 marked, 1 function words inside them left",
        "ORG: 2 found, 0 perturbed, 2 marked",
    )


def test_columns_have_one_length():
    assert length_of({"a": [1, 2], "b": [3, 4], "c": []}, ("a", "b")) == 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1]}, "the file has no column 'b' among its 1"),
        ({"a": [1], "b": [1, 2]}, r"columns of the file have lengths \[1, 2\], expected one length above 0"),
        ({"a": [], "b": []}, r"columns of the file have lengths \[0\], expected one length above 0"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(InvalidInput, match=message):
        length_of(columns, ("a", "b"), "the file")


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([0, 1], r"outputs has 2 entries, expected 3 \(one for each secret\)"),
        ([0, 1, 4], r"outputs has 4, expected integers in \[0, 4\)"),
        ([0, 1, -1], "outputs has -1"),
        ([0.0, 1.0, 2.0], "expected 1 axis of integers"),
    ],
)
def test_outputs_are_a_point_for_each_secret(outputs, message):
    assert checked_outputs([3, 0, 3], 4, 3).tolist() == [3, 0, 3]
    with pytest.raises(InvalidInput, match=message):
        checked_outputs(outputs, 4, 3)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=6, unique=True), st.data())
def test_a_row_is_its_own_point_or_the_nearest(points, data):
    space = Space(np.array(points, dtype=float))
    rows = data.draw(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)) | st.sampled_from(points), max_size=5))
    table = np.array(rows, dtype=float).reshape(-1, 2)
    for row, point in zip(table, points_of(space, rows_by_bytes(space), table), strict=True):
        gaps = np.linalg.norm(space.points - row, axis=1)
        assert gaps[point] <= gaps.min() + 1e-9
        if tuple(row) in points:
            assert tuple(space.points[point]) == tuple(row)


def test_cells_are_cut_at_the_median_of_the_widest_axis():
    table = np.array([[0.0, 5.0], [1.0, 5.1], [10.0, 5.0], [11.0, 5.1]])
    means, _ = cell_means(table, None, 2)
    assert sorted(means[:, 0].tolist()) == [0.5, 10.5]


def test_rows_that_are_all_equal_are_one_cell():
    means, _ = cell_means(np.ones((9, 2)), None, 1)
    assert means.tolist() == [[1.0, 1.0]]


def test_rows_too_few_for_two_means_have_one_point_that_is_nobodys():
    table = np.array([[5.0], [6.0], [7.0]])
    assert [cell_means(table, None, 2)[0].tolist(), cell_means(table, ["a", "a", "b"], 1)[0].tolist()] == [
        [[0.0]],
        [[5.0], [6.0], [0.0]],
    ]


@pytest.mark.parametrize("array", [np.zeros(3), np.array([["a"]]), np.array([[np.nan]]), np.array([{}])])
def test_a_codebook_of_something_else_is_refused(array, tmp_path):
    np.save(tmp_path / "code.npy", array, allow_pickle=True)
    with pytest.raises(InvalidInput, match=r"is not a \.npy file of vectors, expected an array \(n, k\) of numbers"):
        read_codebook(str(tmp_path / "code.npy"))
    with pytest.raises(InvalidInput, match=r"is not a \.npy file of vectors"):
        read_codebook(str(tmp_path / "none.npy"))

"""Values in memory: what a list, an array, a series or a frame is read as, and that the same kind comes back."""

import subprocess
import sys

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.dataset import column_like, columns_of, frame_like, is_frame, list_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

COLUMNS = {"age": [31, None, 44], "city": ["oslo", "rome", None]}

FRAMES = {
    "mapping": lambda: dict(COLUMNS),
    "pandas": lambda: pd.DataFrame({"age": pd.array([31, None, 44], dtype="Int64"), "city": COLUMNS["city"]}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "duckdb": lambda: duckdb.sql("select * from (values (31, 'oslo'), (null, 'rome'), (44, null)) t(age, city)"),
}

SERIES = {
    "list": lambda: ["a", "b", "c"],
    "tuple": lambda: ("a", "b", "c"),
    "array": lambda: np.array(["a", "b", "c"]),
    "objects": lambda: np.array(["a", "b", "c"], dtype=object),
    "pandas": lambda: pd.Series(["a", "b", "c"], index=[7, 8, 9], name="text"),
    "polars": lambda: pl.Series("text", ["a", "b", "c"]),
    "pyarrow array": lambda: pa.array(["a", "b", "c"]),
    "pyarrow chunks": lambda: pa.chunked_array([["a"], ["b", "c"]]),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_reads_as_the_same_columns(kind):
    assert is_frame(FRAMES[kind]())
    assert columns_of(FRAMES[kind]()) == COLUMNS


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_kind_of_frame_comes_back_with_the_columns_replaced(kind):
    made = frame_like(FRAMES[kind](), {"city": ["a", "b", "c"]})
    assert columns_of(made) == {"age": [31, None, 44], "city": ["a", "b", "c"]}
    if kind != "duckdb":
        assert type(made) is type(FRAMES[kind]())


@pytest.mark.parametrize("kind", SERIES)
def test_every_series_reads_as_the_same_list(kind):
    assert not is_frame(SERIES[kind]())
    assert list_of(SERIES[kind]()) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", SERIES)
def test_the_same_kind_of_series_comes_back(kind):
    original = SERIES[kind]()
    made = column_like(original, ["x", "y", "z"])
    assert type(made) is type(original)
    assert list_of(made) == ["x", "y", "z"]


def test_a_pandas_series_keeps_its_index_and_name():
    made = column_like(pd.Series(["a", "b"], index=[7, 9], name="text"), ["x", "y"])
    assert made.index.tolist() == [7, 9]
    assert made.name == "text"


def test_the_frame_that_came_in_is_not_changed():
    for kind in ("mapping", "pandas", "polars", "pyarrow"):
        original = FRAMES[kind]()
        frame_like(original, {"city": ["a", "b", "c"]})
        assert columns_of(original) == COLUMNS


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("one string", "is a str, expected a list"),
        (b"bytes", "is a bytes, expected a list"),
        (5, "is an int, expected a list"),
        ({"a": [1]}, "is a dict, expected a list"),
    ],
)
def test_what_is_not_a_column_is_refused(values, said):
    with pytest.raises(InvalidInput, match=said):
        list_of(values)


def test_what_is_not_a_table_is_refused():
    with pytest.raises(InvalidInput, match="is a list, expected a data frame"):
        columns_of(["a"])
    with pytest.raises(InvalidInput, match=r"lengths \[1, 2\], expected one length"):
        columns_of({"a": [1], "b": [1, 2]})
    with pytest.raises(InvalidInput, match="two columns of one name"):
        columns_of(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_no_frame_library_is_imported():
    program = "import sys, oddshift.data.dataset; print({'pandas', 'polars', 'pyarrow', 'duckdb'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"

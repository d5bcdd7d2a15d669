"""Values in memory: what a list, an array, a series or a frame is read as, and that the same kind comes back.

Recipes for frames: a policy applied to pandas, Polars and the partitions of a Dask frame.
"""

import subprocess
import sys
from functools import lru_cache

import cloudpickle
import numpy as np
import pandas
import polars
import pytest

import oddshift as od
from oddshift.base.errors import InvalidInput
from oddshift.data.dataset import column_like, columns_of, frame_like, is_frame, list_of
from oddshift.protect.policies import save_policy
from policies import NAMES, names_in, names_policy

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


TEXTS = [f"{NAMES[n % 10]} met {NAMES[n % 7]}, {n}." for n in range(40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("run")
    save_policy(home, names_policy())
    return str(home)


def check(texts, numbers):
    assert numbers == list(range(40))
    assert [text.split(", ")[1] for text in texts] == [f"{n}." for n in range(40)]
    assert all(len(names_in(text.replace(",", ""))) == 2 for text in texts)
    assert sum(a == b for a, b in zip(texts, TEXTS, strict=True)) < 20


@pytest.mark.parametrize("library", [pandas, polars])
def test_a_frame_comes_back_as_the_same_kind_with_its_other_columns(folder, library):
    frame = library.DataFrame({"n": list(range(40)), "text": TEXTS})
    released = od.load_policy(folder).apply(frame)
    assert type(released) is type(frame)
    assert list(released.columns) == ["n", "text"]
    check(released["text"].to_list(), released["n"].to_list())


policy_in = lru_cache(maxsize=1)(od.load_policy)


def released_part(part, folder):
    return policy_in(folder).apply(part)


def test_partitions_of_a_dask_frame_are_released_by_the_folder_of_the_policy(folder):
    dask_frames = pytest.importorskip("dask.dataframe")
    frame = dask_frames.from_pandas(pandas.DataFrame({"n": range(40), "text": TEXTS}), npartitions=3)
    parts = frame.map_partitions(released_part, folder, meta=frame._meta)
    stored = parts.compute(scheduler="synchronous")
    check(stored["text"].to_list(), stored["n"].to_list())


def test_what_a_scheduler_sees_of_the_recipe_is_a_path(folder):
    policy_in(folder).apply(TEXTS[:1])
    sent = cloudpickle.dumps((released_part, folder))
    assert not any(name.encode() in sent for name in NAMES)

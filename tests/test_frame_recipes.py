"""Recipes for frames: a policy applied to pandas, Polars and the partitions of a Dask frame."""

from functools import lru_cache

import cloudpickle
import pandas
import polars
import pytest

import oddshift as od
from oddshift.protect.policies import save_policy
from policies import NAMES, names_in, names_policy

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

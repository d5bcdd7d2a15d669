"""Long tables: audited on a sample whose size is said, whole groups together; shortcuts that change no result."""

import numpy as np
import pytest

import oddshift as od
from oddshift.app.init.columns import counted
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.data.formats.cells import categories, is_missing, missing_cells
from oddshift.data.preparation import FEWEST_UNITS, prepare
from oddshift.mechanisms import MechanismSettings, build_mechanism
from oddshift.protect import Sanitizer
from oddshift.protect.policies import make_policy
from oddshift.protect.record_keys import RecordKeys, normal_text


def table(rows, **more):
    rng = np.random.default_rng(0)
    columns = {"a": rng.choice(list("xyz"), rows).tolist(), "b": rng.choice(list("uv"), rows).tolist()}
    return {**columns, **more}


def prepared(columns, **settings):
    return prepare(od.table(columns, settings={"categorical": ["a", "b"], **settings}), 0)


def positions(found):
    return sum(len(part.points) for part in (found.split.fit, found.split.select, found.split.certify))


def test_a_long_table_is_sampled_and_the_size_is_said():
    found = prepared(table(2000), most_cells=600)
    assert positions(found) == 600
    assert "examined a sample of 300 of 2,000 rows" in found.notes[0]
    assert len(found.columns["a"]) == 300, "what goes out is measured on the same rows"


def test_a_table_that_is_short_enough_is_read_whole_and_zero_means_all():
    for settings in ({"most_cells": 4000}, {"most_cells": 0}):
        found = prepared(table(2000), **settings)
        assert positions(found) == 4000
        assert not any("sample" in note for note in found.notes)


def test_groups_stay_whole_and_enough_of_them_are_drawn():
    who = np.repeat(np.arange(100), 20)
    found = prepared(table(2000, who=who.tolist()), group="who", most_cells=1600)
    sizes = np.concatenate([part.lengths for part in (found.split.fit, found.split.select, found.split.certify)])
    assert set(sizes.tolist()) == {40}
    assert len(sizes) == 40
    few = prepared(table(2000, who=who.tolist()), group="who", most_cells=80)
    assert sum(len(p) for p in (few.split.fit, few.split.select, few.split.certify)) == FEWEST_UNITS


def test_a_sample_is_the_same_for_the_same_seed_and_a_random_part_of_the_rows():
    one, two = (prepared(table(3000, k=list(range(3000))), most_cells=1000) for _ in range(2))
    np.testing.assert_array_equal(one.split.fit.points, two.split.fit.points)


def test_a_bad_cell_outside_the_sample_is_named_all_the_same():
    columns = {"n": [*range(1999), "forty"], "a": table(2000)["a"]}
    with pytest.raises(InvalidInput, match="column 'n' at row 2000 is not a number"):
        prepare(od.table(columns, settings={"numeric": ["n"], "categorical": ["a"], "most_cells": 200}), 0)


def test_missing_cells_are_those_that_say_so_whatever_their_type():
    cells = ["", "NA", " nan ", "x", None, float("nan"), 0, 0.0, False, "null", "0"]
    assert missing_cells(cells).tolist() == [is_missing(cell) for cell in cells]
    lists = [[1], None, [2]]
    assert missing_cells(lists).tolist() == [False, True, False]


def test_columns_of_unhashable_cells_are_counted_and_refused_as_categories():
    found = counted("x", [[1], [2], [1]])
    assert (found.rows, found.distinct, found.missing) == (3, 2, 0)
    with pytest.raises(InvalidInput, match="row 2 is not a category"):
        categories({"x": ["a", ["b"]]}, "x")
    with pytest.raises(InvalidInput, match="row 2 is not a category"):
        categories({"x": ["a", float("nan")]}, "x")


def test_keys_of_rows_do_not_depend_on_how_often_a_cell_occurs():
    keys = RecordKeys(bytes(32))
    cells = ["7.0", " 7 ", "Ann  B", "ann b", "", "7"]
    together = keys.rows([cells, ["x"] * 6])
    width = len(together) // 6
    alone = b"".join(keys.rows([[cell], ["x"]]) for cell in cells)
    assert together == alone
    assert together[:width] == together[width : 2 * width], "7.0 and 7 are one"
    mixed = [1, True, 1.0, "1"]
    assert [keys.rows([[cell]]) for cell in mixed] == [
        keys.rows([mixed])[k * width : (k + 1) * width] for k in range(4)
    ]
    assert normal_text(True) != normal_text(1)


def test_rows_that_agree_in_any_column_share_a_draw_where_that_is_asked():
    columns = {
        "who": ["a", "a", "b", "b", "a"] * 12,
        "x": ["p", "p", "q", "p", "q"] * 12,
        "y": ["r", "s", "r", "s", "s"] * 12,
    }
    settings = TableSettings(categorical=("x", "y"), group="who", repeats="once")
    codec = TableCodec.fit(columns, settings)
    policy = make_policy(codec, build_mechanism(MechanismSettings(), codec.space, codec.tiers, 1e-6), codec.tiers)
    shown = Sanitizer(policy).columns(columns)
    for name in ("x", "y"):
        draws = {}
        for who, cell, new in zip(columns["who"], columns[name], shown[name], strict=True):
            draws.setdefault((who, cell), set()).add(new)
        assert all(len(values) == 1 for values in draws.values())
    assert "drawn once for all rows of one who that agree" in " ".join(codec.notes)

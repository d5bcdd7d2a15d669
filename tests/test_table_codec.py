import numpy as np
import pytest
from studies.published import breast_cancer

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.data.formats import open_data, read_columns
from oddshift.model.records import MASKED, SLOT

TABLE = {
    "age": [20, 30, 40, 30],
    "pay": ["1.0", "2.0", "3.0", "10.0"],
    "city": ["oslo", "rome", "oslo", "rome"],
    "shop": ["a", "b", "a", "a"],
    "who": ["u", "u", "v", "u"],
}


def test_cells_are_positions():
    settings = TableSettings(numeric=("age",), categorical=("city",), group="who", domains={"age": (20, 30, 40)})
    encoded = encoding.table(TABLE, settings).encoded
    assert encoded.records.lengths.tolist() == [6, 2]
    assert len(encoded.records.space) == 3 + 2
    assert encoded.decode(encoded.records.points) == {"age": [20.0, 30.0, 40.0, 30.0], "city": TABLE["city"]}
    distances = encoded.records.space.distances
    assert distances[3, 4] == 1.0
    assert distances[0, 3] > 500  # cells of different columns are never alternatives


def test_cells_joint_by_column():
    encoded = encoding.table(TABLE, TableSettings(categorical=("city", "shop"), joint_by="column")).encoded
    assert encoded.records.joint_by == "column"
    assert [d.tolist() for d in encoded.records.documents] == [[0, 1, 0, 1], [2, 3, 2, 2]]
    assert encoded.decode(encoded.records.points) == {"city": TABLE["city"], "shop": TABLE["shop"]}


def test_public_columns_are_context():
    encoded = encoding.table(TABLE, TableSettings(numeric=("age",), public=("shop", "city"), group="who")).encoded
    context = encoded.records.context
    first = context.tokens[: context.offsets[1]].tolist()
    shown = ["_" if t == SLOT else context.symbols[t] for t in first]
    assert shown == ["shop=a", "city=oslo", "_", "shop=b", "city=rome", "_", "shop=a", "city=rome", "_"]
    assert len(encoded.records.joined("sentence")) == 4


def test_columns_have_tiers():
    settings = TableSettings(
        numeric=("age",),
        categorical=("city",),
        tier_names=("high", "low"),
        tier_of={"age": "low", "city": "high"},
        domains={"age": (20, 30, 40)},
    )
    tiers = encoding.table(TABLE, settings).tiers
    assert tiers.labels.tolist() == [1, 1, 1, 0, 0]
    assert (tiers.names, tiers.levels, tiers.is_public) == (("city", "age"), (0, 1), True)
    plain = TableSettings(numeric=("age",), categorical=("city",), domains={"age": (20, 30, 40)})
    assert encoding.table(TABLE, plain).tiers.levels == (0, 0), "all columns are equally sensitive"


def test_many_values_are_binned():
    values = np.linspace(0, 100, 501).tolist()
    encoded = encoding.table({"x": values}, TableSettings(numeric=("x",), bins=10)).encoded
    assert len(encoded.records.space) == 11, "0, 10, ..., 100"
    back = np.array(encoded.decode(encoded.records.points)["x"])
    assert np.abs(back - values).max() <= 5.0 + 1e-9


def test_breast_cancer_as_in_the_paper():
    _, encoded = breast_cancer()
    assert len(encoded.records) == 569
    assert encoded.records.space.points.shape == (569, 30)
    np.testing.assert_allclose(encoded.records.space.points.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(encoded.records.space.points.std(axis=0), 1, atol=1e-9)


def test_a_table_from_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("age,city\n20,oslo\n30,rome\n")
    settings = TableSettings(numeric=("age",), categorical=("city",))
    columns = read_columns(open_data(tmp_path / "t.csv", "table"), settings.wanted(()))
    encoded = encoding.table(columns, settings).encoded
    assert encoded.decode(encoded.records.points) == {"age": ["20", "30"], "city": ["oslo", "rome"]}
    assert repr(encoded).startswith("EncodedTable(Records(2 documents")


def test_bad_tables(tmp_path):
    with pytest.raises(InvalidInput, match="the table has no column 'x' among its 5"):
        encoding.table(TABLE, TableSettings(numeric=("x",)))
    with pytest.raises(InvalidInput, match="cells that are not a number"):
        encoding.table(TABLE, TableSettings(numeric=("city",)))
    with pytest.raises(InvalidInput, match=r"lengths \[1, 2\]"):
        encoding.table({"x": [1, 2], "y": [1]}, TableSettings(numeric=("x", "y")))
    (tmp_path / "t.csv").write_text("age\n20\n")
    with pytest.raises(InvalidInput, match="has 1 record, expected at least 2"):
        read_columns(open_data(tmp_path / "t.csv", "table"), ("age",))
    encoded = encoding.table(TABLE, TableSettings(numeric=("age",))).encoded
    with pytest.raises(InvalidInput, match="outputs has 1 entries, expected 4"):
        encoded.decode([0])


def test_a_category_is_a_plain_value():
    with pytest.raises(InvalidInput, match="is not a category"):
        encoding.table({"c": [["a"], "b"]}, TableSettings(categorical=("c",)))


@pytest.mark.parametrize("cells", [[[1, 2], [3, 4]], ["1", "secretword"]])
def test_a_cell_that_is_no_number_is_named_and_nowhere_quoted(cells):
    with pytest.raises(InvalidInput, match="not a number") as refusal:
        encoding.table({"c": cells}, TableSettings(numeric=("c",)))
    assert refusal.value.__cause__ is None
    assert "secretword" not in str(refusal.value)


def fitted(**settings):
    asked = TableSettings(numeric=("age",), categorical=("city",), domains={"age": (20, 30, 40)}, **settings)
    return TableCodec.fit(TABLE, asked)


def test_other_rows_are_taken_for_the_nearest_known_ones():
    """Scales, categories and points come from the fit rows; rounding is the same whoever encodes."""
    new = {"age": [24, 26, 300], "city": ["oslo", "rome", "rome"]}
    encoded = fitted().encode(new)
    assert encoded.decode(encoded.records.points) == {"age": [20.0, 30.0, 40.0], "city": ["oslo", "rome", "rome"]}


def test_a_category_that_no_fit_row_has_never_comes_out():
    new = {"age": [20, 30], "city": ["secret", "rome"], "shop": ["a", "b"], "who": ["u", "u"]}
    cells = fitted(group="who", public=("shop",)).encode(new)
    assert cells.decode(cells.records.points) == {"age": [20.0, 30.0], "city": [None, "rome"]}
    assert (cells.counts.found, cells.counts.masked, cells.counts.unseen) == (4, 1, 1)
    context = cells.records.context
    shown = [{SLOT: "_", MASKED: "#"}.get(t, "shop") for t in context.tokens.tolist()]
    assert shown == ["shop", "_", "#", "shop", "_", "_"]
    with pytest.raises(InvalidInput, match=r"^column 'city' at row 7 holds a category that the policy does not know$"):
        fitted(unknown="refuse").encode(new, first=7)


def test_a_mask_leaves_every_cell_empty():
    encoded = fitted().encode(TABLE)
    nothing = np.zeros(len(encoded.records.points), dtype=int)
    assert encoded.decode(nothing, masked=True) == {"age": [None] * 4, "city": [None] * 4}


def test_columns_with_categories_that_are_not_kept_are_named():
    columns = {"city": [f"c{k % 6}" for k in range(60)] + ["rare"], "age": [20 + k % 7 for k in range(61)]}
    codec = TableCodec.fit(columns, TableSettings(numeric=("age",), categorical=("city",), most_categories=6))
    encoded = codec.encode(columns)
    assert encoded.outside == {"city": 1}
    note = codec.notes_on(encoded)[-1]
    assert "'city': 1 of 61 cells hold none of its 6 categories" in note

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import VectorCodec, VectorSettings
from oddshift.data.codecs.vector_codec import _cells, cell_means
from oddshift.data.formats import open_data, read_columns

OWN = VectorSettings(points="fit")
ROWS = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [5.0, 5.0]])


def read_vector_set(path):
    """A file of vectors, fitted and encoded."""
    file = open_data(path, "vectors")
    columns = read_columns(file, VectorSettings().wanted(file.names))
    codec = VectorCodec.fit(columns, OWN)
    return encoding.Made(codec, codec.encode(columns))


def rows_of(encoded):
    return np.array(encoded.decode(encoded.records.points)["vectors"])


def test_groups_are_documents_and_rows_come_back():
    encoded = encoding.vectors(ROWS, group=["x", "y", "y", "x"]).encoded
    assert [d.tolist() for d in encoded.records.documents] == [[0, 2], [1, 0]]
    np.testing.assert_array_equal(rows_of(encoded), ROWS)
    assert len(encoding.vectors(ROWS).encoded.records) == 4


def test_tiers_belong_to_points():
    encoded = encoding.vectors(ROWS, VectorSettings(is_public=False, points="fit"), tier=["face", "car", "face", "car"])
    assert encoded.tiers.names == ("face", "car")
    assert encoded.tiers.labels.tolist() == [0, 1, 1]
    assert not encoded.tiers.is_public
    with pytest.raises(InvalidInput, match="1 rows share a point with a row of another tier"):
        encoding.vectors(ROWS, tier=["face", "car", "car", "car"])


def test_both_files(tmp_path):
    np.savez(tmp_path / "v.npz", vectors=ROWS, group=np.array([1, 2, 2, 1]), tier=np.array(["a", "b", "a", "b"]))
    table = pa.table({"vectors": ROWS.tolist(), "group": [1, 2, 2, 1], "tier": ["a", "b", "a", "b"]})
    parquet.write_table(table, tmp_path / "v.parquet")
    for name in ("v.npz", "v.parquet"):
        made = read_vector_set(tmp_path / name)
        np.testing.assert_array_equal(rows_of(made.encoded), ROWS)
        assert made.tiers.names == ("a", "b")
        assert len(made.encoded.records) == 2


def _refused(folder, name, **arrays):
    path = folder / name
    if name.endswith(".npz"):
        np.savez(path, **arrays)
    else:
        parquet.write_table(pa.table(arrays), path)
    with pytest.raises(InvalidInput) as refusal:
        read_vector_set(path)
    return str(refusal.value)


def test_bad_vectors(tmp_path):
    mixed = _refused(tmp_path, "a.parquet", vectors=[[1.0, 2.0], [1.0]])
    assert mixed == "column 'vectors' at row 2 has 1 numbers, expected 2"
    assert "at row 2: expected 1 finite numbers" in _refused(tmp_path, "b.npz", vectors=np.array([[1.0], [np.nan]]))
    assert "has no column 'vectors'" in _refused(tmp_path, "c.npz", x=ROWS)
    assert "has 0 records" in _refused(tmp_path, "d.npz", vectors=np.zeros((0, 2)))
    assert "group has 1 entries, expected 4" in _refused(tmp_path, "e.npz", vectors=ROWS, group=np.array([1]))


def test_nothing_is_shown():
    encoded = encoding.vectors(ROWS + 0.125, group=["secretgroup"] * 4).encoded
    assert "secretgroup" not in repr(encoded)
    assert "0.125" not in repr(encoded)
    with pytest.raises(InvalidInput, match="outputs has 1 entries, expected 4"):
        encoded.decode([0])


def test_other_vectors_are_taken_for_the_nearest():
    made = encoding.vectors(ROWS)
    encoded = made.codec.encode({"vectors": [[0.1, 1.1], [9.0, 9.0]]})
    assert rows_of(encoded).tolist() == [[0.0, 1.0], [5.0, 5.0]]
    assert encoded.decode([0, 0], masked=True) == {"vectors": [None, None]}
    with pytest.raises(InvalidInput, match="column 'vectors' at row 4 has 3 numbers, expected 2"):
        made.codec.encode({"vectors": [[0.0, 0.0], [1.0, 2.0, 3.0]]}, first=3)
    with pytest.raises(InvalidInput, match="holds something other than numbers") as refusal:
        made.codec.encode({"vectors": [["secret", "x"]]})
    assert "secret" not in str(refusal.value)


def clouds(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 3)) + 5 * rng.integers(0, 3, size=(rows, 1))


def test_released_vectors_are_means_of_at_least_ten_and_nobodys_own():
    table = clouds()
    codec = VectorCodec.fit({"vectors": list(table)})
    assert 10 <= len(codec.space) <= 20
    own = {row.tobytes() for row in table}
    assert not any(point.tobytes() in own for point in codec.space.points)
    assert "means of at least 10 vectors" in codec.notes[0]
    encoded = codec.encode({"vectors": list(table)})
    np.testing.assert_array_equal(encoded.records.points, codec.space.nearest(table))


def test_every_cell_has_enough_vectors():
    for rows in (20, 21, 39, 157):
        table = clouds(rows)
        cells = _cells(table, np.arange(rows), 10)
        assert sorted(np.concatenate(cells).tolist()) == list(range(rows))
        assert min(map(len, cells)) >= 10
        means, _ = cell_means(table, None, 10)
        np.testing.assert_allclose(means, [table[cell].mean(axis=0) for cell in cells])


def test_means_are_made_within_tiers():
    table = np.vstack([clouds(40), clouds(60) + 100])
    codec = VectorCodec.fit({"vectors": list(table), "tier": ["face"] * 40 + ["street"] * 60})
    of = {name: codec.space.points[codec.tiers.labels == t] for t, name in enumerate(codec.tiers.names)}
    assert of["face"].max() < 50 < of["street"].min()
    few = VectorCodec.fit({"vectors": list(table), "tier": ["face"] * 3 + ["street"] * 97})
    assert not few.space.points[few.tiers.labels == 0].any()


def test_a_declared_codebook(tmp_path):
    words = np.array([[0.0, 0.0], [4.0, 4.0]])
    np.save(tmp_path / "words.npy", words)
    settings = VectorSettings(points="declared", codebook=str(tmp_path / "words.npy"))
    codec = VectorCodec.fit({"vectors": ROWS.tolist()}, settings)
    np.testing.assert_array_equal(codec.space.points, words)
    assert rows_of(codec.encode({"vectors": ROWS.tolist()})).tolist() == [[0, 0], [4, 4], [0, 0], [4, 4]]
    given = VectorCodec.fit({"vectors": ROWS.tolist(), "tier": list("abab")}, settings)
    assert given.tiers.names == ("a", "b")
    assert given.tiers.labels.tolist() == [0, 1]


def test_bad_codebooks(tmp_path):
    assert not VectorCodec.fit({"vectors": ROWS.tolist()}).space.points.any()
    with pytest.raises(InvalidInput, match="without a codebook"):
        VectorCodec.fit({"vectors": ROWS.tolist()}, VectorSettings(points="declared"))
    with pytest.raises(InvalidInput, match=r"is not a \.npy file of vectors"):
        VectorCodec.fit({"vectors": ROWS.tolist()}, VectorSettings(points="declared", codebook=str(tmp_path / "x.npy")))
    np.save(tmp_path / "narrow.npy", np.array([[1.0], [2.0]]))
    with pytest.raises(InvalidInput, match="vectors of 1 numbers, expected 2"):
        VectorCodec.fit(
            {"vectors": ROWS.tolist()}, VectorSettings(points="declared", codebook=str(tmp_path / "narrow.npy"))
        )
    with pytest.raises(InvalidInput, match="a codebook with points='means'"):
        VectorSettings(codebook="x.npy")
    with pytest.raises(InvalidInput, match="points='kmeans'"):
        VectorSettings(points="kmeans")

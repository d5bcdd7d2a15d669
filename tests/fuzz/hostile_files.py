"""Files that somebody might hand over: whole ones of every format, and the same ones bent, cut and stuffed."""

import io
import json

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import parquet

TEXTS = ["Ann met Bob in Oslo.", "", "anna.smith@mail.com called +1 212 555 0199", "Mr. Zebulon Q. Quark left"]

STUFF = [
    *(b"\xff", b"\x00", b"\r", b"\n", b'"', b'""', b"'", b"[", b"]", b"{", b"}", b"(", b",", b";", b"\t", b"=", b"#"),
    *(b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"\xe2\x80\xa8", b"\xcc\x81" * 5, b"[/]", b"[bold]"),
    *(b"9" * 400, b"9" * 5_000, b"-1", b"1e999", b"1e-400", b"NaN", b"null", b"true", b"[" * 3_000, b"(" * 300),
    *(b"PK\x03\x04", b"PAR1", b"\x93NUMPY", b"a." * 200 + b"@", b" " * 300, b"text", b"id", b"..", b"/", b"%s{}"),
]
"""What is put into files."""


@st.composite
def bent(draw, whole):
    """A file out of `whole`, changed in up to five places; now and then as it is."""
    data = bytearray(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(0, 5))):
        at, size = draw(st.integers(0, len(data))), draw(st.sampled_from([1, 2, 7, 40, 400]))
        match draw(st.sampled_from(["flip", "stuff", "stuff", "delete", "repeat", "cut"])):
            case "flip" if data:
                data[at % len(data)] ^= 1 << draw(st.integers(0, 7))
            case "stuff":
                data[at:at] = draw(st.sampled_from(STUFF))
            case "delete":
                del data[at : at + size]
            case "repeat":
                data[at:at] = data[at : at + size] * draw(st.integers(1, 3))
            case "cut":
                del data[at:]
    return bytes(data)


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**18, 10**30),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(TEXTS),
)
ANYTHING = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))


def json_lines(column):
    """Objects with a column of anything, among whole ones."""
    whole = st.builds(lambda text, number: {column: text, "id": number}, st.sampled_from(TEXTS), st.integers(0, 9))
    odd = st.builds(lambda cell, more: {column: cell, **more}, ANYTHING, st.dictionaries(st.text(max_size=4), PLAIN))
    lines = st.lists(whole | odd, max_size=6)
    return lines.map(lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode("utf-8", "surrogatepass"))


def delimited(column):
    """Tables of text with cells of any content and rows of any width."""
    cell = st.sampled_from(TEXTS) | st.text(max_size=10) | st.integers().map(str)
    rows = st.lists(st.lists(cell, min_size=1, max_size=3), max_size=6)
    head = st.just([column, "id"]) | st.lists(cell, min_size=1, max_size=3)

    def written(names, table, quoted):
        mark = '"' if quoted else ""
        lines = [",".join(f"{mark}{cell}{mark}" for cell in row) for row in (names, *table)]
        return "\n".join(lines).encode("utf-8", "surrogatepass")

    return st.builds(written, head, rows, st.booleans())


def parquet_bytes(columns):
    """A Parquet file of some columns; of those that Arrow cannot hold, a file of text."""
    stream = io.BytesIO()
    try:
        parquet.write_table(pa.table(columns), stream)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError, TypeError):
        return b"PAR1"
    return stream.getvalue()


def parquet_files(column):
    """Columns of any one type."""
    kinds = [st.lists(kind, max_size=5) for kind in (st.text(max_size=8), st.integers(), st.floats(), st.binary())]
    nested = st.lists(st.none() | st.lists(st.floats() | st.none(), max_size=3), max_size=5)
    return st.one_of(*kinds, nested).map(lambda cells: parquet_bytes({column: cells}))


def array_bytes(save, *arrays, **named):
    """An .npy or .npz file."""
    stream = io.BytesIO()
    save(stream, *arrays, **named)
    return stream.getvalue()


@st.composite
def arrays(draw):
    """An array of any type and of up to three axes."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    kind = draw(st.sampled_from(["f8", "f4", "f2", "i4", "u1", "c16", "?", "U3", "S2", "M8[s]"]))
    return np.zeros(shape, dtype=kind) if draw(st.booleans()) else np.full(shape, np.nan).astype("f8")


ROWS = np.random.default_rng(1).normal(size=(6, 3))
WHOLE = {
    ".csv": [
        b"text,id\r\n" + "\r\n".join(f'"{text}",{i}' for i, text in enumerate(TEXTS)).encode(),
        b"id;text\n1;Ann met Bob\n2;Zebulon\n",
    ],
    ".tsv": [b"text\tid\nAnn met Bob\t1\nBob left\t2\n"],
    ".jsonl": ["".join(json.dumps({"text": t, "id": i}) + "\n" for i, t in enumerate(TEXTS)).encode()],
    ".parquet": [parquet_bytes({"text": TEXTS, "id": [0, 1, 2, 3]}), parquet_bytes({"vectors": ROWS.tolist()})],
    ".txt": ["\n".join(TEXTS).encode()],
    ".npz": [
        array_bytes(np.savez_compressed, vectors=ROWS, id=np.arange(6)),
        array_bytes(np.savez, vectors=ROWS.astype("f4"), group=np.array(list("aabbcc"))),
    ],
    ".npy": [array_bytes(np.save, ROWS), array_bytes(np.save, ROWS.astype("f4"))],
}
"""Whole files of every format."""


@st.composite
def data_files(draw, column="text"):
    """The name and the bytes of a file of data."""
    suffix = draw(st.sampled_from(sorted(WHOLE)))
    made = {
        ".csv": delimited(column),
        ".jsonl": json_lines(column),
        ".parquet": parquet_files(column),
        ".npz": st.builds(lambda a, b: array_bytes(np.savez_compressed, vectors=a, id=b), arrays(), arrays()),
        ".npy": arrays().map(lambda a: array_bytes(np.save, a)),
    }
    return f"in{suffix}", draw(bent(WHOLE[suffix]) | made.get(suffix, bent(WHOLE[suffix])))

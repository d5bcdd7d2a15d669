"""Published corpora of the data folder: texts with their classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import EncodedVectors, VectorCodec, VectorSettings, data_folder
from oddshift.data.codecs.text.cells import TextCells
from oddshift.data.formats import open_data, read_columns
from oddshift.data.formats.cells import strings


@dataclass(frozen=True, repr=False)
class Corpus:
    """Texts in order, and the class of each."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.texts)

    def __repr__(self) -> str:
        """Counts only; never a text."""
        return f"Corpus({len(self)} texts, {len(set(self.labels))} classes)"

    @property
    def columns(self) -> dict[str, list[str]]:
        """The texts as a codec reads them."""
        return {"text": list(self.texts)}


@dataclass(frozen=True)
class Published:
    """A corpus of the data folder: its file, and which of its columns are text."""

    file: str
    text: tuple[str, ...] = ("text",)


PUBLISHED: dict[str, Published] = {
    "ag_news": Published("ag_news.csv", ("title", "text")),
    "imdb": Published("imdb.csv"),
    "amazon": Published("amazon.csv"),
}
"""The corpora of the data folder by name; each has a column `label`."""


def read_published(name: str, folder: str | Path | None = None) -> Corpus:
    """Read a corpus of the data folder."""
    if name not in PUBLISHED:
        raise InvalidInput(f"corpus={name!r}, expected one of {', '.join(PUBLISHED)}")
    found = PUBLISHED[name]
    path = Path(folder or data_folder()) / found.file
    if not path.is_file():
        raise InvalidInput(
            f"{found.file} is expected at {path}, a CSV file with the columns label and {' and '.join(found.text)}; "
            "its folder is stated with ODDSHIFT_DATA"
        )
    columns = read_columns(open_data(path, "text"), (*found.text, "label"))
    texts = TextCells.of(columns, found.text).documents
    return Corpus(tuple(texts), tuple(strings(columns, "label")))


def breast_cancer() -> tuple[VectorCodec, EncodedVectors]:
    """Read Breast Cancer Wisconsin (diagnostic): 569 records of 30 z-scored measurements, each one secret."""
    measured = load_breast_cancer().data
    columns = {"vectors": list((measured - measured.mean(axis=0)) / measured.std(axis=0))}
    codec = VectorCodec.fit(columns, VectorSettings(points="fit"))
    return codec, codec.encode(columns)

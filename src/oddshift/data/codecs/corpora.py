"""Corpora: texts with an optional class, user and subgroup, read from the layouts in which corpora are published.

CSV, JSON lines, Parquet, plain-text folders (with IMDB's pos/neg layout), and headerless class,title,text files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import FOLDER, TEXT, open_data, read_columns
from oddshift.data.formats.cell_values import strings

HEADERLESS = ("label", "title", "text")
"""Columns of the published AG News and Amazon files, which have no header row."""

JOINT = "\n"
"""What stands between a title and its text."""


@dataclass(frozen=True, repr=False)
class Corpus:
    """Texts in order, with one label, user and subgroup each where the source has them."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    users: tuple[str, ...] | None = None
    subgroups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check that there is something, and one of each."""
        if isinstance(self.texts, str):
            raise InvalidInput("texts is one string, expected a tuple of strings")
        if not self.texts:
            raise InvalidInput("a corpus has no text, expected at least one")
        for name in ("labels", "users", "subgroups"):
            value = getattr(self, name)
            if value is not None and len(value) != len(self.texts):
                raise InvalidInput(f"{name} has {len(value)} entries, expected {len(self.texts)} (one a text)")

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.texts)

    def __repr__(self) -> str:
        """Counts only; never a text."""
        known = [name for name in ("labels", "users", "subgroups") if getattr(self, name) is not None]
        return f"Corpus({len(self)} texts{''.join(f', {name}' for name in known)})"


@dataclass(frozen=True)
class Layout:
    """Which columns of a file are the text (joined by a line break), the class, the user and the subgroup.

    `header` names the columns of a CSV file that has no header row.
    """

    text: tuple[str, ...] = ("text",)
    label: str | None = None
    user: str | None = None
    subgroup: str | None = None
    header: tuple[str, ...] | None = None

    @property
    def wanted(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        named = (*self.text, self.label, self.user, self.subgroup)
        return tuple(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True)
class Published:
    """A corpus of the data folder: its file and its layout."""

    file: str
    layout: Layout = field(default_factory=Layout)


PUBLISHED: dict[str, Published] = {
    "ag_news": Published("ag_news.csv", Layout(text=("title", "text"), label="label")),
    "imdb": Published("imdb.csv", Layout(label="label")),
    "amazon": Published("amazon.csv", Layout(label="label")),
}
"""The corpora of the data folder by name."""


def data_folder() -> Path:
    """The folder of real data: `ODDSHIFT_DATA`, by default ../shared/data beside the project."""
    given = os.environ.get("ODDSHIFT_DATA")
    if given:
        return Path(given)
    near = Path("../shared/data")
    return near if near.is_dir() else Path(__file__).resolve().parents[5] / "shared" / "data"


def read_published(name: str, folder: str | Path | None = None) -> Corpus:
    """A corpus of the data folder."""
    if name not in PUBLISHED:
        raise InvalidInput(f"corpus={name!r}, expected one of {', '.join(PUBLISHED)}")
    found = PUBLISHED[name]
    path = Path(folder or data_folder()) / found.file
    if not path.is_file():
        raise InvalidInput(f"{found.file} is not in the data folder {path.parent}; set ODDSHIFT_DATA")
    return read_corpus(path, found.layout)


def read_corpus(path: str | Path, layout: Layout | None = None, *, at_least: int = 2) -> Corpus:
    """A corpus from a file of any format that can hold texts, or from a folder of .txt files.

    In a folder with folders inside, the name of the folder around each file is its label.
    """
    layout = layout or Layout()
    file = open_data(path, "text", header=layout.header)
    if set(file.names) <= {TEXT, FOLDER}:  # plain text has no other columns to choose from
        layout = Layout(label=FOLDER if FOLDER in file.names else None)
    columns = read_columns(file, layout.wanted, at_least=at_least)
    parts = [strings(columns, name, file.path.name) for name in layout.text]
    texts = tuple(JOINT.join(part for part in row if part) for row in zip(*parts, strict=True))

    def optional(name: str | None) -> tuple[str, ...] | None:
        return None if name is None else tuple(strings(columns, name, file.path.name))

    return Corpus(texts, optional(layout.label), optional(layout.user), optional(layout.subgroup))


def read_headerless(path: str | Path, *, at_least: int = 2) -> Corpus:
    """The published AG News and Amazon layout: class, title, text, no header row."""
    return read_corpus(path, Layout(text=("title", "text"), label="label", header=HEADERLESS), at_least=at_least)


def write_texts(texts: Sequence[str], path: str | Path) -> None:
    """Released texts as a .csv, .jsonl or .parquet file with one column `text`."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    path = Path(path)
    table = pa.table({"text": pa.array(texts, pa.string())})
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".jsonl":
        import json

        path.write_text("".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts), encoding="utf-8")
    else:
        raise InvalidInput(f"{path.name} ends in {path.suffix!r}, expected .csv, .jsonl or .parquet")

"""Parts of the results page: sections of paragraphs, tables whose entries may link, figures, and links to cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oddshift.app.report.markup import Figure

FEW_FILES = 4
"""Up to that many cells are linked one by one; more of them by one link to the table where all of them are listed."""


@dataclass(frozen=True)
class Linked:
    """Text that leads to a file, relative to the folder of results, or to `#` and the anchor of a title of the page."""

    text: str
    href: str


@dataclass(frozen=True)
class Judged:
    """A verdict and the reason for it."""

    state: str
    reason: str


Entry = str | Linked | Judged | tuple[Linked, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table: title, heads of the columns, and rows of text and links.

    One that `wraps` holds sentences: its columns share the width of the page by `shares`, and on a narrow screen every
    row is a card with the heads as names.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    wraps: bool = False
    shares: Sequence[int] = ()


@dataclass(frozen=True)
class CellLinks:
    """The cells behind the figures above."""

    links: tuple[Linked, ...]


@dataclass(frozen=True)
class OpeningCounts:
    """A few numbers that open a section, each with what it counts."""

    counts: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Lines:
    """Sentences with numbers."""

    lines: Sequence[str]


Block = str | TableBlock | Figure | CellLinks | OpeningCounts | Lines
"""A part of a section."""


@dataclass(frozen=True)
class Section:
    """A part of the page: key for links, title, and its paragraphs, tables and figures in order."""

    key: str
    title: str
    blocks: Sequence[Block]


def anchor(title: str) -> str:
    """What a link to a title says: the same in Markdown and in HTML.

    >>> anchor("Cells of table-violations")
    'cells-of-table-violations'
    """
    return re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))


def cells_title(name: str) -> str:
    """The title of the table in which all cells of a reproduction are listed."""
    return f"Cells of {name}"


def linked_files(files: Sequence[str]) -> Entry:
    """Links to cells: a few one by one, what their names share said once; many by the tables that list them.

    >>> [link.text for link in linked_files(["wdbc/one-0.json", "wdbc/one-1.json"])]
    ['one-0', '1']
    >>> linked_files([f"wdbc/one-{k}.json" for k in range(9)])
    (Linked(text='9 cells of wdbc', href='#cells-of-wdbc'),)
    """
    if len(files) > FEW_FILES:
        names = [file.split("/", maxsplit=1)[0] for file in files]
        each = {name: f"{names.count(name)} cells of {name}" for name in sorted(set(names))}
        return tuple(Linked(text, f"#{anchor(cells_title(name))}") for name, text in each.items())
    keys = [file.rsplit("/", 1)[-1].removesuffix(".json") for file in files]
    start = keys[0].rpartition("-")[0] + "-" if keys else ""
    short = [*keys[:1], *(key.removeprefix(start) for key in keys[1:])]
    return tuple(Linked(text, file) for text, file in zip(short, files, strict=True)) or "-"


def linked_seeds(files: Sequence[str]) -> Entry:
    """Links to the cells of several seeds by the seeds alone, where the row says what they are cells of.

    >>> [link.text for link in linked_seeds(["t/imdb-rnn-0.json", "t/imdb-rnn-1.json"])]
    ['seed 0', '1']
    """
    seeds = [file.rsplit("/", 1)[-1].removesuffix(".json").rpartition("-")[2] for file in files]
    named = [f"seed {seed}" if k == 0 else seed for k, seed in enumerate(seeds)]
    return tuple(Linked(text, file) for text, file in zip(named, files, strict=True)) or "-"

"""Cells of text: the columns of a row read as one document, and a document cut into cells again.

The cells of a row are joined by a line break. Words are cut cell by cell, so that no word reaches from one cell into
the next, and each cell can be restored on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.data.codecs.codec import Columns, length_of
from oddshift.data.codecs.text.tokens import Tokens, no_tokens, tokenise
from oddshift.data.detectors.spans import Spans
from oddshift.data.formats.data_file import is_writable
from oddshift.model.records import offsets_of

JOINT = "\n"
"""What stands between two cells of a document."""


@dataclass(frozen=True, eq=False, repr=False)
class TextCells:
    """Columns as they came, and the cells with text in them: row after row, a line break between those of one row.

    `places[i]` is the column and row of `cells[i]`, None for a line break; row r has the cells from `starts[r]` on.
    """

    columns: Columns
    names: tuple[str, ...]
    cells: list[str]
    places: list[tuple[str, int] | None]
    starts: IntArray

    @classmethod
    def of(cls, columns: Columns, names: Sequence[str], first: int = 1) -> TextCells:
        """The cells of some columns; None stands for no text, anything but text is refused."""
        rows = length_of(columns, names)
        cells: list[str] = []
        places: list[tuple[str, int] | None] = []
        lengths = []
        for row in range(rows):
            before = len(cells)
            for name in names:
                cell = columns[name][row]
                if cell is not None and not isinstance(cell, str):
                    raise InvalidInput(f"column {name!r} at row {first + row} is {a_kind(cell)}, expected text")
                if cell and not is_writable(cell):
                    where = f"column {name!r} at row {first + row}"
                    raise InvalidInput(f"{where} has half of a surrogate pair, expected characters")
                if cell:
                    if len(cells) > before:
                        cells.append(JOINT)
                        places.append(None)
                    cells.append(cell)
                    places.append((name, row))
            lengths.append(len(cells) - before)
        return cls(columns, tuple(names), cells, places, offsets_of(lengths))

    @cached_property
    def documents(self) -> list[str]:
        """One text for each row."""
        cuts = self.starts.tolist()
        return ["".join(self.cells[a:b]) for a, b in pairwise(cuts)]

    @cached_property
    def has_one_each(self) -> bool:
        """Whether every document is one cell."""
        return bool((np.diff(self.starts) == 1).all())

    def tokens(self, tokeniser: str) -> Tokens:
        """The words of every document."""
        if not self.cells:
            return no_tokens(len(self.starts) - 1)
        pieces, starts = (self.cells, self.starts) if self.has_one_each else self._pieces()
        tokens = tokenise(pieces, tokeniser)
        return replace(tokens, offsets=tokens.offsets[starts])

    def _pieces(self) -> tuple[list[str], IntArray]:
        """What is cut into words at once, and the first piece of each row: a cell with the line break after it.

        Blanks at the end of a cell would form one word with the line break, so there the break is a piece of its own.
        """
        pieces: list[str] = []
        starts = [0]
        for a, b in pairwise(self.starts.tolist()):
            for place, cell in zip(self.places[a:b], self.cells[a:b], strict=True):
                if place is None and not pieces[-1][-1].isspace():
                    pieces[-1] += cell
                else:
                    pieces.append(cell)
            starts.append(len(pieces))
        return pieces, np.array(starts, dtype=np.int64)

    def inside(self, spans: Spans) -> Spans:
        """Spans over documents; those that cross the edge of a cell are cut in two."""
        if self.has_one_each:
            return spans
        rows = []
        for document, start, end, label in zip(
            spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True
        ):
            at = 0
            for cell in self.cells[self.starts[document] : self.starts[document + 1]]:
                a, b = max(start, at), min(end, at + len(cell))
                if a < b and cell != JOINT:
                    rows.append((document, a, b, spans.labels[label]))
                at += len(cell)
        return Spans.of(rows, is_exact=spans.is_exact)

    def put_back(self, tokens: Tokens, replaced: dict[int, str | None]) -> dict[str, list[Any]]:
        """The columns with other words for some tokens of the documents; a cell without text stays as it is."""
        released = {name: list(self.columns[name]) for name in self.names}
        texts = replace(tokens, offsets=self._cuts(tokens)).texts(replaced) if self.cells else ()
        for place, text in zip(self.places, texts, strict=True):
            if place is not None:
                released[place[0]][place[1]] = text
        return released

    def _cuts(self, tokens: Tokens) -> IntArray:
        """The first token of each cell, and the end."""
        if self.has_one_each:
            return tokens.offsets
        sizes = np.array([len(cell) for cell in self.cells], dtype=np.int64)
        token_starts = tokens.character_starts
        found: IntArray = np.searchsorted(token_starts, offsets_of(sizes)[:-1]).astype(np.int64)
        return np.append(found, len(tokens.form))

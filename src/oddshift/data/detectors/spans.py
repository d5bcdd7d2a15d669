"""What a detector finds: labelled stretches of characters in documents.

Detectors read raw text and answer with spans, so that any tokenisation can be laid over their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput

FoundSpans = tuple[tuple[int, int, str], ...]
"""What was found in one text: (start, end, label)."""


@dataclass(frozen=True, eq=False, repr=False)
class Spans:
    """Spans [start, end) of characters, each in a document and with a row of `labels`.

    `is_exact` says that one match is enough (a listed word, a number of a fixed form); otherwise each match is a
    guess, and a word type needs several of them.
    """

    document: IntArray
    start: IntArray
    end: IntArray
    label: IntArray
    labels: tuple[str, ...]
    is_exact: bool

    def __post_init__(self) -> None:
        """Check that the columns fit together."""
        sizes = {len(self.document), len(self.start), len(self.end), len(self.label)}
        if len(sizes) != 1:
            raise InvalidInput(f"span columns have lengths {sorted(sizes)}, expected one length")
        if len(self) and ((self.end <= self.start).any() or self.label.max() >= len(self.labels)):
            raise InvalidInput(f"a span is empty or has a label outside [0, {len(self.labels)})")

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, int, str]], *, is_exact: bool) -> Spans:
        """Spans from (document, start, end, label) rows."""
        labels = tuple(sorted({row[3] for row in found}))
        number = {label: i for i, label in enumerate(labels)}
        table = np.array([(d, s, e, number[name]) for d, s, e, name in found], dtype=np.int64).reshape(-1, 4)
        document, start, end, label = (np.ascontiguousarray(table[:, c]) for c in range(4))
        return cls(document, start, end, label, labels, is_exact)

    def __len__(self) -> int:
        """Number of spans."""
        return len(self.document)

    def __repr__(self) -> str:
        """Counts only."""
        return f"Spans({len(self)} spans, {len(self.labels)} labels)"

    def take(self, keep: IntArray | np.typing.NDArray[np.bool_]) -> Spans:
        """Some of the spans."""
        columns = (self.document[keep], self.start[keep], self.end[keep], self.label[keep])
        return Spans(*columns, labels=self.labels, is_exact=self.is_exact)

    def by_document(self, count: int) -> list[FoundSpans]:
        """The spans of each of `count` documents."""
        rows: list[list[tuple[int, int, str]]] = [[] for _ in range(count)]
        columns = (self.document.tolist(), self.start.tolist(), self.end.tolist(), self.label.tolist())
        for document, start, end, label in zip(*columns, strict=True):
            rows[document].append((start, end, self.labels[label]))
        return [tuple(mine) for mine in rows]

    def only(self, labels: Sequence[str]) -> Spans:
        """The spans of some labels."""
        wanted = np.array([label in labels for label in self.labels], dtype=np.bool_)
        return self.take(wanted[self.label]) if len(self) else self


@runtime_checkable
class Detector(Protocol):
    """Anything that finds sensitive stretches of text."""

    @property
    def name(self) -> str:
        """The name that reports show."""

    def detect(self, texts: Sequence[str]) -> Spans:
        """The spans of every text, in order of document and start."""


class DetectorSettings(Protocol):
    """How a detector is asked for: a frozen dataclass whose fields a configuration fills."""

    kind: Any

    def detector(self) -> Detector:
        """The detector itself."""

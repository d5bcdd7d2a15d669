"""Nouns that fit the data: tables have rows and values, trajectories trips and places; only texts have documents.

What is measured and stored speaks of documents throughout; what is shown is put into the terms of the data here.

The typical nearest alternative of a value: how far it is, which says in words what a budget ε means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

Reword = Callable[[str], str]
"""From a sentence about documents to one about the data at hand."""


@dataclass(frozen=True)
class Nouns:
    """What a document and a word are called, `{s}` for the plural; `else_` is the sentence about all that is public."""

    document: str
    word: str
    else_: str


NOUNS: dict[str, Nouns] = {
    "table": Nouns("row{s}", "value{s}", "columns that are not secret are released as they are"),
    "grouped table": Nouns("group{s} of rows", "value{s}", "columns that are not secret are released as they are"),
    "location": Nouns(
        "trip{s}", "place{s}", "times are released as they are, users and trips under pseudonyms unless asked otherwise"
    ),
    "vectors": Nouns("group{s}", "vector{s}", "everything but the vectors is released as it is"),
}
"""By kind of data; texts keep their words."""

_GROUPED = "; rows are read together by "

_FOUND = {"table": "columns ", "location": "every fix", "vectors": "every vector"}
_MISSED = re.compile(r"(names it|what the detector|what they) miss(es)? (are|is) released in the clear")
_NOUN = re.compile(r"\b(document|word)(s?)\b(?!-)", re.IGNORECASE)
_HIDDEN = re.compile(r"(<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>)", re.DOTALL)


def who_found(kind: str, columns: tuple[str, ...], group: str = "") -> str:
    """What is shown instead of a detector where data have none; for kinds that are not ours, the columns.

    `group` is the column by which rows of a table are read together, if there is one.

    >>> who_found("table", ("age", "city")), who_found("location", ("lat", "lon")), who_found("colours", ("shade",))
    ('none (columns age, city)', 'none (every fix)', 'none (column shade)')
    >>> who_found("table", ("age",), "patient")
    'none (columns age; rows are read together by patient)'
    """
    if kind in _FOUND:
        together = f"{_GROUPED}{group}" if group else ""
        return f"none ({_FOUND[kind]}{', '.join(columns) + together if kind == 'table' else ''})"
    return f"none ({'column' if len(columns) == 1 else 'all columns'} {', '.join(columns)})"


def reword_for(detector: str) -> Reword:
    """How sentences are reworded, from what a result says about who found its secrets.

    >>> reword_for("none (columns age, city)")("5 documents; names it misses are released in the clear")
    '5 rows; columns that are not secret are released as they are'
    >>> reword_for("none (columns age; rows are read together by patient)")("Documents: 5, of one document")
    'Groups of rows: 5, of one group of rows'
    >>> reword_for("patterns")("5 documents")
    '5 documents'
    """
    kind = next((k for k, start in _FOUND.items() if detector.startswith(f"none ({start}")), "")
    columns = re.findall(r"\w+", detector) if kind == "table" else []
    return reword_kind("grouped table" if kind == "table" and _GROUPED in detector else kind, columns)


def reword_kind(kind: str, columns: Collection[str] = ()) -> Reword:
    """How sentences are put for data of one kind; what the words in `columns` name is left alone.

    >>> reword_kind("table", ["words"])("3 documents, of which words is a column")
    '3 rows, of which words is a column'
    """
    if kind not in NOUNS:
        return lambda text: text
    nouns, named = NOUNS[kind], frozenset(columns)

    def noun(found: re.Match[str]) -> str:
        if found[0] in named:
            return found[0]
        said = (nouns.document if found[1].lower() == "document" else nouns.word).replace("{s}", found[2])
        return said.capitalize() if found[1][0].isupper() else said

    return lambda text: _NOUN.sub(noun, _MISSED.sub(nouns.else_, text))


def reword_html(page: str, reword: Reword) -> str:
    """A page with its visible text reworded; tags, scripts and styles stay as they are."""
    parts = _HIDDEN.split(page)
    return "".join(part if number % 2 else reword(part) for number, part in enumerate(parts))


_SENTENCES = "assumptions basis failed notes remap_reason sentence upper_basis warnings withheld witness_needs"
SENTENCES = frozenset(_SENTENCES.split())
"""Keys of plain results whose values are sentences for people; others are for programs."""


def reword_plain(value: Any, reword: Reword, key: str = "") -> Any:
    """A plain result with its sentences reworded; what programs read, such as units and names, stays as it is.

    >>> reword_plain({"unit": "document", "notes": ["3 documents"]}, reword_kind("table"))
    {'unit': 'document', 'notes': ['3 rows']}
    """
    if isinstance(value, dict):
        return {name: reword_plain(one, reword, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [reword_plain(one, reword, key) for one in value]
    return reword(value) if isinstance(value, str) and key in SENTENCES else value


@dataclass(frozen=True)
class Speaking:
    """A console that rewords what it prints to fit the data; tables are printed unchanged."""

    console: Any
    reword: Reword

    def print(self, what: Any, **options: Any) -> None:
        """Print a line or a table."""
        self.console.print(self.reword(what) if isinstance(what, str) else what, **options)


_POINTS = 1000  # points examined; more of them would hardly change the median


def nearest_alternative(space: Space, tiers: Tiers, rng: np.random.Generator, *, every_tier: bool = False) -> float:
    """The median distance from a value to the nearest other value of its tier.

    With `every_tier` it is the largest of the medians of the tiers.

    >>> from oddshift.model.release import one_tier
    >>> line = Space(2.0 * np.arange(5.0)[:, None])
    >>> nearest_alternative(line, one_tier(line), np.random.default_rng(0))
    2.0
    """
    index = np.sort(rng.permutation(len(space))[:_POINTS])
    sizes = np.bincount(tiers.labels[tiers.labels >= 0], minlength=len(tiers))
    index = index[(tiers.labels[index] >= 0) & (sizes[tiers.labels[index]] > 1)]
    if not len(index):
        raise InvalidInput("no tier has two distinct values, expected at least two in some tier")
    between = space.between(index)
    between[np.arange(len(index)), index] = np.inf
    between[tiers.labels[index][:, None] != tiers.labels[None, :]] = np.inf
    closest, tier = between.min(axis=1), tiers.labels[index]
    medians = [float(np.median(closest[tier == t])) for t in np.unique(tier)] if every_tier else []
    return max(medians, default=float(np.median(closest)))

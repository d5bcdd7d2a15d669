"""Nouns that fit the data: tables have rows and values, trajectories trips and places; only texts have documents.

Sentences are written with them where they are made. What a result says about who found its secrets tells the kind.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Nouns:
    """What is read together and what is secret in it, and what the release leaves as it is, as a sentence.

    `public` is what an attacker reads besides; `is_searched` says that a detector had to find the secrets.
    """

    record: str
    records: str
    value: str
    values: str
    public: str
    in_clear: str
    is_searched: bool = False

    @property
    def are_names(self) -> bool:
        """Whether the most sensitive values are names: those of texts are."""
        return self.value == "word"


_COLUMNS = "columns that are not secret are released as they are"
_TRIPS = "times are released as they are, users and trips under pseudonyms unless asked otherwise"

NOUNS: dict[str, Nouns] = {
    "text": Nouns(
        "document",
        "documents",
        "word",
        "words",
        "the public words",
        "what no detector finds is released in the clear",
        is_searched=True,
    ),
    "marked text": Nouns(
        "document", "documents", "word", "words", "the public words", "all other words are released as they are"
    ),
    "table": Nouns("row", "rows", "value", "values", "the public columns", _COLUMNS),
    "grouped table": Nouns("group of rows", "groups of rows", "value", "values", "the public columns", _COLUMNS),
    "location": Nouns("trip", "trips", "place", "places", "the times", _TRIPS),
    "vectors": Nouns(
        "group", "groups", "vector", "vectors", "what is public", "everything but the vectors is released as it is"
    ),
    "records": Nouns(
        "record", "records", "value", "values", "what is public", "what was not given as secret is released as it is"
    ),
}
"""By kind of data."""

_GROUPED = "; rows are read together by "

_FOUND = {
    "table": "columns ",
    "location": "every fix",
    "vectors": "every vector",
    "marked text": "the embedded corpus",
}


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


def nouns_of(detector: str) -> Nouns:
    """The nouns for data whose secrets were found as `who_found` or a detector says.

    >>> nouns_of("none (columns age, city)").records, nouns_of("patterns").records
    ('rows', 'documents')
    >>> nouns_of("none (columns age; rows are read together by patient)").records
    'groups of rows'
    """
    if not detector.startswith("none ("):
        return NOUNS["text"]
    kind = next((k for k, start in _FOUND.items() if detector.startswith(f"none ({start}")), "records")
    return NOUNS["grouped table" if kind == "table" and _GROUPED in detector else kind]


def units_in_words(unit: str, detector: str) -> str:
    """What certificates count, in the plural: users and other columns by their names, else what is read together.

    >>> units_in_words("document", "none (columns age)"), units_in_words("user", "patterns")
    ('rows', 'users')
    """
    return nouns_of(detector).records if unit == "document" else f"{unit}s"

"""Surnames of a list: a listed full name is found by its last word alone, unless that is a common word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oddshift.data.detectors.linking import KnownNames, linked, may_link, ordinary_words, parts_of
from oddshift.data.detectors.normalising import normalised
from oddshift.data.detectors.spans import Spans

_NO_PERSON_STARTS = "new north south east west northern southern eastern western central great san santa los las el the"
_NO_PERSON_HOLDS = (
    "of and the for & inc ltd llc corp co plc gmbh company corporation group holdings bank university college school "
    "institute hospital church city county state states republic kingdom province island islands river lake mount "
    "mountain mountains street avenue road park bridge airport station committee council department ministry party "
    "union association club team league cup times post news journal magazine press museum court house"
)
_STARTS, _HOLDS = frozenset(_NO_PERSON_STARTS.split()), frozenset(_NO_PERSON_HOLDS.split())
_MOST_WORDS = 5


def surnames_of(entries: Sequence[str], ordinary: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The last words, in small letters, of those entries that read like the full name of a person.

    >>> surnames_of(["Norma Kamali", "New York", "Bank of Omaha", "Ann Will", "Cher"])
    ('kamali',)
    """
    found = []
    for entry in entries:
        words = entry.split()
        low = [word.strip(".,").lower() for word in words]
        is_person = 1 < len(words) <= _MOST_WORDS and low[0] not in _STARTS and not _HOLDS & set(low)
        parts = parts_of(entry)
        if is_person and len(parts) > 1 and may_link(parts[-1].title(), ordinary):
            found.append(parts[-1].lower())
    return tuple(dict.fromkeys(found))


def with_surnames(texts: Sequence[str], spans: Spans, surnames: Mapping[str, str]) -> Spans:
    """Spans with the bare surnames; a document that mostly writes one in small letters does not name anyone by it."""
    every = linked(texts, spans, KnownNames(surnames), labels=())
    listed = set(zip(spans.document.tolist(), spans.start.tolist(), strict=True))
    ordinary: dict[int, frozenset[str]] = {}
    keep = []
    for d, a, b in zip(every.document.tolist(), every.start.tolist(), every.end.tolist(), strict=True):
        is_listed = (d, a) in listed
        if not is_listed and d not in ordinary:
            ordinary[d] = ordinary_words([texts[d]])
        keep.append(is_listed or normalised(texts[d][a:b]).text.lower() not in ordinary[d])
    return every.take(np.array(keep, dtype=np.bool_))

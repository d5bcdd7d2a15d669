"""Occupations: what people do for a living, from a list of common English nouns.

A second-tier kind: an occupation alone identifies nobody, but together with a place or an employer it often does.

Kinds: what a detector's label says about a word, and the default tier of each kind.

People, organisations and places are tiers of their own, so that a name becomes a name of its kind. The other kinds are
the second tier: they point to people without naming them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

from oddshift.data.detectors.capitals import CAPITALISED
from oddshift.data.detectors.gazetteer import Gazetteer
from oddshift.data.detectors.handles import HANDLE_LABELS
from oddshift.data.detectors.names import word_lists
from oddshift.data.detectors.patterns import PATTERN_LABELS
from oddshift.data.detectors.spans import Spans
from oddshift.data.detectors.tagging import NAME_LABELS, TierRule

OCCUPATION = "OCCUPATION"
"""The one label."""

_FIELDS = word_lists("occupations")
_SINGLE = (noun for field, nouns in _FIELDS.items() if field != "phrases" for noun in nouns.split())
_PHRASES = (" ".join(phrase.split()) for phrase in _FIELDS["phrases"].split(","))

OCCUPATIONS = tuple(dict.fromkeys((*_SINGLE, *_PHRASES)))
"""Occupations in the singular."""


@dataclass(frozen=True)
class Occupations:
    """Listed occupations in the singular and the plural, in any casing; a possessive is not included.

    >>> text = "Two nurses and a police officer came."
    >>> found = Occupations().detect([text])
    >>> [text[a:b] for a, b in zip(found.start, found.end, strict=True)]
    ['nurses', 'police officer']
    """

    name: str = "occupations by list"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every occurrence."""
        return _list().detect(texts)


def plural(noun: str) -> str:
    """The plural of an occupation.

    >>> [plural(noun) for noun in ("nurse", "secretary", "actress", "fisherman", "midwife")]
    ['nurses', 'secretaries', 'actresses', 'fishermen', 'midwives']
    """
    if noun.endswith("man"):
        return f"{noun[:-3]}men"
    if noun.endswith("wife"):
        return f"{noun[:-2]}ves"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "sh", "ch", "x")) else f"{noun}s"


@lru_cache(maxsize=1)
def _list() -> Gazetteer:
    forms = [
        form for noun in OCCUPATIONS for form in (noun, plural(noun), *(["midwives"] if noun == "midwife" else []))
    ]
    return Gazetteer(forms, OCCUPATION, cover_surnames=False)


@dataclass(frozen=True, kw_only=True)
class OccupationsSettings:
    """What people do for a living, by a list of common English nouns."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["occupations"] = "occupations"

    def detector(self) -> Occupations:
        """The detector."""
        return Occupations()


FIRST_KINDS = NAME_LABELS
"""Names: each kind is a tier of its own."""

NAME = "NAME"
"""The tier of names whose kind is not known: listed ones, and capitalised words."""

ENTITY_KINDS = ("NORP", "LOC", "FAC", "EVENT", "PRODUCT", "WORK_OF_ART", "DATE")
"""Kinds of a trained pipeline that belong to the second tier. Titles are among them because a pipeline takes unknown
names of firms for titles."""

SECOND_KINDS = tuple(dict.fromkeys((*ENTITY_KINDS, OCCUPATION, *PATTERN_LABELS, *HANDLE_LABELS)))
"""Kinds of the second tier; those that have no points (numbers, addresses, handles) are replaced by a mark."""

MARK_ONLY = tuple(dict.fromkeys((*PATTERN_LABELS, *HANDLE_LABELS)))
"""Kinds of fixed forms, which have no word vectors."""

SECOND = "PoII"
"""The name of the second tier."""

TIER_OF_KIND: dict[str, str] = {
    **{kind: kind for kind in FIRST_KINDS},
    NAME: NAME,
    CAPITALISED: NAME,
    **dict.fromkeys(SECOND_KINDS, SECOND),
}
"""The default tier of every label that our detectors give."""


def mark_of(kind: str) -> str:
    """Return what a release shows for a word of a kind that has no point.

    >>> mark_of("PERSON")
    '[PERSON]'
    """
    return f"[{kind}]"


def default_rule(labels: Sequence[str], share: float = 0.5, count: int = 2) -> TierRule:
    """Return the tiers of the labels that some detectors give, most sensitive first.

    An unknown label gets a tier among the first. All kinds of names are one level; the second tier is the next. `share`
    and `count` are those of `TierRule`.

    >>> rule = default_rule(["DATE", "PERSON", "HANDLE", "CLIENT"])
    >>> rule.names, rule.levels
    (('PERSON', 'CLIENT', 'PoII'), (0, 0, 1))
    """
    tier_of = {label: TIER_OF_KIND.get(label, label) for label in labels}
    order = [*FIRST_KINDS, NAME, *(label for label in labels if label not in TIER_OF_KIND), SECOND]
    names = tuple(tier for tier in dict.fromkeys(order) if tier in tier_of.values())
    levels = tuple(int(tier == SECOND and len(names) > 1) for tier in names)
    return TierRule(names=names, tier_of=tier_of, share=share, count=count, levels=levels)

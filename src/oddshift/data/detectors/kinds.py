"""Kinds: what a detector's label says about a word, and the default tier of each kind.

People, organisations and places are tiers of their own, so that a name becomes a name of its kind. The other kinds are
the second tier: they point to people without naming them.
"""

from __future__ import annotations

from collections.abc import Sequence

from oddshift.data.detectors.capitals import CAPITALISED
from oddshift.data.detectors.handles import HANDLE_LABELS
from oddshift.data.detectors.occupations import OCCUPATION
from oddshift.data.detectors.patterns import PATTERN_LABELS
from oddshift.data.detectors.tagging import NAME_LABELS, TierRule

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

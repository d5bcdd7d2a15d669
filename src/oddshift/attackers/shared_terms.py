"""Several combinations read in one pass: a part that two of them have is worked out once for both.

Parts are the same where nothing but the mechanism could tell them apart, and the mechanism is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs
from oddshift.attackers.combination import Combination
from oddshift.attackers.cooccurrence import Cooccurrence
from oddshift.attackers.release_blocks import release_blocks
from oddshift.attackers.tier_terms import BLOCK_ENTRIES, prepared, prior_part, terms_by_tier
from oddshift.base.identity import fingerprint
from oddshift.model.release import Release


def may_share(one: Attacker, other: Attacker) -> bool:
    """Whether both are combinations under one prior for all positions against the very same mechanism."""
    both = (one, other)
    return all(isinstance(each, Combination) and prior_part(each.parts) is None for each in both) and (
        getattr(one, "known", None) is getattr(other, "known", None)
    )


def shared_beliefs(readers: Sequence[Combination], release: Release) -> Iterator[tuple[int, Beliefs]]:
    """What `candidate_beliefs` of each gives, with the place of the reader; all must share (`may_share`).

    >>> list(shared_beliefs([], None))
    []
    """
    if not readers:
        return
    places, parts = _distinct(readers)
    known, used = readers[0].known, np.zeros(len(parts), dtype=np.bool_)
    for reader, mine in zip(readers, places, strict=True):
        used[mine] |= reader.weighed
    parts = prepared(parts, release, used)
    for first, block in release_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
        for found in terms_by_tier(parts, known, block, used, None):
            for place, (reader, mine) in enumerate(zip(readers, places, strict=True)):
                terms = replace(found, terms=tuple(found.terms[k] for k in mine))
                yield place, Beliefs(first + found.positions, reader.shift_of(terms), found.log_prior, found.points)


def _distinct(readers: Sequence[Combination]) -> tuple[list[list[int]], list[Attacker]]:
    """The places of each reader's parts among the distinct ones, and those."""
    number: dict[object, int] = {}
    parts: list[Attacker] = []
    places = []
    for reader in readers:
        mine = []
        for part in reader.parts:
            key = _content(part)
            if key not in number:
                number[key] = len(parts)
                parts.append(part)
            mine.append(number[key])
        places.append(mine)
    return places, parts


def _content(part: Attacker) -> object:
    """What tells parts apart: the counts of co-occurrence, and otherwise the object itself."""
    if type(part) is Cooccurrence:
        return fingerprint(tuple(getattr(part, each.name) for each in fields(part) if each.name != "known"))
    return id(part)

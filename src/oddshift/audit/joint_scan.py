"""Several attackers against one release in one pass: what they have in common is worked out once.

Combinations share their parts, and a recalibrated attacker reads the beliefs of the one that it recalibrates. What is
found is that of a scan of each attacker alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs
from oddshift.attackers.combination import Combination, may_share, shared_beliefs
from oddshift.audit.beliefs import Joining
from oddshift.audit.recalibration import Recalibrated
from oddshift.audit.scan import Budget, Scan, Scanning, Scores, refuse_gaps
from oddshift.model.records import Records
from oddshift.model.release import Release


def joint_scan(
    attackers: Sequence[Attacker],
    release: Release,
    truth: Records,
    budget: Budget,
    rng: np.random.Generator,
    *,
    law: str,
) -> list[Scan]:
    """A scan of every attacker under one law, without detail."""
    scanning = Scanning.begin(release, truth, budget, rng, needs_uniform=law == "uniform")
    found = [scanning.empty(detailed=False) for _ in attackers]
    joining = Joining(truth, budget.tiers)
    for place, block in beliefs_together(attackers, release):
        for mine in joining.of(attackers[place], block):
            scanning.take(found[place], mine)
    for attacker, each in zip(attackers, found, strict=True):
        refuse_gaps(attacker, each.scores)
    return found


def joint_scores(attackers: Sequence[Attacker], release: Release, truth: Records, budget: Budget) -> list[Scores]:
    """The log scores of every attacker."""
    scanning = Scanning.begin(release, truth, budget, np.random.default_rng(0), needs_uniform=False)
    found = [scanning.empty(detailed=False).scores for _ in attackers]
    joining = Joining(truth, budget.tiers)
    for place, block in beliefs_together(attackers, release):
        for mine in joining.of(attackers[place], block):
            scanning.score(found[place], mine)
    for attacker, each in zip(attackers, found, strict=True):
        refuse_gaps(attacker, each)
    return found


def beliefs_together(attackers: Sequence[Attacker], release: Release) -> Iterator[tuple[int, Beliefs]]:
    """The blocks of all attackers, each with the attacker's place.

    A recalibrated attacker reads the beliefs of the one that it recalibrates, which need not be among them.
    """
    readers = [*attackers, *_unlisted(attackers)]
    followers = _followers(readers)
    left = [place for place in range(len(readers)) if place not in {k for each in followers.values() for k in each}]
    while left:
        group = [place for place in left if place == left[0] or may_share(readers[left[0]], readers[place])]
        left = [place for place in left if place not in group]
        for place, block in _group_beliefs(readers, group, release):
            if place < len(attackers):
                yield place, block
            for follower in followers.get(place, []):
                yield follower, cast(Recalibrated, readers[follower]).weighed(block, release)


def _unlisted(attackers: Sequence[Attacker]) -> list[Attacker]:
    """The attackers that some of these recalibrate, where they are not among them."""
    listed = {id(attacker) for attacker in attackers}
    bases = {id(each.attacker): each.attacker for each in attackers if isinstance(each, Recalibrated)}
    return [base for key, base in bases.items() if key not in listed]


def _followers(attackers: Sequence[Attacker]) -> dict[int, list[int]]:
    """By place, the recalibrated attackers that read the beliefs of the attacker there."""
    found: dict[int, list[int]] = {}
    for place, attacker in enumerate(attackers):
        if isinstance(attacker, Recalibrated):
            for base, other in enumerate(attackers):
                if other is attacker.attacker:
                    found.setdefault(base, []).append(place)
                    break
    return found


def _group_beliefs(
    attackers: Sequence[Attacker], group: Sequence[int], release: Release
) -> Iterator[tuple[int, Beliefs]]:
    if len(group) > 1:
        shared = shared_beliefs([cast(Combination, attackers[place]) for place in group], release)
        yield from ((group[number], block) for number, block in shared)
        return
    one = attackers[group[0]]
    yield from ((group[0], block) for block in getattr(one, "candidate_beliefs", one.beliefs)(release))

"""One attacker on the select and the certify split: a task that any worker can do, and whose result is kept.

The worst pair: whether any two candidates of a position exceed ε, without comparing all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.paired_log_score import one_document_each
from oddshift.audit.beliefs import tier_beliefs
from oddshift.audit.scan import Budget, Scan, Scores, scan, scores
from oddshift.audit.settings import AuditSettings
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.base.identity import fingerprint
from oddshift.base.storage import load, save
from oddshift.leakage.mpl import shift_limit
from oddshift.model.records import Records, gather
from oddshift.model.release import Release
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


def part_streams(seed: int) -> list[np.random.Generator]:
    """Where the noise of the select and of the certify documents of an audit comes from."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)]


def certify_uniforms(seed: int, certify: Records) -> FloatArray:
    """One uniform for each position of the certify documents, as an audit of the same seed draws them."""
    return part_streams(seed)[1].random(len(certify.points))


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """One attacker: its log scores on the select split, and its scan of the certify split."""

    select: Scores
    certify: Scan


@dataclass(frozen=True, eq=False, repr=False)
class AuditReleases:
    """What every attacker is run on: a release of the select records to choose by, one of the certify records."""

    select_release: Release
    select: Records
    certify_release: Release
    certify: Records
    budget: Budget
    settings: AuditSettings
    folder: Path | None

    def measure(self, task: tuple[int, Attacker], select: Scores | None = None) -> Measurement:
        """Run one attacker, or read the result that an interrupted audit kept.

        With `select` only the certify documents are read, and these scores stand for the others.
        """
        number, attacker = task
        kept = None if self.folder is None else self.folder / f"{number:02d}-{self._key(attacker)[:16]}.npz"
        if kept is not None and kept.exists():
            found: Measurement = load(kept, Measurement)
            return found
        made = Measurement(
            scores(attacker, self.select_release, self.select, self.budget) if select is None else select,
            scan(attacker, self.certify_release, self.certify, self.budget, self.stream(number)),
        )
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            save(kept, made)
        return made

    def stream(self, *key: int) -> np.random.Generator:
        """Random numbers of one task, the same in every worker."""
        return np.random.default_rng([self.settings.seed, 11, *key])

    @cached_property
    def _shared(self) -> str:
        """What every attacker is run on; a kept scan of anything else is not read."""
        read = (self.select_release, self.select, self.certify_release, self.certify)
        return fingerprint((*read, self.budget, self.settings))

    def _key(self, attacker: Attacker) -> str:
        return fingerprint((self._shared, attacker))


def worst_of_units(attacker: Attacker, releases: AuditReleases) -> dict[int, FloatArray]:
    """For each tier, whether any pair exceeds ε at one uniform position of one document of a unit.

    At most `worst_positions` units are examined, drawn at random; two documents of one unit are not independent.
    """
    asked, rng = releases.settings.worst_positions, releases.stream(99)
    return worst_of_release(attacker, releases.certify_release, releases.certify, releases.budget, most=asked, rng=rng)


def worst_of_release(
    attacker: Attacker, release: Release, truth: Records, budget: Budget, *, most: int, rng: np.random.Generator
) -> dict[int, FloatArray]:
    """The same for any release, at most `most` units of each tier."""
    chosen = _one_position_each(truth, budget.tiers, most, rng)
    documents = np.unique(truth.document_of_position[np.concatenate(list(chosen.values()))])
    some, secrets = release.take(documents), truth.take(documents)
    everyone = np.flatnonzero(np.isin(truth.document_of_position, documents))  # the positions that were taken
    spaces = budget.spaces(truth)
    shifts = {tier: np.empty((len(chosen[tier]), len(part))) for tier, part in spaces.items()}
    for block in tier_beliefs(attacker, some, secrets, budget.tiers):
        keep = np.flatnonzero(np.isin(everyone[block.positions], chosen[block.tier]))
        rows = np.searchsorted(chosen[block.tier], everyone[block.positions[keep]])
        shifts[block.tier][rows] = block.shift[keep]
    return {
        tier: worst_exceeds(shifts.pop(tier), part, np.arange(len(part)), budget.epsilon).astype(np.float64)
        for tier, part in spaces.items()
    }


def _one_position_each(truth: Records, tiers: Tiers, most: int, rng: np.random.Generator) -> dict[int, IntArray]:
    """For each tier one uniform position of one document of a unit, in at most `most` units."""
    labels, found = truth.tier_of_position(tiers), {}
    for tier in np.unique(labels):
        having = np.unique(truth.document_of_position[labels == tier])
        documents = one_document_each(having, truth, rng)[:most]
        inside, _ = gather(truth.offsets, documents)
        order = rng.permutation(inside[labels[inside] == tier])
        _, first = np.unique(truth.document_of_position[order], return_index=True)
        found[int(tier)] = np.sort(order[first])
    return found


_AT_ONCE = 400_000  # entries of shifts or distances that are compared together


def worst_exceeds(shift: FloatArray, space: Space, index: IntArray, epsilon: float) -> BoolArray:
    """Whether any pair of candidates exceeds ε, for each row of `shift` (positions, candidates).

    The higher end of such a pair lies above the row's lowest shift by more than ε times the distance to its nearest
    neighbour; only those ends are compared with all others, the most extreme first, so the answer is exact.
    """
    found = np.zeros(len(shift), dtype=bool)
    lowest, part = shift.min(axis=1), space.part(index)
    everyone = [np.arange(some.start, some.stop) for some in blocks(len(index), max(len(index), len(shift)), _AT_ONCE)]
    nearest = np.concatenate([_limits(part, anchors, epsilon).min(axis=1) for anchors in everyone])
    reach = np.concatenate([(shift[:, anchors] - lowest[:, None]).max(axis=0) for anchors in everyone])
    order = np.argsort(nearest - reach, kind="stable")
    for anchors in (order[some] for some in everyone):
        left = np.flatnonzero(~found)
        high = shift[np.ix_(left, anchors)] - lowest[left, None] > nearest[anchors]
        rows = np.flatnonzero(high.any(axis=1))
        if not len(rows):
            continue
        limit = _limits(part, anchors, epsilon)
        for row in rows:
            ends, mine = np.flatnonzero(high[row]), shift[left[row]]
            found[left[row]] = bool((mine[anchors[ends], None] - mine > limit[ends]).any())
    return found


def _limits(part: Space, anchors: IntArray, epsilon: float) -> FloatArray:
    """The difference of shifts beyond which each anchor and each candidate exceed ε; infinite with itself."""
    distance = part.between(anchors)
    distance[np.arange(len(anchors)), anchors] = np.inf
    return shift_limit(epsilon, distance)

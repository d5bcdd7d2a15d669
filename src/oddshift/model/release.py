"""A release: the PUBLIC side, all that an attacker sees of some documents.

It holds the outputs of every sensitive position in order, the public context W, and the tiers when they are public.
`perturb` is the only crossing from Records (secret) to a Release: a fresh uniform for every position, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.model.records import Context, Records, gather
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


class Perturbation(Protocol):
    """What a release needs of a mechanism: its points, and an output for each secret."""

    @property
    def space(self) -> Space:
        """The points that secrets are."""

    def sample(self, index: IntArray, rng: np.random.Generator) -> IntArray:
        """An output for each point, with noise from `rng`."""

    def invert(self, index: IntArray, z: FloatArray) -> IntArray:
        """The output of each point at a given uniform."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """Outputs of sensitive positions, flat, cut into documents by `offsets`.

    `position_tiers` is the tier of every position when tiers are public, None when they are secret. `context` is the
    public context W, None when only the sensitive positions are considered.
    """

    outputs: IntArray
    offsets: IntArray
    position_tiers: IntArray | None
    context: Context | None

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.offsets) - 1

    fingerprint = cached_property(content)

    def __repr__(self) -> str:
        """Counts only."""
        seen = "sensitive positions only" if self.context is None else "with context W"
        return f"Release({len(self)} documents, {len(self.outputs)} positions, {seen})"

    @cached_property
    def lengths(self) -> IntArray:
        """Number of positions of each document."""
        return np.diff(self.offsets)

    def take(self, index: IntArray) -> Release:
        """Some documents, in that order."""
        flat, offsets = gather(self.offsets, index)
        return Release(
            outputs=self.outputs[flat],
            offsets=offsets,
            position_tiers=None if self.position_tiers is None else self.position_tiers[flat],
            context=None if self.context is None else self.context.take(index),
        )

    def without_context(self) -> Release:
        """The same outputs, W left out."""
        return Release(outputs=self.outputs, offsets=self.offsets, position_tiers=self.position_tiers, context=None)


def perturb(records: Records, mechanism: Perturbation, tiers: Tiers, rng: np.random.Generator) -> Release:
    """Release every secret once, each with noise of its own; tiers are shown only when they are public.

    >>> from oddshift.mechanisms import Exponential
    >>> space = Space([[0.0], [1.0]])
    >>> secrets = Records.from_documents(space, [[0, 1], [1]])
    >>> perturb(secrets, Exponential(space, 1.0), one_tier(space), np.random.default_rng(0))
    Release(2 documents, 3 positions, sensitive positions only)
    """
    labels = _labels(records, mechanism, tiers)
    return _shown(records, tiers, labels, mechanism.sample(records.points, rng))


def perturb_with(records: Records, mechanism: Perturbation, tiers: Tiers, uniforms: FloatArray) -> Release:
    """As `perturb`, from one given uniform for each position: common random numbers for comparing mechanisms."""
    labels = _labels(records, mechanism, tiers)
    return _shown(records, tiers, labels, mechanism.invert(records.points, uniforms))


def _labels(records: Records, mechanism: Perturbation, tiers: Tiers) -> IntArray:
    """The tier of every position; records that the mechanism was not made for are refused."""
    if len(records.space) != len(mechanism.space):
        raise InvalidInput(
            f"records over {len(records.space)} points, expected {len(mechanism.space)} (the mechanism's)"
        )
    labels = records.tier_of_position(tiers)
    if (labels < 0).any():
        raise InvalidInput(
            f"{int((labels < 0).sum())} positions hold a point of no tier, expected sensitive points only"
        )
    return labels


def _shown(records: Records, tiers: Tiers, labels: IntArray, outputs: IntArray) -> Release:
    return Release(
        outputs=outputs,
        offsets=records.offsets,
        position_tiers=labels if tiers.is_public else None,
        context=records.context,
    )


def one_tier(space: Space, name: str = "all") -> Tiers:
    """Every point in one public tier, for data without levels."""
    labels = np.zeros(len(space), dtype=np.int64)
    return Tiers(labels, names=(name,), scales=(1.0,), is_public=True)


@dataclass(frozen=True, eq=False, repr=False)
class CandidateSet:
    """Positions of a release that may hold the same points, and those points, in increasing order."""

    tier: int
    positions: IntArray
    points: IntArray


def candidate_sets(release: Release, tiers: Tiers) -> list[CandidateSet]:
    """The positions of every public tier with its points; all positions with all sensitive points for secret tiers."""
    if release.position_tiers is None:
        return [CandidateSet(0, np.arange(len(release.outputs)), np.flatnonzero(candidates(tiers, 0)))]
    return [
        CandidateSet(
            int(tier), np.flatnonzero(release.position_tiers == tier), np.flatnonzero(candidates(tiers, int(tier)))
        )
        for tier in np.unique(release.position_tiers)
    ]


def set_numbers(tiers: Tiers) -> range:
    """The numbers of all candidate sets: those of public tiers, or one where tiers are secret."""
    return range(len(tiers) if tiers.is_public else 1)


def candidates(tiers: Tiers, tier: int) -> BoolArray:
    """The points a position may hold, for all the attacker knows: those of its public tier, or all sensitive ones."""
    return tiers.labels == tier if tiers.is_public else tiers.sensitive

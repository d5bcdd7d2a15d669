"""A release: the PUBLIC side, all that an attacker sees of some documents.

It holds the outputs of every sensitive position in order, the public context W, and the tiers when they are public.
`perturb` is the only crossing from Records (secret) to a Release: a fresh uniform for every position, as in the paper.

Repeats: a secret that occurs several times in one document is drawn once, and its other occurrences copy the output.

Which positions hold the same secret is then public: the copies stand in the public context W as symbols that name the
secret they repeat. Two distinct secrets may still receive the same output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.model.records import Context, Records, gather, offsets_of
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


REPEATS = ("once", "each")
"""Draw once for each secret of a document, or once for each of its occurrences (as the paper does)."""


@dataclass(frozen=True, eq=False, repr=False)
class DistinctSecrets:
    """The distinct secrets of every document, and the position among them that each original position copies.

    `records` holds each secret once, where it first occurs; `position` has one entry for each original position, so
    `outputs[position]` is what a release of all positions reads as.
    """

    records: Records
    position: IntArray

    def __repr__(self) -> str:
        """Counts only."""
        return f"DistinctSecrets({self.records!r} from {len(self.position)} positions)"


def draw_once(records: Records, among: BoolArray | None = None) -> DistinctSecrets:
    """Keep the first occurrence of every secret within what is read together.

    `among` says for which points that holds; by default for all. Secrets at other points are kept wherever they occur.

    **Guarantee**: a release of the result shows every secret of a document through exactly one draw.

    >>> from oddshift.model.space import Space
    >>> found = draw_once(Records.from_documents(Space([[0.0], [1.0]]), [[1, 0, 1], [1]]))
    >>> found.records.points, found.position
    (array([1, 0, 1]), array([0, 1, 0, 2]))
    """
    secret = records.document_of_position * len(records.space) + records.points
    if among is not None:
        apart = np.flatnonzero(~among[records.points])
        secret[apart] = len(records) * len(records.space) + apart
    _, first, inverse = np.unique(secret, return_index=True, return_inverse=True)
    kept: IntArray = np.sort(first).astype(np.int64)
    rank = np.empty(len(kept), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(kept))
    position: IntArray = rank[inverse.ravel()]
    lengths = np.bincount(records.document_of_position[kept], minlength=len(records))
    distinct = replace(
        records,
        points=records.points[kept],
        offsets=offsets_of(lengths),
        context=_marked(records, kept, position, offsets_of(lengths)),
    )
    return DistinctSecrets(distinct, position)


def _marked(records: Records, kept: IntArray, position: IntArray, offsets: IntArray) -> Context | None:
    """The context with every copy replaced by a public symbol that names the secret it repeats."""
    context = records.context
    if context is None:
        return None
    copies = np.ones(len(records.points), dtype=bool)
    copies[kept] = False
    number = (position - offsets[records.document_of_position])[copies]
    symbols = tuple(f"[same as {k + 1}]" for k in range(int(number.max(initial=-1)) + 1))
    tokens = context.tokens.copy()
    tokens[context.slots[copies]] = len(context.symbols) + number
    return replace(context, tokens=tokens, symbols=(*context.symbols, *symbols))

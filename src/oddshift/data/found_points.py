"""What was found in the data, by kind: enough to count what any mechanism would leave unchanged, without the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oddshift.audit.release_use import DataFate, KindFate
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import EncodedText
from oddshift.data.detectors import PlantedRecall
from oddshift.mechanisms import Mechanism
from oddshift.mechanisms.forms import Formed
from oddshift.model.records import Records, Split
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class FoundPoints:
    """For every kind: how often each point was found, how many words became marks and how many were left.

    `times` is (kinds, points). `recall` is that of planted names, where it was measured; `nearest` the median distance
    to the nearest alternative, None where there is none. These are SECRETS, in the aggregate.
    """

    kinds: tuple[str, ...]
    times: IntArray
    marked: tuple[int, ...]
    left: tuple[int, ...]
    recall: PlantedRecall | None
    nearest: float | None

    def __repr__(self) -> str:
        """Counts only."""
        return f"FoundPoints({len(self.kinds)} kinds, {int(self.times.sum())} secrets with a point)"

    def fate(self, mechanism: Mechanism, rng: np.random.Generator, stays: FloatArray | None = None) -> DataFate | None:
        """What a release by this mechanism does to them; None where its outputs are neither points nor a mark.

        `stays` says how often each point comes out as it is where more than the mechanism decides that (`unchanged`).
        """
        if mechanism.n_outputs not in {1, len(mechanism.space)}:
            return None
        nowhere = np.full(len(mechanism.space), mechanism.n_outputs == 1)
        marks, rows = mechanism.marked if isinstance(mechanism, Formed) else nowhere, []
        for row, kind in enumerate(self.kinds):
            points = np.repeat(np.arange(self.times.shape[1]), self.times[row])
            marked, left = self.marked[row], self.left[row]
            found = len(points) + marked + left
            shown = points[~marks[points]]
            marked, points = marked + len(points) - len(shown), shown
            if stays is not None:
                same = round(float(stays[points].sum()))
            else:
                same = int((mechanism.sample(points, rng) == points).sum()) if len(points) else 0
            rows.append(
                KindFate(name=kind, found=found, perturbed=len(points), marked=marked, left=left, unchanged=same)
            )
        kinds = tuple(sorted((row for row in rows if row.found), key=lambda row: -row.found))
        planted = self.recall
        if planted is None:
            return DataFate(kinds=kinds, nearest=self.nearest)
        return DataFate(
            kinds=kinds,
            planted=planted.planted,
            recalled=planted.found,
            recall=planted.interval,
            nearest=self.nearest,
        )


def unchanged(split: Split, shown: Callable[[Records], IntArray]) -> FloatArray:
    """The share of the occurrences of every point that come out as they are, where records come out as `shown`."""
    points = np.concatenate([part.points for part in split.parts])
    same = points == np.concatenate([shown(part) for part in split.parts])
    size = len(split.fit.space)
    times = np.bincount(points, minlength=size)
    return np.bincount(points, weights=same, minlength=size) / np.maximum(times, 1)


def found_in_text(encoded: EncodedText, recall: PlantedRecall | None) -> FoundPoints:
    """What was found in texts, by the kinds of their detectors."""
    counts = encoded.counts.kinds
    kinds = tuple(dict.fromkeys((*encoded.kinds, *counts)))
    times = np.zeros((len(kinds), len(encoded.lexicon.space)), dtype=np.int64)
    np.add.at(times, (encoded.kind_of_slot, encoded.records.points), 1)
    marked, left = (
        tuple(getattr(counts[kind], name) if kind in counts else 0 for kind in kinds) for name in ("marked", "left")
    )
    return FoundPoints(kinds, times, marked, left, recall, _nearest(encoded.lexicon.space, encoded.tiers))


def found_in_records(split: Split, tiers: Tiers) -> FoundPoints:
    """The same for other data: every secret was given, and its kind is its tier."""
    points = np.concatenate([part.points for part in split.parts])
    times = np.zeros((len(tiers), len(split.fit.space)), dtype=np.int64)
    np.add.at(times, (tiers.labels[points], points), 1)
    none = (0,) * len(tiers)
    return FoundPoints(tiers.names, times, none, none, None, _nearest(split.fit.space, tiers, every_tier=True))


def _nearest(space: Space, tiers: Tiers, *, every_tier: bool = False) -> float | None:
    try:
        return nearest_alternative(space, tiers, np.random.default_rng(0), every_tier=every_tier)
    except InvalidInput:  # nothing to confuse a value with
        return None


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

"""Coverage: what was found in the data, by kind, and what becomes of it, reported before any certificate.

What was found is counted by point too: enough to say what any mechanism would leave unchanged, without the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from oddshift.audit.release_use import DataFate, KindFate
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.detection_report import PlantedRecall
from oddshift.mechanisms import Mechanism
from oddshift.mechanisms.forms import Formed
from oddshift.model.records import Records, Split
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, kw_only=True)
class KindCounts:
    """What happened to the words of one kind: found = perturbed + marked + left; `unchanged` of those perturbed.

    `left` are function words inside a name. `unchanged` counts secrets that the mechanism released as themselves; it is
    known only after the draw.
    """

    found: int = 0
    perturbed: int = 0
    marked: int = 0
    left: int = 0
    unchanged: int = 0

    def __add__(self, other: KindCounts) -> KindCounts:
        """The counts of both."""
        return KindCounts(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What happened to some data: secrets found, perturbed, masked, and of unseen values; and rows left out.

    `kinds` says the same for each kind of word, where the data are texts.

    >>> both = Counts(found=3, perturbed=2, masked=1) + Counts(found=1, perturbed=1)
    >>> both.found, both.perturbed, both.masked
    (4, 3, 1)
    """

    found: int = 0
    perturbed: int = 0
    masked: int = 0
    unseen: int = 0
    left_out: int = 0
    kinds: Mapping[str, KindCounts] = field(default_factory=dict)

    def __add__(self, other: Counts) -> Counts:
        """The counts of both."""
        names = dict.fromkeys((*self.kinds, *other.kinds))
        none = KindCounts()
        return Counts(
            found=self.found + other.found,
            perturbed=self.perturbed + other.perturbed,
            masked=self.masked + other.masked,
            unseen=self.unseen + other.unseen,
            left_out=self.left_out + other.left_out,
            kinds={name: self.kinds.get(name, none) + other.kinds.get(name, none) for name in names},
        )

    def after_draw(self, unchanged: Mapping[str, int], marks: Mapping[str, int]) -> Counts:
        """The same counts, with how many secrets of each kind came out unchanged, and how many became marks."""
        kinds = {
            name: replace(
                count,
                perturbed=count.perturbed - marks.get(name, 0),
                marked=count.marked + marks.get(name, 0),
                unchanged=unchanged.get(name, 0),
            )
            for name, count in self.kinds.items()
        }
        return replace(self.with_marks(sum(marks.values())), kinds=kinds)

    def with_marks(self, marks: int) -> Counts:
        """The same counts with some secrets released as marks instead of perturbed."""
        return replace(self, perturbed=self.perturbed - marks, masked=self.masked + marks)


def kind_lines(kinds: Mapping[str, KindCounts]) -> tuple[str, ...]:
    """One sentence for each kind of word, the most frequent first."""
    return tuple(f"{kind}: {_said(n)}" for kind, n in sorted(kinds.items(), key=lambda item: -item[1].found))


def _said(count: KindCounts) -> str:
    same = f" ({count.unchanged:,} came out unchanged)" if count.unchanged else ""
    left = f", {count.left:,} function words inside them left" if count.left else ""
    return f"{count.found:,} found, {count.perturbed:,} perturbed{same}, {count.marked:,} marked{left}"


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


def found_in_records(split: Split, tiers: Tiers) -> FoundPoints:
    """The same for other data: every secret was given, and its kind is its tier."""
    points = np.concatenate([part.points for part in split.parts])
    times = np.zeros((len(tiers), len(split.fit.space)), dtype=np.int64)
    np.add.at(times, (tiers.labels[points], points), 1)
    none = (0,) * len(tiers)
    return FoundPoints(tiers.names, times, none, none, None, nearest_or_none(split.fit.space, tiers, every_tier=True))


def nearest_or_none(space: Space, tiers: Tiers, *, every_tier: bool = False) -> float | None:
    """The median distance to the nearest alternative; None where there is none."""
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

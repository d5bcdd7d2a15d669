"""Coverage: what happened to the words of each kind, reported before any certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from oddshift.data.detectors.detection_report import PlantedRecall


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


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Which detectors looked, what they found, what became of it, and the recall on planted names if it was measured.

    >>> counts = Counts(found=3, kinds={"PERSON": KindCounts(found=3, perturbed=2, marked=1, unchanged=1)})
    >>> for line in Coverage(detectors=("capitalised words",), counts=counts).lines():
    ...     print(line)
    looked: capitalised words; names that they miss are released in the clear
    PERSON: 3 found, 2 perturbed (1 came out unchanged), 1 marked
    names that they miss: not measured
    """

    detectors: tuple[str, ...]
    counts: Counts
    recall: PlantedRecall | None = None

    @property
    def total(self) -> KindCounts:
        """All kinds together."""
        return sum(self.counts.kinds.values(), KindCounts())

    def after(self, counts: Counts) -> Coverage:
        """The same for other counts, after a draw for example."""
        return replace(self, counts=counts)

    def lines(self) -> tuple[str, ...]:
        """The counts in sentences, the most frequent kind first."""
        missed = "names that they miss: not measured" if self.recall is None else self.recall.line()
        return (
            f"looked: {', '.join(self.detectors) or 'a fixed list of words'}; "
            "names that they miss are released in the clear",
            *kind_lines(self.counts.kinds),
            missed,
        )


def kind_lines(kinds: Mapping[str, KindCounts]) -> tuple[str, ...]:
    """One sentence for each kind of word, the most frequent first."""
    return tuple(f"{kind}: {_said(n)}" for kind, n in sorted(kinds.items(), key=lambda item: -item[1].found))


def _said(count: KindCounts) -> str:
    same = f" ({count.unchanged:,} came out unchanged)" if count.unchanged else ""
    left = f", {count.left:,} function words inside them left" if count.left else ""
    return f"{count.found:,} found, {count.perturbed:,} perturbed{same}, {count.marked:,} marked{left}"

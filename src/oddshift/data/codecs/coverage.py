"""Coverage: what happened to the words of each kind, reported before any certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from oddshift.data.codecs.codec import Counts, KindCounts
from oddshift.data.detectors.planting import PlantedRecall


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

"""What is said of a release: of its words, and, by the policy itself, what was known when it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oddshift.adapt.result import Adaptation
from oddshift.app.report.opening import found_sentence, missed_sentence, opening_of_adaptation
from oddshift.audit.replacement_counts import DataFate, KindFate
from oddshift.data.codecs import KindCounts


def released_line(kinds: Mapping[str, KindCounts]) -> str:
    """What happened to all words of a release together."""
    rows = (
        KindFate(
            name=name,
            found=count.found,
            perturbed=count.perturbed,
            marked=count.marked,
            left=count.left,
            unchanged=count.unchanged,
        )
        for name, count in kinds.items()
    )
    return found_sentence(DataFate(kinds=tuple(rows)))


def expected_lines(found: Adaptation) -> Iterator[str]:
    """Names that are probably missed, and what attackers guessed under the policy of an adaptation."""
    opening = opening_of_adaptation(found)
    if found.fate is not None and opening.searched:
        yield f"When the policy was made: {missed_sentence(found.fate)}"
    for row in opening.guessed:
        tier, before, alone, together, most, _ = row.cells
        bound = "" if row.most is None else f" (upper bound {most})"
        yield f"  {tier} guessed first: {before} before any release -> {alone} from one -> {together} together{bound}"

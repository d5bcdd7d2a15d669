"""What is said of a release: of its words, and, by the policy itself, what was known when it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oddshift.adapt.result import Adaptation
from oddshift.app.report.first_screen import found_sentence, missed_sentence, screen_of_adaptation
from oddshift.app.report.wording import percent
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.data.codecs import KindCounts
from oddshift.model.nouns import NOUNS


def released_line(kinds: Mapping[str, KindCounts], kind: str) -> str:
    """What happened to all secrets of a release of data of one kind together."""
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
    return found_sentence(DataFate(kinds=tuple(rows)), NOUNS.get(kind, NOUNS["records"]))


def expected_lines(found: Adaptation) -> Iterator[str]:
    """Names that are probably missed, and what attackers guessed under the policy of an adaptation."""
    screen = screen_of_adaptation(found)
    if found.fate is not None and screen.nouns.is_searched:
        yield f"When the policy was made: {missed_sentence(found.fate)}"
    for row in screen.guessed:
        before, alone, together = (percent(share) for share in (row.before, row.alone, row.together))
        bound = "" if row.most is None else f" (upper bound {percent(row.most)})"
        yield f"  {row.tier} guessed first: {before} before any release, {alone} from one, {together} together{bound}"

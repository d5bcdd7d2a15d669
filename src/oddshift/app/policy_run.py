"""The run that a policy comes from: what is known of its release before anything is released with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from oddshift.app.report.first_screen import found_sentence, missed_sentence, screen_of_adaptation
from oddshift.app.report.wording import percent
from oddshift.app.run_folder import ADAPTATION, read_adaptation
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.data.codecs import KindCounts
from oddshift.model.nouns import NOUNS
from oddshift.protect.policies import Policy


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


def expected_lines(policy_file: Path, policy: Policy) -> Iterator[str]:
    """Names that are probably missed, and what attackers guessed under this policy, from the run in its folder.

    Nothing where the folder holds no adaptation, or one of another mechanism.
    """
    folder = policy_file.parent
    if not (folder / ADAPTATION).is_file():
        return
    found = read_adaptation(folder)
    if found.mechanism != repr(policy.mechanism()):
        return
    screen = screen_of_adaptation(found)
    if found.fate is not None and screen.nouns.is_searched:
        yield f"When the policy was made: {missed_sentence(found.fate)}"
    for row in screen.guessed:
        before, alone, together = (percent(share) for share in (row.before, row.alone, row.together))
        bound = "" if row.most is None else f" (upper bound {percent(row.most)})"
        yield f"  {row.tier} guessed first: {before} before any release, {alone} from one, {together} together{bound}"

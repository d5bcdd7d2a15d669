"""The run that a policy comes from: what is known of its release before anything is released with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from oddshift.app.report.opening import found_sentence, missed_sentence, opening_of_adaptation
from oddshift.app.run_folder import ADAPTATION, read_adaptation
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.data.codecs import KindCounts
from oddshift.protect.policies import Policy


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
    opening = opening_of_adaptation(found)
    if found.fate is not None and opening.searched:
        yield f"When the policy was made: {missed_sentence(found.fate)}"
    for row in opening.guessed:
        tier, before, alone, together, most, _ = row.cells
        bound = "" if row.most is None else f" (upper bound {most})"
        yield f"  {tier} guessed first: {before} before any release -> {alone} from one -> {together} together{bound}"

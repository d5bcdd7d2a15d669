"""What an adaptation says besides its numbers: what was assumed, and what a reader should know before using it."""

from __future__ import annotations

from collections.abc import Sequence

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.certification import Trial
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.audit.audit_notes import assumptions as supposed
from oddshift.audit.claims import ClaimBuilder

FEW_OUTPUTS = 5.0
"""Effective outputs below which a release is nearly constant."""


def assumptions(known: Knowledge, claims: ClaimBuilder, attacker: Attacker, *, remap: bool) -> tuple[str, ...]:
    """What the certificate of the chosen scales supposes: what an audit's does, and what belongs to a release."""
    said = (*supposed(known, claims, attacker), "a record is released once: repeated releases compose")
    return (*said, "the remapping comes from the fit records and is treated as public") if remap else said


def warnings(
    trials: Sequence[Trial],
    chosen: Trial | None,
    settings: AdaptSettings,
    constant: float,
) -> tuple[str, ...]:
    """What went wrong or is too little, one line each."""
    if chosen is None:
        return (_unreached(trials, settings),)
    found = []
    outcome = chosen.outcome
    if outcome.effective_outputs < FEW_OUTPUTS:
        found.append(
            f"the release is nearly constant: {outcome.effective_outputs:.1f} effective outputs; "
            f"a larger delta or less dependent secrets would leave more"
        )
    if outcome.loss >= constant:
        found.append(
            f"one constant output costs no more ({constant:.4f}) than this release ({outcome.loss:.4f}): read the loss "
            f"beside a downstream task"
        )
    return tuple(found)


def _unreached(trials: Sequence[Trial], settings: AdaptSettings) -> str:
    """No scales were certified: the smallest bound reached, and what would help."""
    if not trials:
        return (
            f"no scales of the grid both teach the attacker something and keep the select rate below "
            f"delta={settings.delta:g}; smaller scales in the grid, a stronger attacker or a larger delta help"
        )
    best = min(trials, key=lambda trial: max(trial.tested.upper))
    units = min(len(values) for values in best.values)
    return (
        f"no scales were certified: the smallest upper bound reached is {max(best.tested.upper):.4f} > "
        f"delta={settings.delta:g}, with {units} documents at scales {best.tested.scales}; "
        f"more certify documents help, or a larger delta: on new documents, since these have been looked at"
    )

"""What an adaptation says in addition to its numbers: its assumptions, and what to know before using it.

Where noise begins to pay: the least budget at which perturbed values cost less than one constant value.

Below it a mark in place of every secret serves as well, and reveals nothing. The loss falls as the budget grows, so the
place is found by doubling and halving, on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from oddshift.adapt.certification import Certification, Trial
from oddshift.adapt.evaluation import Experiment, Measuring
from oddshift.adapt.goals import Goals
from oddshift.adapt.proved import Proved
from oddshift.adapt.result import ScaledOutcome
from oddshift.adapt.settings import AdaptSettings
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.repair import LEAST, is_repaired
from oddshift.audit.claims import ClaimBuilder
from oddshift.audit.notes import assumptions as supposed

REPAIRED = f"the law behind the repair is treated as public: each of its counts is of {LEAST} records or more"
"""What a repair assumes."""

FEW_OUTPUTS = 5.0
"""A release with fewer effective outputs than this is nearly constant."""


def assumptions(
    known: Knowledge, claims: ClaimBuilder, counting: Sequence[Attacker], taken: ScaledOutcome | None
) -> tuple[str, ...]:
    """What the certificate of the chosen scales assumes: the same as an audit's, and what belongs to a release."""
    said = (*supposed(known, claims, counting), "a record is released once: repeated releases compose")
    if taken is not None and taken.remapped:
        said = (*said, "the remapping comes from the fit records and is treated as public")
    return (*said, REPAIRED) if taken is not None and is_repaired(taken.repair) else said


def proof_assumptions(known: Knowledge, proved: Proved, modes: Sequence[str]) -> tuple[str, ...]:
    """What a proof rests on."""
    said = ["values, tiers and their frequencies come from the fit records and are treated as public"]
    if "noise" in proved.forms:
        said.append(f"at most {proved.most} secrets are read together")
    if not known.tiers.is_public:
        said.append("the tier of a value is secret, so all tiers have one form")
    said += [REPAIRED] if is_repaired(modes) else []
    return (*said, "a record is released once: repeated releases compose")


def unproved(trials: Sequence[Trial], taken: Trial | None, measuring: Measuring, made: Certification) -> Iterator[str]:
    """What was tried with noise before a proved release was taken, and why it was not taken."""
    if taken is not None and taken.is_certified:
        yield (
            f"noise was certified too, but costs more: an expected loss of {taken.outcome.loss:.4f}, at scales "
            f"{scales_in_words(taken)}"
        )
        return
    if taken is not None:
        yield (
            f"noise at scales {scales_in_words(taken)} would cost {taken.outcome.loss:.4f}, but is measured only: "
            f'{basis_in_words(taken, made.attackers)}; forms = {{"*" = "noise"}} proposes it'
        )
        return
    yield from warnings(trials, None, measuring, made.goals, "")


def scales_in_words(trial: Trial) -> str:
    """The scales of a trial, in the order of the tiers."""
    return ", ".join(f"{scale:g}" for scale in trial.tested.scales)


def basis_in_words(taken: Trial | None, attackers: Sequence[Attacker]) -> str:
    """What the result rests on: the attackers that learned, another support, or the single release."""
    if taken is None:
        return ""
    names = ", ".join(attacker.name for attacker in attackers)
    if taken.growing:
        return f"{taken.judgement.verdict.state_in_words}: {taken.growing}"
    if taken.basis.withheld or taken.basis.carrier:
        support = taken.basis.carrier or "the single release keeps epsilon exactly"
        return f"with this noise {names} learned nothing from what is read together; {support}"
    counted = dict.fromkeys(part.claim.attacker for part in taken.judgement.verdict.parts if part.claim.epsilon)
    return f"every attacker that learned something stays within the limits: {', '.join(counted)}"


def warnings(
    trials: Sequence[Trial],
    taken: Trial | None,
    measuring: Measuring,
    goals: Goals,
    basis: str,
) -> tuple[str, ...]:
    """What went wrong or is not enough, one line each; `basis` is what the result rests on, in words."""
    experiment = measuring.experiment
    if taken is None:
        measured = list(measuring.known.values())
        is_beyond = bool(measured) and all(goals.strain(outcome) > 1.0 for outcome in measured)
        standing = all({*trial.tested.scales} == {1.0} for trial in trials)  # tested whatever was measured
        return (_unreached(measured, goals, experiment.settings) if standing and is_beyond else _failed(trials),)
    found = [*(each.sentence for each in taken.learning), *_untested(trials, measuring)]
    outcome, constant = taken.outcome, experiment.constant_loss
    each = " of each kind" if experiment.constant_outputs > 1 else ""
    if not taken.is_certified:
        found.append(f"these scales are proposed, not certified: {basis}")
    if outcome.effective_outputs < FEW_OUTPUTS:
        found.append(
            f"the release is nearly constant: {outcome.effective_outputs:.1f} effective outputs; "
            f"a larger delta or less dependent secrets would leave more"
        )
    if outcome.loss >= constant:
        found.append(
            f"one constant output{each} costs no more ({constant:.4f}) than this release ({outcome.loss:.4f}): judge "
            'the release by a task of your own, or release a mark in its place ([mechanism] name = "mask"), which '
            f"reveals nothing that the rest does not; {_worth_it(experiment)}"
        )
    return tuple(found)


def _worth_it(experiment: Experiment) -> str:
    """From which budget on the noise costs less than a constant output."""
    count, epsilon = len(experiment.known.tiers), experiment.settings.epsilon
    multiple = break_even(
        lambda by: experiment.without_forms.loss((by,) * count, remap=False), experiment.constant_loss
    )
    if multiple is None:
        return f"up to {MOST:g} times this budget, values as they are drawn never cost less than that"
    return (
        f"values as they are drawn cost less than that from about {multiple:.2g} times this budget on "
        f"(epsilon = {multiple * epsilon:.2g}), which lets the odds grow to the power of {multiple:.2g}"
    )


def _untested(trials: Sequence[Trial], measuring: Measuring) -> Iterator[str]:
    """Why scale 1 was not tested, where a candidate with more noise failed before it."""
    is_asked = max(measuring.experiment.settings.grid) >= 1.0
    for last in trials[-1:] if is_asked else ():
        if last.passes or min(last.tested.scales) >= 1.0:
            return
        scales = ", ".join(f"{scale:g}" for scale in last.tested.scales)
        why = last.vacuous or f"it failed on {last.tested.failed}"
        yield f"less noise, scale 1 included, was not tested: the tests end at scales {scales}, where {why}"


def _failed(trials: Sequence[Trial]) -> str:
    """The first candidate was not certified: the goal that failed, by how much, and what would help."""
    last = trials[-1].tested
    scales = ", ".join(f"{scale:g}" for scale in last.scales)
    if trials[-1].vacuous:
        return (
            f"no scales were certified; at scales {scales} {trials[-1].vacuous}; what is released as it is may give it "
            "away, which no noise mends: mask clear columns, make missing cells a value "
            "(blank_values), or shuffle rows whose order says it"
        )
    return (
        f"no scales were certified; at scales {scales} it failed on {last.failed}; more data to certify on help, "
        f"smaller scales in the grid, or a larger delta or cap: on new data, because these have been used"
    )


def _unreached(outcomes: Sequence[ScaledOutcome], goals: Goals, settings: AdaptSettings) -> str:
    """No outcome keeps the goals on the select documents: the closest one, where it fails, and what would help."""
    closest = min(outcomes, key=goals.strain)
    hardest = goals.hardest(closest)
    scales = ", ".join(f"{scale:g}" for scale in closest.scales)
    found = f"no scales of the grid keep every goal; the closest are {scales}, with {hardest.sentence}"
    before = next((tier.before for tier in closest.tiers if tier.tier == hardest.tier), 0.0)
    if hardest.what == "right first guesses" and before >= hardest.limit:
        return f"{found}; {before:.1%} are guessed already before any release, so no noise keeps this cap: raise it"
    return (
        f"{found}; smaller scales than {min(settings.grid):g} in the grid, a larger delta or cap, or more data "
        "to choose with help"
    )


MOST = 64.0
"""Largest multiple of a budget that is tried."""

STEPS = 4
"""Halvings of the last doubling: the multiple is known to about 4 %."""


def break_even(loss_at: Callable[[float], float], constant: float) -> float | None:
    """The least multiple of a budget, from 1 on, at which the loss is below that of a constant; None up to MOST.

    `loss_at` gives the expected loss at a multiple of the budget. The multiple is one at which the loss was computed.

    >>> round(break_even(lambda multiple: 1.0 / multiple, 0.3), 3)
    3.364
    >>> break_even(lambda multiple: 0.5, 0.3) is None
    True
    """
    if loss_at(1.0) < constant:
        return 1.0
    high = 2.0
    while high <= MOST and loss_at(high) >= constant:
        high *= 2.0
    if high > MOST:
        return None
    low = high / 2.0
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        if loss_at(middle) < constant:
            high = middle
        else:
            low = middle
    return float(high)

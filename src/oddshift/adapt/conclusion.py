"""What an adaptation comes to: the result of a search for certified scales, or of a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from oddshift.adapt.certification import Certification, Trial, left_to_learn
from oddshift.adapt.comparison import compared, released_epsilon
from oddshift.adapt.evaluation import Experiment, Measuring, Reader
from oddshift.adapt.frontier import hypervolume, uniform_outcomes
from oddshift.adapt.notes import assumptions, basis_in_words, proof_assumptions, unproved, warnings
from oddshift.adapt.proved import Countable, Proved, tier_releases
from oddshift.adapt.readers import Readers
from oddshift.adapt.result import Adaptation, Compared, Round, ScaledOutcome, Scales
from oddshift.adapt.settings import AdaptSettings
from oddshift.adapt.size_check import Refits
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Own
from oddshift.audit.claims import NO_DETECTOR
from oddshift.evidence.certificates import Evidence
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.named import Family
from oddshift.model.records import Split


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdaptTask:
    """What is adapted: the split secrets, what attackers know at scales 1, the family, and fitted attackers.

    `detector` names who found the secrets. The attackers must work at any scales (`against`); the strongest on the
    select documents at scale 1 measures the frontier, and for each candidate the strongest there certifies it.
    `refits` says by name how attackers are fitted: those are fitted on half of the documents too, and scales where one
    of them still learns are not certified. `notes` say what else to know about the attackers. `has_marks` is False
    where a mark would be an empty cell: what ignores the secret is a surrogate there.
    """

    split: Split
    known: Knowledge
    family: Family
    attackers: tuple[Attacker, ...]
    settings: AdaptSettings
    detector: str = NO_DETECTOR
    refits: Refits = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    has_marks: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """What was measured on the way."""

    measuring: Measuring
    grid: Sequence[ScaledOutcome]
    loop: tuple[Round, ...]
    trials: tuple[Trial, ...]
    taken: Trial | None
    search_attacker: Attacker


def concluded_proof(
    task: AdaptTask,
    plan: Countable,
    experiment: Experiment,
    proved: Proved,
    *,
    search: SearchResult | None = None,
    made: Certification | None = None,
) -> Adaptation:
    """The result of a release that is proved, with what was measured before it was taken, if anything was."""
    known, form = task.known, experiment.form(proved.scales)
    released = experiment.released(proved.scales, remap=form.remapped)
    failed = [] if search is None or made is None else unproved(search.trials, search.taken, search.measuring, made)
    split = task.split
    return Adaptation(
        settings=task.settings,
        detector=task.detector,
        mechanism=repr(released),
        tier_names=known.tiers.names,
        tiers_are_public=known.tiers.is_public,
        attacker="" if search is None else search.search_attacker.name,
        with_context=search is not None and search.search_attacker.with_context,
        documents=(len(split.fit), len(split.select), len(split.certify)),
        grid=() if search is None else tuple(search.grid),
        uniform=() if search is None else uniform_outcomes(search.grid),
        rounds=(),
        sequence=() if search is None else tuple(trial.tested for trial in search.trials),
        chosen=proved.scales,
        basis=proved.sentence,
        proof=proved.sentence,
        remapped=form.remapped and "noise" in proved.forms,
        remap_reason=form.reason if "noise" in proved.forms or form.is_repaired else "",
        exact_epsilon=released_epsilon(released),
        compared=() if search is None or made is None else tuple(_compared(search, task, made)),
        constant_loss=experiment.constant_loss,
        constant_outputs=experiment.constant_outputs,
        hypervolumes=(),
        evidence=(),
        assumptions=proof_assumptions(known, proved, form.modes),
        warnings=tuple(failed),
        tiers=tier_releases(experiment, plan, proved.scales, form),
        loss=proved.loss,
    )


def concluded(search: SearchResult, task: AdaptTask, made: Certification, plan: Countable) -> Adaptation:
    """The result of a search: what was certified, or proposed without a certificate."""
    settings, known, taken = task.settings, task.known, search.taken
    experiment = search.measuring.experiment
    certifying = made.certifying if taken is None else made.certifying.like(taken.outcome)
    released = None if taken is None else certifying.released(taken.tested.scales, remap=taken.outcome.remapped)
    attacker = search.search_attacker if taken is None else made.strongest(taken)
    remapped = taken is not None and taken.outcome.remapped
    basis = basis_in_words(taken, task.attackers)
    return Adaptation(
        settings=settings,
        detector=task.detector,
        mechanism=repr(known.mechanism if released is None else released),
        tier_names=known.tiers.names,
        tiers_are_public=known.tiers.is_public,
        attacker=attacker.name,
        with_context=attacker.with_context,
        documents=(len(task.split.fit), len(experiment.records), len(certifying.records)),
        grid=tuple(search.grid),
        uniform=uniform_outcomes(search.grid),
        rounds=search.loop,
        sequence=tuple(trial.tested for trial in search.trials),
        chosen=taken.tested.scales if taken is not None and taken.is_certified else None,
        proposed=_proposed(search),
        basis=basis,
        remapped=remapped,
        remap_reason="" if taken is None else certifying.form(taken.tested.scales, remap=remapped).reason,
        exact_epsilon=None if released is None else released_epsilon(released),
        compared=tuple(_compared(search, task, made)),
        constant_loss=experiment.constant_loss,
        constant_outputs=experiment.constant_outputs,
        left=() if taken is None else left_to_learn(taken, made),
        hypervolumes=_hypervolumes(search),
        evidence=_evidence(taken, certifying, released),
        verdict=None if taken is None else taken.judgement.verdict,
        learning=() if taken is None else taken.learning,
        assumptions=assumptions(known, made.claims, _counting(taken, attacker, task), taken.outcome if taken else None),
        warnings=warnings(search.trials, taken, search.measuring, made.goals, basis),
        tiers=()
        if taken is None
        else tier_releases(certifying, plan, taken.tested.scales, certifying.form(taken.tested.scales, remap=remapped)),
        loss=None if taken is None else taken.outcome.loss,
    )


def _compared(search: SearchResult, task: AdaptTask, made: Certification) -> list[Compared]:
    """The choice next to others, read by the attacker that stands for it."""
    attacker = search.search_attacker if search.taken is None else made.strongest(search.taken)
    return compared(search.measuring, made.certifying, search.taken, _reader(attacker, task, made.readers))


def _counting(taken: Trial | None, attacker: Attacker, task: AdaptTask) -> list[Attacker]:
    """The attackers that the result rests on: those that learned something at its scales, if any did."""
    places = () if taken is None else taken.basis.counting
    return [task.attackers[place - 1] for place in places if place] or [attacker]


def _proposed(search: SearchResult) -> Scales | None:
    """The scales of least loss that keep every goal without a rate verdict, if they beat what is certified.

    Where nothing is certified because attackers still learn, the scales that were taken.
    """
    if search.taken is not None and search.taken.growing:
        return search.taken.tested.scales
    best = least_loss([trial for trial in search.trials if trial.passes])
    return None if best is None or best.is_certified else best.tested.scales


def _reader(attacker: Attacker, task: AdaptTask, readers: Readers) -> Reader:
    """The attacker of the task that goes by this one's name, or the single release, under any mechanism."""
    mine = next((one for one in task.attackers if one.name == attacker.name), None)
    return lambda known: Own(known) if mine is None else readers.fitted(mine, known)


def _evidence(taken: Trial | None, certifying: Experiment, released: Mechanism | None) -> tuple[Evidence, ...]:
    """What `oddshift verify` computes the taken trial's certificates from again, about what is released."""
    if taken is None or released is None:
        return ()
    return taken.judgement.evidence(released.fingerprint, certifying.records.fingerprint)


def _hypervolumes(search: SearchResult) -> tuple[tuple[str, float], ...]:
    everyone = list(search.measuring.known.values())
    corner = max(p.loss for p in everyone), max(p.rate for p in everyone)
    if not corner[1]:
        return ()
    sets = {
        "uniform": uniform_outcomes(search.grid),
        **({"loop": [r.outcome for r in search.loop]} if search.loop else {}),
        "grid": [p for p in search.grid if p.admissible],
        "all": [p for p in everyone if p.admissible],
    }
    return tuple((name, hypervolume(outcomes, corner)) for name, outcomes in sets.items())


def least_loss(trials: Sequence[Trial]) -> Trial | None:
    """The trial of least loss, the last of them where several cost the same."""
    return min(reversed(trials), key=lambda trial: trial.tested.loss, default=None)

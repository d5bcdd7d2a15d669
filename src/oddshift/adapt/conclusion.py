"""What an adaptation comes to: the result of a search for certified scales, or of a proof.

What chosen scales are compared with: plain EM, one scale of equal utility and, for secret tiers, the unsafe choice.

Every choice is measured by the attacker that certified, on the same certify documents, with the exact ε of one release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from oddshift.adapt.certification import Certification, Refits, Trial, left_beside, left_to_learn
from oddshift.adapt.evaluation import Experiment, Measuring, Reader
from oddshift.adapt.goals import SCAN_LIMIT, known_epsilon
from oddshift.adapt.notes import assumptions, basis_in_words, proof_assumptions, unproved, warnings
from oddshift.adapt.proved import Countable, Proved, tier_releases
from oddshift.adapt.readers import Readers
from oddshift.adapt.result import Adaptation, Compared, Round, ScaledOutcome, Scales, TierLeft
from oddshift.adapt.search import equal_utility, hypervolume, uniform_outcomes
from oddshift.adapt.settings import AdaptSettings
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.repair import is_repaired
from oddshift.audit.claims import NO_DETECTOR
from oddshift.base.errors import NoGuarantee
from oddshift.evidence.certificates import Evidence
from oddshift.leakage.mpl import exceeds_budget, nearest_distance
from oddshift.mechanisms.forms import Formed
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.named import Family
from oddshift.mechanisms.path import PathExponential
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.records import Split
from oddshift.model.tiers import Tiers

COMPARED = 500
"""Documents on which choices are compared, at most: each is a pass, and no verdict rests on it."""


@dataclass(frozen=True, eq=False, repr=False)
class NamedScales:
    """Scales with a name, the family of mechanisms to which they belong, and whether some tiers have another form than
    noise, as the choice itself can."""

    name: str
    scales: Scales
    family: Family
    has_forms: bool = False


def choices(measuring: Measuring, chosen: Trial | None) -> list[NamedScales]:
    """EM and, where scales were chosen, those and one scale of equal utility.

    For secret tiers also the chosen scales on naive tiers, which promise nothing across tiers, and the smallest chosen
    scale for everyone, which is safe without a path metric.
    """
    known, family = measuring.experiment.known, measuring.experiment.family
    n = len(known.tiers)
    found = [NamedScales("EM", (1.0,) * n, family)]
    if chosen is None:
        return found
    scales = chosen.tested.scales
    has_forms = any(form != "noise" for form in chosen.outcome.forms) or is_repaired(chosen.outcome.repair)
    found.append(NamedScales("AmPL", scales, family, has_forms=has_forms))
    is_uniform = len(set(scales)) == 1  # then it is its own baseline
    equal = scales if is_uniform else equal_utility(measuring, chosen.outcome.loss, remap=chosen.outcome.remapped)
    found.append(NamedScales("uniform", equal, family))
    plain = family(known.tiers)
    if not known.tiers.is_public and isinstance(plain, PathExponential):
        found.append(NamedScales("naive tiers", scales, _naive(plain)))
        found.append(NamedScales("smallest scale", (min(scales),) * n, family))
    return found


def compared(measuring: Measuring, certifying: Experiment, chosen: Trial | None, read: Reader) -> list[Compared]:
    """The choices on at most COMPARED certify documents, before remapping and, unless it was ruled out, after it.

    `read` gives the attacker that stands for the choice. What coincides is measured once, and the choice was measured
    when it was tested.
    """
    certifying = certifying if chosen is None else certifying.like(chosen.outcome)
    listed, part = choices(measuring, chosen), certifying.part(COMPARED)
    remaps = (False,) if certifying.settings.remap == "never" else (False, True)
    seen: dict[tuple[Scales, bool, bool, bool], Compared] = {}
    rows: list[Compared] = []
    for choice, remap in product(listed, remaps):
        name = f"{choice.name}, remapped" if remap else choice.name
        experiment = part if choice.has_forms else replace(part.without_forms, family=choice.family)
        moves = remap and experiment.is_moved(choice.scales)
        key = (choice.scales, choice.family is certifying.family, moves, choice.has_forms)
        if key not in seen:
            exact = _exact_epsilon(experiment, choice.scales, remap=moves)
            if chosen and choice.name == "AmPL" and remap == chosen.outcome.remapped:
                found = certifying.part_of(chosen.scans[chosen.basis.strongest], COMPARED)
                outcome = part.measured(part.at(choice.scales, remap=moves), found)
            else:
                outcome = experiment.outcome(choice.scales, read, remap=moves)
            seen[key] = Compared(name=name, outcome=outcome, exact_epsilon=exact)
        rows.append(replace(seen[key], name=name))
        measuring.progress("comparing", len(rows), len(listed) * len(remaps))
    return rows


def _exact_epsilon(experiment: Experiment, scales: Scales, *, remap: bool) -> float | None:
    """The exact ε of a release; a remapping has no closed form, so that of many points is not even built."""
    if remap and len(experiment.known.mechanism.space) > SCAN_LIMIT:
        return None
    return known_epsilon(experiment.released(scales, remap=remap))


def released_epsilon(mechanism: Mechanism) -> float:
    """The exact ε of a release over the pairs that count; of many points that before remapping, which adds none."""
    noise = mechanism.inner if isinstance(mechanism, Formed) else mechanism
    if isinstance(noise, Remap) and len(noise.space) > SCAN_LIMIT:
        return noise.inner.exact_epsilon
    return mechanism.exact_epsilon


def verify_epsilon(mechanism: Mechanism, limit: float) -> float:
    """The exact ε of a mechanism over the pairs that count, refused above `limit`; before remapping, which adds none.

    **Guarantee**: computed from the mechanism that is released, not taken from its label.
    """
    noise = mechanism.inner if isinstance(mechanism, Formed) else mechanism
    plain = noise.inner if isinstance(noise, Remap) else noise
    exact = plain.exact_epsilon
    if exact > limit and exceeds_budget(exact, limit, nearest_distance(plain.space)):
        raise NoGuarantee(f"the exact epsilon of the chosen scales is {exact:.6g}, expected at most {limit:.6g}")
    return exact


def _naive(safe: PathExponential) -> Family:
    def family(tiers: Tiers) -> Mechanism:
        return Tiered(safe.space, tiers, safe.epsilon)

    return family


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdaptTask:
    """What is adapted: the split secrets, what attackers know at scales 1, the family, and fitted attackers.

    `detector` names who found the secrets. The attackers must work at any scales (`against`); the strongest on the
    select documents at scale 1 measures the frontier, and for each candidate the strongest there certifies it.
    `refits` says by name how attackers are fitted: those are fitted on half of the documents too, and scales where one
    of them still learns are not certified. `notes` say what else to know about the attackers. `has_marks` is False
    where a mark would be an empty cell: a release in which everything ignores the secret is one of surrogates there.
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
        left=_left_beside(proved, search, made),
        constant_loss=experiment.constant_loss,
        constant_outputs=experiment.constant_outputs,
        hypervolumes=(),
        evidence=(),
        assumptions=proof_assumptions(known, proved, form.modes),
        warnings=tuple(failed),
        tiers=tier_releases(experiment, plan, proved.scales, form),
        loss=proved.loss,
    )


def _left_beside(proved: Proved, search: SearchResult | None, made: Certification | None) -> tuple[TierLeft, ...]:
    """What is guessed next to releases that say nothing, as the last test measured it; of noise a bound says enough."""
    if search is None or made is None or not search.trials or "noise" in proved.forms:
        return ()
    return left_beside(search.trials[-1], made)


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

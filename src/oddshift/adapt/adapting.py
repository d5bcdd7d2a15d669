"""AmPL from beginning to end: measure the frontier, loop, freeze a sequence, certify it, compare what was chosen.

Fit documents teach the attackers, select documents choose the scales, certify documents test them: no document has
two roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from oddshift.adapt.certification import Certification, Trial, check_documents, left_to_learn, sequence, trials
from oddshift.adapt.comparison import compared, released_epsilon
from oddshift.adapt.evaluation import Experiment, Family, Measuring, Reader
from oddshift.adapt.frontier import first_scales, hypervolume, search_grid, uniform_outcomes
from oddshift.adapt.goals import SingleRelease, goals_of
from oddshift.adapt.notes import assumptions, basis_in_words, warnings
from oddshift.adapt.presets import PRESETS, Preset
from oddshift.adapt.readers import Readers
from oddshift.adapt.result import Adaptation, Round, ScaledOutcome, Scales
from oddshift.adapt.rounds import rounds, weighted
from oddshift.adapt.search import crossing
from oddshift.adapt.settings import AdaptSettings
from oddshift.adapt.size_check import Refits, half_fits, without_growing
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.paired_log_score import choosing_units
from oddshift.audit.claims import NO_DETECTOR, ClaimBuilder
from oddshift.audit.measurement import certify_uniforms
from oddshift.audit.verdict import standing, strongest
from oddshift.base.arrays import one_of
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution, Progress, silent
from oddshift.base.identity import fingerprint
from oddshift.evidence.certificates import Evidence
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records, Split

GRID_LIMIT = 20
"""Largest number of scales in a grid; the search refines them on its own."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdaptTask:
    """What is adapted: the split secrets, what attackers know at scales 1, the family, and fitted attackers.

    `detector` names who found the secrets. The attackers must work at any scales (`against`); the strongest on the
    select documents at scale 1 measures the frontier, and for each candidate the strongest there certifies it.
    `refits` says by name how attackers are fitted: those are fitted on half of the documents too, and scales where one
    of them still learns are not certified. `notes` say what else to know about the attackers.
    """

    split: Split
    known: Knowledge
    family: Family
    attackers: tuple[Attacker, ...]
    settings: AdaptSettings
    detector: str = NO_DETECTOR
    refits: Refits = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def adapt(
    task: AdaptTask, *, execution: Execution = SERIAL, folder: Path | None = None, progress: Progress = silent
) -> Adaptation:
    """Find scales of least utility loss that are certified to keep every goal, or say what was reached.

    `folder` keeps measured outcomes, so that an interrupted adaptation continues.

    **Guarantee**: the chosen scales exceed δ (as estimated by any attacker that learned) or a cap on right guesses in
    some tier with probability at most `settings.alpha`: a fixed sequence frozen on other documents, each test an
    intersection over goals, tiers and attackers.
    """
    preset = PRESETS.get(task.settings.preset)
    task = task if preset is None else replace(task, settings=preset.settings(task.settings))
    _check(task)
    settings, split = task.settings, task.split
    goals_of(settings, task.known.tiers)
    select = select_experiment(task)
    uniforms = certify_uniforms(settings.seed, split.certify)
    certifying = replace(select, records=split.certify, uniforms=uniforms)
    check_documents(split.certify, certifying)
    readers = Readers(select)
    search_attacker = _search_attacker(task, readers)
    if execution.kind != "serial":
        readers.prepare(search_attacker)
    measuring = Measuring(
        select,
        lambda known: readers.read(search_attacker, known),
        fingerprint(search_attacker),
        execution,
        folder,
        progress,
    )
    is_loop = settings.objective == "weighted"
    starts = (search_grid if is_loop else first_scales)(settings.grid, task.known.tiers.n_levels)
    first = measuring.outcomes([select.scales_of(levels) for levels in starts], "frontier")
    loop = _loop(measuring, preset)
    claims, single = ClaimBuilder(settings, task.detector, split.by), SingleRelease(split, task.family, settings)
    made = Certification(task.attackers, select, certifying, claims, readers, single)
    found = _tested(measuring, loop, made)
    if task.refits:
        found = without_growing(found, half_fits(task.refits, made), made)
    taken = _taken(found)
    grid = first if is_loop else list(measuring.known.values())
    return _concluded(_SearchResult(measuring, grid, loop, found, taken, search_attacker), task, made)


def _loop(measuring: Measuring, preset: Preset | None) -> tuple[Round, ...]:
    """The rounds of the paper's loop, under the preset if there is one; none where another objective is asked."""
    settings = measuring.experiment.settings
    if settings.objective != "weighted":
        return ()
    return tuple(rounds(measuring, weighted(settings)) if preset is None else preset.rounds(measuring))


def _tested(measuring: Measuring, loop: tuple[Round, ...], made: Certification) -> tuple[Trial, ...]:
    settings = measuring.experiment.settings
    if settings.objective == "weighted":
        candidates: tuple[ScaledOutcome, ...] = tuple(last.outcome for last in loop[-1:])
    else:
        crossing(measuring, made.goals)
        known, constant = list(measuring.known.values()), measuring.experiment.constant_loss
        candidates = sequence(known, made.goals, carried=settings.independent, constant=constant)
        if not settings.independent and not any(outcome.learned for outcome in measuring.known.values()):
            proven = (p for p in _proven(measuring, made.single) if p not in candidates)
            candidates = tuple(sorted((*candidates, *proven), key=lambda p: -p.loss))
        candidates = (*candidates, *_standing(measuring, candidates))
    done = []
    for trial in trials(candidates, made):
        done.append(trial)
        measuring.progress("certifying", len(done), len(candidates))
    return tuple(done)


def _standing(measuring: Measuring, candidates: Sequence[ScaledOutcome]) -> list[ScaledOutcome]:
    """Scale 1, also as it was drawn: the last candidates, whatever the select documents say.

    An audit tests scale 1 on the same certify documents, with the same noise, so what it certified is not refused for
    want of a test.
    """
    experiment = measuring.experiment
    settings = experiment.settings
    if max(settings.grid) < 1.0:
        return []
    (found,) = measuring.outcomes([(1.0,) * len(experiment.known.tiers)], "scale 1")
    forms = [found]
    if found.remapped and found.loss < found.plain_loss and settings.remap == "auto":
        forms = [experiment.outcome(found.scales, measuring.read, remap=False), found]
    return [form for form in forms if form not in candidates]


def _taken(found: Sequence[Trial]) -> Trial | None:
    """The certified trial of least loss; without one, that of the lowest rate whose attackers still learn, or the one
    of least loss that only lacks a rate verdict."""
    passing = [trial for trial in found if trial.passes]
    certified = [trial for trial in passing if trial.is_certified]
    growing = [trial for trial in found if trial.growing]
    if certified or not growing:
        return _least_loss(certified or passing)
    return min(growing, key=lambda trial: trial.outcome.rate)


def _least_loss(trials: Sequence[Trial]) -> Trial | None:
    """The trial of least loss, the last of them where several cost the same."""
    return min(reversed(trials), key=lambda trial: trial.tested.loss, default=None)


def _proven(measuring: Measuring, single: SingleRelease) -> list[ScaledOutcome]:
    """The outcome at the scale where a bound without a law supports a verdict, if one keeps the goals."""
    known = measuring.experiment.known
    scale = single.proven_scale(known)
    wanted = [] if scale is None else [(scale,) * len(known.tiers)]
    goals = goals_of(single.settings, known.tiers)
    return [outcome for outcome in measuring.outcomes(wanted, "proven scale") if goals.strain(outcome) <= 1.0]


@dataclass(frozen=True, eq=False, repr=False)
class _SearchResult:
    """What was measured on the way."""

    measuring: Measuring
    grid: Sequence[ScaledOutcome]
    loop: tuple[Round, ...]
    trials: tuple[Trial, ...]
    taken: Trial | None
    search_attacker: Attacker


def _concluded(search: _SearchResult, task: AdaptTask, made: Certification) -> Adaptation:
    settings, known, taken = task.settings, task.known, search.taken
    experiment, certifying = search.measuring.experiment, made.certifying
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
        remap_reason="" if taken is None else certifying.at(taken.tested.scales).form.reason,
        exact_epsilon=None if released is None else released_epsilon(released),
        compared=tuple(compared(search.measuring, certifying, taken, _reader(attacker, task, made.readers))),
        constant_loss=experiment.constant_loss,
        constant_outputs=experiment.constant_outputs,
        left=() if taken is None else left_to_learn(taken, made),
        hypervolumes=_hypervolumes(search),
        evidence=_evidence(taken, certifying, released),
        verdict=None if taken is None else taken.judgement.verdict,
        learning=() if taken is None else taken.learning,
        assumptions=assumptions(known, made.claims, _counting(taken, attacker, task), remap=remapped),
        warnings=warnings(search.trials, taken, search.measuring, made.goals, basis),
    )


def _counting(taken: Trial | None, attacker: Attacker, task: AdaptTask) -> list[Attacker]:
    """The attackers that the result rests on: those that learned something at its scales, if any did."""
    places = () if taken is None else taken.basis.counting
    return [task.attackers[place - 1] for place in places if place] or [attacker]


def _proposed(search: _SearchResult) -> Scales | None:
    """The scales of least loss that keep every goal without a rate verdict, if they beat what is certified.

    Where nothing is certified because attackers still learn, the scales that were taken.
    """
    if search.taken is not None and search.taken.growing:
        return search.taken.tested.scales
    best = _least_loss([trial for trial in search.trials if trial.passes])
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


def _hypervolumes(search: _SearchResult) -> tuple[tuple[str, float], ...]:
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


def _experiment(task: AdaptTask, records: Records, stream: int) -> Experiment:
    """An experiment: documents with their own uniforms, which a seed repeats."""
    rng = np.random.default_rng([task.settings.seed, stream])
    return Experiment(task.known, task.family, records, rng.random(len(records.points)), task.settings)


def select_experiment(task: AdaptTask) -> Experiment:
    """The experiment in which scales are compared: as many select documents as asked for, or all of them."""
    settings, select = task.settings, task.split.select
    useful = np.flatnonzero(select.lengths > 0)
    order = np.random.default_rng([settings.seed, 20]).permutation(useful)
    return _experiment(task, select.take(np.sort(order[: settings.documents])), 21)


def _search_attacker(task: AdaptTask, readers: Readers) -> Attacker:
    """The attacker that measures the frontier: the named one, or the strongest on select documents at scale 1."""
    select = readers.experiment
    named = {attacker.name: attacker for attacker in task.attackers}
    if task.settings.search_attacker:
        return named[one_of(task.settings.search_attacker, "search_attacker", tuple(named))]
    known = select.at((1.0,) * len(task.known.tiers)).known
    units = choosing_units(select.records)
    read = [readers.read(attacker, known) for attacker in task.attackers]
    standings = [standing(scores, units) for scores in select.scores(known, read)]
    return task.attackers[strongest(standings)]


def _check(task: AdaptTask) -> None:
    settings = task.settings
    if not task.attackers:
        raise InvalidInput("attackers is empty, expected at least one that works at any scales")
    if len(settings.grid) > GRID_LIMIT:
        raise InvalidInput(f"a grid of {len(settings.grid)} scales, expected at most {GRID_LIMIT}: fewer scales")
    if not any(task.split.select.lengths > 0):
        raise InvalidInput("the select records hold no secret, expected at least one")
    if settings.objective == "weighted" and not settings.rounds:
        raise InvalidInput("objective='weighted' with rounds=0 has no candidate, expected at least one round")

"""AmPL from beginning to end: measure the frontier, loop, freeze a sequence, certify it, compare what was chosen.

Fit documents teach the attackers, select documents choose the scales, certify documents test them: no document has
two roles.

The choice among certified candidates: the least loss whose attackers would not find more than δ with more documents.

All candidates that passed are certified together, so any of them may be taken. Every attacker that counts is fitted on
half of the fit documents too and read at the same scales: rate(n)²/rate(n/2) or rate(n/2) beyond δ means that the rate
belongs to this attacker and not to the data (`attackers.learning_size`). Such a candidate is not certified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from pathlib import Path

import numpy as np

from oddshift.adapt.certification import Certification, Refits, Trial, bounds_tested, sequence, trials
from oddshift.adapt.conclusion import AdaptTask, SearchResult, concluded, concluded_proof, least_loss
from oddshift.adapt.evaluation import Experiment, Measuring
from oddshift.adapt.goals import SingleRelease, goals_of
from oddshift.adapt.proved import PROVED_WORTH, Countable, Proved, check_documents, countable, proved_release
from oddshift.adapt.readers import Readers
from oddshift.adapt.release_form import KeptForms
from oddshift.adapt.repaired_forms import document_repair
from oddshift.adapt.result import Adaptation, Round, ScaledOutcome
from oddshift.adapt.rounds import PRESETS, Preset, rounds, weighted
from oddshift.adapt.search import crossing, first_scales
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.learning_size import LearningOfSize, SizeStep, half_of
from oddshift.attackers.paired_log_score import choosing_units
from oddshift.audit.claims import ClaimBuilder
from oddshift.audit.measurement import certify_uniforms
from oddshift.audit.scan import Scan
from oddshift.audit.trials import saturation_stream, size_step
from oddshift.audit.verdict import judged, standing, strongest
from oddshift.base.arrays import one_of
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution, Progress, silent
from oddshift.base.identity import fingerprint
from oddshift.evidence.certificates import Claim
from oddshift.model.nouns import nouns_of
from oddshift.model.records import Records


@dataclass(frozen=True, eq=False, repr=False)
class HalfFits:
    """Attackers fitted on half of the fit documents, read under any scales; each is fitted when it is first needed."""

    refits: Refits
    half: Knowledge
    readers: Readers
    fitted: dict[str, Attacker] = field(default_factory=dict)

    def learning(self, trial: Trial, made: Certification) -> tuple[LearningOfSize, ...]:
        """What every attacker that counts found with half of the documents and with all of them, at these scales."""
        certifying, known = made.certifying, made.situation(trial).known
        there = replace(self.half, mechanism=known.mechanism, tiers=known.tiers)
        places = [k for k in trial.basis.counting if k and made.attackers[k - 1].name in self.refits]
        names = [made.attackers[place - 1].name for place in places]
        found = certifying.measure_all(known, [self.readers.fitted(self._half_of(name), there) for name in names])
        law, truth = certifying.settings.law, certifying.records
        tiers = tuple(known.tiers.names[tier] for tier in np.unique(truth.tier_of_position(known.tiers)))

        def steps(half: Scan, full: Scan) -> tuple[SizeStep, ...]:
            sizes = ((len(self.half.fit), half), (len(known.fit), full))
            return tuple(size_step(size, each, truth, known.tiers, law) for size, each in sizes)

        rows = zip(names, found, places, strict=True)
        return tuple(LearningOfSize(name, tiers, steps(half, trial.scans[place])) for name, half, place in rows)

    def _half_of(self, name: str) -> Attacker:
        if name not in self.fitted:
            self.fitted[name] = self.refits[name](self.half)
        return self.fitted[name]


def half_fits(refits: Refits, made: Certification) -> HalfFits:
    """Fits on the half of the fit documents that an audit with the same seed takes."""
    half = half_of(made.certifying.known, saturation_stream(made.certifying.settings.seed))
    return HalfFits(refits, half, Readers(replace(made.select, known=half, forms=KeptForms())))


def without_growing(found: Sequence[Trial], smaller: HalfFits, made: Certification) -> tuple[Trial, ...]:
    """The trials, with those withheld that rest on an attacker that still learns; the least loss is tried first.

    A candidate is withheld untried where its rate, growing as at the one tried before it, would exceed δ; a rate that
    grew from nothing says nothing about the next one.
    """
    delta, kept = made.certifying.settings.delta, {id(trial): trial for trial in found}
    reason, tried_at, growth = "", "", 1.0
    for trial in sorted((t for t in reversed(found) if t.is_certified), key=lambda t: t.tested.loss):
        if reason and isfinite(growth) and growth * trial.outcome.rate > delta:
            kept[id(trial)] = withheld(trial, f"{reason}, at scales {tried_at} that were tried instead", made)
            continue
        learning = smaller.learning(trial, made)
        growing = [each for each in learning if not each.is_saturated(delta)]
        tried = replace(trial, learning=learning)
        if not growing:
            kept[id(trial)] = tried
            break
        reason, growth = growing[0].reason(delta), max(each.growth for each in growing)
        tried_at = ", ".join(f"{scale:g}" for scale in trial.tested.scales)
        kept[id(trial)] = withheld(tried, reason, made)
    return tuple(kept[id(trial)] for trial in found)


def withheld(trial: Trial, reason: str, made: Certification) -> Trial:
    """The same trial without a verdict on rates, for this reason; caps on right guesses stay."""
    size = len(made.certifying.known.fit)
    parts = tuple(
        replace(part, claim=replace(part.claim, withheld=reason, may_violate=True, unsaturated=size))
        if isinstance(part.claim, Claim)
        else part
        for part in trial.judgement.parts
    )
    judgement = judged(parts, made.claims)
    return replace(trial, judgement=judgement, growing=reason, tested=bounds_tested(trial.tested, judgement))


GRID_LIMIT = 20
"""Largest number of scales in a grid; the search refines them on its own."""


def adapt(
    task: AdaptTask, *, execution: Execution = SERIAL, folder: Path | None = None, progress: Progress = silent
) -> Adaptation:
    """Find forms and scales of least utility loss that are certified, or proved, to keep every goal.

    `folder` keeps measured outcomes, so that an interrupted adaptation continues. Where nothing can be certified, or
    what can costs more, the release is one that is proved; a task without attackers has no other.

    **Guarantee**: a proved release keeps its goals whatever the law of the secrets. Certified scales exceed δ (as
    estimated by any attacker that learned) or a cap on right guesses in some tier with probability at most
    `settings.alpha`: a fixed sequence frozen on other documents, each test an intersection over goals, tiers and
    attackers.
    """
    preset = PRESETS.get(task.settings.preset)
    task = task if preset is None else replace(task, settings=preset.settings(task.settings))
    settings, split = task.settings, task.split
    goals = goals_of(settings, task.known.tiers)
    plan = countable(settings, task.known.tiers, split.fit, split.certify)
    check_documents(plan, task.known.tiers, settings)
    repair = document_repair(task.known, settings, are_names=nouns_of(task.detector).are_names)
    select = replace(select_experiment(task), asked=plan.asked, repair=repair)
    proved = None
    if settings.objective != "weighted":
        proved = proved_release(select, plan, split, goals, has_marks=task.has_marks)
    if proved is not None and not (plan.is_possible and task.attackers):
        return concluded_proof(task, plan, replace(select, asked=proved.asked), proved)
    _check(task)
    made = _certification(task, plan, select)
    attacker = _search_attacker(task, made.readers)
    if execution.kind != "serial":
        made.readers.prepare(attacker)
    read = partial(made.readers.read, attacker)
    measuring = Measuring(select, read, fingerprint(attacker), execution, folder, progress)
    search = _searched(task, measuring, made, attacker, preset)
    if proved is not None and not _is_better(search.taken, proved, task, select):
        return concluded_proof(task, plan, replace(select, asked=proved.asked), proved, search=search, made=made)
    return concluded(search, task, made, plan)


def _certification(task: AdaptTask, plan: Countable, select: Experiment) -> Certification:
    """What candidates are tested with."""
    settings, split = task.settings, task.split
    uniforms = certify_uniforms(settings.seed, split.certify)
    certifying = replace(select, records=split.certify, uniforms=uniforms)
    claims, single = ClaimBuilder(settings, task.detector, split.by), SingleRelease(split, task.family, settings)
    few = frozenset(tier for tier, form in enumerate(plan.asked) if plan.is_few(tier) and form != "noise")
    return Certification(task.attackers, select, certifying, claims, Readers(select), single, few)


def _searched(
    task: AdaptTask, measuring: Measuring, made: Certification, attacker: Attacker, preset: Preset | None
) -> SearchResult:
    """Measure the frontier, run the loop or the search, and test what they lead to."""
    settings, select = task.settings, measuring.experiment
    is_loop = settings.objective == "weighted"
    starts = first_scales(settings.grid, task.known.tiers.n_levels)
    first = measuring.outcomes([select.scales_of(levels) for levels in starts], "frontier")
    loop = _loop(measuring, preset)
    found = _tested(measuring, loop, made)
    if task.refits:
        found = without_growing(found, half_fits(task.refits, made), made)
    grid = first if is_loop else list(measuring.known.values())
    return SearchResult(measuring, grid, loop, found, _taken(found), attacker)


def _loop(measuring: Measuring, preset: Preset | None) -> tuple[Round, ...]:
    """The rounds of the paper's loop, under the preset if there is one; none where another objective is asked."""
    settings = measuring.experiment.settings
    if settings.objective != "weighted":
        return ()
    return tuple(
        rounds(measuring, weighted(settings), start=settings.start or None)
        if preset is None
        else preset.rounds(measuring)
    )


def _tested(measuring: Measuring, loop: tuple[Round, ...], made: Certification) -> tuple[Trial, ...]:
    settings = measuring.experiment.settings
    if settings.objective == "weighted":
        candidates: tuple[ScaledOutcome, ...] = tuple(last.outcome for last in loop[-1:])
    else:
        crossing(measuring, made.goals)
        known, constant = list(measuring.known.values()), measuring.experiment.constant_loss
        candidates = sequence(known, made.goals, carried=settings.independent, constant=constant)
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
        return least_loss(certified or passing)
    return min(growing, key=lambda trial: trial.outcome.rate)


def _is_better(taken: Trial | None, proved: Proved, task: AdaptTask, select: Experiment) -> bool:
    """Whether a release is certified and costs less than one that is proved, wherever its loss was measured."""
    if taken is None or not taken.is_certified:
        return False
    most = proved.loss if task.has_marks else min(proved.loss, PROVED_WORTH * select.constant_loss)
    return max(taken.tested.loss, taken.outcome.loss) < most


def _experiment(task: AdaptTask, records: Records, stream: int) -> Experiment:
    """An experiment: documents with their own uniforms, which a seed repeats."""
    rng = np.random.default_rng([task.settings.seed, stream])
    return Experiment(task.known, task.family, records, rng.random(len(records.points)), task.settings)


def select_experiment(task: AdaptTask) -> Experiment:
    """The experiment in which scales are compared: as many select documents as asked for, or all of them."""
    settings, select = task.settings, task.split.select
    useful = np.flatnonzero(select.lengths > 0) if any(select.lengths > 0) else np.arange(1)
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
    levels = task.known.tiers.n_levels
    if settings.start and len(settings.start) != levels:
        raise InvalidInput(f"start={settings.start}, expected one scale for each of {levels} levels of sensitivity")

"""The two questions, answered for prepared data: what do attackers learn, and which noise keeps that in budget?

Python and the command line both come through here, so that they cannot give different answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshift.adapt import Adaptation, AdaptSettings, AdaptTask, Family, adapt
from oddshift.adapt.evaluation import scale_family
from oddshift.adapt.proved import countable
from oddshift.app.attacker_choice import AskedAttacker, fit_attackers, named_attackers, refittable
from oddshift.app.measured_use import check_use, measured_use
from oddshift.app.policy_from_result import adapted_policy, audited_policy, why_no_policy
from oddshift.app.preparation import Prepared
from oddshift.app.resources import Means
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, Retrained, knowledge
from oddshift.attackers.learning_size import Refittable
from oddshift.audit import Audit, AuditSettings, audit
from oddshift.audit.proven import Proven, bound_under_chain, bound_without_law
from oddshift.audit.released_table import ReleasedTable, release_sentences
from oddshift.audit.replacement_counts import DataFate
from oddshift.audit.settings import CpuLimit, fit_within, rows_within, within_cpu
from oddshift.base.execution import silent
from oddshift.data.codecs import TableCodec, TextCodec
from oddshift.mechanisms import Mechanism, MechanismSettings, build_mechanism
from oddshift.mechanisms.remap import Remap
from oddshift.model.records import Records
from oddshift.protect.measurement import FEW_ROWS, MOST_ROWS, column_odds, drawn_release
from oddshift.protect.policies import Policy

COSTS = {"text": "cosine", "vectors": "cosine", "location": "haversine", "table": "euclidean", "records": "euclidean"}
"""What a changed value costs by default, by kind of data."""


@dataclass(frozen=True, eq=False, repr=False)
class Audited:
    """An audit, what it was computed with, and the policy of a certified mechanism that has no scales to adapt."""

    result: Audit
    prepared: Prepared
    known: Knowledge
    attackers: tuple[Attacker, ...]
    policy: Policy | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Adapted:
    """An adaptation, its data, and the policy that it leads to, if any; `why` says why there is none."""

    result: Adaptation
    prepared: Prepared
    policy: Policy | None
    why: str


def ask_audit(
    prepared: Prepared,
    mechanism: MechanismSettings | Mechanism,
    settings: AuditSettings,
    *,
    attackers: Sequence[AskedAttacker] | None = None,
    means: Means | None = None,
) -> Audited:
    """Fit the attackers and measure what they learn from releases; `attackers` are by default those of the settings."""
    check_use(prepared, settings)
    work, named = means or Means(), settings.attackers if attackers is None else attackers
    asked, without = named_attackers(named, prepared, settings, work.limit)
    seconds = None if work.limit is None else work.limit.left / 4.0
    options = FitOptions(epochs=settings.epochs, max_seconds=seconds, checkpoints=work.folder, paper=settings.paper)
    plain, limited = replace(options, checkpoints=None), without

    def trial(some: Prepared) -> list[Attacker]:
        return fit_attackers(asked, knowledge_of(some, mechanism, settings.epsilon), some, settings, plain)

    def again(name: str, some: Knowledge) -> Attacker:
        return fit_attackers([name], some, prepared, settings, plain, means=replace(work, progress=silent))[0]

    if work.limit is not None:
        prepared, fewer = _fewer_to_fit(prepared, trial, work.limit, settings.seed)
        limited = (*limited, *fewer)
    known = knowledge_of(prepared, mechanism, settings.epsilon)
    fitted = fit_attackers(asked, known, prepared, settings, options, means=work)
    split = prepared.split
    if work.limit is not None:
        split, note = within_cpu(split, known, fitted, work.limit, settings.seed)
        limited = (*limited, *([note] if note else []))
    learns = settings.delta is not None and settings.gamma is None  # otherwise no fit on fewer documents is needed
    found = audit(
        split,
        known,
        refittable(asked, fitted, again) if learns else fitted,
        settings,
        detector=prepared.detector,
        proven=_proven(settings, known, replace(prepared, split=split)),
        execution=work.execution,
        folder=work.folder,
        progress=work.progress,
    )
    work.progress("measuring a release", 0, 0)
    release, details = _released(prepared, known.mechanism, settings.seed, work.limit)
    fate = _fate(prepared, known.mechanism, settings.seed)
    use = measured_use(prepared, known, settings, COSTS.get(prepared.kind, "euclidean"))
    said = (*prepared.notes, *limited, *details, *(() if use is None else use.sentences()))
    found = replace(found, release=release, fate=fate, use=use, warnings=(*found.warnings, *said))
    return Audited(found, prepared, known, tuple(fitted), audited_policy(found, prepared, known, mechanism))


def _fewer_to_fit(
    prepared: Prepared, fit: Callable[[Prepared], object], limit: CpuLimit, seed: int
) -> tuple[Prepared, tuple[str, ...]]:
    """The data with as many fit documents as the limit allows attackers to learn from, and a line that says so."""

    def with_fit(some: Records) -> Prepared:
        return replace(prepared, split=replace(prepared.split, fit=some))

    rng = np.random.default_rng([seed, 9])
    found, note = fit_within(prepared.split.fit, lambda some: fit(with_fit(some)), limit, rng)
    return with_fit(found), (note,) if note else ()


def ask_adapt(
    prepared: Prepared,
    mechanism: MechanismSettings,
    settings: AdaptSettings,
    *,
    attackers: Sequence[AskedAttacker] | None = None,
    means: Means | None = None,
) -> Adapted:
    """Find the scales of least loss whose leakage is certified, and the policy that applies them."""
    work = means or Means()
    task = adapt_task(prepared, mechanism, settings, attackers=attackers, means=work)
    found = adapt(task, execution=work.execution, folder=work.folder, progress=work.progress)
    found = replace(found, warnings=(*found.warnings, *task.notes, *prepared.notes))
    if found.scales is None:
        return Adapted(found, prepared, None, "no scales were certified: undecided is not a pass")
    missing = why_no_policy(prepared)
    if missing:
        return Adapted(found, prepared, None, missing)
    why = "" if found.chosen is not None else f"not certified: {found.basis}"
    policy = adapted_policy(found, task, prepared, mechanism)
    released = policy.mechanism()
    release, details = _released(prepared, released, settings.seed)
    fate = _fate(prepared, released, settings.seed)
    found = replace(found, release=release, fate=fate, warnings=(*found.warnings, *details))
    return Adapted(found, prepared, policy, why)


def _fate(prepared: Prepared, mechanism: Mechanism, seed: int) -> DataFate | None:
    """What happened to the data: counted in a release that is drawn for this."""
    return None if prepared.found is None else prepared.found.fate(mechanism, np.random.default_rng([seed, 8]))


def _released(
    prepared: Prepared, mechanism: Mechanism, seed: int, limit: CpuLimit | None = None
) -> tuple[ReleasedTable | None, tuple[str, ...]]:
    """What leaves a table: a release that is drawn and measured, also in detail, and what ε means."""
    codec, columns = prepared.codec, prepared.columns
    if not isinstance(codec, TableCodec) or columns is None:
        return None, ()

    def drawn(rows: int) -> ReleasedTable | None:
        return drawn_release(codec, columns, mechanism, np.random.default_rng([seed, 5]), rows)

    found = drawn(MOST_ROWS if limit is None else rows_within(drawn, FEW_ROWS, MOST_ROWS, limit))
    return found, (*column_odds(codec, mechanism), *(() if found is None else release_sentences(found)))


def adapt_task(
    prepared: Prepared,
    mechanism: MechanismSettings,
    settings: AdaptSettings,
    *,
    attackers: Sequence[AskedAttacker] | None = None,
    means: Means | None = None,
) -> AdaptTask:
    """The task of an adaptation, attackers fitted for all scales; the folder of `means` keeps interrupted training."""
    asked = replace(settings, cost=settings.cost or COSTS.get(prepared.kind, "euclidean"))  # type: ignore[arg-type]
    if mechanism.name == "mask":
        mechanism, asked = MechanismSettings(), replace(asked, forms={"*": "mark"})
    family = scale_family(mechanism, prepared.split.fit.space, prepared.tiers, settings.epsilon)
    tiers = prepared.tiers.with_scales((1.0,) * len(prepared.tiers))
    known = knowledge(family(tiers), tiers, prepared.split.fit)
    work = means or Means()
    if asked.objective == "certified" and not countable(asked, tiers, prepared.split.certify).is_possible:
        return AdaptTask(
            split=prepared.split, known=known, family=family, attackers=(), settings=asked, detector=prepared.detector
        )
    named, without = named_attackers(settings.attackers if attackers is None else attackers, prepared, asked)
    fit = _retrained(work) if settings.retrain else _amortised(family, work)
    again = replace(work, folder=None, progress=silent)
    refit = _retrained(again) if settings.retrain else _amortised(family, again)
    fitted = tuple(fit(named, known, prepared, asked))
    known_by = refittable(named, fitted, lambda name, some: refit([name], some, prepared, asked)[0])
    refits = {each.attacker.name: each.fit for each in known_by if isinstance(each, Refittable)}
    return AdaptTask(
        split=prepared.split,
        known=known,
        family=family,
        attackers=fitted,
        settings=asked,
        detector=prepared.detector,
        refits=refits if settings.gamma is None else {},
        notes=without,
    )


Fit = Callable[[Sequence[AskedAttacker], Knowledge, Prepared, AdaptSettings], list[Attacker]]


def _amortised(family: Family, means: Means) -> Fit:
    """Attackers fitted once; networks for all scales of the grid, which is the one of an audit where scale 1 is all."""

    def fit(
        names: Sequence[AskedAttacker], known: Knowledge, prepared: Prepared, asked: AdaptSettings
    ) -> list[Attacker]:
        options = FitOptions(epochs=asked.epochs, checkpoints=means.folder, paper=asked.paper)
        if set(asked.grid) != {1.0}:
            options = replace(options, family=family, scale_range=(min(asked.grid), max(asked.grid)))
        return fit_attackers(names, known, prepared, asked, options, means=means)

    return fit


def _retrained(means: Means) -> Fit:
    """Attackers that are fitted again for all scales that are measured, as in the paper."""

    def fit(
        names: Sequence[AskedAttacker], known: Knowledge, prepared: Prepared, asked: AdaptSettings
    ) -> list[Attacker]:
        options = FitOptions(epochs=asked.epochs, checkpoints=means.folder, paper=asked.paper)

        def alone(name: AskedAttacker) -> Callable[[Knowledge], Attacker]:
            known_fits = replace(means, fits=dict(means.fits))
            return lambda there: fit_attackers([name], there, prepared, asked, options, means=known_fits)[0]

        fits = [alone(name) for name in names]
        return [Retrained(each, each(known)) for each in fits]

    return fit


def knowledge_of(prepared: Prepared, mechanism: MechanismSettings | Mechanism, epsilon: float) -> Knowledge:
    """What attackers know: the mechanism, the tiers with its scales, and the fit part."""
    split, tiers = prepared.split, prepared.tiers
    if isinstance(mechanism, Mechanism):
        made = mechanism
    else:
        is_wordy = mechanism.outputs == "words" or mechanism.name == "noise_character"
        words = prepared.codec.output_words if is_wordy and isinstance(prepared.codec, TextCodec) else None
        made = build_mechanism(mechanism, split.fit.space, tiers, epsilon, words)
        tiers = tiers if mechanism.scales is None else tiers.with_scales(mechanism.scales)
        if mechanism.remap:
            made = Remap(made, knowledge(made, tiers, split.fit).weights, COSTS.get(prepared.kind, "euclidean"))
    return knowledge(made, tiers, split.fit)


def _proven(settings: AuditSettings, known: Knowledge, prepared: Prepared) -> Proven | None:
    """The proven bound that was asked for, if any; outputs that never depend on the secret have one without asking."""
    says_nothing = known.mechanism.claimed_epsilon == 0.0
    if settings.upper is None and not says_nothing:
        return None
    if settings.upper == "diameter" or says_nothing:
        return bound_without_law(known, prepared.split)
    return bound_under_chain(known, prepared.split, prepared.prior_of)

"""A run: data, a mechanism and resources, of which both questions can be asked, in Python and by the command line.

What do attackers learn, and which noise keeps that in budget? Built from a file or from objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from oddshift.adapt import AdaptSettings, AdaptTask, Family, adapt
from oddshift.adapt.proved import countable
from oddshift.app.attacker_choice import AskedAttacker, check_amortised, fit_attackers, named_attackers, refittable
from oddshift.app.display import expected_lines
from oddshift.app.release_quality import check_use, illustrate, measured_use
from oddshift.app.resources import CpuLimit, Means, fit_within, level_of_question, rows_within, within_cpu
from oddshift.app.results import AdaptRun, AuditRun, adapted_policy, audited_policy, why_no_policy, with_user_limit
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, Retrained, knowledge
from oddshift.attackers.learning_size import Refittable
from oddshift.audit import AuditSettings, audit
from oddshift.audit.proven import Proven, bound_under_chain, bound_without_law
from oddshift.audit.release_use import DataFate
from oddshift.audit.released_table import ReleasedTable, release_sentences
from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import silent
from oddshift.data.codecs.coverage import unchanged
from oddshift.data.preparation import Prepared
from oddshift.mechanisms import Composition, Mechanism, MechanismSettings, build_mechanism
from oddshift.mechanisms.named import scale_family
from oddshift.mechanisms.remap import Remap
from oddshift.model.nouns import Nouns, nouns_of
from oddshift.model.records import Records, Split
from oddshift.protect.ledger.terms import UserLimit
from oddshift.protect.measurement import FEW_ROWS, MOST_ROWS, column_odds, drawn_release
from oddshift.protect.policies import Policy
from oddshift.protect.release import ReleasePolicy
from oddshift.protect.repair import shown_points

COSTS = {"text": "cosine", "vectors": "cosine", "location": "haversine", "table": "euclidean", "records": "euclidean"}
"""What a changed value costs by default, by kind of data."""


Shown = Callable[[Records], IntArray]
"""What records come out as."""

Settings = TypeVar("Settings", AuditSettings, AdaptSettings)


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Prepared data, the mechanism that is asked about, and the resources that an answer may use.

    `configuration` is the question as the text of a file, which results keep; `users` limits what the releases of a
    user may spend, and `ledger` names the server that records them; both go into policies.
    """

    prepared: Prepared
    mechanism: MechanismSettings | Mechanism
    means: Means = field(default_factory=Means)
    configuration: str = ""
    users: UserLimit | None = None
    ledger: str = ""

    def at_level(self, asked: Settings, folder: Path, data: str, question: str) -> tuple[Run, Settings]:
        """The run with a note, and the question at its level, among those asked of the same data around a folder."""
        found = level_of_question(folder, data, question, asked.alpha)
        notes = (*self.prepared.notes, found.note) if found.note else self.prepared.notes
        return replace(self, prepared=replace(self.prepared, notes=notes)), replace(asked, alpha=found.level)

    def audit(
        self, settings: AuditSettings, attackers: Sequence[AskedAttacker] | None = None, *, keep_examples: bool = False
    ) -> AuditRun:
        """Fit the attackers and measure what they learn; `attackers` are by default those of the settings.

        `keep_examples` also keeps what the strongest attacker believes about a few documents: these are SECRETS.
        """
        check_use(self.prepared, settings)
        _refuse_few(self.prepared.split, nouns_of(self.prepared.detector))
        work, named = self.means, settings.attackers if attackers is None else attackers
        asked, without = named_attackers(named, self.prepared, settings)
        prepared, known, fitted, limited = self._fitted(asked, settings)
        split = prepared.split
        if work.limit is not None:
            split, note = within_cpu(split, known, fitted, work.limit, settings.seed)
            limited = (*limited, *([note] if note else []))
        found = audit(
            split,
            known,
            self._refittable(asked, fitted, settings) if settings.delta is not None else fitted,
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
        said = (*prepared.notes, *without, *limited, *details, *(() if use is None else use.sentences()))
        found = replace(found, release=release, fate=fate, use=use, warnings=(*found.warnings, *said))
        shown = illustrate(found, prepared, known, fitted, with_secrets=keep_examples)
        policy = audited_policy(found, prepared, known, self.mechanism)
        return AuditRun(found, self.configuration, shown, self._release_policy(policy))

    def adapt(self, settings: AdaptSettings, attackers: Sequence[AskedAttacker] | None = None) -> AdaptRun:
        """Find the scales of least loss whose leakage is certified, and the policy that applies them."""
        if isinstance(self.mechanism, Mechanism):
            raise InvalidInput(
                "mechanism is an object with fixed noise, expected a name or settings, because the noise is adapted"
            )
        prepared, work = self.prepared, self.means
        task = adapt_task(prepared, self.mechanism, settings, attackers=attackers, means=work)
        found = adapt(task, execution=work.execution, folder=work.folder, progress=work.progress)
        found = replace(found, warnings=(*found.warnings, *task.notes, *prepared.notes))
        why = why_no_policy(prepared)
        if found.scales is None:
            why = "no scales were certified: undecided counts as not certified"
        if why:
            return AdaptRun(found, None, why, self.configuration)
        policy = adapted_policy(found, task, prepared, self.mechanism)
        released = policy.mechanism()
        shown = None
        if policy.terms.repair is not None:
            shown = partial(shown_points, policy, released, rng=np.random.default_rng([settings.seed, 8]))
        release, details = _released(prepared, released, settings.seed, shown=shown)
        fate = _fate(prepared, released, settings.seed, shown)
        found = replace(found, release=release, fate=fate, warnings=(*found.warnings, *details))
        terms = replace(policy.terms, sentences=tuple(expected_lines(found)))
        made = self._release_policy(replace(policy, terms=terms))
        if found.chosen is None:
            return AdaptRun(found, None, f"not certified: {found.basis}", self.configuration, proposal=made)
        return AdaptRun(found, made, "", self.configuration)

    def _release_policy(self, policy: Policy | None) -> ReleasePolicy | None:
        return None if policy is None else ReleasePolicy(with_user_limit(policy, self.users, self.ledger))

    def _options(self, settings: AuditSettings) -> FitOptions:
        limit, folder = self.means.limit, self.means.folder
        seconds = None if limit is None else limit.left / 4.0
        return FitOptions(epochs=settings.epochs, max_seconds=seconds, checkpoints=folder, paper=settings.paper)

    def _fitted(
        self, asked: Sequence[AskedAttacker], settings: AuditSettings
    ) -> tuple[Prepared, Knowledge, list[Attacker], tuple[str, ...]]:
        """The attackers, fitted on as many documents as a limit allows, with the data that are left and notes."""
        prepared, work, options = self.prepared, self.means, self._options(settings)
        notes: tuple[str, ...] = ()
        if work.limit is not None:
            plain = replace(options, checkpoints=None)

            def trial(some: Prepared) -> list[Attacker]:
                known = knowledge_of(some, self.mechanism, settings.epsilon)
                return fit_attackers(asked, known, some, settings, plain)

            prepared, notes = _fewer_to_fit(prepared, trial, work.limit, settings.seed)
        known = knowledge_of(prepared, self.mechanism, settings.epsilon)
        return prepared, known, fit_attackers(asked, known, prepared, settings, options, means=work), notes

    def _refittable(
        self, asked: Sequence[AskedAttacker], fitted: Sequence[Attacker], settings: AuditSettings
    ) -> list[Attacker | Refittable]:
        """The attackers, together with how each is fitted again on fewer documents."""
        plain, quiet = replace(self._options(settings), checkpoints=None), replace(self.means, progress=silent)

        def again(name: str, some: Knowledge) -> Attacker:
            return fit_attackers([name], some, self.prepared, settings, plain, means=quiet)[0]

        return refittable(asked, fitted, again)


FEWEST = 5
"""Units with a secret that an attacker learns from, at least; the other two parts need one each."""


def _refuse_few(split: Split, nouns: Nouns) -> None:
    """Refuse to measure anything on next to nothing, and say what needs no counting."""
    fit, *others = (len(np.unique(part.clusters[np.diff(part.offsets) > 0])) for part in split.parts)
    if fit < FEWEST or not all(others):
        raise InvalidInput(
            f"{fit + sum(others)} {nouns.records} with a secret are too few to measure anything, expected at least "
            f"{FEWEST} to learn from and one in each other part; oddshift adapt needs none: it ends in a proved release"
        )


def _fewer_to_fit(
    prepared: Prepared, fit: Callable[[Prepared], object], limit: CpuLimit, seed: int
) -> tuple[Prepared, tuple[str, ...]]:
    """The data with as many fit documents as the limit allows attackers to learn from, and a line that says so."""

    def with_fit(some: Records) -> Prepared:
        return replace(prepared, split=replace(prepared.split, fit=some))

    rng = np.random.default_rng([seed, 9])
    found, note = fit_within(prepared.split.fit, lambda some: fit(with_fit(some)), limit, rng)
    return with_fit(found), (note,) if note else ()


def _fate(prepared: Prepared, mechanism: Mechanism, seed: int, shown: Shown | None = None) -> DataFate | None:
    """What happened to the data: counted in a release that is drawn for this."""
    if prepared.found is None:
        return None
    stays = None if shown is None else unchanged(prepared.split, shown)
    return prepared.found.fate(mechanism, np.random.default_rng([seed, 8]), stays)


def _released(
    prepared: Prepared,
    mechanism: Mechanism,
    seed: int,
    limit: CpuLimit | None = None,
    shown: Shown | None = None,
) -> tuple[ReleasedTable | None, tuple[str, ...]]:
    """What leaves a table: a release that is drawn and measured, also in detail, and what ε means."""
    codec, columns = prepared.codec, prepared.columns
    if codec is None or columns is None:
        return None, ()

    def drawn(rows: int) -> ReleasedTable | None:
        return drawn_release(codec, columns, mechanism, np.random.default_rng([seed, 5]), rows, shown=shown)

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
    task = AdaptTask(
        split=prepared.split,
        known=known,
        family=family,
        attackers=(),
        settings=asked,
        detector=prepared.detector,
        has_marks=prepared.kind != "table" or asked.mark_cost is not None,
    )
    parts = prepared.split.fit, prepared.split.certify
    if asked.objective == "certified" and not countable(asked, tiers, *parts).is_possible:
        return task
    named, without = named_attackers(settings.attackers if attackers is None else attackers, prepared, asked)
    fitting, work = _Fitting(prepared, asked, family), means or Means()
    fitted, quiet = fitting.attackers(named, known, work), replace(work, folder=None, progress=silent)
    if not settings.retrain:
        without = (*without, *check_amortised(named, fitted, prepared, asked, family))
    known_by = refittable(named, fitted, lambda name, some: fitting.attackers([name], some, quiet)[0])
    refits = {each.attacker.name: each.fit for each in known_by if isinstance(each, Refittable)}
    return replace(task, attackers=tuple(fitted), refits=refits, notes=without)


@dataclass(frozen=True, eq=False, repr=False)
class _Fitting:
    """How the attackers of an adaptation are fitted: networks once for all scales of its grid, or again at each scale.

    Where scale 1 is all of the grid, an attacker is the one of an audit.
    """

    prepared: Prepared
    asked: AdaptSettings
    family: Family

    def attackers(self, names: Sequence[AskedAttacker], known: Knowledge, means: Means) -> list[Attacker]:
        """Every attacker of these names."""
        asked = self.asked
        options = FitOptions(epochs=asked.epochs, checkpoints=means.folder, paper=asked.paper)
        if asked.retrain:
            return [self._retrained(name, known, options, means) for name in names]
        if set(asked.grid) != {1.0}:
            options = replace(options, family=self.family, scale_range=(min(asked.grid), max(asked.grid)))
        return fit_attackers(names, known, self.prepared, asked, options, means=means)

    def _retrained(self, name: AskedAttacker, known: Knowledge, options: FitOptions, means: Means) -> Attacker:
        """One attacker that is fitted again at all scales that are measured, as in the paper."""
        alone = replace(means, fits=dict(means.fits))

        def fit(there: Knowledge) -> Attacker:
            return fit_attackers([name], there, self.prepared, self.asked, options, means=alone)[0]

        return Retrained(fit, fit(known))


def knowledge_of(prepared: Prepared, mechanism: MechanismSettings | Mechanism, epsilon: float) -> Knowledge:
    """What attackers know: the mechanism, the tiers with its scales, and the fit part."""
    split, tiers = prepared.split, prepared.tiers
    if isinstance(mechanism, Mechanism):
        made = mechanism
    else:
        is_wordy = mechanism.outputs == "words" or mechanism.name == "noise_character"
        words = prepared.codec.output_words if is_wordy and prepared.codec is not None else None
        made = build_mechanism(mechanism, split.fit.space, tiers, epsilon, words)
        tiers = tiers if mechanism.scales is None else tiers.with_scales(mechanism.scales)
        if mechanism.remap:
            made = Remap(made, knowledge(made, tiers, split.fit).weights, COSTS.get(prepared.kind, "euclidean"))
        made = Composition(made, mechanism.releases) if mechanism.releases > 1 else made
    return knowledge(made, tiers, split.fit)


def _proven(settings: AuditSettings, known: Knowledge, prepared: Prepared) -> Proven | None:
    """The proven bound that was asked for, if any; outputs that never depend on the secret have one without asking."""
    says_nothing = known.mechanism.claimed_epsilon == 0.0
    if settings.upper is None and not says_nothing:
        return None
    if settings.upper == "diameter" or says_nothing:
        return bound_without_law(known, prepared.split)
    return bound_under_chain(known, prepared.split, prepared.prior_of)

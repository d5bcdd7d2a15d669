"""The baseline of a watch: what windows are measured with, and the certify documents of the run as window zero.

It is made once, from the data and the configuration of the run, and kept in its folder, readable by its owner alone:
the fitted attackers and the vocabulary are SECRETS. Later windows need neither the data nor any fitting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.attacker_choice import fit_attackers, named_attackers
from oddshift.app.resources import Means
from oddshift.app.run import knowledge_of
from oddshift.app.run_folder import PRIVATE
from oddshift.app.watch.windows import Watcher, window_values
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.paired_log_score import units_of
from oddshift.audit.recalibration import recalibrated
from oddshift.audit.scan import Budget, scores
from oddshift.audit.settings import DEFAULT_ATTACKERS, AuditSettings
from oddshift.audit.verdict import basis_of, standing
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.base.safe_serialization import can_be_stored, load_graph, save_graph
from oddshift.data.codecs import CODECS
from oddshift.data.dataset import Dataset
from oddshift.data.preparation import Prepared
from oddshift.mechanisms import Mechanism, MechanismSettings
from oddshift.model.release import perturb
from oddshift.protect.policies import Policy

WATCH = ".watch"
"""Where a run folder keeps its baseline."""

BASELINE = "baseline.npz"


@dataclass(frozen=True, eq=False, repr=False)
class Baseline:
    """What windows are measured with, in a form that a file can hold, and the values of window zero by series.

    `policy` is the digest of the standing policy, empty where a run has an audit only: then the audited mechanism
    stands. `reference` has the values of every series on the certify documents of the run.
    """

    policy: str
    codec_kind: str
    codec_settings: Any
    vocabulary: Any
    budget: Budget
    attackers: tuple[Attacker, ...]
    settings: AuditSettings
    units: int
    reference: Mapping[str, FloatArray]
    notes: tuple[str, ...]

    @property
    def watcher(self) -> Watcher:
        """The same, ready to measure; the codec is made as a policy makes it."""
        budget = self.budget
        codec = CODECS[self.codec_kind].from_policy(self.codec_settings, self.vocabulary, budget.space, budget.tiers)
        return Watcher(codec, budget, self.attackers, self.settings)

    @property
    def key(self) -> str:
        """Names the baseline by its content."""
        return fingerprint(("baseline", self.policy, self.budget, self.settings, dict(self.reference)))


def make_baseline(
    prepared: Prepared,
    mechanism: MechanismSettings | Mechanism,
    settings: AuditSettings,
    policy: Policy | None,
    fits: dict[str, Attacker],
) -> Baseline:
    """Fit the attackers of a run (those in `fits` are not fitted again) and measure window zero.

    Attackers that learned something on the select documents are kept, recalibrated there, the strongest first.
    """
    if prepared.codec is None or prepared.certify_rows is None:
        raise InvalidInput("the run is about records or the embedded corpus, expected data that can be read again")
    codec_settings, vocabulary = prepared.codec.to_policy()
    known = _known(prepared, mechanism, settings, policy)
    attackers, notes = _attackers(prepared, known, settings, fits)
    budget = Budget(known.mechanism, known.tiers, settings.epsilon)
    codec = prepared.codec
    zero = Dataset(prepared.certify_rows, codec.settings, "the certify part")
    first = window_values(Watcher(codec, budget, attackers, settings), zero, np.random.default_rng([settings.seed, 31]))
    return Baseline(
        "" if policy is None else policy.sha256,
        codec.kind,
        codec_settings,
        vocabulary,
        budget,
        attackers,
        settings,
        first.units,
        first.values,
        notes,
    )


def _known(
    prepared: Prepared, mechanism: MechanismSettings | Mechanism, settings: AuditSettings, policy: Policy | None
) -> Knowledge:
    """What attackers know: the mechanism of the policy, or the audited one where there is no policy."""
    if policy is None:
        return knowledge_of(prepared, mechanism, settings.epsilon)
    if policy.space.points.tobytes() != prepared.split.fit.space.points.tobytes():
        raise InvalidInput("the policy has other points than the data of the run, expected the policy of these data")
    return knowledge(policy.mechanism(), policy.tiers, prepared.split.fit)


def _attackers(
    prepared: Prepared, known: Knowledge, settings: AuditSettings, fits: dict[str, Attacker]
) -> tuple[tuple[Attacker, ...], tuple[str, ...]]:
    """The attackers that count, recalibrated, the strongest first; the single release where none learned anything."""
    options = FitOptions(epochs=settings.epochs, paper=settings.paper)
    named, without = named_attackers(settings.attackers, prepared, settings)
    fitted = fit_attackers(named, known, prepared, settings, options, means=Means(fits=fits))
    kept, notes = [attacker for attacker in fitted if can_be_stored(attacker)], list(without)
    if len(kept) < len(fitted):
        notes.append(f"{len(fitted) - len(kept)} of {len(fitted)} attackers cannot be kept in a file and do not watch")
    if not kept:
        named, _ = named_attackers(DEFAULT_ATTACKERS, prepared, settings)
        kept = fit_attackers(named, known, prepared, settings, options, means=Means(fits=fits))
    everyone: list[Attacker] = [Own(known), *kept]
    truth, budget = prepared.split.select, Budget(known.mechanism, known.tiers, settings.epsilon)
    release = perturb(truth, known.mechanism, known.tiers, np.random.default_rng([settings.seed, 30]))
    units = units_of(truth)
    basis = basis_of([standing(scores(each, release, truth, budget), units) for each in everyone], 0, "")
    places = dict.fromkeys((basis.strongest, *basis.counting))
    if not basis.counting:
        notes.append("no attacker learned anything from reading secrets together: the single release is watched")
    return tuple(recalibrated(everyone[place], release, truth, budget) for place in places), tuple(notes)


def save_baseline(folder: Path, baseline: Baseline) -> None:
    """Keep a baseline where only its owner can read it."""
    home = folder / WATCH
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    save_graph(home / BASELINE, replace(baseline, reference=dict(baseline.reference)), mode=PRIVATE)


def read_baseline(folder: Path) -> Baseline | None:
    """The baseline of a run folder; None where there is none yet."""
    path = folder / WATCH / BASELINE
    if not path.is_file():
        return None
    found = load_graph(path)
    if not isinstance(found, Baseline):
        raise InvalidInput(f"{path} holds no baseline, expected the one that watching wrote")
    return found

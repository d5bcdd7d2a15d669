"""The audit of a configuration from beginning to end: load, fit, audit, keep; interrupted, it continues."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from oddshift.app.configuration import Config, parse_config
from oddshift.app.inputs import inputs_of
from oddshift.app.loading import Loaded, build_mechanism, fit_attackers, load_data, prove
from oddshift.app.runs import (
    AUDIT,
    EXAMPLES,
    PARTS,
    read_run,
    refuse_other_run,
    write_belief,
    write_examples,
    write_run,
)
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.audit import Audit, AuditSettings, audit
from oddshift.audit.belief import belief
from oddshift.audit.cpu_limit import within_cpu
from oddshift.audit.examples import examples
from oddshift.base.execution import Execution
from oddshift.data.codecs.passages import Passage, passages
from oddshift.model.records import Records
from oddshift.model.release import perturb

EXAMPLE_DOCUMENTS = 10
"""Documents among which the report's example is the worst, and whose secrets are kept when they are asked for."""

EXAMPLE_TEXTS = 3
"""Texts among them that are kept as they read before and after."""


def run_audit(
    text: str,
    folder: Path,
    source: str = "configuration",
    *,
    beside: Path | None = None,
    max_cpu: float | None = None,
    keep_examples: bool = False,
) -> Audit:
    """Run the audit that a configuration describes and keep it in `folder`; a finished run is read, not repeated.

    `beside` is the folder in which relative paths are looked up first: that of the configuration file.
    `max_cpu` bounds the work, in CPU seconds: half for the training of networks, the rest for the audit.
    `keep_examples` also writes what the strongest attacker believes about a few documents: these are secrets.
    """
    config = parse_config(text, source, beside)
    inputs = inputs_of(config)
    refuse_other_run(folder, inputs)
    if _is_finished(folder, keep_examples):
        return read_run(folder)
    loaded = load_data(config)
    mechanism, tiers = build_mechanism(config.mechanism, loaded)
    known = knowledge(mechanism, tiers, loaded.split.fit)
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    seconds = None if max_cpu is None else max_cpu / 2
    options = FitOptions(epochs=config.audit.epochs, max_seconds=seconds, checkpoints=folder / PARTS)
    attackers = fit_attackers(config, known, loaded, options)
    notes = loaded.notes
    if max_cpu is not None:
        split, note = within_cpu(loaded.split, known, attackers, max_cpu / 2, config.audit.seed)
        loaded, notes = replace(loaded, split=split), (*notes, *([note] if note else []))
    spread = Execution(config.execution.kind, config.execution.workers, config.execution.address)
    settings = _settings(config)
    proven = prove(config, known, loaded)
    found = audit(
        loaded.split,
        known,
        attackers,
        settings,
        detector=loaded.detector,
        proven=proven,
        execution=spread,
        parts=folder / PARTS,
    )
    found = replace(found, warnings=(*found.warnings, *notes))
    _illustrate(folder, found, attackers, known, loaded, keep=keep_examples)
    write_run(folder, found, text, inputs)
    shutil.rmtree(folder / PARTS)
    return found


def _settings(config: Config) -> AuditSettings:
    asked = config.audit
    return AuditSettings(epsilon=asked.epsilon or config.mechanism.epsilon, **asked.model_dump(exclude={"epsilon"}))


def _is_finished(folder: Path, with_examples: bool) -> bool:
    """Whether the folder holds a complete run, and examples if they are wanted."""
    if not (folder / AUDIT).is_file():
        return False
    return not with_examples or (folder / EXAMPLES).is_dir()


def _illustrate(
    folder: Path, found: Audit, attackers: Sequence[Attacker], known: Knowledge, loaded: Loaded, *, keep: bool
) -> None:
    """Write what the strongest attacker believes about a few documents: without a word, and by name when asked to."""
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *attackers)
    strongest = next(attacker for attacker in everyone if attacker.name == found.strongest)
    rng = np.random.default_rng([found.settings.seed, 6])
    certify = loaded.split.certify
    few = certify.take(rng.permutation(np.flatnonzero(certify.lengths))[:EXAMPLE_DOCUMENTS])
    release = perturb(few, known.mechanism, known.tiers, rng)
    write_belief(folder, belief(strongest, few, release, known))
    if keep:
        named = belief(strongest, few, release, known, loaded.names)
        write_examples(folder, examples(strongest, few, release, known, loaded.names), named, _read(loaded, few, known))


def _read(loaded: Loaded, few: Records, known: Knowledge) -> tuple[Passage, ...]:
    """The texts that some documents come from, with a release of each; nothing if the data are not texts."""
    if loaded.encoded is None:
        return ()
    texts = np.unique(few.sources)[:EXAMPLE_TEXTS]
    return passages(loaded.encoded, texts, known.mechanism, known.tiers, np.random.default_rng(0))

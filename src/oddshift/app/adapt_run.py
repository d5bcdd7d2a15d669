"""The adaptation of a configuration from beginning to end: load, fit, adapt, keep the policy; stopped, it continues."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from oddshift.adapt import Adaptation, AdaptSettings, AdaptTask, Experiment, Family, adapt
from oddshift.adapt.adapt_settings import SHARED, CostName
from oddshift.adapt.comparison import verify_epsilon
from oddshift.adapt.measuring import Progress, silent
from oddshift.app.configuration import Config, parse_config
from oddshift.app.inputs import inputs_of
from oddshift.app.loading import Loaded, fit_attackers, load_data
from oddshift.app.runs import ADAPTATION, POLICY, read_adaptation, refuse_other_run, write_adaptation
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.retrained import Retrained
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution
from oddshift.mechanisms import Mechanism, PathExponential, Tiered, calibrate
from oddshift.model.tiers import Tiers
from oddshift.protect.policies import certificate_terms, make_policy, save_policy

PARTS = ".parts-adapt"
"""Where measured points are kept until the adaptation is finished."""

COSTS: dict[str, CostName] = {
    "text": "cosine",
    "people": "cosine",
    "vectors": "cosine",
    "location": "haversine",
    "table": "euclidean",
}
"""What a changed value costs by default, by kind of data."""


def run_adapt(
    text: str, folder: Path, source: str = "configuration", *, beside: Path | None = None, progress: Progress = silent
) -> Adaptation:
    """Adapt the scales that a configuration asks for and keep them in `folder`, with a policy when they are certified.

    A finished adaptation is read, not repeated. `beside` is the folder in which relative paths are looked up first.
    """
    config = parse_config(text, source, beside)
    inputs = inputs_of(config)
    refuse_other_run(folder, inputs)
    if (folder / ADAPTATION).is_file():
        return read_adaptation(folder)
    if config.audit.delta is None:
        raise InvalidInput(f"{source}: missing key audit.delta, expected how often epsilon may be exceeded")
    loaded, parts = load_data(config), folder / PARTS
    with _kept(parts):
        task = adapt_task(config, loaded, parts)
        spread = Execution(config.execution.kind, config.execution.workers, config.execution.address)
        found = adapt(task, execution=spread, folder=parts, progress=progress)
    found = replace(found, warnings=(*found.warnings, *loaded.notes))
    if found.chosen is not None:
        _write_policy(folder, found, task, loaded, config)
    else:
        (folder / POLICY).unlink(missing_ok=True)
    write_adaptation(folder, found, text, inputs)
    shutil.rmtree(parts, ignore_errors=True)
    return found


@contextmanager
def _kept(parts: Path) -> Iterator[None]:
    """A folder for unfinished work; a refusal before there was any leaves nothing behind."""
    parts.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except InvalidInput:
        for empty in (parts, parts.parent):
            if not any(empty.iterdir()):
                empty.rmdir()
        raise


def adapt_task(config: Config, loaded: Loaded, folder: Path | None = None) -> AdaptTask:
    """What a configuration asks to adapt, attackers fitted; `folder` keeps interrupted training."""
    family = scale_family(config, loaded)
    tiers = loaded.tiers.with_scales((1.0,) * len(loaded.tiers))
    known = knowledge(family(tiers), tiers, loaded.split.fit)
    attackers = (
        _retrained(config, known, loaded) if config.adapt.retrain else _amortised(config, known, loaded, family, folder)
    )
    return AdaptTask(
        split=loaded.split,
        known=known,
        family=family,
        attackers=attackers,
        settings=_settings(config),
        detector=loaded.detector,
    )


def _amortised(
    config: Config, known: Knowledge, loaded: Loaded, family: Family, folder: Path | None
) -> tuple[Attacker, ...]:
    """Attackers fitted once; networks for all scales of the grid."""
    grid = config.adapt.grid
    span = (min(grid), max(grid))
    options = FitOptions(epochs=config.audit.epochs, checkpoints=folder, family=family, scale_range=span)
    return tuple(fit_attackers(config, known, loaded, options))


def _retrained(config: Config, known: Knowledge, loaded: Loaded) -> tuple[Attacker, ...]:
    """Attackers that are fitted anew wherever scales are measured, as in the paper."""
    options = FitOptions(epochs=config.audit.epochs)

    def alone(name: str) -> Callable[[Knowledge], Attacker]:
        single = config.model_copy(update={"audit": config.audit.model_copy(update={"attackers": (name,)})})
        return lambda there: fit_attackers(single, there, loaded, options)[0]

    fits = [alone(name) for name in config.audit.attackers]
    return tuple(Retrained(fit, fit(known)) for fit in fits)


def scale_family(config: Config, loaded: Loaded) -> Family:
    """The mechanism under any scales: tier by tier when tiers are public, on the path metric when they are secret.

    A calibrated one spends at scale 1 what exact ε leaves over.
    """
    asked, space, tiers = config.mechanism, loaded.split.fit.space, loaded.tiers
    if asked.name in {"mask", "truncated"}:
        raise InvalidInput(
            f"mechanism.name={asked.name!r} has no scales to adapt, expected exponential, tiered or path"
        )
    if asked.name == "tiered" and not tiers.is_public:
        raise InvalidInput("mechanism.name='tiered' promises nothing across secret tiers, expected path")
    kind: type[Tiered] | type[PathExponential] = Tiered
    if asked.name == "path" or not tiers.is_public:
        kind = PathExponential
    nominal = asked.epsilon
    if asked.calibrated:
        ones = tiers.with_scales((1.0,) * len(tiers))
        nominal = calibrate(lambda epsilon: kind(space, ones, epsilon), asked.epsilon).epsilon

    def family(scaled: Tiers) -> Mechanism:
        return kind(space, scaled, nominal)

    return family


def _settings(config: Config) -> AdaptSettings:
    asked, how = config.audit, config.adapt
    shared = asked.model_dump(include=set(SHARED) - {"epsilon"})
    cost = how.cost or COSTS[config.data.kind]
    epsilon = asked.epsilon or config.mechanism.epsilon
    return AdaptSettings(epsilon=epsilon, cost=cost, **shared, **how.model_dump(exclude={"cost"}))


def _write_policy(folder: Path, found: Adaptation, task: AdaptTask, loaded: Loaded, config: Config) -> None:
    assert found.chosen is not None
    assert found.verdict is not None
    tiers = task.known.tiers.with_scales(found.chosen)
    nothing: FloatArray = task.known.log_prior[:0]
    mechanism = Experiment(task.known, task.family, task.split.fit, nothing, task.settings).released(found.chosen)
    calibrated = config.mechanism.calibrated
    verify_epsilon(mechanism, config.mechanism.epsilon * (1.0 if calibrated else max(found.chosen)))
    certificate = certificate_terms(found.verdict, found.evidence)
    save_policy(folder, make_policy(loaded.codec, mechanism, tiers, calibrated=calibrated, certificate=certificate))

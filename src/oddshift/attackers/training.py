"""The training loop, shared by every learned attacker: epochs, early stopping, checkpoints that resume exactly.

All randomness of an epoch derives from (seed, document, epoch), so a run that was interrupted and continued from its
checkpoint gives the same result as one that was not. The loop knows nothing of networks: a Learner does one epoch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from oddshift.base import storage as files
from oddshift.base.arrays import IntArray, positive, whole
from oddshift.base.errors import InvalidInput, TamperedEvidence

if TYPE_CHECKING:
    import torch

State = dict[str, npt.NDArray[np.floating]]
"""Everything a learner needs to continue: weights and the optimiser's moments, by name."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long to train: at most `epochs`, less after `patience` epochs without progress on the validation part.

    `max_seconds` ends training at the first epoch beyond it; only then does the result depend on the machine.
    """

    epochs: int = 60
    patience: int = 12
    batch: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 1e-2
    validation: float = 0.15
    max_seconds: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every limit."""
        for name, low in (("epochs", 0), ("patience", 1), ("batch", 1), ("seed", 0)):
            whole(getattr(self, name), name, low)
        positive(self.learning_rate, "learning_rate")
        if not 0.0 < self.validation < 1.0:
            raise InvalidInput(f"validation={self.validation}, expected 0 < validation < 1")
        if self.max_seconds is not None:
            positive(self.max_seconds, "max_seconds")


@dataclass(frozen=True)
class Curve:
    """What training did: mean loss of every epoch, validation loss before the first and after every epoch."""

    train: tuple[float, ...] = ()
    validation: tuple[float, ...] = ()

    @property
    def best_epoch(self) -> int:
        """Epochs after which the validation loss was smallest; 0 is untrained."""
        return int(np.argmin(self.validation))


class Learner(Protocol):
    """Something that learns epoch by epoch and whose state is arrays."""

    def epoch(self, number: int) -> float:
        """Learn for one epoch, all randomness from its number; the mean loss."""

    def validate(self) -> float:
        """Loss on the validation part."""

    def state(self) -> State:
        """A copy of everything that later epochs depend on."""

    def restore(self, state: State) -> None:
        """Continue from a state."""


@dataclass(frozen=True)
class _Progress:
    """The progress of a run, stored in the checkpoint together with the arrays."""

    purpose: str
    curve: Curve = field(default_factory=Curve)


def train(learner: Learner, schedule: Schedule, purpose: str, checkpoint: Path | None = None) -> Curve:
    """Train until an end of the schedule; the learner ends in its best state on the validation part.

    `purpose` names data and settings; a checkpoint of another purpose is refused. The file is written as a whole
    after every epoch and holds weights only, no records.
    """
    progress, best = _Progress(purpose), learner.state()
    if checkpoint is not None and checkpoint.is_file():
        progress, now, best = _read(checkpoint, purpose)
        learner.restore(now)
    else:
        progress = replace(progress, curve=Curve(validation=(learner.validate(),)))
    started = time.monotonic()
    with _bar(schedule.epochs) as show:
        while not _over(progress.curve, schedule, time.monotonic() - started):
            loss = learner.epoch(len(progress.curve.train))
            curve = Curve((*progress.curve.train, loss), (*progress.curve.validation, learner.validate()))
            progress = replace(progress, curve=curve)
            if curve.best_epoch == len(curve.train):
                best = learner.state()
            if checkpoint is not None:
                _write(checkpoint, progress, learner.state(), best)
            show(curve)
    learner.restore(best)
    return progress.curve


def noise(seed: int, documents: IntArray, lengths: IntArray, epoch: int) -> npt.NDArray[np.float64]:
    """Fresh uniforms for every position, from (seed, document, epoch) and nothing else."""
    drawn = [np.random.default_rng([seed, int(d), epoch]).random(n) for d, n in zip(documents, lengths, strict=True)]
    return np.concatenate(drawn) if drawn else np.zeros(0)


def _over(curve: Curve, schedule: Schedule, seconds: float) -> bool:
    done = len(curve.train)
    late = schedule.max_seconds is not None and seconds > schedule.max_seconds
    return done >= schedule.epochs or done - curve.best_epoch >= schedule.patience or late


def _write(path: Path, progress: _Progress, now: State, best: State) -> None:
    import json

    from safetensors.numpy import save

    arrays = {f"now.{k}": v for k, v in now.items()} | {f"best.{k}": v for k, v in best.items()}
    body = json.dumps(files.encode(progress, {}), allow_nan=False)
    files.write_atomic(path, save(arrays, metadata={"progress": body, "sha256": files.sha256(body.encode())}))


def _read(path: Path, purpose: str) -> tuple[_Progress, State, State]:
    import json

    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stored:
            notes = stored.metadata() or {}
            arrays = {name: np.array(stored.get_tensor(name)) for name in stored.keys()}  # noqa: SIM118 (no mapping)
    except SafetensorError as error:
        raise TamperedEvidence(f"{path.name} is not a complete checkpoint ({error})") from error
    body = notes.get("progress", "")
    if files.sha256(body.encode()) != notes.get("sha256"):
        raise TamperedEvidence(f"{path.name} does not hold the progress that it says")
    try:
        progress = files.decode(json.loads(body), _Progress, {})
    except (ValueError, RecursionError) as error:
        raise TamperedEvidence(f"{path.name} does not hold the progress that it says") from error
    if progress.purpose != purpose:
        raise InvalidInput(f"{path.name} continues other data or settings, expected those of this run; remove it")
    parts = {p: {k.removeprefix(p): v for k, v in arrays.items() if k.startswith(p)} for p in ("now.", "best.")}
    return progress, parts["now."], parts["best."]


class _Show(Protocol):
    def __call__(self, curve: Curve) -> None: ...


@contextmanager
def _bar(epochs: int) -> Iterator[_Show]:
    """A progress bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda curve: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=epochs)
        yield lambda curve: bar.update(
            task,
            completed=len(curve.train),
            description=f"training, validation {curve.validation[-1]:.4f} (best {min(curve.validation):.4f})",
        )


_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # of Adam


def arrays_of(model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> State:
    """Weights, and the optimiser's moments once it has made a step, as arrays by name."""
    arrays = {f"weight.{name}": value for name, value in model.named_parameters()}
    for name, value in model.named_parameters():
        for moment, tensor in optimiser.state[value].items():
            arrays[f"{moment}.{name}"] = tensor
    return {name: np.array(value.detach().numpy()) for name, value in arrays.items()}


def put_back(model: torch.nn.Module, optimiser: torch.optim.Optimizer, state: State) -> None:
    """Set weights and moments to what `arrays_of` gave."""
    import torch

    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(torch.from_numpy(state[f"weight.{name}"]))
            moments = {moment: state.get(f"{moment}.{name}") for moment in _MOMENTS}
            optimiser.state[value] = {m: torch.from_numpy(a.copy()) for m, a in moments.items() if a is not None}

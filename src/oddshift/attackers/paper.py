"""Paper mode: reconstruct the secrets from the joint release by least squares, then a Gaussian softmax around them.

The paper's threat model (2): RNN, LSTM or Transformer, mean squared error, Adam at 1e-3 reduced on plateaus, and
Pr[x|y] ∝ exp(−‖x̂ − x‖²/(τ_base·τ)). Kept for reproduction only: the temperature decides what it reports, since no part
of it is calibrated. Print it together with the controls `null` and `own`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.attacker import Beliefs, Knowledge
from oddshift.attackers.reconstruction import PaperSettings, Reconstruction, log_scales
from oddshift.attackers.training import Curve, Schedule, State, arrays_of, noise, put_back, split, train
from oddshift.base.arrays import FloatArray, IntArray, finite
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content, fingerprint
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import gather
from oddshift.model.release import Release
from oddshift.model.tiers import Tiers

PAPER_SCHEDULE = Schedule(epochs=50, patience=50, learning_rate=1e-3, weight_decay=0.0, validation=0.25)
"""60/20 of the paper's 60/20/20 is 75/25 of the fit records; the number of epochs is not stated there."""

_PLATEAU = (0.1, 5)  # factor and epochs without progress; the paper gives neither
_BLOCK = 256  # documents of one block of beliefs
_SCALE_DRAWS = 4  # draws of the scales in one epoch, each for its part of the documents

Family = Callable[[Tiers], Mechanism]
"""The mechanism under tiers with other scales, for a network that serves a range of them."""


@dataclass(frozen=True, eq=False, repr=False)
class Paper:
    """Gaussian softmax around the reconstruction; the own release is not exact here, and nothing is calibrated."""

    known: Knowledge
    model: Reconstruction
    settings: PaperSettings
    curve: Curve
    name: str = "paper"
    with_context: bool = False
    embedding: FloatArray | None = None

    @property
    def points(self) -> FloatArray:
        """Coordinates of the candidates as the attacker sees them: its own embedding, or those of the mechanism."""
        return self.known.mechanism.space.points if self.embedding is None else self.embedding

    def against(self, known: Knowledge) -> Paper:
        """The same network against other scales; refused for one that was trained for a single mechanism."""
        if self.settings.scale_range is None:
            raise InvalidInput(
                f"{self.name} was trained for one mechanism, expected a network with scale_range, or retrain = true"
            )
        return replace(self, known=known)

    @property
    def fingerprint(self) -> str:
        """What is known, the settings, and the weights; how training went does not count."""
        return content(self, without=("curve",))

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """log softmax(−‖x̂ − x‖²/T) minus the stated prior."""
        prior = np.zeros(len(self.known.log_prior))
        if self.settings.prior == "empirical":
            prior = np.where(np.isfinite(self.known.log_prior), self.known.log_prior, 0.0)
        for positions, guess in self.reconstructions(release):
            posterior = -squared_distances(guess, self.points) / self.settings.temperature
            yield Beliefs(positions, posterior - prior, prior)

    def reconstructions(self, release: Release) -> Iterator[tuple[IntArray, FloatArray]]:
        """Positions and x̂ (positions, coordinates)."""
        order = np.argsort(release.lengths, kind="stable")
        order, scales = order[release.lengths[order] > 0], log_scales(self.known)
        with torch.no_grad():
            for start in range(0, len(order), _BLOCK):
                positions, outputs, real = _grid(release, order[start : start + _BLOCK])
                guess = self.model(outputs, real, scales)[real] * self.model.spread + self.model.centre
                yield positions, guess.double().numpy()


def fit_paper(
    known: Knowledge,
    settings: PaperSettings | None = None,
    schedule: Schedule | None = None,
    *,
    embedding: FloatArray | None = None,
    family: Family | None = None,
    start: Paper | None = None,
    checkpoint: Path | None = None,
) -> Paper:
    """Train the reconstruction on perturbed fit records, as the paper describes; never the default attacker.

    `embedding` are coordinates of every point in the attacker's own embedding, (points, any); by default it knows those
    of the mechanism. `family` gives the mechanism at other scales, for settings with `scale_range`. `start` is a
    network of the same shape whose weights are trained on, for the scales of `known` alone.
    """
    settings, schedule = settings or PaperSettings(), schedule or PAPER_SCHEDULE
    if (settings.scale_range is not None) == (family is None and start is None):
        raise InvalidInput(
            "scale_range was given without family (or start), or the other way round, expected both or neither"
        )
    learner = _Learner(known, settings, schedule, _Sight(_own_points(known, embedding), family))
    begun = None if start is None else start.fingerprint
    if start is not None:
        learner.model.load_state_dict(start.model.state_dict())
    seen = None if embedding is None else learner.sight.points
    purpose = fingerprint(("paper", settings, replace(schedule, max_seconds=None), known, seen, begun))
    curve = train(learner, schedule, purpose, checkpoint)
    return Paper(known, learner.model.eval(), settings, curve, f"paper-{settings.architecture}", embedding=seen)


def squared_distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """‖a − b‖² for every row a of `left` and b of `right`."""
    squares = (left**2).sum(axis=1)[:, None] - 2.0 * left @ right.T + (right**2).sum(axis=1)[None, :]
    return np.maximum(squares, 0.0)


@dataclass(frozen=True, eq=False)
class _Sight:
    """Coordinates of the points as the attacker sees them, and the mechanism at other scales, if there are any."""

    points: FloatArray
    family: Family | None


class _Learner:
    """One epoch of least squares on the training pairs."""

    def __init__(self, known: Knowledge, settings: PaperSettings, schedule: Schedule, sight: _Sight) -> None:
        self.known, self.settings, self.schedule, self.sight = known, settings, schedule, sight
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(schedule.seed)
            self.model = Reconstruction(settings, known, sight.points)
        self.optimiser = torch.optim.Adam(
            [p for p in self.model.parameters() if p.requires_grad], lr=schedule.learning_rate
        )
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimiser, factor=_PLATEAU[0], patience=_PLATEAU[1]
        )
        self.learning = self._learning()

    def epoch(self, number: int) -> float:
        """Every document once, in a new order; with a range of scales each part of them under scales of its own."""
        order = np.random.default_rng([self.schedule.seed, number]).permutation(self._of_side(True))
        parts = np.array_split(order, 1 if self.sight.family is None else _SCALE_DRAWS)
        fresh, total, count = self.settings.fresh_noise or self.sight.family is not None, 0.0, 0
        self.model.train()
        for part, documents in enumerate(parts):
            known = self._drawn(number, part)
            release = self._released(known, documents, number) if fresh else self._released_once.take(documents)
            for batch in _batches(release.lengths, self.schedule.batch, [self.schedule.seed, number, part, 2]):
                loss, n = self._loss(known, release.take(batch), documents[batch], True)
                self.optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimiser.step()
                total, count = total + loss.item() * n, count + n
        return total / max(1, count)

    def validate(self) -> float:
        """Mean squared error of the validation pairs; the learning rate follows it."""
        total, count, documents = 0.0, 0, self._validated
        self.model.eval()
        with torch.no_grad():
            for known, release in self._held_out:
                for start in range(0, len(documents), _BLOCK):
                    batch = np.arange(start, min(start + _BLOCK, len(documents)))
                    loss, n = self._loss(known, release.take(batch), documents[batch], False)
                    total, count = total + loss.item() * n, count + n
        value = total / max(1, count)
        self.plateau.step(value)
        return value

    def state(self) -> State:
        """Weights, moments, and where the plateau rule stands."""
        rate = self.optimiser.param_groups[0]["lr"]
        stands = np.array([rate, self.plateau.best, self.plateau.num_bad_epochs], dtype=np.float64)
        return {**arrays_of(self.model, self.optimiser), "plateau": stands}

    def restore(self, state: State) -> None:
        """Continue from there."""
        put_back(self.model, self.optimiser, state)
        rate, best, bad = (float(v) for v in state["plateau"])
        self.optimiser.param_groups[0]["lr"] = rate
        self.plateau.best, self.plateau.num_bad_epochs = best, int(bad)

    def _learning(self) -> FloatArray:
        """1 for every position to learn from, 0 for those to validate on."""
        fit, share, seed = self.known.fit, self.schedule.validation, self.schedule.seed
        if self.settings.split_by == "document":
            learn, _ = split(fit.clusters, share, seed)
            return np.isin(fit.document_of_position, learn).astype(np.float64)
        learn, _ = split(np.arange(len(fit.points)), share, seed)
        return np.isin(np.arange(len(fit.points)), learn).astype(np.float64)

    def _of_side(self, learning: bool) -> IntArray:
        """Documents with at least one pair to learn from, or to validate on."""
        mine = self.learning == float(learning)
        return np.unique(self.known.fit.document_of_position[mine])

    @cached_property
    def _released_once(self) -> Release:
        """All documents as released once for the whole training, which is what the paper writes."""
        return self._released(self.known, np.arange(len(self.known.fit)), 0)

    @cached_property
    def _held_out(self) -> list[tuple[Knowledge, Release]]:
        """The documents to validate on as released under every choice of scales that is tried; the same each epoch."""
        if self.sight.family is None:
            return [(self.known, self._released_once.take(self._validated))]
        return [(known, self._released(known, self._validated, 0)) for known in self._tried()]

    @cached_property
    def _validated(self) -> IntArray:
        """The documents to validate on, short ones first, so that blocks of them have little padding."""
        documents = self._of_side(False)
        return documents[np.argsort(self.known.fit.lengths[documents], kind="stable")]

    def _released(self, known: Knowledge, documents: IntArray, epoch: int) -> Release:
        fit = self.known.fit
        positions, offsets = gather(fit.offsets, documents)
        uniforms = noise(self.schedule.seed, documents, fit.lengths[documents], epoch)
        outputs = known.mechanism.invert(fit.points[positions], uniforms)
        return Release(outputs=outputs, offsets=offsets, position_tiers=None, context=None)

    def _loss(self, known: Knowledge, release: Release, documents: IntArray, learning: bool) -> tuple[Tensor, int]:
        """Mean squared error over the pairs of one side in some documents as released, and how many those are."""
        _, outputs, real = _grid(release, np.arange(len(release)))
        positions, _ = gather(self.known.fit.offsets, documents)
        mine = self.learning[positions] == float(learning)
        truth = torch.from_numpy(self.sight.points[self.known.fit.points[positions[mine]]]).float()
        guess = self.model(outputs, real, log_scales(known))[real][torch.from_numpy(mine)]
        return nn.functional.mse_loss(guess, (truth - self.model.centre) / self.model.spread), int(mine.sum())

    def _drawn(self, epoch: int, part: int) -> Knowledge:
        """Knowledge under scales drawn for one part of an epoch, uniform and in the order of the tiers."""
        if self.sight.family is None or self.settings.scale_range is None:
            return self.known
        rng = np.random.default_rng([self.schedule.seed, epoch, part, 1])
        return self._at(self.sight.family, np.sort(rng.uniform(*self.settings.scale_range, len(self.known.tiers))))

    def _tried(self) -> list[Knowledge]:
        if self.sight.family is None or self.settings.scale_range is None:
            return [self.known]
        return [
            self._at(self.sight.family, np.full(len(self.known.tiers), scale))
            for scale in np.linspace(*self.settings.scale_range, 3)
        ]

    def _at(self, family: Family, scales: FloatArray) -> Knowledge:
        tiers = self.known.tiers.with_scales(tuple(float(s) for s in scales))
        return replace(self.known, tiers=tiers, mechanism=family(tiers))


def _batches(lengths: IntArray, size: int, seeds: Sequence[int]) -> list[IntArray]:
    """Batches of documents of similar length, in random order, so that little of a batch is padding.

    The documents come in random order, which decides among those of equal length.
    """
    order = np.argsort(lengths, kind="stable")
    cut = np.split(order, range(size, len(order), size))
    return [cut[k] for k in np.random.default_rng(list(seeds)).permutation(len(cut))]


def _own_points(known: Knowledge, embedding: FloatArray | None) -> FloatArray:
    """The coordinates that the attacker works with; another embedding must have a row for every point."""
    if embedding is None:
        return known.mechanism.space.points
    found = finite(embedding, "embedding", 2)
    if len(found) != len(known.mechanism.space):
        raise InvalidInput(
            f"embedding has {len(found)} rows, expected {len(known.mechanism.space)}, one for each point"
        )
    return found


def _grid(release: Release, documents: IntArray) -> tuple[IntArray, Tensor, Tensor]:
    """Flat positions of some documents, their outputs as a padded grid, and which entries are real."""
    positions, offsets = gather(release.offsets, documents)
    lengths = np.diff(offsets)
    real = np.arange(lengths.max())[None, :] < lengths[:, None]
    outputs = np.zeros(real.shape, dtype=np.int64)
    outputs[real] = release.outputs[positions]
    return positions, torch.from_numpy(outputs), torch.from_numpy(real)

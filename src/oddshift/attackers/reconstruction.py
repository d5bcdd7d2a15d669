"""The reconstruction of paper mode: its settings, and the network from all outputs of a document to every secret.

Widths, layers and the sequence's positions are not stated by the paper: ours are those of `_body` and `_waves`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.paired_log_score import split
from oddshift.attackers.training import Schedule, State, arrays_of, noise, put_back
from oddshift.base.arrays import FloatArray, IntArray, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import gather
from oddshift.model.release import Release
from oddshift.model.tiers import Tiers

ARCHITECTURES = ("rnn", "lstm", "transformer")
"""The networks of the paper."""


@dataclass(frozen=True, kw_only=True)
class PaperSettings:
    """What the paper states, and what it leaves open.

    `temperature` is τ_base·τ. `prior`: uniform over the candidates, or the empirical frequencies. `split_by`: by
    document (ours: none is on both sides), or by pair, as written: single secret-output pairs, so that validation
    pairs share documents with training pairs. `fresh_noise` perturbs again in every epoch; as written, once.
    `scale_range` makes the scales of the tiers an input and trains for all of them in that range, with fresh noise: one
    network for a search over scales, where the paper trains one for each.
    """

    architecture: str = "lstm"
    width: int = 64
    tau_base: float = 1.0
    tau: float = 1.0
    prior: str = "uniform"
    split_by: str = "document"
    fresh_noise: bool = False
    scale_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check names and temperatures."""
        one_of(self.architecture, "architecture", ARCHITECTURES)
        one_of(self.prior, "prior", ("uniform", "empirical"))
        one_of(self.split_by, "split_by", ("document", "pair"))
        whole(self.width, "width", 4)
        positive(self.tau_base, "tau_base")
        positive(self.tau, "tau")
        if self.scale_range is not None and not 0 < self.scale_range[0] <= self.scale_range[1] < np.inf:
            raise InvalidInput(f"scale_range={self.scale_range}, expected 0 < low <= high")

    @property
    def temperature(self) -> float:
        """τ_base·τ."""
        return self.tau_base * self.tau


class Reconstruction(nn.Module):
    """From all outputs of a document, a guess at the coordinates of each secret; it sees its own output too."""

    def __init__(self, settings: PaperSettings, known: Knowledge, points: FloatArray) -> None:
        """Outputs come as coordinates when they are points, otherwise as learned vectors."""
        super().__init__()
        width, mechanism = settings.width, known.mechanism
        self.centre = torch.tensor(points.mean(axis=0), dtype=torch.float32)
        self.spread = float(max(points.std(), 1e-12))
        self.inputs = nn.Embedding(mechanism.n_outputs, points.shape[1])
        if mechanism.outputs is not None:
            scaled = (_output_points(mechanism, points) - points.mean(axis=0)) / self.spread
            self.inputs.weight = nn.Parameter(torch.tensor(scaled, dtype=torch.float32), requires_grad=False)
        self.enter = nn.Linear(points.shape[1], width)
        self.under = None if settings.scale_range is None else nn.Linear(len(known.tiers), width)
        self.body = _body(settings.architecture, width)
        self.leave = nn.Linear(width if settings.architecture == "transformer" else 2 * width, points.shape[1])

    def forward(self, outputs: Tensor, real: Tensor, scales: Tensor) -> Tensor:
        """(documents, length) outputs and log scales -> (documents, length, coordinates), centred and scaled."""
        entered = self.enter(self.inputs(outputs))
        if self.under is not None:
            entered = entered + self.under(scales)
        if isinstance(self.body, nn.TransformerEncoder):
            return self.leave(self.body(entered + _waves(*entered.shape[1:]), src_key_padding_mask=~real))
        packed = nn.utils.rnn.pack_padded_sequence(entered, real.sum(dim=1), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.body(packed)[0], batch_first=True)
        return self.leave(states)


def log_scales(known: Knowledge) -> Tensor:
    """The scales of the tiers as the network reads them."""
    return torch.tensor(np.log(known.tiers.scales), dtype=torch.float32)


def _output_points(mechanism: Mechanism, points: FloatArray) -> FloatArray:
    """Coordinates of the outputs as the attacker sees them; its own embedding holds those of the points only."""
    outputs = mechanism.outputs
    assert outputs is not None
    if points is mechanism.space.points:
        return outputs.points
    if not np.array_equal(outputs.points, mechanism.space.points):
        raise InvalidInput("embedding has no rows for the outputs, expected a mechanism whose outputs are its points")
    return points


def _body(architecture: str, width: int) -> nn.Module:
    if architecture == "transformer":
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    kind: type[nn.RNN] | type[nn.LSTM] = nn.LSTM if architecture == "lstm" else nn.RNN
    return kind(width, width, batch_first=True, bidirectional=True)


def _waves(length: int, width: int) -> Tensor:
    """Sines and cosines of the position, (length, width)."""
    rate = torch.exp(torch.arange(0, width, 2) * (-np.log(10_000.0) / width))
    angle = torch.arange(length)[:, None] * rate[None, :]
    return torch.cat([angle.sin(), angle.cos()], dim=1)


_PLATEAU = (0.1, 5)  # factor and epochs without progress; the paper gives neither
BLOCK = 256  # documents of one block of beliefs
_SCALE_DRAWS = 4  # draws of the scales in one epoch, each for its part of the documents

Family = Callable[[Tiers], Mechanism]
"""The mechanism under tiers with other scales, for a network that serves a range of them."""


@dataclass(frozen=True, eq=False)
class Sight:
    """Coordinates of the points as the attacker sees them, and the mechanism at other scales, if there are any."""

    points: FloatArray
    family: Family | None


class PairLearner:
    """One epoch of least squares on the training pairs."""

    def __init__(self, known: Knowledge, settings: PaperSettings, schedule: Schedule, sight: Sight) -> None:
        """The network, its optimiser, and which positions it learns from."""
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
                for start in range(0, len(documents), BLOCK):
                    batch = np.arange(start, min(start + BLOCK, len(documents)))
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
        _, outputs, real = padded(release, np.arange(len(release)))
        positions, _ = gather(self.known.fit.offsets, documents)
        mine = self.learning[positions] == float(learning)
        truth = torch.from_numpy(self.sight.points[self.known.fit.points[positions[mine]]]).float()
        guess = self.model(outputs, real, log_scales(known))[real][torch.from_numpy(mine)]
        return nn.functional.mse_loss(guess, (truth - self.model.centre) / self.model.spread), int(mine.sum())

    def _drawn(self, epoch: int, part: int) -> Knowledge:
        """Knowledge under scales drawn for one part of an epoch, uniform and in the order of the levels."""
        if self.sight.family is None or self.settings.scale_range is None:
            return self.known
        rng = np.random.default_rng([self.schedule.seed, epoch, part, 1])
        scales = np.sort(rng.uniform(*self.settings.scale_range, self.known.tiers.n_levels))
        return self._at(self.sight.family, scales[np.array(self.known.tiers.levels)])

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


def padded(release: Release, documents: IntArray) -> tuple[IntArray, Tensor, Tensor]:
    """Flat positions of some documents, their outputs as a padded grid, and which entries are real."""
    positions, offsets = gather(release.offsets, documents)
    lengths = np.diff(offsets)
    real = np.arange(lengths.max())[None, :] < lengths[:, None]
    outputs = np.zeros(real.shape, dtype=np.int64)
    outputs[real] = release.outputs[positions]
    return positions, torch.from_numpy(outputs), torch.from_numpy(real)

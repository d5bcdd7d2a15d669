"""The informed attacker: a network estimates only what is unknown, the context term; the own release stays exact.

c(x) = s·Σ_v log(1 − g_v + g_v·exp(f_v(x))/E[exp f_v]), f_v = h_v·B(x), h_v = view v of the other outputs minus the same
view with every output masked. B(x) is linear in the point's coordinates plus a free vector. c is 0 before training and
0 without context. With W the prior is the network's own, given W, and c is relative to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.attacker import Beliefs, Knowledge
from oddshift.attackers.candidate_sampling import held_out_terms
from oddshift.attackers.informed_network import Batch, ContextNetwork, ContextWords, Reader, words_of
from oddshift.attackers.term_weights import best_weights
from oddshift.attackers.training import Curve, Schedule, State, arrays_of, noise, put_back, split, train
from oddshift.base.arrays import FloatArray, IntArray, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content, fingerprint
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.release import Release
from oddshift.model.tiers import Tiers

Family = Callable[[Tiers], Mechanism]
"""The mechanism under tiers with other scales, for a network that is trained for a range of them."""

_Piece = tuple[Batch, IntArray]  # a batch and its truth

_VALIDATION_EPOCH = 1_000_000_000  # noise of the validation part, the same after every epoch
_STEP_ENTRIES = 16_000_000  # positions x points of one step at most: 256 MB of own releases and priors
_RUN = 8  # steps whose documents are sorted by length
_RISE = 0.05  # share of the epochs in which the learning rate rises
_SCALE_DRAWS = 4  # draws of the scales in one epoch, each for its part of the documents


@dataclass(frozen=True, kw_only=True)
class Network:
    """Shape of the network; `reads_context` lets it see W, `scale_range` trains it for all tier scales in a range."""

    width: int = 64
    reads_context: bool = False
    word_at_least: int = 3
    scale_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check sizes."""
        whole(self.width, "width", 4)
        if self.width % 4:
            raise InvalidInput(f"width={self.width}, expected a multiple of 4")
        whole(self.word_at_least, "word_at_least", 1)
        if self.scale_range is not None and not 0 < self.scale_range[0] <= self.scale_range[1] < np.inf:
            raise InvalidInput(f"scale_range={self.scale_range}, expected 0 < low <= high")


@dataclass(frozen=True, eq=False, repr=False)
class Informed:
    """A trained context term on top of the exact own release; `scale` 0 means that it learned nothing."""

    known: Knowledge
    model: ContextNetwork
    words: ContextWords | None
    scale: float
    curve: Curve
    name: str = "informed"

    @property
    def fingerprint(self) -> str:
        """What is known, and the weights; how training went does not count."""
        return content(self, without=("curve",))

    @property
    def with_context(self) -> bool:
        """Whether it reads W."""
        return self.words is not None

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus s·c, a batch of documents at a time; with W the prior is given W."""
        for batch, context, shift in self._read(release):
            prior = self.known.log_prior if shift is None else self.known.log_prior + shift
            yield Beliefs(batch.positions, batch.log_own + self.scale * context, prior)

    def context_terms(self, release: Release) -> Iterator[tuple[IntArray, FloatArray]]:
        """s·c for every point."""
        return ((batch.positions, self.scale * context) for batch, context, _ in self._read(release))

    def against(self, known: Knowledge) -> Informed:
        """The same network against another mechanism; train with `scale_range` to make it good at that."""
        return replace(self, known=known)

    def _read(self, release: Release) -> Iterator[tuple[Batch, FloatArray, FloatArray | None]]:
        reader = Reader(self.known, self.words)
        lengths = release.lengths if self.words is None or release.context is None else np.diff(release.context.offsets)
        order = np.argsort(lengths, kind="stable")
        with torch.no_grad():
            for batch in reader.batches(release, order, 256):
                # points outside the candidates belong to no claim, and stay 0
                context = np.zeros_like(batch.log_own)
                shift = None if self.words is None else np.zeros_like(batch.log_own)
                for said in self.model(batch):
                    place = np.ix_(said.group.members, said.group.points)
                    context[place] = said.context.double().numpy()
                    if shift is not None and said.shift is not None:
                        shift[place] = said.shift.double().numpy()
                yield batch, context, shift


class _Learner:
    """One epoch of training: fresh noise, shuffled documents, cross-entropy of the whole posterior."""

    def __init__(self, known: Knowledge, network: Network, schedule: Schedule, family: Family | None) -> None:
        self.known, self.network, self.schedule, self.family = known, network, schedule, family
        self.words = words_of(known.fit, network.word_at_least) if network.reads_context else None
        self.learn, self.held = split(known.fit.clusters, schedule.validation, schedule.seed)
        reader = Reader(known, self.words)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(schedule.seed)
            n_words = 0 if self.words is None else len(self.words)
            sizes = (reader.n_features, n_words)
            self.model = ContextNetwork(network.width, known.fit.space.points, sizes)
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), schedule.learning_rate, weight_decay=schedule.weight_decay
        )

    def epoch(self, number: int) -> float:
        """All documents once, each part of them with scales of its own."""
        order = self._of_like_length(np.random.default_rng([self.schedule.seed, number]).permutation(self.learn))
        parts = np.array_split(order, 1 if self.network.scale_range is None else _SCALE_DRAWS)
        total, seen, everyone = 0.0, 0, max(1, int(self.known.fit.lengths[order].sum()))
        self.model.train()
        for part, documents in enumerate(parts):
            known = self._drawn(number, part)
            for step in self._steps(self._batches(known, documents, number)):
                self._set_rate((number + seen / everyone) / self.schedule.epochs)
                total, seen = total + self._step(step), seen + sum(len(truth) for _, truth in step)
        return total / max(1, seen)

    def _of_like_length(self, order: IntArray) -> IntArray:
        """Documents of similar length next to each other, within runs of some steps, so that little is padded."""
        fit, run = self.known.fit, _RUN * self.schedule.batch
        lengths = fit.lengths if self.words is None or fit.context is None else np.diff(fit.context.offsets)
        runs = [order[start : start + run] for start in range(0, len(order), run)]
        return np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in runs])

    def _steps(self, batches: Iterator[_Piece]) -> Iterator[list[_Piece]]:
        """Batches gathered until they hold the documents of one step, or as much as memory should hold at once."""
        gathered: list[_Piece] = []
        for batch, truth in batches:
            gathered.append((batch, truth))
            full = sum(len(b.real) for b, _ in gathered) >= self.schedule.batch
            if full or sum(b.log_own.size for b, _ in gathered) >= _STEP_ENTRIES:
                yield gathered
                gathered = []
        if gathered:
            yield gathered

    def _step(self, step: list[_Piece]) -> float:
        """One step of the optimiser on the mean loss of several batches; the sum of the loss over positions."""
        positions, total = sum(len(truth) for _, truth in step), 0.0
        self.optimiser.zero_grad()
        for batch, truth in step:
            loss = _loss(self.model, batch, truth) * (len(truth) / positions)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item() * positions
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        return total

    def validate(self) -> float:
        """Mean loss of the held-out documents, at the ends and the middle of the range of scales if there is one."""
        total, seen = 0.0, 0
        self.model.eval()
        with torch.no_grad():
            for known in self._tried():
                for batch, truth in self._batches(known, self.held, _VALIDATION_EPOCH):
                    total += _loss(self.model, batch, truth).item() * len(truth)
                    seen += len(truth)
        return total / max(1, seen)

    def state(self) -> State:
        """Weights and the optimiser's moments."""
        return arrays_of(self.model, self.optimiser)

    def restore(self, state: State) -> None:
        """Restore weights and moments."""
        put_back(self.model, self.optimiser, state)

    def _batches(self, known: Knowledge, documents: IntArray, epoch: int) -> Iterator[_Piece]:
        """Batches of fresh releases, each with its truth; a document without context teaches nothing."""
        lengths = self.known.fit.lengths[documents]
        documents = documents[lengths > (0 if self.network.reads_context else 1)]
        if not len(documents):
            return
        records = self.known.fit.take(documents)
        uniforms = noise(self.schedule.seed, documents, records.lengths, epoch)
        release = Release(
            outputs=known.mechanism.invert(records.points, uniforms),
            offsets=records.offsets,
            position_tiers=records.tier_of_position(known.tiers) if known.tiers.is_public else None,
            context=records.context,
        )
        for batch in Reader(known, self.words).batches(release, np.arange(len(records)), self.schedule.batch):
            yield batch, records.points[batch.positions]

    def _drawn(self, epoch: int, part: int) -> Knowledge:
        """Knowledge under scales drawn for one part of an epoch."""
        if self.network.scale_range is None:
            return self.known
        low, high = np.log(self.network.scale_range)
        rng = np.random.default_rng([self.schedule.seed, epoch, part, 1])
        return self._at(np.exp(np.sort(rng.uniform(low, high, self.known.tiers.n_levels))))

    def _tried(self) -> list[Knowledge]:
        if self.network.scale_range is None:
            return [self.known]
        grid = np.geomspace(*self.network.scale_range, 3)
        return [self._at(np.full(self.known.tiers.n_levels, scale)) for scale in grid]

    def _at(self, levels: FloatArray) -> Knowledge:
        """Knowledge under one scale for each level of sensitivity."""
        if self.family is None:
            raise InvalidInput("scale_range is given without family, expected the mechanism at other scales")
        known = self.known.tiers
        tiers = known.with_scales(known.scales_of_levels(levels.tolist()))
        return replace(self.known, tiers=tiers, mechanism=self.family(tiers))

    def _set_rate(self, done: float) -> None:
        """A short warm-up, then a cosine decay to 0 at the last epoch."""
        factor = min(done / _RISE, 1.0) * 0.5 * (1.0 + np.cos(np.pi * min(done, 1.0)))
        for group in self.optimiser.param_groups:
            group["lr"] = self.schedule.learning_rate * factor


def fit_informed(
    known: Knowledge,
    network: Network | None = None,
    schedule: Schedule | None = None,
    *,
    family: Family | None = None,
    checkpoint: Path | None = None,
) -> Informed:
    """Train on the fit records with fresh noise each epoch, then fit the scale s by log score on the validation part.

    **Guarantee**: a document with one position gets its own release exactly; s is 0 when the validation part shows no
    gain over `own` beyond chance. Repeats under one seed on one machine.
    """
    network, schedule = network or Network(), schedule or Schedule()
    learner = _Learner(known, network, schedule, family)
    curve = train(learner, schedule, _purpose(known, network, schedule), checkpoint)
    name = "informed-lstm" + ("+W" if network.reads_context else "")
    attacker = Informed(known, learner.model.eval(), learner.words, 1.0, curve, name)
    held = known.fit.take(learner.held)
    if not (held.lengths > 1).any():
        return replace(attacker, scale=0.0)
    weights = best_weights(held_out_terms([attacker], known, held, np.random.default_rng([schedule.seed, 2])))
    return replace(attacker, scale=float(weights[0]))


def _loss(model: ContextNetwork, batch: Batch, truth: IntArray) -> Tensor:
    """Cross-entropy of the posterior and, with W, of the prior given W."""
    total = torch.zeros(())
    for said in model(batch):
        column = torch.from_numpy(np.searchsorted(said.group.points, truth[said.group.members]))
        score = said.log_prior + said.log_own + said.context
        total = total + nn.functional.cross_entropy(score, column, reduction="sum")
        if said.shift is not None:
            total = total + nn.functional.nll_loss(said.log_prior, column, reduction="sum")
    return total / len(truth)


def _purpose(known: Knowledge, network: Network, schedule: Schedule) -> str:
    """A name for data and settings, so that a checkpoint continues nothing else."""
    return fingerprint(("informed", network, replace(schedule, max_seconds=None), known))

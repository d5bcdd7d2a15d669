"""The masked attacker: a network that learned from clean records to say a hidden secret, read with exact likelihoods.

From the left, position after position: particle i predicts p_i(x) from the secrets it has drawn so far, and
c→_t(x) = log mean_i p_i(x)/π(x). Then particles continue in proportion to Σ_x p_i(x)·M(y_t|x), each with a secret drawn
from p_i(x)·M(y_t|x): message passing that is exact for many particles (Gordon et al., 1993). From the right likewise;
c_t = c→_t + c←_t, so y_t never enters its own context term. Nothing is trained again when the mechanism changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.chain_terms import UNKNOWN, gap_classes
from oddshift.attackers.law_attacker import BATCH_ENTRIES, LawAttacker, Terms, length_batches
from oddshift.attackers.masked_network import MaskedNetwork, Side
from oddshift.attackers.networks import arrays_of, put_back
from oddshift.attackers.training import Curve, Schedule, State, split, train
from oddshift.base.arrays import FloatArray, IntArray, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content, fingerprint
from oddshift.base.logarithms import log_normalise
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates, set_numbers

PARTICLE_POINTS, FEWEST, MOST = 65_536, 16, 128
"""Particles times points of one position, and the range of the particles; a few suit many points, whose releases tell
more."""

GOLDEN = (5.0**0.5 - 1.0) / 2.0
"""Multiples of it, less their whole parts, cover the unit interval evenly, however many there are."""

_REST = 256  # documents of one step of validation


@dataclass(frozen=True, kw_only=True)
class MaskedSettings:
    """Width of the readers, the share of read secrets that training hides, and the particles of one document.

    Without a number there are as many particles as PARTICLE_POINTS allows, at least FEWEST and at most MOST.
    """

    width: int = 64
    hidden: float = 0.1
    particles: int | None = None

    def __post_init__(self) -> None:
        """Check sizes."""
        whole(self.width, "width", 1)
        if self.particles is not None:
            whole(self.particles, "particles", 1)
        if not 0.0 <= self.hidden < 1.0:
            raise InvalidInput(f"hidden={self.hidden}, expected 0 <= hidden < 1")


MASKED_SCHEDULE = Schedule(epochs=12, patience=2, batch=32, learning_rate=4e-3)
"""How long the network is trained unless told otherwise: clean records need no fresh noise, so few epochs do."""


@dataclass(frozen=True, eq=False, repr=False)
class MaskedLaw:
    """The network, and with how many particles for each document it is read."""

    model: MaskedNetwork
    particles: int
    curve: Curve

    @property
    def fingerprint(self) -> str:
        """The weights and the particles; how training went does not count."""
        return content(self, without=("curve",))

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Documents of one length at a time."""
        places = _features(release, known)
        sets = _sets(known)
        with torch.no_grad():
            for positions in length_batches(release, self.particles * len(known.log_prior), 8 * BATCH_ENTRIES):
                tiers = (
                    np.zeros_like(positions) if release.position_tiers is None else release.position_tiers[positions]
                )
                outputs, size = release.outputs[positions], len(known.log_prior)
                orders = range(positions.shape[1]), range(positions.shape[1])[::-1]
                context = np.zeros((*positions.shape, size))
                if positions.shape[1] > 1:
                    own = known.mechanism.log_columns(outputs.ravel()).reshape(context.shape)
                    for side, features, order in zip(self.model.sides, places, orders, strict=True):
                        seen = (own, tiers, torch.from_numpy(features[positions]))
                        _Filter(side, sets, self.particles).add(context, seen, order)  # type: ignore[arg-type]
                yield Terms(positions.ravel(), context.reshape(-1, size), known.log_prior)


@dataclass(frozen=True, eq=False)
class _Set:
    """The candidates of one public tier, or of all, with their log prior, normalised over them."""

    points: IntArray
    log_prior: Tensor


@dataclass(frozen=True, eq=False)
class _Filter:
    """One reader that passes through documents of one length with several particles for each of them."""

    side: Side
    sets: tuple[_Set, ...]
    particles: int

    def add(self, context: FloatArray, seen: tuple[FloatArray, IntArray, Tensor], order: range) -> None:
        """Add log Pr[x_t = x | outputs already passed] − log π(x) to `context`; own releases, tiers and features are
        (documents, length, …), and `order` is that of the positions."""
        own, tiers, features = seen
        places, read, write = self.side.place(features), self.side.read(), self.side.write()
        documents = len(tiers)
        uniforms = np.random.default_rng([order[0], len(order)]).random((len(order), 2, documents, 1))
        state = torch.zeros(documents, self.particles, read.shape[1])
        plain = torch.zeros(documents, read.shape[1])
        for t in order:
            place = places[:, t]
            told = (
                self.side.context_vector(state, place[:, None].expand_as(state))
                - self.side.context_vector(plain, place)[:, None]
            )
            element, mean = torch.empty_like(state), torch.empty_like(plain)
            for g in np.unique(tiers[:, t]):
                rows, each = np.flatnonzero(tiers[:, t] == g), self.sets[g]
                at = np.ix_(rows, np.array([t]), each.points)
                law = (told[rows] @ write[each.points].T + each.log_prior).log_softmax(dim=-1)
                context[at] += _mean_ratio(law, each.log_prior).double().numpy()[:, None]
                joint = law + torch.from_numpy(own[at]).float()
                ancestor, value = _drawn(joint, torch.from_numpy(uniforms[t][:, rows]).float())
                state[rows] = state[rows].gather(1, ancestor[..., None].expand(-1, -1, state.shape[2]))
                element[rows] = read[torch.from_numpy(each.points)[value]]
                mean[rows] = each.log_prior.exp() @ read[each.points]
            state = self._taken(element + place[:, None], state)
            plain = self.side.step(mean + place, plain)

    def _taken(self, element: Tensor, state: Tensor) -> Tensor:
        """All particles after one more element."""
        return self.side.step(element.flatten(0, 1), state.flatten(0, 1)).reshape(state.shape)


def _mean_ratio(law: Tensor, log_prior: Tensor) -> Tensor:
    """log of mean_i p_i(x)/π(x), one more particle that has read nothing among them: what few miss stays possible."""
    everyone = torch.cat([law - log_prior, torch.zeros_like(law[:, :1])], dim=1)
    return everyone.logsumexp(dim=1) - np.log(everyone.shape[1])


def _drawn(joint: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """Of each document new particles: whose state they continue, and the secret they take there.

    `joint` is log Pr[x, y_t | particle], (documents, particles, points): a particle is continued in proportion to what
    it gave to the output, and its secret is drawn from its exact posterior. `uniforms` are (2, documents, 1).
    """
    count = joint.shape[1]
    weight = joint.logsumexp(dim=2).softmax(dim=1).cumsum(dim=1)
    even = (torch.arange(count) + uniforms[0]) / count  # one uniform for all particles
    ancestor = torch.searchsorted(weight, even.contiguous()).clamp(max=count - 1)
    mass = joint.softmax(dim=2).cumsum(dim=2).gather(1, ancestor[..., None].expand(-1, -1, joint.shape[2]))
    spread = (uniforms[1] + GOLDEN * torch.arange(count)) % 1.0  # even over the particles that continue one state
    level = spread[..., None] * mass[..., -1:]
    value = torch.searchsorted(mass, level.contiguous()).clamp(max=joint.shape[2] - 1)
    return ancestor, value[..., 0]


class _MaskedLearner:
    """One epoch: every clean document once, some of what is read hidden, both readers predict every position."""

    def __init__(self, known: Knowledge, settings: MaskedSettings, schedule: Schedule) -> None:
        self.fit, self.settings, self.schedule = known.fit, settings, schedule
        self.sets, self.tiers = _sets(known), _tiers(known)
        self.places = _features(known.fit, known)
        self.learn, self.held = split(known.fit.clusters, schedule.validation, schedule.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(schedule.seed)
            self.model = MaskedNetwork(settings.width, known.fit.space.points, self.places[0].shape[1])
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), schedule.learning_rate, weight_decay=schedule.weight_decay
        )

    def epoch(self, number: int) -> float:
        """All documents of two positions or more."""
        rng = np.random.default_rng([self.schedule.seed, number])
        order = rng.permutation(self.learn[self.fit.lengths[self.learn] > 1])
        total, seen = 0.0, 0
        self.model.train()
        for start in range(0, len(order), self.schedule.batch):
            chosen = order[start : start + self.schedule.batch]
            self.optimiser.zero_grad()
            loss, count = self._loss(chosen, rng)
            (loss / count).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimiser.step()
            total, seen = total + loss.item(), seen + count
        return total / max(1, seen)

    def validate(self) -> float:
        """Mean loss of the held-out documents with nothing hidden."""
        held = self.held[self.fit.lengths[self.held] > 1]
        total, seen = 0.0, 0
        self.model.eval()
        with torch.no_grad():
            for start in range(0, len(held), _REST):
                loss, count = self._loss(held[start : start + _REST], None)
                total, seen = total + loss.item(), seen + count
        return total / max(1, seen)

    def state(self) -> State:
        """Weights and the optimiser's moments."""
        return arrays_of(self.model, self.optimiser)

    def restore(self, state: State) -> None:
        """Restore weights and moments."""
        put_back(self.model, self.optimiser, state)

    def _loss(self, documents: IntArray, rng: np.random.Generator | None) -> tuple[Tensor, int]:
        """The sum of the cross-entropies of both readers, and how many predictions that is."""
        lengths = self.fit.lengths[documents]
        real = np.arange(lengths.max())[None, :] < lengths[:, None]
        total = torch.zeros(())
        for end, side in enumerate(self.model.sides):
            grid = np.where(real, self.fit.offsets[documents][:, None] + np.arange(real.shape[1]), 0)
            if end:  # the other end comes first
                grid = np.where(
                    real, (self.fit.offsets[documents] + lengths - 1)[:, None] - np.arange(real.shape[1]), 0
                )
            said = self._said(side, grid, self.places[end], rng)  # type: ignore[arg-type]
            total = total + self._score(side, said[torch.from_numpy(real)], grid[real])  # type: ignore[arg-type]
        return total, 2 * int(real.sum())

    def _said(self, side: Side, grid: IntArray, features: FloatArray, rng: np.random.Generator | None) -> Tensor:
        """h − h̄ of every position of a grid, secrets hidden at random being read as their mean."""
        places, read = side.place(torch.from_numpy(features[grid])), side.read()
        means = torch.stack([each.log_prior.exp() @ read[each.points] for each in self.sets])
        mean = means[torch.from_numpy(self.tiers[grid])]
        element = read[torch.from_numpy(self.fit.points[grid])]
        if rng is not None and self.settings.hidden:
            hide = torch.from_numpy(rng.random(grid.shape) < self.settings.hidden)
            element = torch.where(hide[..., None], mean, element)
        return side.states(element, places) - side.states(mean, places)

    def _score(self, side: Side, said: Tensor, positions: IntArray) -> Tensor:
        total, write = torch.zeros(()), side.write()
        for g, each in enumerate(self.sets):
            rows = np.flatnonzero(self.tiers[positions] == g)
            if not len(rows):
                continue
            score = said[torch.from_numpy(rows)] @ write[each.points].T + each.log_prior
            truth = torch.from_numpy(np.searchsorted(each.points, self.fit.points[positions[rows]]))
            total = total + nn.functional.cross_entropy(score, truth, reduction="sum")
        return total


def fit_masked(
    known: Knowledge,
    settings: MaskedSettings | None = None,
    schedule: Schedule | None = None,
    *,
    checkpoint: Path | None = None,
) -> LawAttacker:
    """Train on clean fit records. The context term is meant to be scaled by a fitted weight (`combination`).

    **Guarantee**: a document with one position gets its own release and nothing else. Repeats under one seed on one
    machine.
    """
    settings, schedule = settings or MaskedSettings(), schedule or MASKED_SCHEDULE
    learner = _MaskedLearner(known, settings, schedule)
    purpose = fingerprint(("masked", settings, replace(schedule, max_seconds=None), known))
    curve = train(learner, schedule, purpose, checkpoint)
    return LawAttacker(known, MaskedLaw(learner.model.eval(), _particles(known, settings), curve), "masked")


def _particles(known: Knowledge, settings: MaskedSettings) -> int:
    if settings.particles is not None:
        return settings.particles
    return min(MOST, max(FEWEST, PARTICLE_POINTS // len(known.log_prior)))


def _sets(known: Knowledge) -> tuple[_Set, ...]:
    found = []
    for g in set_numbers(known.tiers):
        points = np.flatnonzero(candidates(known.tiers, g))
        found.append(_Set(points, torch.from_numpy(log_normalise(known.log_prior[points])).float()))
    return tuple(found)


def _tiers(known: Knowledge) -> IntArray:
    """The candidate set of every position of the fit records."""
    if not known.tiers.is_public:
        return np.zeros(len(known.fit.points), dtype=np.int64)
    return known.fit.tier_of_position(known.tiers)


def _features(documents: Records | Release, known: Knowledge) -> tuple[FloatArray, FloatArray]:
    """What is public about every position as each reader comes to it: the gap it crossed, and the tier if public."""
    before = gap_classes(documents)
    after = np.append(before[1:], UNKNOWN)
    last = documents.offsets[1:][np.diff(documents.offsets) > 0] - 1
    after[last] = UNKNOWN
    tiers = _tiers(known) if isinstance(documents, Records) else documents.position_tiers
    kinds = np.zeros((len(before), len(known.tiers)), dtype=np.float32)
    if known.tiers.is_public and tiers is not None:
        kinds[np.arange(len(before)), tiers] = 1.0
    gaps = np.eye(UNKNOWN + 1, dtype=np.float32)
    first, second = (np.concatenate([gaps[side], kinds], axis=1) for side in (before, after))
    return first, second

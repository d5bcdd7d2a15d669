"""Paper mode: reconstruct the secrets from the joint release by least squares, then a Gaussian softmax around them.

The paper's threat model (2): RNN, LSTM or Transformer, mean squared error, Adam at 1e-3 reduced on plateaus, and
Pr[x|y] ∝ exp(−‖x̂ − x‖²/(τ_base·τ)). Kept for reproduction only: the temperature decides what it reports, since no part
of it is calibrated. Print it together with the controls `null` and `own`.

The temperature of paper mode, fitted by log score on documents that it was not trained on (Guo et al., 2017).

The paper cites temperature scaling and states no temperature; this is the one that makes its posterior as well
calibrated as one number can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from oddshift.attackers.attacker import Beliefs, Knowledge
from oddshift.attackers.paired_log_score import split
from oddshift.attackers.reconstruction import (
    BLOCK,
    Family,
    PairLearner,
    PaperSettings,
    Reconstruction,
    Sight,
    log_scales,
    padded,
)
from oddshift.attackers.training import Curve, Schedule, noise, train
from oddshift.base.arrays import FloatArray, IntArray, finite
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content, fingerprint
from oddshift.model.records import Records
from oddshift.model.release import Release

PAPER_SCHEDULE = Schedule(epochs=50, patience=50, learning_rate=1e-3, weight_decay=0.0, validation=0.25)
"""60/20 of the paper's 60/20/20 is 75/25 of the fit records; the number of epochs is not stated there."""


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
            for start in range(0, len(order), BLOCK):
                positions, outputs, real = padded(release, order[start : start + BLOCK])
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
    learner = PairLearner(known, settings, schedule, Sight(_own_points(known, embedding), family))
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


RANGE = (0.01, 1e4)
"""Temperatures that are tried; the upper end means that nothing was learned."""

_HELD_OUT_NOISE = 1_000_000_000  # the epoch whose noise the held-out documents are released with


def guesses(attacker: Paper, release: Release) -> FloatArray:
    """x̂ of every position."""
    found = np.empty((len(release.outputs), attacker.points.shape[1]))
    for positions, guess in attacker.reconstructions(release):
        found[positions] = guess
    return found


def fitted_temperature(attacker: Paper, release: Release, truth: Records, most: int = 400) -> float:
    """T of the largest log score of the truth on up to `most` positions, by golden section on ln T."""
    keep: IntArray = np.random.default_rng(0).permutation(len(truth.points))[:most]
    squares = squared_distances(guesses(attacker, release)[keep], attacker.points)
    squares -= squares.min(axis=1, keepdims=True)  # so that the largest term of every sum is 1, at any T
    own, room = squares[np.arange(len(keep)), truth.points[keep]], np.empty(squares.shape, dtype=np.float32)
    short = squares.astype(np.float32)

    def loss(log_t: float) -> float:
        np.multiply(short, np.float32(-np.exp(-log_t)), out=room)
        np.exp(room, out=room)
        return float((own / np.exp(log_t) + np.log(room.sum(axis=1, dtype=np.float64))).mean())

    low, high, ratio = np.log(RANGE[0]), np.log(RANGE[1]), (np.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(30):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(right)
    return float(np.exp((low + high) / 2))


def with_fitted_temperature(attacker: Paper, share: float, seed: int) -> Paper:
    """The same network at the temperature that fits the documents its training held out."""
    return _at(attacker, fitted_temperature(attacker, *_held_out(attacker, share, seed)))


def with_matched_temperature(attacker: Paper, share: float, seed: int, matched: tuple[float, float]) -> Paper:
    """The same network at the temperature that gives a stated ratio at a stated ε on the documents held out.

    The name says so, since a ratio that was asked for is evidence of nothing.
    """
    release, _ = _held_out(attacker, share, seed)
    found = matched_temperature(attacker, release, *matched)
    return replace(_at(attacker, found), name=f"{attacker.name} (T matched)")


def matched_temperature(attacker: Paper, release: Release, epsilon: float, ratio: float) -> float:
    """T at which a share `ratio` of pairs of points has mPL > ε: mPL is u/T, so that T is a quantile of u over ε."""
    return float(np.quantile(_pair_shifts(attacker, release), 1 - ratio)) / epsilon


def share_beyond(attacker: Paper, release: Release, epsilon: float) -> float:
    """The share of pairs of points with mPL > ε at the temperature that the attacker has."""
    return float((_pair_shifts(attacker, release) > epsilon * attacker.settings.temperature).mean())


def _pair_shifts(attacker: Paper, release: Release, most: int = 128) -> FloatArray:
    """u = |‖x̂−x_i‖² − ‖x̂−x_j‖²|/d on up to `most` positions, for all pairs of up to `most` points."""
    rng, space = np.random.default_rng(0), attacker.known.mechanism.space
    compared = np.sort(rng.permutation(len(space))[:most])
    seen = rng.permutation(len(release.outputs))[:most]
    squares = squared_distances(guesses(attacker, release)[seen], attacker.points[compared])
    first, second = np.triu_indices(len(compared), 1)
    distances = space.metric.between(space.points[compared], space.points[compared])[first, second]
    return np.asarray(np.abs(squares[:, first] - squares[:, second]) / distances)


def _held_out(attacker: Paper, share: float, seed: int) -> tuple[Release, Records]:
    """The documents that training held out, and a release of them."""
    fit = attacker.known.fit
    _, held = split(fit.clusters, share, seed)
    records = fit.take(held[fit.lengths[held] > 0])
    uniforms = noise(seed, held[fit.lengths[held] > 0], records.lengths, _HELD_OUT_NOISE)
    outputs = attacker.known.mechanism.invert(records.points, uniforms)
    return Release(outputs=outputs, offsets=records.offsets, position_tiers=None, context=None), records


def _at(attacker: Paper, temperature: float) -> Paper:
    return replace(attacker, settings=replace(attacker.settings, tau_base=temperature, tau=1.0))

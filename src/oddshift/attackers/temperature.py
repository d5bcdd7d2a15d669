"""The temperature of paper mode, fitted by log score on documents that it was not trained on (Guo et al., 2017).

The paper cites temperature scaling and states no temperature; this is the one that makes its posterior as well
calibrated as one number can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oddshift.attackers.paper import Paper, squared_distances
from oddshift.attackers.training import noise, split
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release

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

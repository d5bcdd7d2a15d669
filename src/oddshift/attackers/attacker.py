"""An attacker: from a release it says how far the odds of every candidate shift, at every position.

log posterior(x) = log prior(x) + log M(y_l|x) + c(x; other outputs) + const. The own term is known exactly, because
the attacker knows the mechanism; only the context term c is ever estimated. The shift is everything after the prior.

Blocks of a release: whole documents at a time, so that rows over all candidates stay within a stated size.

An attacker that is fitted again for every mechanism, as the paper does in every round of its loop.

This is expensive and rarely needed: our own attackers estimate only the context, and work against any mechanism.

The law of places before any release, from few users: where the others were says little about one more user.

Counts of places know the homes of those who were counted. The law here is a mixture of the counts, of the counts
spread to places nearby and of a uniform law; its shares predict the places of every unit best from those of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from oddshift.attackers.backoff import mixing_weights
from oddshift.attackers.paired_log_score import choosing_clusters
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, positive
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.base.logarithms import log
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs:
    """For some positions of a release: log prior and shift of every point, both up to a constant for each position.

    `log_prior` is (points,) or, for attackers that read W, (positions, points): then it is the prior given W. Where an
    attacker also has `candidate_beliefs(release)`, the columns of its blocks stand for `points`, the candidates of
    positions of one set; otherwise `points` is None, and they stand for all.
    """

    positions: IntArray
    shift: FloatArray
    log_prior: FloatArray
    points: IntArray | None = None


class Attacker(Protocol):
    """Anything with a name that turns a release into beliefs, block by block."""

    @property
    def name(self) -> str:
        """The name in tables."""

    @property
    def with_context(self) -> bool:
        """Whether it reads the public context W."""

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Blocks that together cover every position of the release once."""


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """What every attacker knows beforehand: the mechanism, the tiers, and records of the same population (fit split).

    It never holds the audited secrets. `log_prior` is the frequency of every point in the fit records, smoothed.
    """

    mechanism: Mechanism
    tiers: Tiers
    fit: Records
    log_prior: FloatArray

    fingerprint = cached_property(content)

    @cached_property
    def weights(self) -> FloatArray:
        """π of every point; the weights of a utility loss."""
        prior = np.exp(self.log_prior)
        return prior / prior.sum()

    def __repr__(self) -> str:
        """Sizes only."""
        return f"Knowledge({self.mechanism!r}, {self.fit!r})"


def knowledge(mechanism: Mechanism, tiers: Tiers, fit: Records, smoothing: float = 0.5) -> Knowledge:
    """Estimate the prior: counts in the fit records plus `smoothing` for every sensitive point, normalised.

    For places the counts are mixed with broader laws, as far as those predict the places of other users better.
    """
    if len(fit.space) != len(mechanism.space) or len(tiers.labels) != len(mechanism.space):
        raise InvalidInput(
            f"records over {len(fit.space)} points and tiers over {len(tiers.labels)}, "
            f"expected {len(mechanism.space)}, the mechanism's"
        )
    positive(smoothing, "smoothing")
    if fit.space.metric.name == "haversine" and len(fit.points):
        return Knowledge(mechanism, tiers, fit, log(place_law(fit, tiers.sensitive, smoothing)))
    counts = fit.counts() + smoothing
    counts = np.where(tiers.sensitive, counts, 0.0)
    return Knowledge(mechanism, tiers, fit, log(counts / counts.sum()))


def against(attacker: Attacker, known: Knowledge) -> Attacker:
    """The same attacker against another mechanism, without learning again; refused if the attacker cannot do that."""
    method = getattr(attacker, "against", None)
    if method is None:
        raise InvalidInput(
            f"attacker {attacker.name} has no method against(known), expected one that works at any scales"
        )
    found: Attacker = method(known)
    return found


def carried(attacker: Attacker, known: Knowledge) -> Attacker:
    """The same attacker against another mechanism, without fitting even weights; otherwise as `against`."""
    method = getattr(attacker, "carried", None)
    found: Attacker = against(attacker, known) if method is None else method(known)
    return found


BLOCK_POSITIONS = 256
"""Positions of one block of beliefs; a performance setting."""


def position_blocks(release: Release) -> Iterator[IntArray]:
    """All positions, a block at a time."""
    everyone = np.arange(len(release.outputs))
    return (everyone[start : start + BLOCK_POSITIONS] for start in range(0, len(everyone), BLOCK_POSITIONS))


def document_blocks(release: Release, width: int, entries: int) -> Iterator[range]:
    """Runs of whole documents of about `entries` entries, a row of `width` for each position; one document or more."""
    start, limit = 0, max(1, entries // width)
    while start < len(release):
        stop = int(np.searchsorted(release.offsets, release.offsets[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), len(release))
        yield range(start, stop)
        start = stop


def release_blocks(release: Release, width: int, entries: int) -> Iterator[tuple[int, Release]]:
    """The same as releases, those without any position left out, each with the number of its first position."""
    for documents in document_blocks(release, width, entries):
        block = release.take(np.arange(documents.start, documents.stop))
        if len(block.outputs):
            yield int(release.offsets[documents.start]), block


@dataclass(frozen=True, eq=False, repr=False)
class Retrained:
    """A fitted attacker and how it was fitted; under another mechanism it is fitted again."""

    fit: Callable[[Knowledge], Attacker]
    fitted: Attacker

    @property
    def fingerprint(self) -> str:
        """The fitted attacker, and the way it was fitted where that has a name of its own."""
        try:
            return content(self)
        except InvalidInput:
            return content(self, without=("fit",))

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.fitted.name

    @property
    def with_context(self) -> bool:
        """Whether it reads W."""
        return self.fitted.with_context

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Those of the fitted attacker."""
        return self.fitted.beliefs(release)

    def against(self, known: Knowledge) -> Retrained:
        """Fitted against another mechanism."""
        return Retrained(self.fit, self.fit(known))


USER_FOLDS = 5
"""Parts of the units, each predicted from the others."""

SPREADS = (1.0, 3.0, 9.0)
"""How far counts are spread, in units of the median distance from a place to the nearest other one."""

MOST_PLACES = 4_000
"""Places above which counts are not spread; a table of all distances is needed for that."""


def place_law(fit: Records, allowed: BoolArray, smoothing: float) -> FloatArray:
    """Pr[place] before any release, (points,), 0 for points that are not allowed."""
    size, clusters = len(fit.space), choosing_clusters(fit)
    distinct, cluster = np.unique(clusters, return_inverse=True)
    kernels = _spreads(fit, allowed)
    everyone = fit.counts().astype(np.float64)
    if len(distinct) < 2:
        return _spread_law(everyone + smoothing, allowed)
    fold = np.random.default_rng(len(distinct)).permutation(len(distinct))[cluster] % USER_FOLDS
    predicted, count = [], []
    for part in np.unique(fold):
        mine = fit.take(np.flatnonzero(fold == part)).counts().astype(np.float64)
        others = everyone - mine
        at = np.flatnonzero(mine)
        predicted.append(np.stack([law[at] for law in _place_laws(others, smoothing, kernels, allowed)], axis=1))
        count.append(mine[at])
    weights = mixing_weights(np.concatenate(predicted), np.concatenate(count))
    laws = _place_laws(everyone, smoothing, kernels, allowed)
    return np.asarray(sum((w * law for w, law in zip(weights, laws, strict=True)), np.zeros(size)))


def _place_laws(
    counts: FloatArray, smoothing: float, kernels: list[FloatArray], allowed: BoolArray
) -> Iterator[FloatArray]:
    yield _spread_law(counts + smoothing, allowed)
    for kernel in kernels:
        yield _spread_law(counts @ kernel + smoothing / len(counts), allowed)
    yield _spread_law(np.ones(len(counts)), allowed)


def _spread_law(counts: FloatArray, allowed: BoolArray) -> FloatArray:
    inside = np.where(allowed, counts, 0.0)
    return np.asarray(inside / inside.sum())


def _spreads(fit: Records, allowed: BoolArray) -> list[FloatArray]:
    size = len(fit.space)
    if not 2 <= size <= MOST_PLACES:
        return []
    distances = fit.space.distances
    nearest = float(np.median((distances + np.diag(np.full(size, np.inf))).min(axis=1)))
    found = []
    for spread in SPREADS:
        kernel = np.exp(-distances / (spread * nearest)) * allowed
        found.append(kernel / np.maximum(kernel.sum(axis=1, keepdims=True), 1e-300))
    return found

"""Repair: Bayesian remapping of whole documents, z = R(y_1..y_L, W), by a law of documents and the known channel.

`best` releases argmin_y' E[c(X_l, y') | y_1..y_L, W]; `typical` one draw of Pr[X_1..X_L | y_1..y_L, W], so that
frequencies and relations between secrets are those of the law. R never reads a secret: it is post-processing, so the
largest mPL, the success of guesses and the log score of z are at most those of y, however bad the law is. The rate
Pr[mPL > ε] is not closed under post-processing: it is certified for y.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge
from oddshift.attackers.paired_log_score import choosing_clusters, split
from oddshift.attackers.row_copula import copula_of_release, fit_copula_law
from oddshift.attackers.row_law import fit_row_law
from oddshift.attackers.row_layout import layout_of, row_layout
from oddshift.attackers.sequence_law import fit_sequence_law, sequence_law_of_release
from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.cost import Cosine, Cost, cost_of, directions
from oddshift.model.records import Records
from oddshift.model.release import Release, candidate_sets, candidates, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

DRAWN = "drawn"
"""The mode of a tier that is not repaired."""

MODES = (DRAWN, "best", "typical")
"""A tier is released as it was drawn, as what costs least, or as a draw from the law."""

SOURCES = ("release", "fit", "public")
"""What a law may be learned from: the noisy release alone, the fit documents, or records that the user names."""

LEAST = 10
"""Documents that must hold what a law learned from private documents says."""

HELD_OUT, HELD_DOCUMENTS = 0.2, 500
"""The share of the documents on which laws are compared, and their largest number."""

WAYS = 5
"""Ways to hold documents out when laws are compared."""

UPDATES = 200
"""Largest number of Bayesian updates of a law of points."""

Marginals = tuple[IntArray, IntArray, FloatArray]
"""Positions, their candidate points, and the posterior (positions, candidates)."""


class DocumentLaw(Protocol):
    """A joint law of the secrets of a document given W, with exact posteriors under a known mechanism."""

    def marginals(self, known: Knowledge, release: Release) -> Iterator[Marginals]:
        """The posterior of every position given all outputs of its document."""

    def draw(self, known: Knowledge, release: Release, rng: np.random.Generator) -> IntArray:
        """One joint draw of every document given all its outputs, as a point for every position."""


@dataclass(frozen=True, eq=False, repr=False)
class Repair:
    """A law with the mode of every tier and the cost that `best` makes small.

    **Guarantee**: the result depends on the release, the law and fresh randomness alone; outputs of a public tier stay
    in their tier, and those of tiers with the mode `drawn` stay as they are.
    """

    law: DocumentLaw
    modes: tuple[str, ...]
    cost: Cost

    def __post_init__(self) -> None:
        """Refuse modes that do not exist."""
        for mode in self.modes:
            if mode not in MODES:
                raise InvalidInput(f"mode={mode!r}, expected one of {', '.join(MODES)}")

    def __call__(self, known: Knowledge, release: Release, rng: np.random.Generator) -> IntArray:
        """The repaired output of every position. `known` holds mechanism, tiers and points; its records are not read.

        Where tiers are secret all positions have the first mode.
        """
        found = release.outputs.copy()
        tier = np.zeros(len(found), dtype=np.int64) if release.position_tiers is None else release.position_tiers
        modes = np.array([MODES.index(mode) for mode in self.modes])[tier]
        for mode in (m for m in ("best", "typical") if (modes == MODES.index(m)).any()):
            mine = modes == MODES.index(mode)
            if mode == "best":
                outputs = best_outputs(self.law.marginals(known, release), known.fit.space, self.cost, len(found))
            else:
                outputs = self.law.draw(known, release, rng)
            found[mine] = outputs[mine]
        return found


def best_outputs(posteriors: Iterable[Marginals], space: Space, cost: str | Cost, positions: int) -> IntArray:
    """For every position the candidate of least expected cost under its posterior; block by block, GEMM.

    >>> posteriors = [(np.array([0]), np.array([0, 1, 2]), np.array([[0.4, 0.2, 0.4]]))]
    >>> best_outputs(posteriors, Space([[0.0], [1.0], [2.0]]), "euclidean", 1).tolist()
    [1]
    """
    chosen, found = cost_of(cost), np.full(positions, -1, dtype=np.int64)
    tables: dict[bytes, FloatArray] = {}
    for mine, points, posterior in posteriors:
        key = points.tobytes()
        if isinstance(chosen, Cosine):
            unit = tables.setdefault(key, directions(space.points[points]))
            found[mine] = points[np.argmax((posterior @ unit) @ unit.T, axis=1)]
            continue
        if key not in tables:
            tables[key] = _costs(space, points, chosen)
        found[mine] = points[np.argmin(posterior @ tables[key], axis=1)]
    return found


def _costs(space: Space, points: IntArray, cost: Cost) -> FloatArray:
    part = space.part(points)
    return np.vstack(
        [cost.between(part, np.arange(len(points))[rows], part) for rows in blocks(len(points), len(points))]
    )


def posteriors_of(attacker: Attacker, release: Release, tiers: Tiers) -> Iterator[Marginals]:
    """The posterior marginals that any attacker believes in: what makes it a repairer of the mode `best`."""
    for block in _beliefs(attacker, release, tiers):
        assert block.points is not None
        total = block.log_prior + block.shift
        total = total - total.max(axis=1, keepdims=True)
        weights = np.exp(total)
        yield block.positions, block.points, weights / weights.sum(axis=1, keepdims=True)


def _beliefs(attacker: Attacker, release: Release, tiers: Tiers) -> Iterator[Beliefs]:
    """Beliefs over the candidates of each position."""
    own = getattr(attacker, "candidate_beliefs", None)
    if own is not None:
        yield from own(release)
        return
    labels = release.position_tiers
    for block in attacker.beliefs(release):
        tier = np.zeros(len(block.positions), dtype=np.int64) if labels is None else labels[block.positions]
        for g in np.unique(tier):
            rows, points = np.flatnonzero(tier == g), np.flatnonzero(candidates(tiers, int(g)))
            prior = np.broadcast_to(block.log_prior, block.shift.shape)[np.ix_(rows, points)]
            yield Beliefs(block.positions[rows], block.shift[np.ix_(rows, points)], prior, points)


def fit_law(known: Knowledge, least: int = 1, kind: str | None = None) -> DocumentLaw:
    """The law of clean records that predicts held-out documents best (`law_kind`).

    **Guarantee**: every count and mean behind it is that of at least `least` documents.
    """
    kind = kind or law_kind(known, least)
    if kind == "sequence":
        return fit_sequence_law(known, least)
    layout = row_layout(known)
    assert layout is not None
    return (fit_copula_law if kind == "copula" else fit_row_law)(known, layout, least)


def law_kind(known: Knowledge, least: int) -> str:
    """`copula` or `tree` of the columns where records are rows and it tells most of released secrets, or `sequence`.

    The score is the mean over several ways to hold documents out: one says little where there are few.
    """
    if row_layout(known) is None:
        return "sequence"
    scores = dict.fromkeys(("copula", "tree", "sequence"), 0.0)
    for seed in range(WAYS):
        learn, held = split(choosing_clusters(known.fit), HELD_OUT, seed)
        part = replace(known, fit=known.fit.take(learn))
        if not len(held) or row_layout(part) is None:
            return "copula"
        secrets = known.fit.take(held[:HELD_DOCUMENTS])
        release = perturb(secrets, known.mechanism, known.tiers, np.random.default_rng(seed))
        for kind in scores:
            scores[kind] += log_score(fit_law(part, least, kind), part, release, secrets)
    return min(scores, key=lambda kind: scores[kind])


def log_score(law: DocumentLaw, known: Knowledge, release: Release, secrets: Records) -> float:
    """Mean −log posterior of the truth, in nats."""
    found = np.zeros(len(secrets.points))
    for mine, points, posterior in law.marginals(known, release):
        found[mine] = posterior[np.arange(len(mine)), np.searchsorted(points, secrets.points[mine])]
    return float(-np.log(np.maximum(found, 1e-12)).mean())


def law_of_release(
    mechanism: Mechanism, tiers: Tiers, release: Release, rng: np.random.Generator, least: int = LEAST
) -> DocumentLaw:
    """The law that a noisy release teaches by itself, the known channel inverted.

    Of rows by moments (`copula_of_release`), of sequences by maximum likelihood (`sequence_law_of_release`); where both
    are possible, the one that predicts the outputs of the other half of the documents better.

    **Guarantee**: only outputs and W are read, so everything that follows is post-processing.
    """
    labels = release.position_tiers
    layout = None if labels is None else layout_of(tiers, labels, release.offsets)
    known = _of_release(mechanism, tiers, release)
    if layout is None:
        return sequence_law_of_release(known, release, rng, least)
    half, other = (release.take(np.arange(start, len(release), 2)) for start in (0, 1))
    part = _of_release(mechanism, tiers, half)
    laws = (copula_of_release(part, layout, half), sequence_law_of_release(part, half, rng, least))
    copula, sequence = (output_score(law, part, other) for law in laws)
    if copula >= sequence:
        return copula_of_release(known, layout, release)
    return sequence_law_of_release(known, release, rng, least)


def _of_release(mechanism: Mechanism, tiers: Tiers, release: Release) -> Knowledge:
    """What a release says by itself: the prior that its outputs speak for, and records without secrets."""
    unknown = np.zeros(len(release.outputs), dtype=np.int64)
    records = Records(space=mechanism.space, points=unknown, offsets=release.offsets, context=release.context)
    return Knowledge(mechanism, tiers, records, log(prior_of_release(mechanism, tiers, release)))


def output_score(law: DocumentLaw, known: Knowledge, release: Release) -> float:
    """Mean log Pr[y_l | all other outputs] = −log Σ_x Pr[x | all outputs]/M(y_l|x), in nats."""
    total = 0.0
    for mine, points, posterior in law.marginals(known, release):
        distinct, number = np.unique(release.outputs[mine], return_inverse=True)
        columns = np.maximum(known.mechanism.candidate_columns(distinct, points), -600.0)
        total -= float(np.log((posterior * np.exp(-columns)[number.ravel()]).sum(axis=1)).sum())
    return total / max(1, len(release.outputs))


def prior_of_release(mechanism: Mechanism, tiers: Tiers, release: Release) -> FloatArray:
    """The law of the points that the outputs speak for: iterative Bayesian update, set by set.

    π ← Σ_y (n_y/N)·Pr_π[x|y], which increases the likelihood of the outputs (Agrawal and Aggarwal). It ends where a
    half of the outputs no longer says more of the other half, so that noise is not fitted.
    """
    found, rng = np.zeros(len(mechanism.space)), np.random.default_rng(0)
    sets, likely, counts = list(candidate_sets(release, tiers)), [], []
    for mine in sets:
        outputs, count = np.unique(release.outputs[mine.positions], return_counts=True)
        likely.append(_posterior(mechanism, outputs, mine.points, np.ones(len(mine.points))))
        counts.append(count)
    halves = [rng.binomial(count, 0.5) for count in counts]
    others = [count - half for count, half in zip(counts, halves, strict=True)]
    even = [np.full(each.shape[1], 1.0 / each.shape[1]) for each in likely]
    laws, steps, best = even, 0, -np.inf
    while steps < UPDATES and (score := _score(laws, likely, others)) > best:
        laws, steps, best = _updated(laws, likely, halves), steps + 1, score
    laws = even
    for _ in range(steps):
        laws = _updated(laws, likely, counts)
    for mine, law, count in zip(sets, laws, counts, strict=True):
        found[mine.points] = (law * count.sum() + 0.5 / len(law)) / len(release.outputs)
    floor = np.where(tiers.sensitive & (found <= 0), 1e-12, found)
    return np.asarray(floor / floor.sum())


def _score(laws: list[FloatArray], likely: list[FloatArray], counts: list[IntArray]) -> float:
    """The log likelihood of outputs; `likely` is (outputs, points) for every set."""
    parts = zip(laws, likely, counts, strict=True)
    return float(sum(count @ np.log(np.maximum(each @ law, 1e-300)) for law, each, count in parts))


def _updated(laws: list[FloatArray], likely: list[FloatArray], counts: list[IntArray]) -> list[FloatArray]:
    """One Bayesian update of every set; a set without outputs stays as it is."""
    parts = zip(laws, likely, counts, strict=True)
    return [
        law * ((count / np.maximum(each @ law, 1e-300)) @ each) / count.sum() if count.any() else law
        for law, each, count in parts
    ]


def _posterior(mechanism: Mechanism, outputs: IntArray, points: IntArray, law: FloatArray) -> FloatArray:
    """Pr[x | y alone] over some points, up to a factor for each row; the law where no point gives the output."""
    distinct, number = np.unique(outputs, return_inverse=True)
    columns = mechanism.candidate_columns(distinct, points)
    peak = columns.max(axis=1, keepdims=True)
    likely = np.where(np.isfinite(peak), np.exp(columns - np.where(np.isfinite(peak), peak, 0.0)), 1.0)
    return np.asarray((likely * law)[number.ravel()])


def is_repaired(modes: Sequence[str]) -> bool:
    """Whether any tier is repaired."""
    return any(mode != DRAWN for mode in modes)


def tier_modes(levels: Sequence[int], mode: str, *, are_names: bool = False) -> tuple[str, ...]:
    """The mode of every tier by default: what is most sensitive (level 0) stays as it was drawn.

    A repaired name is often the true one, and a true name in a release is a failure to every reader. Where all tiers
    are of one level they are repaired, unless the most sensitive level of such data `are_names`.

    >>> tier_modes((0, 1), "best"), tier_modes((0,), "best"), tier_modes((0,), "best", are_names=True)
    (('drawn', 'best'), ('best',), ('drawn',))
    """
    if len(set(levels)) == 1 and not are_names:
        return (mode,) * len(levels)
    return tuple(DRAWN if level == min(levels) else mode for level in levels)

"""The Gaussian copula of rows: columns tied by a few hidden factors, for tables of few rows and for noisy ones.

x_c is the value whose share of the law of column c holds Φ(u_c), u_c = λ_c·z + √(1 − |λ_c|²)·e_c, with z and e_c
standard normal (ordered factor analysis). The correlations of the u_c follow from the cross moments of scores of the
cells by Hermite's expansion, E[f(u) g(v)] = Σ_k ρ^k f_k g_k, where f is what a score is expected to be given u: through
a known channel as well as from clean cells, so that a noisy release teaches the law by itself (moments, inverted). The
factors take NODES values, under which posteriors and joint draws are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import Terms, log_floor
from oddshift.attackers.row_layout import RowBatch, RowLayout, column_laws, drawn_rows, row_batches, row_cells
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.logarithms import log
from oddshift.model.release import Release

NODES = 512
"""Values of the factors: as many equally likely points of a Sobol sequence."""

MOST_FACTORS = 8
"""Largest number of factors."""

MOST_SHARED = 0.97
"""Largest share of the variance of a column that the factors have."""

TERMS = 20
"""Terms of Hermite's expansion."""


@dataclass(frozen=True, eq=False, repr=False)
class CopulaLaw:
    """Pr[value | node] of every column, (values, nodes): equally likely nodes, given which columns are independent."""

    layout: RowLayout
    tables: tuple[FloatArray, ...]

    def marginals(self, known: Knowledge, release: Release) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """(positions, candidate points, Pr[x_l | all outputs of the row]), column by column of every batch."""
        for batch in row_batches(known, release, self.layout):
            seen, likely, nodes = self._read(batch)
            for c, points, mine, at in batch.cells(self.layout):
                weights = (nodes / np.maximum(likely[c], 1e-300))[at]
                posterior = seen[c][at] * (weights @ self.tables[c].T)
                yield mine, points, posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)

    def draw(self, known: Knowledge, release: Release, rng: np.random.Generator) -> IntArray:
        """One joint draw of every row given its outputs, as a point for every position."""
        found = np.empty(len(release.outputs), dtype=np.int64)
        for batch in row_batches(known, release, self.layout):
            seen, _, nodes = self._read(batch)
            node = drawn_rows(nodes, rng)
            for c, points, mine, at in batch.cells(self.layout):
                found[mine] = points[drawn_rows(seen[c][at] * self.tables[c].T[node[at]], rng)]
        return found

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Context terms of every cell: how likely its other cells make each value, against its law."""
        for batch in row_batches(known, release, self.layout):
            _, likely, nodes = self._read(batch)
            for c, points, mine, at in batch.cells(self.layout):
                told = (nodes / np.maximum(likely[c], 1e-300))[at] @ self.tables[c].T
                law = self.tables[c].mean(axis=1)
                yield Terms(mine, log_floor(told / told.sum(axis=1, keepdims=True)) - log_floor(law), log(law), points)

    def _read(self, batch: RowBatch) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
        """Likelihoods of the values (rows, values) and of the nodes by column, and the posterior of the nodes."""
        seen = [each.reshape(-1, each.shape[-1]) for each in batch.seen]
        likely = [each @ table for each, table in zip(seen, self.tables, strict=True)]
        nodes = np.ones((len(seen[0]), self.tables[0].shape[1]))
        for each in likely:
            nodes *= each
            nodes /= np.maximum(nodes.max(axis=1, keepdims=True), 1e-300)
        return seen, likely, nodes / nodes.sum(axis=1, keepdims=True)


def fit_copula_law(known: Knowledge, layout: RowLayout, least: int = 1) -> CopulaLaw:
    """Estimate the law from clean rows.

    **Guarantee**: with `least` = k, every share is that of neighbouring values which k documents hold together, and
    every correlation a mean over all documents that have both columns, k at least.
    """
    cells = row_cells(known, layout)
    scores = [_Scores.of(law) for law in column_laws(known, layout, cells, least)]
    shown = [np.where(own >= 0, each.score[own], np.nan) for own, each in zip(cells.values.T, scores, strict=True)]
    expected = [each.score for each in scores]
    terms = [each.parts(TERMS) @ told for each, told in zip(scores, expected, strict=True)]
    return _tied(layout, scores, correlations(np.stack(shown, axis=1), terms, max(least, 3))[0])


def copula_of_release(known: Knowledge, layout: RowLayout, release: Release) -> CopulaLaw:
    """Estimate the law from outputs alone; the prior of `known` is what they speak for."""
    assert release.position_tiers is not None
    row, column = layout.places(release.position_tiers, release.offsets)
    shown = np.full((int(row[-1]) + 1, len(layout.members)), np.nan)
    scores: list[_Scores] = []
    expected = []
    for c, points in enumerate(layout.members):
        law = known.weights[points] / known.weights[points].sum()
        scores.append(_Scores.of(law))
        channel = np.exp(known.mechanism.log_likelihood(points))  # (points, outputs)
        told = (law * scores[c].score) @ channel / np.maximum(law @ channel, 1e-300)  # E[score | output]
        expected.append(channel @ told)
        mine = column == c
        shown[row[mine], c] = told[release.outputs[mine]]
    terms = [each.parts(TERMS) @ told for each, told in zip(scores, expected, strict=True)]
    return _tied(layout, scores, *correlations(shown, terms, 3))


@dataclass(frozen=True, eq=False, repr=False)
class _Scores:
    """A column under the copula: where its values begin and end on the normal axis, and E[u | value]."""

    edges: FloatArray
    score: FloatArray

    @classmethod
    def of(cls, law: FloatArray) -> _Scores:
        from scipy.special import ndtri

        edges = ndtri(np.clip(np.append(0.0, np.cumsum(law)), 0.0, 1.0))
        edges[-1] = np.inf
        found = cls(edges, np.zeros(len(law)))
        return cls(edges, found.parts(1)[0] / np.maximum(law, 1e-300))

    def parts(self, terms: int) -> FloatArray:
        """∫ h_k(u)·φ(u) du over the stretch of every value, (k = 1..terms, values), h_k Hermite's of norm 1."""
        inner = np.where(np.isfinite(self.edges), self.edges, 0.0)
        density = np.where(np.isfinite(self.edges), np.exp(-(inner**2) / 2) / np.sqrt(2 * np.pi), 0.0)
        before, now, found = np.zeros_like(inner), np.ones_like(inner), []
        for k in range(1, terms + 1):
            # h_{k−1}(t)·φ(t) is the integral from t on of h_k·φ, but for the factor √k of norms
            found.append(-np.diff(now * density) / np.sqrt(k))
            before, now = now, (inner * now - np.sqrt(k - 1) * before) / np.sqrt(k)
        return np.array(found)


def _tied(layout: RowLayout, scores: list[_Scores], correlation: FloatArray, error: float = 0.0) -> CopulaLaw:
    """The law from the correlations of the u_c, of which those within an error may be left out."""
    loadings = factor_loadings(correlation, error)
    return CopulaLaw(layout, tuple(_table(each, row) for each, row in zip(scores, loadings, strict=True)))


def correlations(shown: FloatArray, terms: list[FloatArray], least: int) -> tuple[FloatArray, float]:
    """Correlations of the u_c whose expansion gives the cross moments of the scores, and their typical error."""
    grid, columns = np.linspace(-0.99, 0.99, 199), shown.shape[1]
    powers = grid[:, None] ** np.arange(1, TERMS + 1)
    found, errors = np.eye(columns), []
    for c in range(columns):
        for d in range(c):
            both = np.isfinite(shown[:, c]) & np.isfinite(shown[:, d])
            if both.sum() < least:
                continue
            one, two = (shown[both, k] - shown[both, k].mean() for k in (c, d))
            slope = terms[c][0] * terms[d][0]
            if slope < 1e-9:
                continue
            curve = powers @ (terms[c] * terms[d])
            found[c, d] = found[d, c] = grid[np.argmin(np.abs(curve - (one * two).mean()))]
            errors.append(float(one.std() * two.std() / np.sqrt(both.sum()) / slope))
    return found, float(np.median(errors)) if errors else 1.0


def factor_loadings(correlation: FloatArray, error: float) -> FloatArray:
    """λ of every column, (columns, factors), by principal factors: those above what errors alone would show.

    Errors of size s give eigenvalues up to 2·s·√columns (Wigner). Of clean rows all factors are taken (an error of 0):
    a weak one can be all that tells of a column, and leaving it out saves nothing on other rows.

    >>> np.abs(factor_loadings(np.array([[1.0, 0.6], [0.6, 1.0]]), 0.01)[:, 0]).round(2).tolist()
    [0.77, 0.77]
    """
    size = len(correlation)
    apart = correlation - np.eye(size)
    beyond = np.linalg.eigvalsh(apart) > 2.0 * error * np.sqrt(size)
    factors = min(int(beyond.sum()), MOST_FACTORS, max(1, size - 1))
    shared = np.abs(apart).max(axis=1, initial=0.0)
    found = np.zeros((size, max(factors, 1)))
    for _ in range(50 if factors else 0):
        values, axes = np.linalg.eigh(apart + np.diag(shared))
        found = axes[:, -factors:] * np.sqrt(np.maximum(values[-factors:], 0.0))
        shared = np.minimum((found**2).sum(axis=1), MOST_SHARED)
    total = (found**2).sum(axis=1, keepdims=True)
    return np.asarray(found * np.sqrt(np.minimum(1.0, MOST_SHARED / np.maximum(total, 1e-300))))


def _table(scores: _Scores, loadings: FloatArray) -> FloatArray:
    """Pr[value | node], (values, nodes)."""
    from scipy.special import ndtr

    middle = _nodes(len(loadings)) @ loadings
    own = np.sqrt(1.0 - (loadings**2).sum())
    return np.asarray(np.diff(ndtr((scores.edges[:, None] - middle) / own), axis=0))


def _nodes(factors: int) -> FloatArray:
    """Points of a standard normal law, (NODES, factors), with mean 0 and covariance 1 exactly."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    found = ndtri(Sobol(factors, seed=0).random(NODES))
    found -= found.mean(axis=0)
    return np.asarray(found @ np.linalg.inv(np.linalg.cholesky(found.T @ found / NODES)).T)

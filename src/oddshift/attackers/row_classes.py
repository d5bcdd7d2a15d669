"""Hidden classes of rows: each class gives every column a law of its own, and columns are independent given the class.

A group of rows has one class. The number of classes is the one that predicts held-out rows best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.gains import choosing_clusters
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.mixture import choose_mixture
from oddshift.attackers.row_layout import RowLayout, row_batches, spread_over_points
from oddshift.base.arrays import FloatArray
from oddshift.model.release import Release

_TINY = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class RowClasses:
    """Shares of the classes, and for every column its law in each class, (classes, values)."""

    layout: RowLayout
    shares: FloatArray
    laws: tuple[FloatArray, ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c(x) = log Σ_m Pr[m | all other cells]·law_m(x) − log Σ_m share_m·law_m(x)."""
        before = [np.log(np.maximum(self.shares @ law, _TINY)) for law in self.laws]
        for batch in row_batches(known, release, self.layout):
            said = self.messages(batch.seen)
            context = [a - b for a, b in zip(said, before, strict=True)]
            size = len(known.log_prior)
            yield Terms(batch.positions, spread_over_points(batch, self.layout, context, size), known.log_prior)

    def messages(self, seen: list[FloatArray]) -> list[FloatArray]:
        """For every cell the log law that all others give it, (documents, rows, values) by column."""
        alone = [np.log(np.maximum(cells @ law.T, _TINY)) for cells, law in zip(seen, self.laws, strict=True)]
        total = sum(part.sum(axis=1) for part in alone) + np.log(self.shares)
        found = []
        for part, law in zip(alone, self.laws, strict=True):
            score = total[:, None, :] - part
            weight = np.exp(score - score.max(axis=2, keepdims=True))
            found.append(np.log(np.maximum(weight / weight.sum(axis=2, keepdims=True) @ law, _TINY)))
        return found


def fit_row_classes(known: Knowledge, layout: RowLayout, rng: np.random.Generator) -> RowClasses:
    """Classes by expectation-maximisation on the clean rows."""
    from scipy.sparse import csr_array

    fit, size, columns = known.fit, len(known.log_prior), len(layout.members)
    column_of_point = np.zeros(size, dtype=np.int64)
    base = np.full((columns, size), _TINY)
    counts = fit.counts() + 0.5
    for c, points in enumerate(layout.members):
        column_of_point[points] = c
        base[c, points] = counts[points] / counts[points].sum()
    feature = column_of_point[fit.points] * size + fit.points
    shape = (len(fit), columns * size)
    features = csr_array((np.ones(len(feature)), (fit.document_of_position, feature)), shape=shape)
    found = choose_mixture(features, base, choosing_clusters(fit), rng)
    laws = tuple(found.laws[:, c, points] for c, points in enumerate(layout.members))
    return RowClasses(layout, found.shares, tuple(law / law.sum(axis=1, keepdims=True) for law in laws))

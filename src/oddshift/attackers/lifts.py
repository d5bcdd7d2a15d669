"""Lifts: how much likelier a hidden kind of document makes a value than all documents do.

count(x | kind) ~ Poisson(n·base(x)·g) with a lift g ~ G; the law of a kind is base(x)·E[g | count], normalised. G is
learned from all kinds and groups at once, for values about as frequent as each other, as a mixture of three sorts: no
lift (g = 1), Gamma laws whose means lie on a grid (DuMouchel, 1999; nonparametric maximum likelihood: Kiefer and
Wolfowitz, 1956), and the Gamma laws of a few strengths of the base, which are what counts over a Dirichlet law give.

Counts over a Dirichlet law alone have one strength for all values. Where each kind has a few values of its own and
shares the others with the rest, that strength comes out small, and a rare value that was seen once belongs to the kind
where that happened, with odds of a hundred to one. Under a law of lifts one count says next to nothing there. The log
score hardly tells the two apart, because rare values are hardly ever the truth; rates over pairs of candidates do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, blocks

SMALLEST, LARGEST, MEANS = 0.02, 100.0, 33
"""The least and the largest mean on the grid, and their number."""

SHAPE = 16.0
"""Shape of the Gamma laws on the grid: their spread, a quarter of the mean, is the distance of two means."""

STRENGTHS = np.array([1.0, 3.0, 10.0, 30.0])
"""Strengths of the base, in observations."""

BAND = 3.0
"""The most by which probabilities differ that are learned from together."""

COMMON = 20.0
"""How many counts the G of all values is worth in that of a band."""

STEPS = 50
"""Steps of expectation-maximisation."""

CELLS = 10_000
"""Largest number of counts that a G is learned from, evenly spaced; a performance setting."""

AT_ONCE = 2_000_000
"""Entries (counts x laws) that are held together; a performance setting."""

_RATES = SHAPE / np.geomspace(SMALLEST, LARGEST, MEANS)
_LAWS = 1 + MEANS + len(STRENGTHS)


def lifted_laws(counts: FloatArray, base: FloatArray) -> FloatArray:
    """Laws (kinds, groups, values) from counts of that shape and the law of all documents, (groups, values).

    >>> counts = np.array([[[8.0, 1.0, 1.0]], [[0.0, 5.0, 5.0]]])
    >>> lifted_laws(counts, np.full((1, 3), 1 / 3))[:, 0].round(2)
    array([[0.75, 0.12, 0.12],
           [0.06, 0.47, 0.47]])
    """
    totals = np.broadcast_to(counts.sum(axis=2, keepdims=True), counts.shape)
    cells = _Cells(counts.ravel(), totals.ravel(), np.broadcast_to(base, counts.shape).ravel())
    everything = np.arange(len(cells.seen))
    common = _shares(cells.sample(everything), np.full(_LAWS, 1.0 / _LAWS), 0.0)
    band = np.floor(np.log(np.maximum(cells.law, 1e-12)) / np.log(BAND))
    lift = np.empty_like(cells.seen)
    for number in np.unique(band):
        mine = np.flatnonzero(band == number)
        shares = _shares(cells.sample(mine), common, COMMON)
        for part in blocks(len(mine), _LAWS, AT_ONCE):
            lift[mine[part]] = cells.take(mine[part]).expected(shares)
    laws = base * lift.reshape(counts.shape)
    return np.asarray(laws / laws.sum(axis=2, keepdims=True))


@dataclass(frozen=True, eq=False, repr=False)
class _Cells:
    """Counts of values, the totals of their kinds and groups, and the probabilities of the values in all documents."""

    seen: FloatArray
    totals: FloatArray
    law: FloatArray

    def take(self, rows: IntArray) -> _Cells:
        return _Cells(self.seen[rows], self.totals[rows], self.law[rows])

    def sample(self, rows: IntArray) -> FloatArray:
        """Likelihoods of some counts under each law of the lift, at most CELLS of them."""
        some = np.unique(np.linspace(0, len(rows) - 1, min(CELLS, len(rows))).astype(np.int64))
        return self.take(rows[some]).likelihoods()

    def likelihoods(self) -> FloatArray:
        """Pr[count] under each law of the lift, (counts, laws), the largest of each row scaled to one."""
        from scipy.special import gammaln

        plain, seen = (self.totals * self.law)[:, None], self.seen[:, None]
        found = np.empty((len(seen), _LAWS))
        found[:, :1] = -plain
        found[:, 1 : 1 + MEANS] = SHAPE * np.log(_RATES) - (seen + SHAPE) * np.log(_RATES + plain)
        found[:, 1 : 1 + MEANS] += gammaln(seen + SHAPE) - gammaln(SHAPE)
        shape = STRENGTHS * np.maximum(self.law, 1e-300)[:, None]
        found[:, 1 + MEANS :] = shape * np.log(shape) - (seen + shape) * np.log(shape + plain)
        found[:, 1 + MEANS :] += gammaln(seen + shape) - gammaln(shape)
        return np.asarray(np.exp(found - found.max(axis=1, keepdims=True)))

    def expected(self, shares: FloatArray) -> FloatArray:
        """E[g | count] where G has these shares."""
        belongs = shares * self.likelihoods()
        belongs /= belongs.sum(axis=1, keepdims=True)
        plain, seen = (self.totals * self.law)[:, None], self.seen[:, None]
        shape = STRENGTHS * np.maximum(self.law, 1e-300)[:, None]
        found = belongs[:, 0] + (belongs[:, 1 : 1 + MEANS] * (seen + SHAPE) / (plain + _RATES)).sum(axis=1)
        return np.asarray(found + (belongs[:, 1 + MEANS :] * (seen + shape) / (plain + shape)).sum(axis=1))


def _shares(likelihoods: FloatArray, start: FloatArray, strength: float) -> FloatArray:
    """The shares of the laws in G, by expectation-maximisation from a start that counts like `strength` counts."""
    shares = start
    for _ in range(STEPS):
        belongs = (1.0 / (likelihoods @ shares)) @ likelihoods * shares + strength * start
        shares = belongs / belongs.sum()
    return shares

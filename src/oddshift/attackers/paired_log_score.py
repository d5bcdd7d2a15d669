"""Gains: by how much one log score beats another over independent units, and when that is more than chance.

An attacker has *learned* when its log score on documents it was not fitted on beats that of the single release under
the same prior by more than SIGNIFICANT standard errors. Log scores are −log posterior of the truth, in nats; smaller is
better. This file holds the only standard error, the only significance rule and the only way from positions to units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.model.records import Records

SIGNIFICANT = 2.0
"""Number of standard errors by which a gain must exceed 0 to count."""

FEWEST_UNITS = 8
"""Number of independent units from which their spread is taken for known."""

NEGLIGIBLE = 1e-9
"""A gain of fewer nats is rounding: two ways to compute one posterior differ by as much, always in one direction."""


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """The independent unit of every position: its user, otherwise its source document; `total` counts all of them."""

    of_position: IntArray
    total: int

    def means(self, values: FloatArray, keep: BoolArray | None = None) -> FloatArray:
        """Mean over the kept positions of every unit that has any, in order of the units.

        >>> Units(np.array([4, 4, 7]), 3).means(np.array([0.0, 1.0, 1.0]))
        array([0.5, 1. ])
        """
        units, kept = (self.of_position, values) if keep is None else (self.of_position[keep], values[keep])
        _, unit = np.unique(units, return_inverse=True)
        return np.bincount(unit, weights=kept) / np.bincount(unit)

    def count(self, keep: BoolArray) -> int:
        """How many units have a kept position."""
        return len(np.unique(self.of_position[keep]))


def units_of(records: Records) -> Units:
    """The independent units of some records."""
    return Units(records.clusters[records.document_of_position], len(np.unique(records.clusters)))


def choosing_units(records: Records) -> Units:
    """The units by which attackers are weighed and chosen: the independent ones, or documents where those are too few.

    The spread of a handful of users says nothing, and an attacker must not lose its weight for that. What is certified
    counts independent units all the same.
    """
    clusters = choosing_clusters(records)
    return Units(clusters[records.document_of_position], len(np.unique(clusters)))


def choosing_clusters(records: Records) -> IntArray:
    """One number for each document, equal for those of one such unit: what an attacker holds out when it is fitted."""
    return records.clusters if len(np.unique(records.clusters)) >= FEWEST_UNITS else records.sources


def split(clusters: IntArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Documents to learn from and to validate on; those of one cluster (user, source) stay together."""
    distinct, cluster = np.unique(clusters, return_inverse=True)
    if len(distinct) < 2:
        raise InvalidInput(f"{len(distinct)} independent documents to fit on, expected at least 2")
    order = np.random.default_rng([seed, len(distinct)]).permutation(len(distinct))
    held = np.isin(cluster, order[: min(max(1, round(share * len(distinct))), len(distinct) - 1)])
    return np.flatnonzero(~held), np.flatnonzero(held)


def one_document_each(documents: IntArray, records: Records, rng: np.random.Generator) -> IntArray:
    """One uniform document of every unit that has any of `documents`, in random order."""
    order = rng.permutation(documents)
    _, first = np.unique(records.clusters[order], return_index=True)
    return order[np.sort(first)]


def standard_error(values: FloatArray) -> float:
    """The standard error of the mean of independent values; infinite for a single one, whose spread is unknown.

    >>> standard_error(np.array([0.0, 2.0])), standard_error(np.array([1.0]))
    (1.0, inf)
    """
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


@dataclass(frozen=True)
class Gain:
    """A mean gain in nats over independent units, and its standard error."""

    mean: float
    error: float

    @property
    def is_significant(self) -> bool:
        """Whether it is more than chance, and more than rounding.

        >>> Gain(0.3, 0.1).is_significant, Gain(0.2, 0.1).is_significant, Gain(1e-16, 0.0).is_significant
        (True, False, False)
        """
        return self.mean > SIGNIFICANT * self.error + NEGLIGIBLE


def gain_of_laws(better: FloatArray, plain: FloatArray) -> Gain:
    """How much better one law predicts independent values than another; both give the probability of every value."""
    values = np.log(np.maximum(better, 1e-300) / np.maximum(plain, 1e-300))
    return Gain(float(values.mean()), standard_error(values))


def gain(control: FloatArray, score: FloatArray, units: Units) -> Gain:
    """How much lower `score` is than `control` (one value for each position), averaged inside each unit first."""
    values = units.means(control - score)
    return Gain(float(values.mean()), standard_error(values))

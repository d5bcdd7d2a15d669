"""Reuse: a document takes some of its secrets from among its other ones.

X_l is, with probability ρ, one of the n others of its candidate set, each with the same chance, and otherwise follows
π: c_l(x) = log(1 − ρ + ρ/n·Σ_{s≠l} M(y_s|x)/P(y_s)), P(y) = Σ_b π(b)·M(y|b). Unlike `copies`, which multiplies what
every other position says, this asks that some position holds x, and others that hold something else do no harm: in
a long text a name that was seen once is likely again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import BATCH_ENTRIES, Terms, law_over, likelihood_ratios
from oddshift.attackers.release_blocks import release_blocks
from oddshift.model.release import Release, candidate_sets

REUSED = 0.5
"""ρ. The weight of the term is fitted, which makes up for most of what this number misses."""


@dataclass(frozen=True)
class Reuse:
    """The law above."""

    share: float = REUSED

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        for first, block in release_blocks(release.without_context(), len(known.log_prior), BATCH_ENTRIES):
            for mine in candidate_sets(block, known.tiers):
                ratio = likelihood_ratios(known, block, mine, law_over(known, mine.points))
                document = np.searchsorted(block.offsets, mine.positions, side="right")
                _, starts, count = np.unique(document, return_index=True, return_counts=True)
                others = np.repeat(np.add.reduceat(ratio, starts, axis=0), count, axis=0) - ratio
                others /= np.maximum(np.repeat(count, count) - 1, 1)[:, None]
                others[np.repeat(count == 1, count)] = 1.0
                context = np.log1p(self.share * np.maximum(others - 1.0, -1.0))
                yield Terms(first + mine.positions, context, known.log_prior[mine.points], mine.points)

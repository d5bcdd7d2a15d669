"""The chain keyed by spacing: adjacent secrets depend on each other differently from secrets many tokens apart.

x_{t+1} follows counts for this gap, which back off to counts for all gaps, which back off to the hidden topic of the
document. Discounts and strengths predict every pair from all others (leave one out). Inference is that of `plugin`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import Backoff, Observations, fit_backoff, observations
from oddshift.attackers.chain_terms import UNKNOWN, gap_classes
from oddshift.attackers.estimated_chain import ChainStep, EstimatedChain
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.topic_chain import ChainLaw, first_law, fit_topics
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, whole
from oddshift.model.records import Records
from oddshift.model.release import candidates, set_numbers


@dataclass(frozen=True, eq=False, repr=False)
class _Pairs:
    """Successive secrets of one document, with the class of the gap between them."""

    before: IntArray
    after: IntArray
    gap: IntArray

    def keep(self, chosen: BoolArray) -> _Pairs:
        """Some of them."""
        return _Pairs(self.before[chosen], self.after[chosen], self.gap[chosen])


def fit_gap_chain(known: Knowledge, topics: int = 1, *, rng: np.random.Generator) -> LawAttacker:
    """Estimate the chain from the fit records; without a context in them it is one chain for all gaps.

    **Guarantee**: the context term is 0 for a document with one position, and the same counts serve any mechanism.
    """
    shares, laws = fit_topics(known, whole(topics, "topics", 1), 0.5, rng)
    sets = set_numbers(known.tiers)
    steps: list[ChainStep] = []
    for tier in sets:
        steps += _steps(known, tier, laws)
    return LawAttacker(known, ChainLaw(EstimatedChain(shares, tuple(steps)), has_spacing=True), "gap-chain")


def _steps(known: Knowledge, tier: int, laws: FloatArray) -> list[ChainStep]:
    """One step for each gap class of one candidate set; the last one is for all gaps."""
    allowed, prior = candidates(known.tiers, tier), np.exp(known.log_prior)
    size = len(prior)
    inside = np.where(allowed, laws, 0.0)
    inside /= inside.sum(axis=1, keepdims=True)
    law = np.where(allowed, prior, 0.0) / prior[allowed].sum()
    pairs = _successive_pairs(known.fit)
    pairs = pairs.keep(allowed[pairs.after])
    seen = observations(pairs.before, pairs.after, size, size)
    broad = fit_backoff(seen, law[seen.value])
    common = _sparse(seen, broad, size)
    first = first_law(known.fit, allowed, inside)
    steps = [
        _step(_own_rows(pairs, g, common, _left_out(seen, broad, law, size), size), inside, first)
        for g in range(UNKNOWN)
    ]
    return [*steps, _step(common, inside, first)]


def _step(rows: Any, topics: FloatArray, first: FloatArray) -> ChainStep:
    """Rows of sum λ as laws and weights."""
    weight = np.asarray(rows.sum(axis=1)).ravel()
    scale = np.where(weight > 0, 1.0 / np.where(weight > 0, weight, 1.0), 0.0)
    law = rows.copy()
    law.data *= np.repeat(scale, np.diff(rows.indptr))
    return ChainStep(law, weight, topics, first)


def _own_rows(pairs: _Pairs, gap: int, common: Any, left_out: Any, size: int) -> Any:
    """Rows for one gap: its counts discounted, and the rest of each row spread as the common rows are."""
    from scipy.sparse import csr_array, diags_array

    mine = pairs.keep(pairs.gap == gap)
    seen = observations(mine.before, mine.after, size, size)
    if not len(seen.count):
        return common
    found = fit_backoff(seen, np.asarray(left_out[seen.context, seen.value]).ravel())
    own = _sparse(seen, found, size)
    rest = 1.0 - np.asarray(own.sum(axis=1)).ravel()
    return csr_array(own + diags_array(rest) @ common)


def _sparse(seen: Observations, backoff: Backoff, size: int) -> Any:
    """Discounted counts as shares of their rows: what is not left to the broader law."""
    from scipy.sparse import csr_array

    share = np.maximum(seen.count - backoff.discount, 0.0) / (seen.total + backoff.strength)
    return csr_array((share, (seen.context, seen.value)), shape=(size, size))


def _left_out(seen: Observations, backoff: Backoff, law: FloatArray, size: int) -> Any:
    """Pr[b | a] for every pair seen, as predicted without one of its observations, sparse."""
    from scipy.sparse import csr_array

    return csr_array((backoff.left_out(seen, law[seen.value]), (seen.context, seen.value)), shape=(size, size))


def _successive_pairs(fit: Records) -> _Pairs:
    same = fit.document_of_position[1:] == fit.document_of_position[:-1]
    return _Pairs(fit.points[:-1][same], fit.points[1:][same], gap_classes(fit)[1:][same])

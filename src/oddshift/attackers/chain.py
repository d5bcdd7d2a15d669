"""The chain attacker: a chain of secrets estimated from clean records, then exact inference with the known mechanism.

x_{t+1} follows counts after x_t, which back off to π, restricted to the tier of position t + 1 when tiers are public.
Discounts and strengths predict every pair from all others (leave one out). The counts are sparse and the rest has rank
one, so forward-backward over a vocabulary of 10,000 words (`estimated_chain`) needs neither a K x K matrix nor pruning.
Nothing is trained again when the mechanism changes.

Keyed by spacing, counts for the gap between two secrets back off to counts for all gaps: adjacent secrets depend on
each other differently from secrets many tokens apart. A gap is the number of tokens from one sensitive position to the
next, 1 for adjacent ones, which is public whether or not the words between are read; without a context W there is only
one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import first_values, law_of_values, successive
from oddshift.attackers.estimated_chain import EstimatedChain, chain_terms
from oddshift.attackers.law_attacker import LawAttacker, Terms
from oddshift.attackers.sparse_law import Counted, SparseLaw, counted, entries, labelled_law, within_sets
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Context, Records
from oddshift.model.release import Release

GAPS = (1, 2, 4)
"""Gaps from which a new class starts: adjacent, 2 to 3 tokens, and more."""

UNKNOWN = len(GAPS)
"""Class of a position with nothing before it, and of all positions where no spacing is known."""


def gap_classes(documents: Records | Release) -> IntArray:
    """For every position, the class of the gap to the position before it in the same document.

    >>> from oddshift.model.space import Space
    >>> bare = Records.from_documents(Space([[0.0], [1.0]]), [[0, 1]])
    >>> gap_classes(bare)
    array([3, 3])
    """
    offsets, context = documents.offsets, documents.context
    classes = np.full(int(offsets[-1]), UNKNOWN, dtype=np.int64)
    if context is None or len(classes) < 2:
        return classes
    inner = np.ones(len(classes), dtype=bool)
    inner[offsets[:-1][np.diff(offsets) > 0]] = False
    gaps = _token_gaps(context)
    classes[inner] = np.searchsorted(GAPS, gaps[inner], side="right") - 1
    return classes


def _token_gaps(context: Context) -> IntArray:
    """Tokens between each slot and the slot before it, that one counted; 0 for the first slot of all."""
    return np.diff(context.slots, prepend=context.slots[:1])


_BLOCK_ENTRIES = 500_000  # entries of the forward messages of one block of documents


@dataclass(frozen=True, eq=False, repr=False)
class ChainLaw:
    """Exact forward-backward under an estimated chain; the context term is 0 for a document with one position."""

    chain: EstimatedChain

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Terms over the candidates of every position, with the chain's own prior given the public tiers so far."""
        sets = np.zeros(len(release.outputs), dtype=np.int64)
        if release.position_tiers is not None:
            sets = release.position_tiers
        if len(self.chain.laws) > 1:
            sets = sets * len(self.chain.laws) + gap_classes(release)
        return chain_terms(self.chain.over(known.tiers), known, release, sets, _BLOCK_ENTRIES)


def fit_plugin(known: Knowledge) -> LawAttacker:
    """The chain with one law for all gaps; for independent secrets next to nothing is trusted of its counts."""
    return LawAttacker(known, ChainLaw(_estimated(known, has_spacing=False)), "plugin")


def fit_gap_chain(known: Knowledge) -> LawAttacker:
    """The chain keyed by spacing; without a context in the records it has one law for all gaps.

    **Guarantee**: the context term is 0 for a document with one position, and the same counts serve any mechanism.
    """
    return LawAttacker(known, ChainLaw(_estimated(known, has_spacing=True)), "gap-chain")


def _estimated(known: Knowledge, *, has_spacing: bool) -> EstimatedChain:
    """One law for each class of gaps, the last one for all of them."""
    labels, sets, law = labelled_law(known)
    before, after = successive(known.fit)
    shape = len(law), sets
    common = counted((before, after), shape, labels, lambda seen: law[seen.value])
    gap = gap_classes(known.fit)[1:][known.fit.document_of_position[1:] == known.fit.document_of_position[:-1]]
    found = []
    for number in range(UNKNOWN if has_spacing else 0):
        mine = gap == number
        own = counted(
            (before[mine], after[mine]), shape, labels, lambda seen: entries(common.left_out, seen.context, seen.value)
        )
        found.append(_over(own, common, labels, law))
    first = within_sets(law_of_values(first_values(known.fit), np.exp(known.log_prior)), labels, sets)
    return EstimatedChain((*found, SparseLaw(common.own, common.rest, law)), first)


def _over(own: Counted, common: Counted, labels: IntArray, law: FloatArray) -> SparseLaw:
    """Counts for one gap, and the rest of each row spread as the counts for all gaps are."""
    from scipy.sparse import csr_array

    spread = common.own.tocoo()
    row, column = spread.coords
    data = spread.data * own.rest[row, labels[column]]
    return SparseLaw(own.own + csr_array((data, (row, column)), shape=spread.shape), own.rest * common.rest, law)

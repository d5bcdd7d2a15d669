"""Taken back: what the words of a document and its other secrets both tell must count once.

c(x) = −D(x), D the share of log Pr[x | W] that the rare words of the document and documents alike give (`word_prior`);
0 where a document has no other secret. It is meant to be scaled by a fitted weight (`combination`) next to terms that
read the other outputs: those say again much of what D said. It depends on no output, so by itself it does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.word_prior import WordPrior
from oddshift.model.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class TakenBack:
    """The share of a prior given W that concerns whole documents, with the sign turned."""

    words: WordPrior

    reads_outputs = False

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Block by block, as the prior gives them."""
        is_lone = np.repeat(release.lengths == 1, release.lengths)
        for block in self.words.laws(known, release):
            context = np.where(is_lone[block.positions, None], 0.0, -block.by_document)
            yield Terms(block.positions, context, known.log_prior[block.points], block.points)

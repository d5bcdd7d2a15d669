"""What a report shows of a few documents: how the odds of one secret moved, and SECRETS by name when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oddshift.app.run_folder import BY_POLICY, read_belief, write_belief, write_examples
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.audit import Audit
from oddshift.audit.beliefs import Belief, belief
from oddshift.base.arrays import IntArray
from oddshift.data.codecs import EncodedText
from oddshift.data.codecs.text.passages import Passage, Passages, passages
from oddshift.data.preparation import Prepared
from oddshift.mechanisms import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import perturb
from oddshift.model.tiers import Tiers

EXAMPLE_DOCUMENTS = 10
"""Number of documents from which the report takes its worst example, and whose secrets are kept on request."""

EXAMPLE_TEXTS = 3
"""Number of these texts that are kept before and after protection."""


@dataclass(frozen=True, repr=False)
class Illustration:
    """How the odds of one secret moved, without any word; the same by name and texts, SECRETS, where asked for."""

    belief: Belief
    named: Belief | None = None
    passages: tuple[Passage, ...] = ()

    def write(self, folder: Path) -> None:
        """Keep it in a run folder; secrets go into a folder of their own that only its owner can read."""
        write_belief(folder, self.belief)
        if self.named is not None:
            write_examples(folder, self.named, self.passages)


def illustrate(
    found: Audit, prepared: Prepared, known: Knowledge, attackers: Sequence[Attacker], *, with_secrets: bool = False
) -> Illustration:
    """What the strongest attacker believes about a few certify documents: without any word, and by name on request."""
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *attackers)
    strongest = next(attacker for attacker in everyone if attacker.name == found.strongest)
    rng = np.random.default_rng([found.settings.seed, 6])
    few = _few(prepared.split.certify, rng)
    release = perturb(few, known.mechanism, known.tiers, rng)
    plain = belief(strongest, few, release, known)
    if not with_secrets:
        return Illustration(plain)
    texts: tuple[Passage, ...] = ()
    if prepared.encoded is not None:
        chosen = np.unique(few.sources)[:EXAMPLE_TEXTS]
        texts = passages(prepared.encoded, chosen, known.mechanism, known.tiers, np.random.default_rng(0))
    return Illustration(plain, belief(strongest, few, release, known, prepared.names), texts)


def example_rows(certify: Records, seed: int) -> IntArray:
    """The rows of the data whose texts an audit with that seed keeps as examples."""
    few = _few(certify, np.random.default_rng([seed, 6]))
    rows: IntArray = np.unique(few.sources)[:EXAMPLE_TEXTS]
    return rows


def released_passages(encoded: EncodedText, mechanism: Mechanism, tiers: Tiers) -> Passages:
    """Texts before and after the release of a policy: SECRETS."""
    rows = np.arange(len(encoded.tokens))
    return Passages(passages(encoded, rows, mechanism, tiers, np.random.default_rng(0)), BY_POLICY)


def _few(certify: Records, rng: np.random.Generator) -> Records:
    return certify.take(rng.permutation(np.flatnonzero(certify.lengths))[:EXAMPLE_DOCUMENTS])


def read_illustration(folder: Path) -> Illustration | None:
    """What a run folder shows without a secret; None where it kept nothing."""
    found = read_belief(folder, with_secrets=False)
    return None if found is None else Illustration(found)

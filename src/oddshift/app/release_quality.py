"""What a report shows of a few documents: how the odds of one secret moved, and SECRETS by name when asked for.

Measuring what a release is used for: tasks and attribute inference of labelled texts, losses by subgroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from oddshift.app.run_folder import BY_POLICY, read_belief, write_belief, write_examples
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.attribute import AttributeReport, attribute_report, fit_attribute
from oddshift.attackers.controls import Null, Own
from oddshift.audit import Audit
from oddshift.audit.beliefs import Belief, belief
from oddshift.audit.release_use import ReleaseUse, subgroup_losses
from oddshift.audit.settings import AuditSettings
from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import EncodedText
from oddshift.data.codecs.text.passages import Passage, Passages, passages, text_features
from oddshift.data.preparation import DocumentLabels, Prepared
from oddshift.mechanisms import Mechanism
from oddshift.mechanisms.utility import DownstreamTask, classification, retrieval
from oddshift.model.records import Records
from oddshift.model.release import draw_once, perturb
from oddshift.protect.policies import Policy
from oddshift.protect.repair import repairer_of

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


def released_passages(encoded: EncodedText, policy: Policy, seed: int = 0) -> Passages:
    """Texts before and after the release of a policy: SECRETS. The noise is seeded, so that it repeats."""
    rows, mechanism, rng = np.arange(len(encoded.tokens)), policy.mechanism(), np.random.default_rng(seed)
    repairer = repairer_of(policy, mechanism)
    repair = None if repairer is None else partial(repairer, rng=rng)
    return Passages(passages(encoded, rows, mechanism, policy.tiers, rng, repair=repair), BY_POLICY)


def _few(certify: Records, rng: np.random.Generator) -> Records:
    return certify.take(rng.permutation(np.flatnonzero(certify.lengths))[:EXAMPLE_DOCUMENTS])


def read_illustration(folder: Path) -> Illustration | None:
    """What a run folder shows without a secret; None where it kept nothing."""
    found = read_belief(folder, with_secrets=False)
    return None if found is None else Illustration(found)


def check_use(prepared: Prepared, settings: AuditSettings) -> None:
    """Refuse a task or an attribute that these data cannot have, before any work is done."""
    vectors = None if prepared.codec is None or prepared.encoded is None else prepared.codec.word_vectors
    if settings.tasks and (prepared.labels is None or vectors is None):
        raise InvalidInput(f"audit.tasks={settings.tasks} needs texts with data.label, read document by document")
    if settings.attribute == "label" and prepared.labels is None:
        raise InvalidInput("audit.attribute='label' needs data.label, a column, and joint_by = 'document'")
    if settings.attribute == "subgroup" and prepared.split.fit.subgroups is None:
        raise InvalidInput("audit.attribute='subgroup' needs data.subgroup, a column")


def measured_use(prepared: Prepared, known: Knowledge, settings: AuditSettings, cost: str) -> ReleaseUse | None:
    """Everything that was asked for; None where there is nothing to say."""
    by_subgroup = subgroup_losses(prepared.split.certify, known.tiers, known.mechanism, cost)
    if not (by_subgroup or settings.tasks or settings.attribute):
        return None
    return ReleaseUse(
        attribute=_attribute(prepared, known, settings) if settings.attribute else None,
        attribute_column=settings.attribute,
        tasks=_tasks(prepared, known, settings) if settings.tasks else (),
        losses=by_subgroup,
    )


def _attribute(prepared: Prepared, known: Knowledge, settings: AuditSettings) -> AttributeReport:
    """A classifier of documents learned on the fit part, on a release of the certify documents of known kinds."""
    split, rng = prepared.split, np.random.default_rng([settings.seed, 11])
    if settings.attribute == "label":
        assert prepared.labels is not None
        fit, certify = prepared.labels.fit, prepared.labels.certify
    else:
        assert split.fit.subgroups is not None
        assert split.certify.subgroups is not None
        fit, certify = split.fit.subgroups, split.certify.subgroups
    kinds, learned = np.unique(fit, return_inverse=True)
    seen = np.flatnonzero(np.isin(certify, kinds))
    attacker = fit_attribute(known, learned.astype(np.int64), rng=rng)
    release = perturb(split.certify.take(seen), known.mechanism, known.tiers, rng)
    return attribute_report(attacker, release, np.searchsorted(kinds, certify[seen]))


def _tasks(prepared: Prepared, known: Knowledge, settings: AuditSettings) -> tuple[DownstreamTask, ...]:
    """Every task that was asked for, on averaged word vectors before and after one release of all documents."""
    codec, encoded, labels = prepared.codec, prepared.encoded, prepared.labels
    assert codec is not None
    vectors = codec.word_vectors
    assert vectors is not None
    assert encoded is not None
    assert isinstance(labels, DocumentLabels)
    rng = np.random.default_rng([settings.seed, 12])
    outputs = _drawn(encoded, known.mechanism, rng)
    before = text_features(encoded, vectors)
    after = text_features(encoded, vectors, outputs, codec.words_released(known.mechanism))
    tasks = []
    for name in settings.tasks:
        if name == "classification":
            tasks.append(classification(before, after, labels.names, rng=rng))
        else:
            tasks.append(retrieval(before, after, labels.names))
    return tuple(tasks)


def _drawn(encoded: EncodedText, mechanism: Mechanism, rng: np.random.Generator) -> IntArray:
    """One output for every secret of the texts, drawn once or for each occurrence, as they ask."""
    if encoded.repeats != "once":
        return mechanism.sample(encoded.records.points, rng)
    once = draw_once(encoded.records)
    return mechanism.sample(once.records.points, rng)[once.position]

"""Measuring what a release is used for: tasks and attribute inference of labelled texts, losses by subgroup."""

from __future__ import annotations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.attribute import AttributeReport, attribute_report, fit_attribute
from oddshift.audit.release_use import ReleaseUse, subgroup_losses
from oddshift.audit.settings import AuditSettings
from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import EncodedText
from oddshift.data.codecs.text.passages import text_features
from oddshift.data.preparation import DocumentLabels, Prepared
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.utility import DownstreamTask, classification, retrieval
from oddshift.model.release import draw_once, perturb


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

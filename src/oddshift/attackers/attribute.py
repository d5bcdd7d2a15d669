"""Attribute inference: predict a protected label of a document (a group, a diagnosis) from its joint release.

Logistic regression on the average of what the outputs say about their points: E[v(X_l)|y_l] under the prior and the
known mechanism. Beating the label's own frequencies means that the release as a whole reveals the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.paired_log_score import Units, gain, split
from oddshift.base.arrays import FloatArray, IntArray, blocks, indices
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.model.release import Release, perturb

_STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # inverse penalties, chosen on a held-out fifth
_HELD = 0.2


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """A classifier of documents; `log_prior` are the label frequencies of the fit records."""

    known: Knowledge
    model: Any
    centre: FloatArray
    spread: FloatArray
    log_prior: FloatArray
    name: str = "attribute"

    fingerprint = property(content)

    def log_probabilities(self, release: Release) -> FloatArray:
        """log Pr[label | release], (documents, labels)."""
        inputs = (document_vectors(self.known, release) - self.centre) / self.spread
        found = np.full((len(inputs), len(self.log_prior)), -np.inf)
        found[:, self.model.classes_] = self.model.predict_log_proba(inputs)
        floor = np.log(1e-6) + self.log_prior  # no label is ruled out
        return np.logaddexp(found + np.log1p(-1e-6), floor)


@dataclass(frozen=True, kw_only=True)
class AttributeReport:
    """How well labels are predicted, compared with their frequencies; `gain` is in nats, its error by document."""

    documents: int
    accuracy: float
    prior_accuracy: float
    log_score: float
    prior_score: float
    gain: float
    gain_error: float


def fit_attribute(known: Knowledge, labels: IntArray, *, rng: np.random.Generator) -> Attribute:
    """Learn from the fit records, freshly perturbed, and one label (0, 1, ...) for each of their documents."""
    from sklearn.linear_model import LogisticRegression

    kinds = indices(labels, "labels", 1 << 31)
    if len(kinds) != len(known.fit) or len(np.unique(kinds)) < 2:
        raise InvalidInput(
            f"{len(kinds)} labels of {len(np.unique(kinds))} kinds, expected {len(known.fit)} of at least 2"
        )
    inputs = document_vectors(known, perturb(known.fit, known.mechanism, known.tiers, rng))
    centre, spread = inputs.mean(axis=0), np.maximum(inputs.std(axis=0), 1e-12)
    inputs = (inputs - centre) / spread
    counts = np.bincount(kinds) + 0.5
    log_prior = np.log(counts / counts.sum())
    learn, held = split(known.fit.clusters, _HELD, int(rng.integers(1 << 31)))

    def fitted(strength: float, documents: IntArray) -> Any:
        return LogisticRegression(C=strength, max_iter=1_000).fit(inputs[documents], kinds[documents])

    def score(strength: float) -> float:
        model = fitted(strength, learn)
        known_labels = np.isin(kinds[held], model.classes_)
        rows = held[known_labels]
        column = np.searchsorted(model.classes_, kinds[rows])
        return float(-model.predict_log_proba(inputs[rows])[np.arange(len(rows)), column].sum()) if len(rows) else 0.0

    usable = len(np.unique(kinds[learn])) > 1
    best = min(_STRENGTHS, key=score) if usable else _STRENGTHS[0]
    return Attribute(known, fitted(best, np.arange(len(kinds))), centre, spread, log_prior)


def attribute_report(attacker: Attribute, release: Release, labels: IntArray) -> AttributeReport:
    """Accuracy and log score on documents whose labels are known."""
    truth = indices(labels, "labels", len(attacker.log_prior))
    if len(truth) != len(release):
        raise InvalidInput(f"{len(truth)} labels, expected {len(release)}, one for each document")
    found = attacker.log_probabilities(release)
    score, before = -found[np.arange(len(truth)), truth], -attacker.log_prior[truth]
    gained = gain(before, score, Units(np.arange(len(truth)), len(truth)))
    return AttributeReport(
        documents=len(truth),
        accuracy=float((found.argmax(axis=1) == truth).mean()),
        prior_accuracy=float((truth == attacker.log_prior.argmax()).mean()),
        log_score=float(score.mean()),
        prior_score=float(before.mean()),
        gain=gained.mean,
        gain_error=gained.error,
    )


def document_vectors(known: Knowledge, release: Release) -> FloatArray:
    """Mean over positions of E[v(X)|y], and the logarithm of 1 + length, (documents, coordinates + 1)."""
    distinct, which = np.unique(release.outputs, return_inverse=True)
    points = known.mechanism.space.points
    said = np.zeros((len(distinct), points.shape[1]))
    for part in blocks(len(distinct), len(points)):
        logits = known.mechanism.log_columns(distinct[part]) + known.log_prior
        logits -= np.maximum(logits.max(axis=1, keepdims=True), -1e300)
        weight = np.exp(logits)
        said[part] = weight @ points / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    vectors = np.zeros((len(release), points.shape[1] + 1))
    document = np.repeat(np.arange(len(release)), release.lengths)
    np.add.at(vectors[:, :-1], document, said[which])
    vectors[:, :-1] /= np.maximum(release.lengths, 1)[:, None]
    vectors[:, -1] = np.log1p(release.lengths)
    return vectors

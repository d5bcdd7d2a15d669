"""Saturation: whether the attackers that a verdict rests on would find much more with more documents to learn from.

Each is fitted again on a quarter and on half of the fit documents and measured on the same releases. One that still
improves certifies nothing beyond itself: its claims are withheld, although it may still show a violation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.gains import gain, units_of
from oddshift.attackers.learning_size import LearningOfSize, SizeStep, smaller_fits
from oddshift.audit.claims import values_by_tier
from oddshift.audit.measurement import AuditReleases
from oddshift.audit.scan import Scan, scan
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers

Refit = Callable[[Knowledge], Attacker]
"""How an attacker is fitted, given what it knows."""


def learning_of_size(
    attacker: Attacker, found: Scan, known: Knowledge, releases: AuditReleases, refit: Refit
) -> LearningOfSize:
    """One attacker at smaller sizes and, as `found` on the certify documents, at its full size."""
    law = "anchored" if releases.settings.law == "worst" else releases.settings.law
    steps, tiers = [], releases.budget.tiers
    for documents, smaller in smaller_fits(refit, known, saturation_stream(releases.settings.seed)):
        rng = releases.stream(96, documents)
        args = (smaller, releases.certify_release, releases.certify, releases.budget, rng)
        steps.append(size_step(documents, scan(*args, laws=(law,), detailed=False), releases.certify, tiers, law))
    steps.append(size_step(len(known.fit), found, releases.certify, tiers, law))
    rows = values_by_tier(found.anchored, releases.certify, tiers)
    return LearningOfSize(attacker.name, tuple(tiers.names[row.tier] for row in rows), tuple(steps))


def saturation_stream(seed: int) -> np.random.Generator:
    """Random numbers that choose the smaller sets of fit documents, the same for an audit and an adaptation."""
    return np.random.default_rng([seed, 11, 97])


def size_step(documents: int, found: Scan, truth: Records, tiers: Tiers, law: str) -> SizeStep:
    """The joint gain and the rates of an attacker that was fitted on this number of documents."""
    gained = gain(found.scores.own_score, found.scores.log_score, units_of(truth))
    rows = values_by_tier(found.rate(law), truth, tiers)
    return SizeStep(documents, gained.mean, tuple(float(row.values.mean()) for row in rows))

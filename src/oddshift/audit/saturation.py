"""Saturation: whether the attackers that a verdict rests on would find much more with more documents to learn from.

Each is fitted again on a quarter and on half of the fit documents and measured on the same releases. One that still
improves certifies nothing beyond itself: its claims are withheld, although it may still show a violation.
"""

from __future__ import annotations

from collections.abc import Callable

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.gains import gain, units_of
from oddshift.attackers.learning_size import LearningOfSize, SizeStep, smaller_fits
from oddshift.audit.claims import values_by_tier
from oddshift.audit.measurement import AuditReleases
from oddshift.audit.scan import Scan, scan

Refit = Callable[[Knowledge], Attacker]
"""How an attacker is fitted, given what it knows."""


def learning_of_size(
    attacker: Attacker, found: Scan, known: Knowledge, releases: AuditReleases, refit: Refit
) -> LearningOfSize:
    """One attacker at smaller sizes and, as `found` on the certify documents, at its full size."""
    law = "anchored" if releases.settings.law == "worst" else releases.settings.law
    steps = []
    for documents, smaller in smaller_fits(refit, known, releases.stream(97)):
        rng = releases.stream(96, documents)
        args = (smaller, releases.certify_release, releases.certify, releases.budget, rng)
        steps.append(_step(documents, scan(*args, laws=(law,), detailed=False), releases, law))
    steps.append(_step(len(known.fit), found, releases, law))
    tiers = releases.budget.tiers
    rows = values_by_tier(found.anchored, releases.certify, tiers)
    return LearningOfSize(attacker.name, tuple(tiers.names[row.tier] for row in rows), tuple(steps))


def _step(documents: int, found: Scan, releases: AuditReleases, law: str) -> SizeStep:
    gained = gain(found.scores.own_score, found.scores.log_score, units_of(releases.certify))
    rows = values_by_tier(found.rate(law), releases.certify, releases.budget.tiers)
    return SizeStep(documents, gained.mean, tuple(float(row.values.mean()) for row in rows))

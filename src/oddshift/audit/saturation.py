"""Saturation: whether the attackers that a verdict rests on would find much more with more documents to learn from.

Each is fitted again on a quarter and on half of the fit documents and measured on the same releases, under the pair law
of the verdict. One that still improves certifies nothing beyond itself: its claims are withheld, although it may still
show a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.learning_size import LearningOfSize, SizeStep, smaller_fits
from oddshift.attackers.paired_log_score import gain, units_of
from oddshift.audit.claims import values_by_tier
from oddshift.audit.measurement import AuditReleases
from oddshift.audit.scan import Scan, Scores, scan, scores
from oddshift.audit.verdict import worst_of_units
from oddshift.base.arrays import FloatArray
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers

Refit = Callable[[Knowledge], Attacker]
"""How an attacker is fitted, given what it knows."""


Worst = Mapping[int, FloatArray]
"""For each tier, whether any pair exceeds ε in each of the units that were examined."""


def learning_of_size(
    attacker: Attacker, found: Scan, known: Knowledge, releases: AuditReleases, refit: Refit, *, worst: Worst
) -> LearningOfSize:
    """One attacker at smaller sizes and, as `found` on the certify documents, at its full size.

    Under the law `worst` rates are those of the units that were examined, `worst` at the full size; the same units are
    examined again.
    """
    law, tiers = releases.settings.law, releases.budget.tiers
    place = (releases.certify_release, releases.certify, releases.budget)
    steps = []
    for documents, smaller in smaller_fits(refit, known, saturation_stream(releases.settings.seed)):
        if law == "worst":
            gained = scores(smaller, *place)
            steps.append(_worst_step(documents, gained, worst_of_units(smaller, releases), releases.certify))
        else:
            seen = scan(smaller, *place, releases.stream(96, documents), laws=(law,), detailed=False)
            steps.append(size_step(documents, seen, releases.certify, tiers, law))
    if law == "worst":
        steps.append(_worst_step(len(known.fit), found.scores, worst, releases.certify))
    else:
        steps.append(size_step(len(known.fit), found, releases.certify, tiers, law))
    labels = np.unique(releases.certify.tier_of_position(tiers))
    return LearningOfSize(attacker.name, tuple(tiers.names[tier] for tier in labels), tuple(steps))


def _worst_step(documents: int, found: Scores, worst: Worst, truth: Records) -> SizeStep:
    rates = tuple(float(worst[tier].mean()) for tier in sorted(worst))
    return SizeStep(documents, gain(found.own_score, found.log_score, units_of(truth)).mean, rates)


def saturation_stream(seed: int) -> np.random.Generator:
    """Random numbers that choose the smaller sets of fit documents, the same for an audit and an adaptation."""
    return np.random.default_rng([seed, 11, 97])


def size_step(documents: int, found: Scan, truth: Records, tiers: Tiers, law: str) -> SizeStep:
    """The joint gain and the rates of an attacker that was fitted on this number of documents."""
    gained = gain(found.scores.own_score, found.scores.log_score, units_of(truth))
    rows = values_by_tier(found.rate(law), truth, tiers)
    return SizeStep(documents, gained.mean, tuple(float(row.values.mean()) for row in rows))

"""The choice among certified candidates: the least loss whose attackers would not find more than δ with more documents.

All candidates that passed are certified together, so any of them may be taken. Every attacker that counts is fitted on
half of the fit documents too and read at the same scales: rate(n)²/rate(n/2) or rate(n/2) beyond δ means that the rate
belongs to this attacker and not to the data (`attackers.learning_size`). Such a candidate is not certified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from oddshift.adapt.certification import Certification, Trial, bounds_tested
from oddshift.adapt.form_cache import KeptForms
from oddshift.adapt.readers import Readers
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.learning_size import LearningOfSize, SizeStep, half_of
from oddshift.audit.scan import Scan
from oddshift.audit.trials import saturation_stream, size_step
from oddshift.audit.verdict import judged
from oddshift.evidence.certificates import Claim

Refits = Mapping[str, Callable[[Knowledge], Attacker]]
"""How attackers are fitted, by their names."""


@dataclass(frozen=True, eq=False, repr=False)
class HalfFits:
    """Attackers fitted on half of the fit documents, read under any scales; each is fitted when it is first needed."""

    refits: Refits
    half: Knowledge
    readers: Readers
    fitted: dict[str, Attacker] = field(default_factory=dict)

    def learning(self, trial: Trial, made: Certification) -> tuple[LearningOfSize, ...]:
        """What every attacker that counts found with half of the documents and with all of them, at these scales."""
        certifying, known = made.certifying, made.situation(trial).known
        there = replace(self.half, mechanism=known.mechanism, tiers=known.tiers)
        places = [k for k in trial.basis.counting if k and made.attackers[k - 1].name in self.refits]
        names = [made.attackers[place - 1].name for place in places]
        found = certifying.measure_all(known, [self.readers.fitted(self._half_of(name), there) for name in names])
        law, truth = certifying.settings.law, certifying.records
        tiers = tuple(known.tiers.names[tier] for tier in np.unique(truth.tier_of_position(known.tiers)))

        def steps(half: Scan, full: Scan) -> tuple[SizeStep, ...]:
            sizes = ((len(self.half.fit), half), (len(known.fit), full))
            return tuple(size_step(size, each, truth, known.tiers, law) for size, each in sizes)

        rows = zip(names, found, places, strict=True)
        return tuple(LearningOfSize(name, tiers, steps(half, trial.scans[place])) for name, half, place in rows)

    def _half_of(self, name: str) -> Attacker:
        if name not in self.fitted:
            self.fitted[name] = self.refits[name](self.half)
        return self.fitted[name]


def half_fits(refits: Refits, made: Certification) -> HalfFits:
    """Fits on the half of the fit documents that an audit with the same seed takes."""
    half = half_of(made.certifying.known, saturation_stream(made.certifying.settings.seed))
    return HalfFits(refits, half, Readers(replace(made.select, known=half, forms=KeptForms())))


def without_growing(found: Sequence[Trial], smaller: HalfFits, made: Certification) -> tuple[Trial, ...]:
    """The trials, with those withheld that rest on an attacker that still learns; the least loss is tried first.

    A candidate is withheld untried where its rate, growing as at the one tried before it, would exceed δ; a rate that
    grew from nothing says nothing about the next one.
    """
    delta, kept = made.certifying.settings.delta, {id(trial): trial for trial in found}
    reason, tried_at, growth = "", "", 1.0
    for trial in sorted((t for t in reversed(found) if t.is_certified), key=lambda t: t.tested.loss):
        if reason and isfinite(growth) and growth * trial.outcome.rate > delta:
            kept[id(trial)] = withheld(trial, f"{reason}, at scales {tried_at} that were tried instead", made)
            continue
        learning = smaller.learning(trial, made)
        growing = [each for each in learning if not each.is_saturated(delta)]
        tried = replace(trial, learning=learning)
        if not growing:
            kept[id(trial)] = tried
            break
        reason, growth = growing[0].reason(delta), max(each.growth for each in growing)
        tried_at = ", ".join(f"{scale:g}" for scale in trial.tested.scales)
        kept[id(trial)] = withheld(tried, reason, made)
    return tuple(kept[id(trial)] for trial in found)


def withheld(trial: Trial, reason: str, made: Certification) -> Trial:
    """The same trial without a verdict on rates, for this reason; caps on right guesses stay."""
    size = len(made.certifying.known.fit)
    parts = tuple(
        replace(part, claim=replace(part.claim, withheld=reason, may_violate=True, unsaturated=size))
        if isinstance(part.claim, Claim)
        else part
        for part in trial.judgement.parts
    )
    judgement = judged(parts, made.claims)
    return replace(trial, judgement=judgement, growing=reason, tested=bounds_tested(trial.tested, judgement))

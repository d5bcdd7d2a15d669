"""δ(k): how often ε is exceeded when the same secrets are released k times and read together.

Budgets add up under composition, which bounds the leakage of any number of releases; an audit says what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.audit.auditing import audit
from oddshift.audit.proven import bound_without_law
from oddshift.audit.result import Audit
from oddshift.audit.settings import AuditSettings
from oddshift.base.arrays import whole
from oddshift.mechanisms.composition import Composition
from oddshift.model.records import Split


@dataclass(frozen=True, kw_only=True)
class ComposedAudit:
    """The audit of k releases: the worst rate with its bounds, the sum of the budgets, and the proven joint bound."""

    releases: int
    rate: float
    lower: float
    upper: float
    budget: float
    proven: float
    audit: Audit


def audit_releases(
    split: Split,
    known: Knowledge,
    fitted: Callable[[Knowledge], Sequence[Attacker]],
    settings: AuditSettings,
    *,
    most: int,
) -> tuple[ComposedAudit, ...]:
    """Audit 1, 2, … `most` releases of the same secrets, each by attackers `fitted` to that number.

    **Guarantee**: each bound is that of `audit`, at `settings.alpha` for each number of releases. `budget` is k·ε, the
    bound on the largest mPL of a secret's own releases, and `proven` that of all releases under any law.
    """
    rows = []
    for releases in range(1, whole(most, "most", 1) + 1):
        there = knowledge(Composition(known.mechanism, releases), known.tiers, split.fit)
        proven = bound_without_law(there, split)
        found = audit(split, there, fitted(there), settings, proven=proven)
        worst, budget = found.deciding_rates[0], there.mechanism.claimed_epsilon
        row = {"rate": worst.mean, "lower": worst.lower, "upper": worst.upper, "budget": budget, "proven": proven.value}
        rows.append(ComposedAudit(releases=releases, audit=found, **row))
    return tuple(rows)

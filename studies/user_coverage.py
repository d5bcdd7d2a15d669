"""Coverage of the `worst` law where documents belong to users, and what becomes of it if documents are counted.

Half of the users are in one place, and say so twelve times in each of their documents; the others name one place once,
and another one each time. So documents of a user tell nearly the same: all of them leak, or none. An audit draws one
document of each user; its upper bound errs when it lies below the true rate, which is measured on many fresh users.
Next to it stand bounds that take every document for a unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Attacker, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.audit.measurement import worst_of_release
from oddshift.audit.scan import Budget
from oddshift.audit.settings import AuditSettings
from oddshift.base.arrays import FloatArray
from oddshift.bounds import METHODS
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from studies.tables import table, write
from studies.world_laws import POINTS, plane

EPSILON, ALPHA, RUNS, USERS, DOCUMENTS, FRESH = 1.5, 0.05, 300, 30, 12, 20_000
TIMES = 12
METHOD = AuditSettings(epsilon=EPSILON, delta=0.5).method


def records(space: Space, users: int, documents: int, rng: np.random.Generator) -> Records:
    """Documents of some users: a user's home many times, or one point drawn anew."""
    is_still = np.repeat(rng.random(users) < 0.5, documents)
    home = np.repeat(rng.integers(POINTS, size=users), documents)
    values = np.where(is_still, home, rng.integers(POINTS, size=users * documents))
    rows = [np.full(TIMES if still else 1, value) for still, value in zip(is_still, values, strict=True)]
    return replace(Records.from_documents(space, rows), users=np.repeat(np.arange(users), documents))


def exceeds(attacker: Attacker, secrets: Records, budget: Budget, rng: np.random.Generator) -> FloatArray:
    """For every unit whether some pair exceeds ε, at one position of one of its documents."""
    release = perturb(secrets, budget.mechanism, budget.tiers, rng)
    return worst_of_release(attacker, release, secrets, budget, most=len(secrets), rng=rng)[0]


@dataclass(frozen=True)
class Covered:
    """The true rate with its standard error, and the upper bounds of all runs by unit."""

    rate: float
    error: float
    upper: dict[str, list[float]]

    def below(self, unit: str) -> int:
        """How many bounds lie below the truth, less three standard errors."""
        return int((np.array(self.upper[unit]) < self.rate - 3 * self.error).sum())


def repeated(runs: int, fresh: int, rng: np.random.Generator) -> Covered:
    """Measure the truth on fresh users and repeat the certificate."""
    space = plane(rng)
    mechanism, tiers = Exponential(space, EPSILON), one_tier(space)
    known = knowledge(mechanism, tiers, records(space, 1_000, 1, rng))
    attacker, budget = fit_plugin(known), Budget(mechanism, tiers, EPSILON)
    truth = exceeds(attacker, records(space, fresh, 1, rng), budget, rng)
    upper: dict[str, list[float]] = {"user": [], "document": []}
    for _ in range(runs):
        secrets = records(space, USERS, DOCUMENTS, rng)
        for unit, some in (("user", secrets), ("document", replace(secrets, users=None))):
            values = rng.permutation(exceeds(attacker, some, budget, rng))
            upper[unit].append(METHODS[METHOD].upper(values, ALPHA))
    return Covered(float(truth.mean()), float(truth.std() / np.sqrt(fresh)), upper)


def main() -> None:
    """Count the errors and write the page."""
    found = repeated(RUNS, FRESH, np.random.default_rng(2030))
    counted = {"user": USERS, "document": USERS * DOCUMENTS}
    rows = []
    for unit, bounds in found.upper.items():
        below = found.below(unit)
        rows.append([unit, counted[unit], f"{np.median(bounds):.3f}", f"{below} of {RUNS}", f"{1 - below / RUNS:.1%}"])
    about = " ".join((__doc__ or "").split())
    header = ["unit", "units", "median upper bound", "bounds below the truth", "coverage"]
    write(
        "user_coverage",
        "Coverage of worst pairs where documents belong to users",
        f"{about}\n\n{table(header, rows)}\n\nTrue rate {found.rate:.4f} ± {found.error:.4f}, from {FRESH:,} "
        f"fresh users. Epsilon {EPSILON}, level {ALPHA}, bounds by {METHOD}, {USERS} users with {DOCUMENTS} documents "
        "each. Audits count users; the second line shows why.",
    )


if __name__ == "__main__":
    main()

"""How much of the true leakage the portfolio finds, and what it says, in five worlds whose exact posterior is known.

Every audit draws fit, select and certify documents of its own. The truth is the anchored rate of the exact posterior on
fresh documents. The verdict is asked twice: at delta below the truth, where `certified` would be wrong, and above it,
where `violated` would be. Run as `python -m studies.worlds REPETITIONS WORKERS`.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.law_attacker import Dense, LawAttacker
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.audit import AuditSettings
from oddshift.audit.audit_verdict import AuditTrials, audit_trials, concluded
from oddshift.audit.claims import NO_DETECTOR, ClaimBuilder
from oddshift.audit.measurement import AuditReleases
from oddshift.audit.saturation import learning_of_size
from oddshift.audit.scan import Budget, scan
from oddshift.base.execution import Execution, run
from oddshift.base.storage import load, save
from oddshift.mechanisms import Exponential
from oddshift.model.release import one_tier, perturb
from studies.tables import table, write
from studies.world_laws import WORLDS

EPSILON, SELECT, CERTIFY, FRESH = 1.5, 500, 1_500, 40_000
SIZES = (200, 1_000, 5_000)
BELOW, ABOVE = 1 / 1.2, 1.25
"""Limits that are asked for, in units of the true rate."""

HOME = Path(tempfile.gettempdir()) / "oddshift-worlds"


@dataclass(frozen=True)
class Outcome:
    """One audit: rates in all, log scores, and the verdicts at the two limits."""

    found: float
    own_score: float
    found_score: float
    exact_score: float
    expected: float
    below: str
    above: str


@dataclass(frozen=True)
class TrueRate:
    """The anchored rate of the exact posterior."""

    rate: float


def truth(name: str) -> float:
    """The true rate of a world, measured once."""
    file = HOME / f"truth-{name.replace(' ', '-')}.json"
    if not file.is_file():
        world, rng = WORLDS[name](), np.random.default_rng(77)
        mechanism, tiers = Exponential(world.space, EPSILON), one_tier(world.space)
        exact = LawAttacker(knowledge(mechanism, tiers, world.records(10, rng)), Dense(world.law), "exact")
        rates = []
        for _ in range(FRESH // 2_000):
            secrets = world.records(2_000, rng)
            release, budget = perturb(secrets, mechanism, tiers, rng), Budget(mechanism, tiers, EPSILON)
            rates.append(scan(exact, release, secrets, budget, rng, laws=("anchored",), detailed=False).anchored.mean())
        save(file, TrueRate(float(np.mean(rates))))
    found: TrueRate = load(file, TrueRate)
    return found.rate


def kept(task: tuple[str, int, int]) -> Outcome:
    """One audit, kept outside the repository, so that an interrupted study continues."""
    name, size, seed = task
    file = HOME / f"{name.replace(' ', '-')}-{size}-{seed}.json"
    if not file.is_file():
        save(file, once(task))
    outcome: Outcome = load(file, Outcome)
    return outcome


def once(task: tuple[str, int, int]) -> Outcome:
    """Draw, fit, measure at three sizes, and ask for both verdicts."""
    name, size, seed = task
    world, rng = WORLDS[name](), np.random.default_rng([2026, size, seed])
    mechanism, tiers = Exponential(world.space, EPSILON), one_tier(world.space)
    fit, select, certify = (world.records(n, rng) for n in (size, SELECT, CERTIFY))
    known = knowledge(mechanism, tiers, fit)
    attackers = (Null(known), Own(known), fit_portfolio(known, np.random.default_rng(seed)))
    settings = AuditSettings(epsilon=EPSILON, delta=0.5, worst_positions=5, seed=seed)
    seen = [perturb(part, mechanism, tiers, rng) for part in (select, certify)]
    budget = Budget(mechanism, tiers, EPSILON)
    releases = AuditReleases(seen[0], select, seen[1], certify, budget, settings, None)
    measured = [releases.measure(task) for task in enumerate(attackers)]
    trials = audit_trials(attackers, measured, releases, ClaimBuilder(settings, NO_DETECTOR, "document"), None)
    mine, expected = measured[2].certify, 0.0
    if 2 in trials.basis.counting:
        grown = learning_of_size(
            attackers[2], mine, known, releases, lambda part: fit_portfolio(part, np.random.default_rng(seed))
        )
        trials, expected = replace(trials, learning={2: grown}), grown.expected_rates[0]
    exact = LawAttacker(known, Dense(world.law), "exact")
    true = scan(exact, seen[1], certify, budget, rng, laws=("anchored",), detailed=False)
    return Outcome(
        found=float(mine.anchored.mean()),
        own_score=float(measured[1].certify.scores.log_score.mean()),
        found_score=float(mine.scores.log_score.mean()),
        exact_score=float(true.scores.log_score.mean()),
        expected=float(expected),
        below=verdict(trials, BELOW * truth(name)),
        above=verdict(trials, ABOVE * truth(name)),
    )


def verdict(trials: AuditTrials, delta: float) -> str:
    """The state of the verdict at a limit."""
    settings = replace(trials.releases.settings, delta=delta)
    asked = replace(trials, releases=replace(trials.releases, settings=settings))
    judged, _ = concluded(replace(asked, claims=replace(trials.claims, question=settings)))
    assert judged is not None
    return judged.verdict.state


def row(name: str, size: int, done: list[Outcome]) -> list[object]:
    """One line: a world at one size."""
    real = truth(name)
    ratio = np.array([outcome.found for outcome in done]) / real
    scores = [np.mean([getattr(o, f) for o in done]) for f in ("own_score", "found_score", "exact_score")]
    below, above = ([getattr(outcome, side) for outcome in done] for side in ("below", "above"))
    return [
        name,
        size,
        f"{real:.2%}",
        f"{ratio.mean():.2f} ({ratio.min():.2f}-{ratio.max():.2f})",
        *(f"{score:.3f}" for score in scores),
        f"{below.count('certified')} of {len(done)}",
        f"{below.count('violated')} of {len(done)}",
        f"{above.count('violated')} of {len(done)}",
        f"{above.count('certified')} of {len(done)}",
    ]


def main() -> None:
    """Repeat, count, write."""
    HOME.mkdir(exist_ok=True)
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for name in WORLDS:
        truth(name)
    tasks = [(name, size, seed) for name in WORLDS for size in SIZES for seed in range(repetitions)]
    done = run(kept, tasks, Execution("processes", workers))
    cells = [(name, size) for name in WORLDS for size in SIZES]
    rows = [
        row(name, size, [o for t, o in zip(tasks, done, strict=True) if t[:2] == (name, size)]) for name, size in cells
    ]
    header = [
        "world", "fit documents", "true rate", "found / true (range)", "log score own", "found", "exact",
        "wrongly certified below", "violated below", "wrongly violated above", "certified above",
    ]  # fmt: skip
    about = " ".join((__doc__ or "").split())
    write(
        "worlds",
        "What the portfolio finds in worlds with a known posterior",
        f"{about}\n\n{table(header, rows)}\n\nEpsilon {EPSILON}, {SELECT} select and {CERTIFY:,} certify documents, "
        f"{repetitions} audits a line; `below` asks for delta = truth/1.2, `above` for 1.25 times the truth. "
        "An attacker that still learns (rate(n)²/rate(n/2) > delta) certifies nothing.",
    )


if __name__ == "__main__":
    from studies.worlds import main as start

    start()  # from the module by its name, so that workers find it

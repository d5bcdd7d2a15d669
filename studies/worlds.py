"""How much of the true leakage the portfolio finds, and what it says, in five worlds whose exact posterior is known.

Every audit draws fit, select and certify documents and noise of its own, so that audits of a world are independent; the
parameters of the world are one of several sets, in turn. The truth is the anchored rate of the exact posterior on fresh
documents. The verdict is asked twice: at delta below the truth, where `certified` would be wrong, and above it, where
`violated` would be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.law_attacker import Dense, LawAttacker
from oddshift.attackers.learning_size import LearningOfSize, SizeStep
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.audit import AuditSettings
from oddshift.audit.claims import NO_DETECTOR, ClaimBuilder
from oddshift.audit.measurement import AuditReleases
from oddshift.audit.scan import Budget, scan
from oddshift.audit.trials import AuditTrials, audit_trials, completed, concluded, learning_of_size
from oddshift.base.arrays import FloatArray
from oddshift.base.storage import load, save
from oddshift.bounds import clopper_pearson_upper
from oddshift.mechanisms import Exponential, Mechanism
from oddshift.model.release import one_tier, perturb
from studies.tables import table, write
from studies.three_laws import THREES
from studies.wide_laws import WIDE_WORLDS
from studies.world_laws import WORLDS, KnownWorld

EPSILON, SELECT, CERTIFY, FRESH = 1.5, 500, 1_500, 40_000
SIZES = (5_000, 1_000)
BELOW, ABOVE = 1 / 1.2, 1.25
"""Limits that are asked for, in units of the true rate."""

PARAMETERS = 5
"""Sets of parameters of each world: where points lie, how they follow each other."""

HOME = Path(__file__).resolve().parent / ".work" / "worlds"
"""One file for each audit, so that an interrupted study continues; empty it when the attackers change."""

Task = tuple[str, int, int]
"""A world, the number of fit documents, and a seed."""

Made = TypeVar("Made")

EVERY: dict[str, Callable[[int], KnownWorld]] = WORLDS | WIDE_WORLDS | THREES
"""The worlds of this study, those over more points (`studies.wide_worlds`), and threes (`studies.threes`)."""

HEADER = [
    "world", "fit documents", "true rate", "found / true (range)", "found / exact on the same documents",
    "log score own", "found", "exact",
    "wrongly certified below", "rightly violated below", "wrongly violated above",
]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """One audit: the true rate, those of portfolio and exact posterior on its documents, log scores, and two verdicts.

    `upper` is the upper bound on the rate that the portfolio found. `sizes` are the rates of the portfolio on a
    quarter, half and all of the fit documents. Fitting again can only take a certificate away, so it is empty where
    `below` was not certified anyway.
    """

    true: float
    found: float
    exact: float
    own_score: float
    found_score: float
    exact_score: float
    upper: float
    below: str
    above: str
    sizes: tuple[float, ...]

    def certifies(self, delta: float) -> bool:
        """Whether the limit below the truth is certified, now that the attacker was fitted on fewer documents too."""
        steps = tuple(SizeStep(0, 0.0, (rate,)) for rate in self.sizes)
        return self.below == "certified" and LearningOfSize("portfolio", ("all",), steps).is_saturated(delta)

    @property
    def is_wrongly_certified(self) -> bool:
        """Whether the limit below the truth is certified."""
        return self.certifies(BELOW * self.true)


@dataclass(frozen=True)
class TrueRate:
    """The anchored rate of the exact posterior."""

    rate: float


def file_of(kind: str, name: str, *key: object) -> Path:
    """Where a result is kept."""
    return HOME / ("-".join([kind, name.replace(" ", "-"), *map(str, key)]) + ".json")


def exact_rate(world: KnownWorld, mechanism: Mechanism, documents: int = FRESH) -> float:
    """The anchored rate of the exact posterior on fresh documents."""
    rng, tiers = np.random.default_rng(77), one_tier(world.space)
    exact = exact_attacker(world, knowledge(mechanism, tiers, world.records(10, rng)))
    budget, rates = Budget(mechanism, tiers, EPSILON), []
    for _ in range(documents // 2_000):
        secrets = world.records(2_000, rng)
        release = perturb(secrets, mechanism, tiers, rng)
        rates.append(scan(exact, release, secrets, budget, rng, laws=("anchored",), detailed=False).anchored.mean())
    return float(np.mean(rates))


def exact_attacker(world: KnownWorld, known: Knowledge) -> Attacker:
    """The attacker that knows the law."""
    return LawAttacker(known, Dense(world.law), "exact")


def world_of(name: str, seed: int) -> tuple[KnownWorld, float]:
    """The world that an audit with this seed looks at, and its true rate at scale 1, which is measured once."""
    parameters = 1 + seed % PARAMETERS
    world, file = EVERY[name](parameters), file_of("truth", name, parameters)
    if not file.is_file():
        save(file, TrueRate(exact_rate(world, Exponential(world.space, EPSILON))))
    found: TrueRate = load(file, TrueRate)
    return world, found.rate


def once(task: Task) -> Outcome:
    """One audit of a world by its name."""
    name, size, seed = task
    world, rate = world_of(name, seed)
    return audit_of(world, size, seed, rate)


def audit_of(world: KnownWorld, size: int, seed: int, rate: float) -> Outcome:
    """Draw, fit, measure, and ask for both verdicts, at limits that are multiples of this rate."""
    rng = np.random.default_rng([2028, size, seed])
    mechanism, tiers = Exponential(world.space, EPSILON), one_tier(world.space)
    fit, select, certify = (world.records(n, rng) for n in (size, SELECT, CERTIFY))
    known = knowledge(mechanism, tiers, fit)
    attackers = (Null(known), Own(known), fit_portfolio(known, np.random.default_rng(seed)))
    settings = AuditSettings(epsilon=EPSILON, delta=0.5, worst_positions=5, seed=seed)
    seen = [perturb(part, mechanism, tiers, rng) for part in (select, certify)]
    releases = AuditReleases(seen[0], select, seen[1], certify, Budget(mechanism, tiers, EPSILON), settings, None)
    measured = [releases.measure(task) for task in enumerate(attackers)]
    claims = ClaimBuilder(settings, NO_DETECTOR, "document")
    trials = completed(audit_trials(attackers, measured, releases, claims, None), known)
    below, upper = asked_verdict(trials, BELOW * rate)
    sizes = _sizes(trials, known, seed) if below == "certified" else ()
    exact = scan(
        exact_attacker(world, known), seen[1], certify, releases.budget, rng, laws=("anchored",), detailed=False
    )
    mine = measured[2].certify
    return Outcome(
        true=rate,
        found=float(mine.anchored.mean()),
        exact=float(exact.anchored.mean()),
        own_score=float(measured[1].certify.scores.log_score.mean()),
        found_score=float(mine.scores.log_score.mean()),
        exact_score=float(exact.scores.log_score.mean()),
        upper=upper,
        below=below,
        above=asked_verdict(trials, ABOVE * rate)[0],
        sizes=sizes,
    )


def _sizes(trials: AuditTrials, known: Knowledge, seed: int) -> tuple[float, ...]:
    """What the portfolio finds when it is fitted on fewer documents."""

    def refit(part: Knowledge) -> Attacker:
        return fit_portfolio(part, np.random.default_rng(seed))

    found = trials.measured[2].certify
    grown = learning_of_size(trials.attackers[2], found, known, trials.releases, refit, worst={})
    return tuple(step.rates[0] for step in grown.steps)


def asked_verdict(trials: AuditTrials, delta: float) -> tuple[str, float]:
    """The state of the verdict at a limit, and the largest upper bound among its parts."""
    settings = replace(trials.releases.settings, delta=delta)
    asked = replace(trials, releases=replace(trials.releases, settings=settings))
    judged, _ = concluded(replace(asked, claims=replace(trials.claims, question=settings)))
    assert judged is not None
    return judged.verdict.state, max(part.upper for part in judged.verdict.parts)


def cells(repetitions: int, names: Sequence[str] = tuple(WORLDS)) -> Iterator[Task]:
    """Every audit, seed by seed, so that whatever was finished is balanced over worlds and sizes."""
    yield from ((name, size, seed) for seed in range(repetitions) for size in SIZES for name in names)


def work(
    kind: str,
    once: Callable[[Task], object],
    minutes: float,
    repetitions: int,
    *,
    names: Sequence[str] = tuple(WORLDS),
) -> None:
    """Compute the cells of one kind that are missing, for as long as there is time."""
    HOME.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes
    for task in cells(repetitions, names):
        file = file_of(kind, *task)
        if not file.is_file():
            if time.monotonic() > end:
                return
            save(file, once(task))


def finished(
    kind: str, made: type[Made], repetitions: int, names: Sequence[str] = tuple(WORLDS)
) -> list[tuple[str, int, list[Made]]]:
    """Everything of one kind that was computed so far, by world and number of fit documents."""
    found = []
    for name in names:
        for size in sorted(SIZES):
            files = [file_of(kind, name, size, seed) for seed in range(repetitions)]
            found.append((name, size, [load(file, made) for file in files if file.is_file()]))
    return [line for line in found if line[2]]


def asked(minutes: float, repetitions: int) -> tuple[float, int]:
    """The two arguments of the command: minutes to work, and audits of each world and size at most."""
    said = [float(word) for word in sys.argv[1:3]]
    return (said[0] if said else minutes), (int(said[1]) if len(said) > 1 else repetitions)


def row(name: str, size: int, done: Sequence[Outcome]) -> list[object]:
    """One line: a world at one size."""
    found, exact, true = (np.array([getattr(o, f) for o in done]) for f in ("found", "exact", "true"))
    scores = [np.mean([getattr(o, f) for o in done]) for f in ("own_score", "found_score", "exact_score")]
    below, above = ([getattr(outcome, side) for outcome in done] for side in ("below", "above"))
    return [
        name,
        f"{size:,}",
        between(true),
        f"{(found / true).mean():.2f} ({(found / true).min():.2f}-{(found / true).max():.2f})",
        f"{found.mean() / exact.mean():.2f}",
        *(f"{score:.3f}" for score in scores),
        f"{sum(outcome.is_wrongly_certified for outcome in done)} of {len(done)}",
        f"{below.count('violated')} of {len(done)}",
        f"{above.count('violated')} of {len(done)}",
    ]


def between(shares: FloatArray) -> str:
    """The smallest and the largest of some shares."""
    low, high = f"{shares.min():.2%}", f"{shares.max():.2%}"
    return low if low == high else f"{low} to {high}"


def summary(lines: Sequence[tuple[str, int, list[Outcome]]]) -> str:
    """How many audits were wrong in either direction, and what was asked."""
    done = [outcome for _, _, outcomes in lines for outcome in outcomes]
    wrong = [sum(o.is_wrongly_certified for o in done), sum(o.above == "violated" for o in done)]
    most = [clopper_pearson_upper(k, len(done), 0.05) for k in wrong]
    return (
        f"{len(done)} audits in all: {wrong[0]} wrongly certified, {wrong[1]} wrongly violated, which bounds their "
        f"shares by {most[0]:.1%} and {most[1]:.1%} at level 0.05. Epsilon {EPSILON}, {SELECT} select and "
        f"{CERTIFY:,} certify documents, level 0.05; `below` asks for delta = truth/1.2, `above` for 1.25 times the "
        f"truth. Each world has {PARAMETERS} sets of parameters."
    )


def main() -> None:
    """Work for some minutes, then write the page from everything that is finished."""
    minutes, repetitions = asked(60, 100)
    work("audit", once, minutes, repetitions)
    lines = finished("audit", Outcome, repetitions)
    about = " ".join((__doc__ or "").split())
    write(
        "worlds",
        "What the portfolio finds in worlds with a known posterior",
        f"{about}\n\n{table(HEADER, [row(*line) for line in lines])}\n\n{summary(lines)} An attacker that still learns "
        "(rate(n)²/rate(n/2), rate(n)·√(rate(n)/rate(n/4)) or rate(n/2) > delta) certifies nothing; that rate(n/2) "
        "counts was added after an audit of second order (the first set of parameters, 5,000 documents, seed 1), which "
        "without it was certified wrongly. The attackers were written with the first set of parameters in view, on "
        "other documents, and before the other sets were drawn. The command takes minutes to work and the largest "
        "number of audits of each world and size; it continues where it stopped.",
    )


if __name__ == "__main__":
    main()

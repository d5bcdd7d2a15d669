"""How often certified scales break their promise: adaptation repeated on the embedded corpus, where the truth is known.

Each run draws a corpus of its own and adapts the scales with attackers that must learn from it: the law of the corpus
is not among them. Then the exact attacker, which knows that law, is measured on fresh documents under the chosen
mechanism. A run errs when the exact attacker exceeds delta in some tier, or guesses more first secrets than the cap.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from oddshift.adapt import AdaptSettings, AdaptTask, adapt
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.gains import standard_error
from oddshift.attackers.known_chain import Exact
from oddshift.audit.claims import values_by_tier
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import FloatArray
from oddshift.base.execution import Execution, run
from oddshift.base.storage import load, save
from oddshift.data.embedded.people import People, people
from oddshift.mechanisms import Mechanism, Tiered
from oddshift.model.release import perturb
from oddshift.model.tiers import Tiers
from studies.audit_coverage import draw
from studies.tables import table, write

EPSILON, DELTA, ALPHA, CAP = 1.5, 0.05, 0.05, 0.25
DOCUMENTS, FRESH, CHUNK, RUNS = 2_000, 40_000, 2_000, 100
LEARNERS = ("plugin", "cooccurrence")

GOALS: dict[str, AdaptSettings] = {
    "rate": AdaptSettings(epsilon=EPSILON, delta=DELTA, alpha=ALPHA, remap="never", attackers=LEARNERS),
    "rate and cap": AdaptSettings(
        epsilon=EPSILON, delta=DELTA, alpha=ALPHA, remap="never", attackers=LEARNERS, success={"*": CAP}
    ),
}
"""What is asked; without remapping, so that the truth depends on the scales alone."""

HOME = Path(tempfile.gettempdir()) / "oddshift-adapt-coverage"


@dataclass(frozen=True)
class Truth:
    """What the exact attacker achieves in every tier: rates and right first guesses, with standard errors."""

    rates: tuple[float, ...]
    rate_errors: tuple[float, ...]
    guesses: tuple[float, ...]
    guess_errors: tuple[float, ...]


@dataclass(frozen=True)
class Outcome:
    """One run: the chosen scales, their loss, what is true of them, and the CPU seconds of the adaptation."""

    scales: tuple[float, ...] | None
    loss: float
    truth: Truth | None
    seconds: float


@cache
def corpus() -> People:
    """The law of the secrets, and the words."""
    return people(100)


def family(tiers: Tiers) -> Mechanism:
    """The mechanism under some scales."""
    return Tiered(corpus().space, tiers, EPSILON)


def kept(task: tuple[int, str]) -> Outcome:
    """One run, kept outside the repository, so that an interrupted study continues."""
    file = HOME / f"{task[0]}-{task[1].replace(' ', '-')}.json"
    if not file.is_file():
        save(file, once(task))
    outcome: Outcome = load(file, Outcome)
    return outcome


def once(task: tuple[int, str]) -> Outcome:
    """Draw, adapt, and look what was really promised."""
    seed, goal = task
    start = time.process_time()
    law, rng = corpus(), np.random.default_rng([2026, seed])
    split = draw(law, DOCUMENTS, rng).split(rng=rng)
    known = knowledge(family(law.tiers), law.tiers, split.fit)
    asked = AdaptTask(
        split=split,
        known=known,
        family=family,
        attackers=tuple(ATTACKERS[name](known, rng) for name in LEARNERS),
        settings=replace(GOALS[goal], seed=seed),
    )
    found = adapt(asked)
    taken = time.process_time() - start
    if found.chosen is None:
        return Outcome(None, float("nan"), None, taken)
    loss = next(tested.loss for tested in found.sequence if tested.scales == found.chosen)
    return Outcome(found.chosen, loss, truth(found.chosen), taken)


def truth(scales: tuple[float, ...]) -> Truth:
    """What the exact attacker achieves under some scales, on FRESH documents of the law itself; measured once."""
    file = HOME / f"truth-{'-'.join(map(str, scales))}.json"
    if not file.is_file():
        save(file, _measured(corpus().tiers.with_scales(scales)))
    found: Truth = load(file, Truth)
    return found


def _measured(tiers: Tiers) -> Truth:
    law, rng, mechanism = corpus(), np.random.default_rng(77), family(tiers)
    known = knowledge(mechanism, tiers, draw(law, 100, rng))
    exact, budget = Exact(known, law.prior_of), Budget(mechanism, tiers, EPSILON)
    rates: list[list[FloatArray]] = [[], []]
    guesses: list[list[FloatArray]] = [[], []]
    for _ in range(FRESH // CHUNK):
        secrets = draw(law, CHUNK, rng)
        found = scan(
            exact, perturb(secrets, mechanism, tiers, rng), secrets, budget, rng, laws=("anchored",), detailed=False
        )
        for values, into in ((found.anchored, rates), (found.hit, guesses)):
            for row in values_by_tier(values, secrets, tiers):
                into[row.tier].append(row.values)
    means = [np.concatenate(part) for part in (*rates, *guesses)]
    said = [(float(values.mean()), standard_error(values)) for values in means]
    return Truth(*(tuple(pair[k] for pair in half) for half in (said[:2], said[2:]) for k in (0, 1)))


def main() -> None:
    """Repeat, count, write; the first argument is the number of workers, the second that of the runs."""
    HOME.mkdir(exist_ok=True)
    workers, runs = ([int(word) for word in sys.argv[1:3]] + [2, RUNS][len(sys.argv) - 1 :])[:2]
    spread = Execution("processes", workers)
    rows = [_row(goal, run(kept, [(seed, goal) for seed in range(runs)], spread)) for goal in GOALS]
    header = [
        "goal", "runs", "certified", "distinct scales", f"true rate above {DELTA:g}", "largest true rate (s.e.)",
        f"right guesses above {CAP:g}", "largest share of right guesses (s.e.)", "median loss", "median CPU s",
    ]  # fmt: skip
    about = " ".join((__doc__ or "").split())
    write(
        "adapt_coverage",
        "How often certified scales break their promise",
        f"{about}\n\n{table(header, rows)}\n\nEpsilon {EPSILON}, delta {DELTA}, cap {CAP} in every tier, level "
        f"{ALPHA}; {DOCUMENTS:,} documents a run, a fifth of them certify; attackers {', '.join(LEARNERS)}; {FRESH:,} "
        "fresh documents for the truth. A promise may be broken in 5 % of the runs, and in more where attackers that "
        "learn from 1,200 documents achieve less than the one that knows the law: what is certified is what they see.",
    )


def _row(goal: str, done: Sequence[Outcome]) -> list[object]:
    """One line of the table."""
    chosen = [(outcome, outcome.truth) for outcome in done if outcome.truth is not None]
    rates = [(max(real.rates), max(real.rate_errors)) for _, real in chosen]
    guesses = [(max(real.guesses), max(real.guess_errors)) for _, real in chosen]
    capped = bool(GOALS[goal].success)
    return [
        goal,
        len(done),
        len(chosen),
        len({outcome.scales for outcome, _ in chosen}),
        sum(rate > DELTA for rate, _ in rates),
        "{:.4f} ± {:.4f}".format(*max(rates, default=(float("nan"),) * 2)),
        sum(guess > CAP for guess, _ in guesses) if capped else "not asked",
        "{:.4f} ± {:.4f}".format(*max(guesses, default=(float("nan"),) * 2)),
        f"{np.median([outcome.loss for outcome, _ in chosen]):.4f}" if chosen else "-",
        f"{np.median([outcome.seconds for outcome in done]):.0f}",
    ]


if __name__ == "__main__":
    from studies.adapt_coverage import main as start

    start()  # from the module by its name, so that workers find it

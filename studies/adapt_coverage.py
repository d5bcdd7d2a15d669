"""How often certified scales break their promise: adaptation repeated on the embedded corpus, where the truth is known.

Each run draws a corpus of its own and adapts the scales with an attacker that must learn the chain from it: it does not
know the law of the corpus. Then the exact attacker, which knows that law, is measured on fresh documents under the
chosen mechanism. Two questions are asked: delta alone, and delta with a cap on right first guesses, which is the harder
goal of the two. A run errs when the exact attacker exceeds delta in some tier, or guesses more first secrets than the
cap.
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
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.controls import exact_attacker
from oddshift.attackers.paired_log_score import standard_error
from oddshift.audit.claims import values_by_tier
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import FloatArray
from oddshift.base.execution import Execution, run
from oddshift.base.storage import load, save
from oddshift.data.embedded import People, people
from oddshift.mechanisms import Mechanism, Tiered
from oddshift.model.release import perturb
from oddshift.model.tiers import Tiers
from studies.audit_coverage import draw
from studies.tables import table, write

EPSILON, DELTA, ALPHA, CAP = 1.5, 0.05, 0.05, 0.25
DOCUMENTS, FRESH, CHUNK, RUNS = 1_200, 10_000, 2_000, 100
LEARNER = "plugin"

DELTA_ALONE = AdaptSettings(
    epsilon=EPSILON,
    delta=DELTA,
    alpha=ALPHA,
    method="betting",
    remap="never",
    attackers=(LEARNER,),
    grid=(0.1, 0.25, 0.5, 0.75, 1.0),
)
"""What is asked; without remapping, so that the truth depends on the scales alone. The bound is that of streams."""

QUESTIONS = {
    "delta alone": DELTA_ALONE,
    f"delta and a cap of {CAP:g}": replace(DELTA_ALONE, success={"*": CAP}, grid=(0.1, 0.25, 0.5, 0.75)),
}

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
    loss: float | None
    truth: Truth | None
    seconds: float


@cache
def corpus() -> People:
    """The law of the secrets, and the words."""
    return people(100)


def family(tiers: Tiers) -> Mechanism:
    """The mechanism under some scales; a name becomes a name."""
    return Tiered(corpus().space, tiers, EPSILON, keeps_tier=True)


def kept(task: tuple[str, int]) -> Outcome:
    """One run, kept outside the repository, so that an interrupted study continues."""
    question, seed = task
    file = HOME / f"{question.replace(' ', '-')}-{seed}.json"
    if not file.is_file():
        save(file, once(replace(QUESTIONS[question], seed=seed)))
    outcome: Outcome = load(file, Outcome)
    return outcome


def once(settings: AdaptSettings) -> Outcome:
    """Draw, adapt, and look what was really promised."""
    start = time.process_time()
    law, rng = corpus(), np.random.default_rng([2026, settings.seed])
    split = draw(law, DOCUMENTS, rng).split(rng=rng)
    known = knowledge(family(law.tiers), law.tiers, split.fit)

    def fit(some: Knowledge) -> Attacker:
        return ATTACKERS[LEARNER](some, np.random.default_rng(settings.seed))

    asked = AdaptTask(
        split=split, known=known, family=family, attackers=(fit(known),), settings=settings, refits={LEARNER: fit}
    )
    found = adapt(asked)
    taken = time.process_time() - start
    if found.chosen is None:
        return Outcome(None, None, None, taken)
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
    exact, budget = exact_attacker(known, law.prior_of), Budget(mechanism, tiers, EPSILON)
    rates: list[list[FloatArray]] = [[] for _ in tiers.names]
    guesses: list[list[FloatArray]] = [[] for _ in tiers.names]
    for _ in range(FRESH // CHUNK):
        secrets = draw(law, CHUNK, rng)
        found = scan(
            exact, perturb(secrets, mechanism, tiers, rng), secrets, budget, rng, laws=("anchored",), detailed=False
        )
        for values, into in ((found.anchored, rates), (found.hit, guesses)):
            for row in values_by_tier(values, secrets, tiers):
                into[row.tier].append(row.values)
    halves = [[np.concatenate(part) for part in half] for half in (rates, guesses)]
    said = [[(float(values.mean()), standard_error(values)) for values in half] for half in halves]
    return Truth(*(tuple(pair[k] for pair in half) for half in said for k in (0, 1)))


def main() -> None:
    """Repeat, count, write; the first argument is the number of workers, the second that of the runs."""
    HOME.mkdir(exist_ok=True)
    workers, runs = ([int(word) for word in sys.argv[1:3]] + [2, RUNS][len(sys.argv) - 1 :])[:2]
    tasks = [(question, seed) for question in QUESTIONS for seed in range(runs)]
    done = run(kept, tasks, Execution("processes", workers))
    parts = [done[runs * k : runs * (k + 1)] for k in range(len(QUESTIONS))]
    part = "" if runs >= RUNS else f" This page is from the first {runs} of {RUNS} runs."
    note = (
        f"Epsilon {EPSILON}, delta {DELTA}, level {ALPHA}, bounds by {DELTA_ALONE.method}; {DOCUMENTS:,} documents a "
        f"run, a fifth of them certify; attacker {LEARNER}, and scales where it still learns from more documents are "
        f"not taken; kinds are tiers and outputs keep their kind; {FRESH:,} fresh documents for the truth. A promise "
        "may be broken in 5 % of the runs, and in more where an attacker that learns from 720 documents achieves less "
        "than the one that knows the law: what is certified is what it sees. Among 100 runs, 12 broken promises or "
        f"more would be evidence (at level 0.01) that it happens in more than 5 %.{part}"
    )
    write(
        "adapt_coverage",
        "How often certified scales break their promise",
        "\n\n".join((" ".join((__doc__ or "").split()), _table(parts), _by_kind(parts), note)),
    )


def _table(parts: Sequence[Sequence[Outcome]]) -> str:
    """What happened in all runs of each question."""
    columns = [_column(done, asked) for done, asked in zip(parts, QUESTIONS.values(), strict=True)]
    names = [
        "runs", "certified", "different scales among those", f"runs whose true rate is above {DELTA:g} in some tier",
        "true rate of the worst tier, median", "largest true rate (s.e.)",
        f"runs whose true share of right first guesses is above {CAP:g}",
        "largest share of right first guesses (s.e.)", "median expected loss", "median CPU s of an adaptation",
    ]  # fmt: skip
    return table(["", *QUESTIONS], [[name, *cells] for name, *cells in zip(names, *columns, strict=True)])


def _column(done: Sequence[Outcome], asked: AdaptSettings) -> list[object]:
    chosen = [(outcome, outcome.truth) for outcome in done if outcome.truth is not None]
    rates = [max(zip(real.rates, real.rate_errors, strict=True)) for _, real in chosen]
    guesses = [max(zip(real.guesses, real.guess_errors, strict=True)) for _, real in chosen]
    return [
        len(done),
        len(chosen),
        len({outcome.scales for outcome, _ in chosen}),
        sum(rate > DELTA for rate, _ in rates),
        f"{np.median([rate for rate, _ in rates]):.4f}" if chosen else "-",
        _largest(rates),
        sum(guess > CAP for guess, _ in guesses) if asked.success else "not asked",
        _largest(guesses),
        f"{np.median([outcome.loss or 0.0 for outcome, _ in chosen]):.4f}" if chosen else "-",
        f"{np.median([outcome.seconds for outcome in done]):.1f}",
    ]


def _largest(pairs: Sequence[tuple[float, float]]) -> str:
    return "{:.4f} ± {:.4f}".format(*max(pairs, default=(float("nan"),) * 2))


def _by_kind(parts: Sequence[Sequence[Outcome]]) -> str:
    """The truth of the chosen scales in each tier, over the runs."""
    rows = []
    for question, done in zip(QUESTIONS, parts, strict=True):
        real = [outcome.truth for outcome in done if outcome.truth is not None]
        for tier, name in enumerate(corpus().tiers.names if real else ()):
            rates, guesses = ([getattr(truth, what)[tier] for truth in real] for what in ("rates", "guesses"))
            shown = [f"{of(values):.4f}" for values in (rates, guesses) for of in (np.mean, max)]
            rows.append([question, name, *shown])
    columns = [f"{which} {what}" for what in ("rate", "share of right first guesses") for which in ("mean", "largest")]
    return table(["asked", "tier", *columns], rows)


if __name__ == "__main__":
    from studies.adapt_coverage import main as start

    start()  # from the module by its name, so that workers find it

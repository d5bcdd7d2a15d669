"""How often certified scales break their promise: adaptation repeated on the embedded corpus, where the truth is known.

Each run draws a corpus of its own, adapts the scales and certifies them; then the exact attacker's rate under the
chosen mechanism is measured on fresh documents. A run errs when that rate exceeds delta in some tier. Beside it: by how
much the chosen loss exceeds that of the best point of the paper's whole grid that would have been certified.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from oddshift.adapt import AdaptSettings, AdaptTask, Experiment, adapt, grid_of
from oddshift.adapt.certification import Certification, trials
from oddshift.adapt.experiment import is_admissible
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.gains import standard_error
from oddshift.attackers.known_chain import Exact
from oddshift.audit.claims import ClaimBuilder, values_by_tier
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

EPSILON, DELTA, ALPHA = 1.5, 0.05, 0.05
DOCUMENTS, FRESH, CHUNK = 3_000, 200_000, 5_000
RUNS = {False: 100, True: 10}
"""Runs without and with remapping; a remapping differs from run to run, so its truth is measured anew each time."""

SETTINGS = AdaptSettings(
    epsilon=EPSILON, delta=DELTA, alpha=ALPHA, grid=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0), rounds=0, remap=False
)
HOME = Path(tempfile.gettempdir()) / "oddshift-adapt-coverage"
WHOLE_GRID = tuple(round(0.1 * k, 1) for k in range(1, 11))


@dataclass(frozen=True)
class Outcome:
    """One run: the chosen scales, the exact rates with standard errors, and the excess loss over the grid's best."""

    scales: tuple[float, ...] | None
    rates: tuple[float, ...]
    errors: tuple[float, ...]
    excess: float


@dataclass(frozen=True)
class Truth:
    """The exact attacker's rates, tier by tier, with standard errors."""

    rates: tuple[float, ...]
    errors: tuple[float, ...]


@cache
def corpus() -> People:
    """The law of the secrets, and the words."""
    return people(100)


def family(tiers: Tiers) -> Mechanism:
    """The mechanism under some scales."""
    return Tiered(corpus().space, tiers, EPSILON)


def kept(task: tuple[int, bool]) -> Outcome:
    """One run, kept outside the repository, so that an interrupted study continues."""
    file = HOME / f"{task[0]}-{task[1]}.json"
    if not file.is_file():
        save(file, once(task))
    outcome: Outcome = load(file, Outcome)
    return outcome


def once(task: tuple[int, bool]) -> Outcome:
    """Draw, adapt, and look what was really promised."""
    seed, remap = task
    law, rng = corpus(), np.random.default_rng([2026, seed])
    split = draw(law, DOCUMENTS, rng).split(rng=rng)
    known = knowledge(family(law.tiers), law.tiers, split.fit)
    attackers = (Exact(known, law.prior_of), ATTACKERS["plugin"](known, rng))
    asked = AdaptTask(
        split=split,
        known=known,
        family=family,
        attackers=attackers,
        settings=replace(SETTINGS, remap=remap, seed=seed),
    )
    found = adapt(asked)
    if found.chosen is None:
        return Outcome(None, (), (), float("nan"))
    experiment = Experiment(known, family, split.fit, np.empty(0), asked.settings)
    released = experiment.released(found.chosen, remap=remap)
    tiers = law.tiers.with_scales(found.chosen)
    real = truth(released, tiers) if remap else plain_truth(found.chosen)
    chosen = min(tested.loss for tested in found.sequence if tested.state == "certified")
    return Outcome(found.chosen, real.rates, real.errors, chosen / _best(asked, chosen) - 1.0)


def _best(task: AdaptTask, chosen: float) -> float:
    """The least loss of a point of the whole grid that would have been certified, if that is below the chosen one."""
    settings, split = task.settings, task.split
    streams = [np.random.default_rng([settings.seed, stream]) for stream in (21, 22)]
    parts = [split.select.take(np.arange(min(settings.documents, len(split.select)))), split.certify]
    select, certifying = (
        Experiment(task.known, family, part, rng.random(len(part.points)), settings)
        for part, rng in zip(parts, streams, strict=True)
    )
    made = Certification(task.attackers, select, certifying, ClaimBuilder(settings, task.detector, split.by))
    best = chosen
    for scales in grid_of(WHOLE_GRID, 2):
        if is_admissible(scales) and select.loss(scales) < best:
            point = select.outcome(scales, task.attackers[0].against)  # type: ignore[attr-defined]
            trial = next(trials([point], made))
            best = point.loss if trial.tested.state == "certified" else best
    return best


def plain_truth(scales: tuple[float, ...]) -> Truth:
    """The exact rates without remapping depend on the scales alone: measured once."""
    file = HOME / f"truth-{'-'.join(map(str, scales))}.json"
    if not file.is_file():
        tiers = corpus().tiers.with_scales(scales)
        save(file, truth(family(tiers), tiers))
    found: Truth = load(file, Truth)
    return found


def truth(mechanism: Mechanism, tiers: Tiers) -> Truth:
    """Rates of the exact attacker in every tier, with standard errors, on FRESH documents of the law itself."""
    law, rng = corpus(), np.random.default_rng(77)
    known = knowledge(mechanism, tiers, draw(law, 100, rng))
    exact = Exact(known, law.prior_of)
    values: list[list[FloatArray]] = [[], []]
    for _ in range(FRESH // CHUNK):
        secrets = draw(law, CHUNK, rng)
        release, budget = perturb(secrets, mechanism, tiers, rng), Budget(mechanism, tiers, EPSILON)
        found = scan(exact, release, secrets, budget, rng, laws=("anchored",), detailed=False)
        for row in values_by_tier(found.anchored, secrets, tiers):
            values[row.tier].append(row.values)
    whole = [np.concatenate(part) for part in values]
    return Truth(tuple(float(v.mean()) for v in whole), tuple(standard_error(v) for v in whole))


def main() -> None:
    """Repeat, count, write."""
    HOME.mkdir(exist_ok=True)
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    rows = []
    for remap, runs in RUNS.items():
        done = run(kept, [(seed, remap) for seed in range(runs)], Execution("processes", workers))
        chosen = [outcome for outcome in done if outcome.scales is not None]
        broken = sum(max(outcome.rates) > DELTA for outcome in chosen)
        largest = max(max(outcome.rates) for outcome in chosen)
        excess = np.array([outcome.excess for outcome in chosen])
        rows.append(
            [
                "yes" if remap else "no",
                runs,
                len(chosen),
                len({outcome.scales for outcome in chosen}),
                broken,
                f"{largest:.4f} ± {max(max(outcome.errors) for outcome in chosen):.4f}",
                f"{np.median([max(outcome.rates) for outcome in chosen]):.4f}",
                f"{excess.max():.1%}",
                f"{np.median(excess):.1%}",
            ]
        )
    header = [
        "remapped", "runs", "certified", "distinct scales", f"true rate above {DELTA:g}", "largest true rate (s.e.)",
        "median true rate", "largest excess loss", "median excess loss",
    ]  # fmt: skip
    about = " ".join((__doc__ or "").split())
    write(
        "adapt_coverage",
        "How often certified scales break their promise",
        f"{about}\n\n{table(header, rows)}\n\nEpsilon {EPSILON}, delta {DELTA}, level {ALPHA}; {DOCUMENTS:,} documents "
        f"a run, a fifth of them certify; {FRESH:,} fresh documents for the truth.",
    )


if __name__ == "__main__":
    from studies.adapt_coverage import main as start

    start()  # from the module by its name, so that workers find it

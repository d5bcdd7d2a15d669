"""The frontier of 100 scales on AG News at ε = 2.5: its price, what redistribution between tiers buys, and how good an
attacker is at scales it was not fitted for.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from joblib.externals.loky import get_reusable_executor

from oddshift.adapt import AdaptTask, Measuring, ScaledOutcome, grid_of, uniform_outcomes
from oddshift.adapt.adapting import select_experiment
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.resources import Means
from oddshift.app.run import adapt_task
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import against
from oddshift.attackers.paired_log_score import gain, units_of
from oddshift.base.execution import Execution
from oddshift.base.identity import fingerprint
from studies.ag_news import ag_news
from studies.ag_news_adapt import ASKED
from studies.tables import table, write

WORKERS = Execution("processes", 2)

SPOTS = ((0.3, 0.6), (0.5, 0.9), (0.6, 0.6), (0.8, 1.0), (1.0, 1.0))
"""Scales at which the amortised attackers are compared with ones fitted for them."""


def main() -> None:
    """Measure the grid, compare at the spots, write."""
    home = Path(tempfile.gettempdir()) / "oddshift-ag-news-adapt"
    home.mkdir(exist_ok=True)
    config = parse_config(ag_news(ASKED), "study")
    task = adapt_task(prepare_configured(config), config.mechanism, config.adapt, means=Means(folder=home))
    grid, taken = _frontier(task, home)
    documents = min(task.settings.documents, len(task.split.select))
    lines = [
        f"Attacker `{task.settings.search_attacker}`, {documents} select documents, {len(task.known.log_prior):,} "
        f"words, nothing pruned, outputs remapped. {taken}.",
        "## Redistribution: one scale, and tiered scales of no more loss",
        _redistribution(grid),
        "Of the grid's admissible points with no more loss, the one with the least PII top-1.",
        "## The attacker at scales it was not fitted for",
        _spots(task),
        "Gains over own in nats on the select documents, with standard errors by document. Amortised attackers are "
        "fitted at scale 1; under other scales only the weights of their parts are fitted again.",
    ]
    write("ag_news_frontier", "The frontier on AG News", "\n\n".join(lines))


def _frontier(task: AdaptTask, home: Path) -> tuple[list[ScaledOutcome], str]:
    """Measure the grid, with the time it takes; points that an interrupted run kept are read."""
    experiment = select_experiment(task)
    search_attacker = next(attacker for attacker in task.attackers if attacker.name == task.settings.search_attacker)
    measuring = Measuring(
        experiment, lambda known: against(search_attacker, known), fingerprint(search_attacker), WORKERS, home
    )
    kept = len(list(home.glob("point-*")))
    start, before = time.time(), _cpu_of_workers()
    grid = measuring.outcomes(grid_of(task.settings.grid, 2), "frontier")
    used = f"{_cpu_of_workers() - before:.0f} CPU s over 2 processes, {time.time() - start:.0f} s elapsed"
    read = f" ({kept} kept by an interrupted run)" if kept else ""
    return grid, f"{len(grid)} points: {used}, loading and fitting apart{read}"


def _cpu_of_workers() -> float:
    """CPU seconds of all workers so far; they are stopped, which is when they are counted."""
    get_reusable_executor().shutdown(wait=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _redistribution(grid: list[ScaledOutcome]) -> str:
    rows = []
    for one in uniform_outcomes(grid):
        tiered = min(
            (p for p in grid if p.admissible and p.loss <= one.loss), key=lambda p: p.tiers[0].top1, default=one
        )
        ratio = tiered.tiers[0].top1 / max(one.tiers[0].top1, 1e-9)
        rows.append(
            [
                one.scales[0],
                f"{one.loss:.4f}",
                *_tops(one),
                tiered.scales,
                f"{tiered.loss:.4f}",
                *_tops(tiered),
                f"{ratio:.2f}",
            ]
        )
    header = [
        "one scale",
        "loss",
        "PII top-1",
        "PoII top-1",
        "tiered scales",
        "loss",
        "PII top-1",
        "PoII top-1",
        "ratio",
    ]
    return table(header, rows)


def _tops(point: ScaledOutcome) -> list[str]:
    return [f"{tier.top1:.1%}" for tier in point.tiers]


def _spots(task: AdaptTask) -> str:
    """Log-score gain of the amortised attackers beside ones fitted at the very scales."""
    experiment = select_experiment(task)
    units = units_of(experiment.records)
    rows = []
    for scales in SPOTS:
        known = experiment.at(scales).known
        for attacker in task.attackers:
            gains = []
            fresh = ATTACKERS[attacker.name](known, np.random.default_rng(0))
            for tried in (against(attacker, known), fresh):
                found = experiment.scores(known, tried)
                gains.append(gain(found.own_score, found.log_score, units))
            cells = [f"{g.mean:+.3f} ± {g.error:.3f}" for g in gains]
            rows.append([scales, attacker.name, *cells, f"{gains[1].mean - gains[0].mean:+.3f}"])
    return table(["scales", "attacker", "amortised", "fitted there", "lost by amortising"], rows)


if __name__ == "__main__":
    main()

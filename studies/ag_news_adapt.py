"""AmPL on AG News at ε = 2.5: the certified choice beside plain EM and one scale of equal utility.

Tiers come from the shared NER (PII) and from similarity (PoII). The search is also held against a full grid of fine
scales. Measured points are kept outside the repository, so an interrupted study continues.
"""

from __future__ import annotations

import resource
import tempfile
from itertools import combinations_with_replacement, pairwise
from pathlib import Path

from oddshift.adapt import Adaptation, AdaptTask, ScaledOutcome, adapt
from oddshift.adapt.adapting import select_experiment
from oddshift.adapt.evaluation import Measuring
from oddshift.adapt.goals import goals_of
from oddshift.adapt.readers import Readers
from oddshift.adapt.search import TARGET
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.resources import Means
from oddshift.app.run import adapt_task
from oddshift.base.identity import fingerprint
from oddshift.base.storage import load
from studies.ag_news import ag_news
from studies.tables import table, write

ASKED = """\
[audit]
delta = 0.005
attackers = ["cooccurrence", "counts"]

[adapt]
search_attacker = "cooccurrence"
rounds = 4
"""

FINE = tuple(round(0.5 + 0.05 * k, 2) for k in range(11))
"""The scales of the full grid, around what is chosen: more noise than that costs more."""


def main() -> None:
    """Measure, adapt, compare, write."""
    home = Path(tempfile.gettempdir()) / "oddshift-ag-news-adapt"
    home.mkdir(exist_ok=True)
    config = parse_config(ag_news(ASKED), "study")
    moments = [_cpu()]
    prepared = prepare_configured(config)
    moments.append(_cpu())
    task = adapt_task(prepared, config.mechanism, config.adapt, means=Means(folder=home))
    moments.append(_cpu())
    measured = len(list(home.glob("outcome-*")))
    found = adapt(task, folder=home, progress=lambda *said: print(*said, flush=True))
    moments.append(_cpu())
    read, fit, searched = (b - a for a, b in pairwise(moments))
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1e6
    asked = found.settings
    lines = [
        f"Documents: {found.documents}. Budget {asked.epsilon}, delta {asked.delta}, level {asked.alpha}, "
        f"{asked.law} pairs; frontier measured by `{asked.search_attacker}`, "
        f"candidates certified by `{found.attacker}`.",
        f"Chosen scales: {found.chosen}; exact epsilon of one release {found.exact_epsilon}.",
        "## On the certify documents",
        _comparison(found),
        "Rates and top-1 with 95 % intervals by document; loss and outputs exact under the fit prior. What releases "
        "are worth for a task: [downstream.md](downstream.md).",
        *(f"- {evidence.certificate.sentence}" for evidence in found.evidence),
        *(f"- note: {note}" for note in found.warnings),
        "## What was tested",
        table(
            ["scales", "loss", "upper bounds by tier", "state"],
            [[t.scales, f"{t.loss:.4f}", ", ".join(f"{u:.5f}" for u in t.upper), t.state] for t in found.sequence],
        ),
        f"Hypervolumes (rate against loss): {', '.join(f'{n} {v:.4f}' for n, v in found.hypervolumes)}.",
        f"CPU seconds: {read:.0f} to read and encode, {fit:.0f} to fit the attackers, {searched:.0f} for the adaptation"
        f"{f' ({measured} of its points were measured before)' if measured else ''}; together "
        f"{read + fit + searched:.0f}. Peak memory {peak:.1f} GB.",
        "## Against a full grid",
        _against_grid(task, home),
    ]
    write("ag_news_adapt", "Adaptation on AG News", "\n\n".join(lines))


def _cpu() -> float:
    """CPU seconds so far, those of finished processes included."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _against_grid(task: AdaptTask, home: Path) -> str:
    """The least loss that the search measured within the goals, and that of all ordered pairs of fine scales."""
    experiment = select_experiment(task)
    attacker = next(one for one in task.attackers if one.name == task.settings.search_attacker)
    readers, goals = Readers(experiment), goals_of(task.settings, task.known.tiers)
    measuring = Measuring(experiment, lambda known: readers.read(attacker, known), fingerprint(attacker), folder=home)
    kept = [load(file, ScaledOutcome) for file in home.glob(f"outcome-{measuring._key}-*")]
    search = min((p for p in kept if goals.strain(p, share=TARGET) <= 1.0), key=lambda p: p.loss)
    pairs = [(a, b) for a, b in combinations_with_replacement(FINE, 2)]
    cheaper = [pair for pair in pairs if experiment.loss(pair) < search.loss]  # others cannot be better
    within = [p for p in measuring.outcomes(cheaper, "grid") if goals.strain(p, share=TARGET) <= 1.0]
    best = min([search, *within], key=lambda p: p.loss)
    return (
        f"The search measured {len(kept)} points; the least loss of those that keep {TARGET:g} of delta on the select "
        f"documents is {search.loss:.4f}, at {search.scales}. Of the {len(pairs)} ordered pairs of scales in steps of "
        f".05 from {FINE[0]:g} to {FINE[-1]:g}, {len(cheaper)} cost less and were measured too: {len(within)} of them "
        f"keep it. The least loss of all is {best.loss:.4f}, at {best.scales}: the search is "
        f"{search.loss / best.loss - 1:.2%} above it."
    )


def _comparison(found: Adaptation) -> str:
    rows = []
    for row in found.compared:
        p = row.outcome
        exact = "-" if row.exact_epsilon is None else f"{row.exact_epsilon:.3f}"
        cells = [row.name, p.scales, exact, f"{p.loss:.4f}", f"{p.effective_outputs:.0f}"]
        for tier in p.tiers:
            cells += [
                f"{tier.rate:.3%} ± {1.96 * tier.rate_error:.3%}",
                f"{tier.top1:.1%} ± {1.96 * tier.top1_error:.1%}",
            ]
        rows.append(cells)
    tiers = [f"{tier} {what}" for tier in found.tier_names for what in ("rate", "top-1")]
    constant = [found.constant_name, "-", "-", f"{found.constant_loss:.4f}", found.constant_outputs]
    rows.append([*constant, *["-"] * len(tiers)])
    return table(["release", "scales", "exact ε", "loss", "outputs", *tiers], rows)


if __name__ == "__main__":
    main()

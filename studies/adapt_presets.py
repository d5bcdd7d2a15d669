"""The paper's methods side by side on the embedded corpus: where each loop ends, and what that does.

Every method starts at scale 1 and steps on its own objective, with and without remapping; rates are those of the exact
attacker on select documents, under common random numbers. Nothing here is certified.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from oddshift.adapt import PRESETS, AdaptSettings, Experiment, Measuring, ScaledOutcome
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import exact_attacker
from oddshift.data.embedded import people
from oddshift.mechanisms import Mechanism, Tiered
from oddshift.model.tiers import Tiers
from studies.tables import table, write

EPSILON = 1.5
SETTINGS = AdaptSettings(epsilon=EPSILON, delta=0.05, rounds=20, first_step=1.0)


def main() -> None:
    """Run every preset and write where it ended."""
    start = time.process_time()
    corpus = people(3_000, by_kind=False)
    split = corpus.records.split(rng=np.random.default_rng(1))

    def family(tiers: Tiers) -> Mechanism:
        return Tiered(corpus.space, tiers, EPSILON)

    known = knowledge(family(corpus.tiers), corpus.tiers, split.fit)
    exact, uniforms = exact_attacker(known, corpus.prior_of), np.random.default_rng(2).random(len(split.select.points))
    rows = []
    for remap in (False, True):
        for name, preset in PRESETS.items():
            settings = preset.settings(replace(SETTINGS, remap=remap))
            measuring = Measuring(Experiment(known, family, split.select, uniforms, settings), exact.against)
            steps = list(preset.rounds(measuring))
            rows.append([name, "yes" if remap else "no", len(steps), *_cells(steps[-1].outcome)])
    header = ["method", "remapped", "rounds", "scales", "loss", "outputs"]
    header += [f"{tier} {what}" for tier in corpus.tiers.names for what in ("rate", "top-1", "loss")]
    meanings = "\n".join(f"- {name}: {preset.meaning}" for name, preset in PRESETS.items())
    about = " ".join((__doc__ or "").split())
    used = f"{time.process_time() - start:.0f} CPU s"
    write("adapt_presets", "The paper's methods", f"{about}\n\n{table(header, rows)}\n\n{meanings}\n\n{used}.")


def _cells(point: ScaledOutcome) -> list[str]:
    scales = ", ".join("clear" if scale > 1 else f"{scale:g}" for scale in point.scales)
    cells = [scales, f"{point.loss:.4f}", f"{point.effective_outputs:.0f}"]
    for tier in point.tiers:
        cells += [f"{tier.rate:.2%} ± {tier.rate_error:.2%}", f"{tier.top1:.1%}", f"{tier.loss:.3f}"]
    return cells


if __name__ == "__main__":
    main()

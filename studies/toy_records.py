"""The paper's toy of two binary secrets: how close attackers come to its joint mPL of 1.8457 from records alone."""

from __future__ import annotations

import time

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.mechanisms import Channel
from oddshift.model.records import Records
from oddshift.model.release import Release, one_tier
from oddshift.model.space import Space
from studies.tables import table, write

JOINT, SEEDS, EXACT = np.array([0.01, 0.49, 0.49, 0.01]), range(10), 1.845681


def toy(pairs: int, seed: int) -> Knowledge:
    """What an attacker knows after so many pairs."""
    space = Space([[0.0], [1.0]])
    cells = np.random.default_rng([seed, pairs]).choice(4, size=pairs, p=JOINT)
    fit = Records.from_documents(space, list(np.stack([cells // 2, cells % 2], axis=1)))
    return knowledge(Channel(space, np.log([[0.72, 0.28], [0.28, 0.72]])), one_tier(space), fit)


def leakage(attacker: Attacker) -> float:
    """Estimated mPL of the first secret when the outputs are (y1, y2)."""
    release = Release(outputs=np.array([0, 1]), offsets=np.array([0, 2]), position_tiers=np.zeros(2, int), context=None)
    shifts = {
        int(p): s for block in attacker.beliefs(release) for p, s in zip(block.positions, block.shift, strict=True)
    }
    return float(abs(shifts[0][0] - shifts[0][1]))


def main() -> None:
    """Ten seeds of each."""
    start = time.process_time()
    found = {
        ("plug-in", 1_000): [leakage(fit_plugin(toy(1_000, s))) for s in SEEDS],
        ("plug-in", 10_000): [leakage(fit_plugin(toy(10_000, s))) for s in SEEDS],
    }
    rows = [
        [name, pairs, f"{np.mean(v):.4f}", f"{np.mean(v) - EXACT:+.4f}", f"{np.abs(np.array(v) - EXACT).mean():.4f}"]
        for (name, pairs), v in found.items()
    ]
    header = ["attacker", "pairs", "mPL, mean of 10 seeds", "error of the mean", "mean error of one seed"]
    text = f"Exact: {EXACT}.\n\n{table(header, rows)}\n\nCPU time {time.process_time() - start:.0f} s."
    write("toy_records", "The toy from records", text)


if __name__ == "__main__":
    main()

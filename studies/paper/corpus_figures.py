"""Figures of one corpus in paper mode: distributions of mPL, trade-off, sweep of ε, and learning curve.

Every row has the controls null and own next to the network, and the exact single release where it is meaningful.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oddshift.attackers.attacker import knowledge
from studies.paper.cell_store import Cell
from studies.paper.layouts import LayoutShifts
from studies.paper.paper_numbers import ATTACKERS
from studies.paper.paper_reading import exact_row, layout_size, read
from studies.paper.reproduction import Place
from studies.paper.studied_corpus import StudiedCorpus, studied, trained
from studies.paper.violations import budget_reading, sizes

BINS = 60
SPAN = 6.0
"""Histograms of mPL have that many bins from 0 to this; what lies beyond is in the last."""


def distributions(cell: Cell, place: Place) -> dict[str, Any]:
    """mPL of the three networks at T = 1, of both controls, and of the exact single release, at ε = 2.5."""
    corpus, found = studied(cell.settings, place.data, cell.seed), {}
    for architecture in ATTACKERS:
        reading = budget_reading(corpus, architecture, (2.5, 2.5), cell)
        found[architecture] = {"counts": _histogram(reading.network), **reading.at(2.5, 1.0), "fitted": reading.fitted}
        controls = {
            "null": _histogram(reading.null),
            "own": _histogram(reading.own),
            "exact": _histogram(reading.exact),
        }
    return {"bins": BINS, "span": SPAN, "networks": found, "controls": controls, "epsilon": 2.5, **sizes(corpus)}


def _histogram(shifts: LayoutShifts) -> list[float]:
    """Shares of mPL in equal bins, the last of which takes what lies beyond."""
    edges = [SPAN * k / BINS for k in range(1, BINS)]
    return [float(share) for share in -np.diff([1.0, *shifts.beyond(edges), 0.0])]


def epsilon_sweep(cell: Cell, place: Place) -> dict[str, Any]:
    """Mean mPL and violation ratio of an RNN over ε, of both controls, and of the exact single release."""
    corpus, rows = studied(cell.settings, place.data, cell.seed), []
    for epsilon in cell.settings["epsilons"]:
        reading = budget_reading(corpus, "rnn", (epsilon, epsilon), cell)
        rows.append(
            {
                "epsilon": epsilon,
                "one": reading.at(epsilon, 1.0),
                "fitted": reading.at(epsilon, reading.fitted),
                "exact": exact_row(reading, epsilon),
            }
        )
    return {"rows": rows, **transition(corpus), **sizes(corpus)}


def transition(corpus: StudiedCorpus) -> dict[str, float]:
    """ε* = 2 ln|Y| / mean distance: where the own word outweighs all others together."""
    space = corpus.split.fit.space
    chosen = np.random.default_rng(0).permutation(len(space))[:400]
    mean = float(space.between(chosen).sum() / (len(chosen) * (len(space) - 1)))
    return {"mean_distance": mean, "outputs": len(space), "transition": 2 * float(np.log(len(space))) / mean}


def learning_curve(cell: Cell, place: Place) -> dict[str, Any]:
    """Cosine accuracy and violation ratio of an LSTM at ε = 2.5, trained on growing shares of the fit documents."""
    corpus, rows = studied(cell.settings, place.data, cell.seed), []
    everything = corpus.known((2.5, 2.5))
    order = np.random.default_rng([cell.seed, 9]).permutation(len(corpus.split.fit))
    for share in cell.settings["shares"]:
        part = corpus.split.fit.take(np.sort(order[: max(8, round(share * len(order)))]))
        known = knowledge(everything.mechanism, everything.tiers, part)
        network = trained(known, "lstm", cell.settings, cell.seed)
        certify, select = corpus.split.certify, corpus.split.select
        reading = read(network, everything, certify, select, layout_size(cell.settings), seed=cell.seed)
        rows.append(
            {
                "share": share,
                "documents": len(part),
                "cosine": reading.cosine,
                "one": reading.at(2.5, 1.0),
                "fitted": reading.at(2.5, reading.fitted),
            }
        )
    return {"epsilon": 2.5, "attacker": "lstm", "rows": rows, **sizes(corpus)}

"""A network trained on from the one for all scales, against one trained from nothing at the same scales.

The paper trains a network for each choice of scales. Ours start from one network for all of them, which is many times
cheaper; here both ways are taken for three methods of each network, and read on the same release and layout.
"""

from __future__ import annotations

from typing import Any

from studies.paper.cell_store import Cell
from studies.paper.reproduction import Place
from studies.paper.search_surface import LoopWeights, Surface, replayed
from studies.paper.studied_corpus import conditioned, studied
from studies.paper.violations import budget_reading, sizes, stored_surface

CHECKED_METHODS = ("EM", "AmPL", "AmPL-P")
CHECKED_EPSILON = 2.5


def retraining_check(cell: Cell, place: Place) -> dict[str, Any]:
    """Ratios at T = 1 and at the fitted T of both networks for every method, with null and own, and their cosines."""
    corpus = studied(cell.settings, place.data, cell.seed)
    architecture, loop = str(cell.settings["attacker"]), LoopWeights(**cell.settings["loop"])
    surface = Surface.of(stored_surface(corpus.name, architecture, place), CHECKED_EPSILON, "one")
    start = conditioned(corpus, architecture, cell.settings, cell.seed, place)
    rows = []
    for method in CHECKED_METHODS:
        scales = replayed(surface, CHECKED_EPSILON, method, loop)
        budgets = (round(scales[0] * CHECKED_EPSILON, 4), round(scales[1] * CHECKED_EPSILON, 4))
        found = {
            way: budget_reading(corpus, start, budgets, cell, literal=literal)
            for way, literal in (("tuned", False), ("retrained", True))
        }
        rows.append(
            {
                "epsilon": CHECKED_EPSILON,
                "method": method,
                "scales": list(scales),
                **{
                    way: {
                        "one": reading.at(CHECKED_EPSILON, 1.0),
                        "fitted": reading.at(CHECKED_EPSILON, reading.fitted),
                        "cosine": reading.cosine,
                    }
                    for way, reading in found.items()
                },
            }
        )
    return {"rows": rows, **sizes(corpus)}

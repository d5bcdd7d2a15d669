"""What no part of the portfolio reads because there are too many points, in words: a certificate rests on that too.

Counted pairs and triples are read over any number of points; what needs a table of all of them is not.
"""

from __future__ import annotations

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.nearness import is_spatial
from oddshift.attackers.portfolio import DENSE_POINTS, STEP_POINTS, TIED_POINTS, TRIPLE_POINTS, WORTH_READING
from oddshift.attackers.row_layout import row_layout


def out_of_reach(known: Knowledge) -> str:
    """One sentence, empty where every part suits the number of points; rows of a table take tables of two columns."""
    points = len(known.log_prior)
    if points <= TRIPLE_POINTS or row_layout(known) is not None:
        return ""
    counted = [f"triples (above {TRIPLE_POINTS:,})"]
    counted += [f"pairs at distant places (above {TIED_POINTS:,})"] if points > TIED_POINTS else []
    said = f"over {points:,} points {' and '.join(counted)} are read where fit documents hold them, not near ones"
    missed = []
    if points > DENSE_POINTS:
        missed.append(f"two secrets that together tell less than {WORTH_READING:g} nats more than one")
        missed.append(f"hidden regimes of steps or hidden classes with a law for each place (above {DENSE_POINTS:,})")
        most = STEP_POINTS if is_spatial(known.fit.space) else DENSE_POINTS
        missed += [f"steps between near points that were never counted (above {most:,})"] if points > most else []
    return f"{said}; no attacker looked for {', or for '.join(missed)}" if missed else said

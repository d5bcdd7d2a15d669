"""What the portfolio finds over 150 points, where tables of all triples or of each pair of places are too large.

Worlds whose exact posterior is known, with 6 positions and one dependence each that neighbours alone do not show: the
last point is a function of the first; each point is one of the point two before it; both points before it say which of
three successors it takes; six hidden regimes. Audits are those of `studies.worlds`.
"""

from __future__ import annotations

from studies.tables import table, write
from studies.wide_laws import WIDE_WORLDS
from studies.worlds import HEADER, Outcome, asked, finished, once, row, summary, work


def main() -> None:
    """Work for some minutes, then write the page from everything that is finished."""
    minutes, repetitions = asked(15, 6)
    names = tuple(WIDE_WORLDS)
    work("audit", once, minutes, repetitions, names=names)
    lines = finished("audit", Outcome, repetitions, names)
    about = " ".join((__doc__ or "").split())
    write(
        "wide_worlds",
        "What the portfolio finds over 150 points",
        f"{about}\n\n{table(HEADER, [row(*line) for line in lines])}\n\n{summary(lines)} The attackers were "
        "written with the first set of parameters in view, on other documents. 1,000 documents of six regimes hold "
        "each step of a regime five or six times, which is too few to find them all.",
    )


if __name__ == "__main__":
    main()

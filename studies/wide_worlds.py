"""What the portfolio finds over 150 points, where tables of all triples or of each pair of places are too large.

Worlds whose exact posterior is known, with 6 positions and one dependence each that neighbours alone do not show: the
last point is a function of the first; each point is one of the point two before it; both points before it say which of
three successors it takes; six hidden regimes. Audits are those of `studies.worlds`.
"""

from __future__ import annotations

from collections.abc import Sequence

from oddshift.bounds import clopper_pearson_upper
from studies.tables import table, write
from studies.wide_laws import WIDE_WORLDS
from studies.worlds import BELOW, CERTIFY, EPSILON, HEADER, SELECT, Outcome, asked, finished, once, row, truth, work


def summary(lines: Sequence[tuple[str, int, list[Outcome]]]) -> str:
    """How many audits were wrong in either direction."""
    everything = [(name, outcome) for name, _, done in lines for outcome in done]
    wrong = [
        sum(outcome.certifies(BELOW * truth(name)) for name, outcome in everything),
        sum(outcome.above == "violated" for _, outcome in everything),
    ]
    most = [clopper_pearson_upper(k, len(everything), 0.05) for k in wrong]
    return (
        f"{len(everything)} audits in all: {wrong[0]} wrongly certified, {wrong[1]} wrongly violated, which bounds "
        f"their shares by {most[0]:.0%} and {most[1]:.0%} at level 0.05. Epsilon {EPSILON}, {SELECT} select and "
        f"{CERTIFY:,} certify documents; `below` asks for delta = truth/1.2, `above` for 1.25 times the truth. "
        "The attackers were written with these worlds in view, on other documents of them. 1,000 documents of six "
        "regimes hold each step of a regime five or six times, which is too few to find them all."
    )


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
        f"{about}\n\n{table(HEADER, [row(*line) for line in lines])}\n\n{summary(lines)}",
    )


if __name__ == "__main__":
    main()

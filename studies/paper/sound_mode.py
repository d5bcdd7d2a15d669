"""What sound mode says about a method: its largest bounds, and whether its ratio surely moves with ε."""

from __future__ import annotations

from studies.paper.paper_claims import NOT_RUN, Results, count
from studies.paper.paper_numbers import CORPORA, EPSILONS


def largest_sound(results: Results, method: str) -> str:
    """The largest upper bound of a method in sound mode, under both laws of pairs."""
    rows = [row for (_, _, name), row in results.sound_rows.items() if name == method]
    if not rows:
        return NOT_RUN
    uniform = max(row["uniform"]["upper"] for row in rows)
    anchored = [row["anchored"] for row in rows if "anchored" in row]
    said = f"at most {uniform:.1%} of uniform pairs"
    if anchored:
        said += f", {max(a['mean'] for a in anchored):.2%} of pairs with the truth, at most "
        said += f"{max(a['upper'] for a in anchored):.1%}"
    return said


def sound_over_epsilon(results: Results, method: str) -> str:
    """Where the ratio of pairs with the truth surely moves with ε: the bounds at the first and last one lie apart."""
    rows = results.sound_rows
    ends = [
        [rows[corpus, epsilon, method].get("anchored") for epsilon in (EPSILONS[0], EPSILONS[-1])]
        for corpus in CORPORA
        if (corpus, EPSILONS[0], method) in rows
    ]
    both = [(first, last) for first, last in ends if first is not None and last is not None]
    if not both:
        return NOT_RUN
    rises = count([last["lower"] > first["upper"] for first, last in both])
    falls = count([last["upper"] < first["lower"] for first, last in both])
    return f"surely rises in {rises} corpora, surely falls in {falls}"

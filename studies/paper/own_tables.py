"""Claims of the paper recomputed from its own printed tables: no data and no network is needed for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from studies.paper.paper_numbers import (
    ATTACKERS,
    CORPORA,
    EPSILONS,
    MISMATCH,
    WDBC,
    paper_table,
    paper_text,
    violation,
)

Place27 = tuple[str, str, float]
"""Corpus, attacker and ε of one of the 27 cells of a method."""

PLACES: tuple[Place27, ...] = tuple((c, a, e) for c in CORPORA for a in ATTACKERS for e in EPSILONS)


@dataclass(frozen=True)
class OwnTables:
    """What the printed violation ratios say, counted again; shares are of 27 cells or of 9 groups."""

    lower: int
    mean_drop: float
    mean_relative: float
    pooled_relative: float
    largest_absolute: tuple[Place27, float]
    largest_relative: tuple[Place27, float]
    p_below: int
    p_equal: int
    p_above: int
    u_below_em: float
    within_one_sd: int
    em_rises: int
    ampl_falls: int
    transformer_highest: int
    first_above_em: tuple[Place27, ...]


def means(method: str) -> dict[Place27, float]:
    """The printed means of a method, in percent."""
    return {place: violation(method, *place)[0] for place in PLACES}


def own_tables() -> OwnTables:
    """All counts from the table of violation ratios."""
    em, ampl, only_p, only_u, first = (means(m) for m in ("EM", "AmPL", "AmPL-P", "AmPL-U", "AmPL-1"))
    drop = {place: em[place] - ampl[place] for place in PLACES}
    relative = {place: drop[place] / em[place] for place in PLACES}
    return OwnTables(
        lower=sum(value > 0 for value in drop.values()),
        mean_drop=float(np.mean(list(drop.values()))),
        mean_relative=100 * float(np.mean(list(relative.values()))),
        pooled_relative=100 * sum(drop.values()) / sum(em.values()),
        largest_absolute=_largest(drop),
        largest_relative=_largest(relative),
        p_below=sum(only_p[place] < ampl[place] for place in PLACES),
        p_equal=sum(only_p[place] == ampl[place] for place in PLACES),
        p_above=sum(only_p[place] > ampl[place] for place in PLACES),
        u_below_em=float(np.mean([em[place] - only_u[place] for place in PLACES])),
        within_one_sd=sum(drop[place] <= _combined(place) for place in PLACES),
        em_rises=_monotone(em, lambda a, b: b > a),
        ampl_falls=_monotone(ampl, lambda a, b: b < a),
        transformer_highest=sum(
            em[c, "transformer", e] == max(em[c, a, e] for a in ATTACKERS) for c in CORPORA for e in EPSILONS
        ),
        first_above_em=tuple(place for place in PLACES if first[place] > em[place]),
    )


def _largest(values: dict[Place27, float]) -> tuple[Place27, float]:
    place = max(values, key=lambda key: values[key])
    return place, values[place]


def _combined(place: Place27) -> float:
    """The root of the sum of both printed variances."""
    return float(np.hypot(violation("EM", *place)[1], violation("AmPL", *place)[1]))


def _monotone(values: dict[Place27, float], step: Callable[[float, float], bool]) -> int:
    """In how many of the 9 groups all steps from one ε to the next go that way."""
    groups = [[values[c, a, e] for e in EPSILONS] for c in CORPORA for a in ATTACKERS]
    return sum(all(step(a, b) for a, b in pairwise(group)) for group in groups)


def wdbc_reductions() -> tuple[float, float]:
    """Mean and pooled relative reduction of the printed WDBC table, in percent."""
    cells = paper_table(WDBC).cells
    em = [c["mean"] for c in cells if c["row"] == "EM (mDP)"]
    ampl = [
        paper_table(WDBC).cell(row="AmPL", attacker=c["attacker"], epsilon=c["epsilon"])["mean"]
        for c in cells
        if c["row"] == "EM (mDP)"
    ]
    relative = [(a - b) / a for a, b in zip(em, ampl, strict=True)]
    return 100 * float(np.mean(relative)), 100 * (sum(em) - sum(ampl)) / sum(em)


def matched_above() -> int:
    """In how many of 9 cells the matched embedding leaks more than the mismatched one."""
    table = paper_table(MISMATCH)
    return sum(
        table.cell(row="matched", attacker=a, epsilon=e)["mean"]
        > table.cell(row="mismatched", attacker=a, epsilon=e)["mean"]
        for a in ATTACKERS.values()
        for e in EPSILONS
    )


def matched_range() -> tuple[float, float]:
    """The smallest and the largest printed mean mPL of a matched attacker."""
    found = [c["mean"] for c in paper_table(MISMATCH).cells if c["row"] == "matched"]
    return min(found), max(found)


def tenth_of_the_other_words() -> float:
    """10 % of all words that are not PII, from the sizes that the source states."""
    stated = paper_text("corpora_commented")["AG News"]
    return 0.1 * float(stated["words"] - stated["PII_types"])


def largest_loss_by_range() -> str:
    """The corpus whose stated range of losses without remapping reaches highest."""
    ranges = paper_text("utility_text")["core_methods"]
    return max(CORPORA.values(), key=lambda name: float(ranges[name]["no_RMP"][1]))

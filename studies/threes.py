"""What is found of dependence in threes, what is said of it, and how often the test of completeness raises an alarm.

Worlds with a known posterior in which a value is decided by two others, alone and next to an ordinary tie: audits and
adaptations as in the studies of worlds. Then the test of completeness by itself, against attackers that read pairs
alone: independent places, an ordinary tie and words that come in pairs, where an alarm is false, and a code that a
share of all documents follows, where it is right; next to that, how much of the gain and of the rate that an exact
attacker has is missing where the code is not read. Last real tables of statsmodels to which columns are added by
arithmetic: totals of two columns, a check digit, a year of birth from an age and a year that is drawn, the days between
two dates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.cherry_tree import Cherry, CherryTree, PlaceTrees
from oddshift.attackers.combination import Combination, fit_and_combine
from oddshift.attackers.completeness import LEVEL, Completeness, completeness
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.law_attacker import Dense, LawAttacker
from oddshift.attackers.positional_pairs import PositionalPairs, fit_positional_pairs
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import IntArray
from oddshift.base.storage import load, save
from oddshift.bounds import clopper_pearson_upper
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from studies import gate_cost, made_tables, worlds, worlds_adapt
from studies.made_tables import TABLES_HEADER, real_rows
from studies.tables import table, write
from studies.three_laws import THREES
from studies.worlds import (
    CERTIFY,
    EPSILON,
    HEADER,
    PARAMETERS,
    SELECT,
    Outcome,
    asked,
    file_of,
    finished,
    row,
    summary,
    work,
)
from studies.worlds_adapt import Choice

POINTS, LENGTH = 12, 6
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Shares of documents that follow the code; also of those texts that hold a word of each kind."""

REPEATED, POWERED = 300, 20
"""Tests of each kind without anything missing, and for each share of a code."""

LEARNED = (1_000, 5_000)
"""Fit documents; what is missing is looked for with both numbers of them."""

WORDS, KIND, PAIRED = 600, 10, 20
"""Words of texts, those of each of the three kinds that a code ties, and those that have a partner."""

Draw = Callable[[int, np.random.Generator], list[IntArray]]
"""Documents of a kind: how many, and random numbers."""


@dataclass(frozen=True)
class Alarms:
    """How often the test found something, of how many, and the mean CPU seconds of one."""

    found: int
    asked: int
    seconds: float


def places(share: float | None, tie: bool = True) -> Draw:
    """The last value repeats the one before it 9 times in 10; the third is the sum of the first two in a share."""

    def draw(n: int, rng: np.random.Generator) -> list[IntArray]:
        values = rng.integers(POINTS, size=(n, LENGTH))
        if tie:
            values[:, -1] = np.where(rng.random(n) < 0.9, values[:, -2], values[:, -1])
        follows = rng.random(n) < (share or 0.0)
        values[follows, 2] = (values[follows, 0] + values[follows, 1]) % POINTS
        return list(values)

    return draw


def words(share: float) -> Draw:
    """Texts of a few words in any order, some with a word and its partner, half of them with a word of each kind."""
    free = np.arange(3 * KIND + 2 * PAIRED, WORDS)
    law = 1.0 / (10.0 + np.arange(len(free)))

    def text(rng: np.random.Generator) -> IntArray:
        some = list(rng.choice(free, size=rng.integers(3, 8), p=law / law.sum()))
        if rng.random() < 0.5:
            one, two, three = rng.integers(KIND, size=3)
            third = (one + two) % KIND if rng.random() < share else three
            some += [one, KIND + two, 2 * KIND + third]
        if rng.random() < 0.5:
            first = 3 * KIND + rng.integers(PAIRED)
            some += [first, first + PAIRED]
        return np.asarray(rng.permutation(some))

    return lambda n, rng: [text(rng) for _ in range(n)]


def tested(draw: Draw, size: int, seed: int, points: int, fit: Callable[[Knowledge], Combination]) -> Completeness:
    """The test on fresh documents, against an attacker that is fitted to others."""
    rng = np.random.default_rng([2031, size, seed])
    space = Space(4.0 * rng.random((points, 2)))
    mechanism, tiers = Exponential(space, EPSILON), one_tier(space)
    learn, select = (Records.from_documents(space, draw(n, rng)) for n in (size, SELECT))
    known = knowledge(mechanism, tiers, learn)
    found = completeness([fit(known)], known, perturb(select, mechanism, tiers, rng), select)
    assert found is not None
    return found


def nothing(known: Knowledge) -> Combination:
    """An attacker that reads nothing."""
    return Combination(known, (LawAttacker(known, PositionalPairs({}), "ties"),), (((0.0, 0.0),),))


def pairs(known: Knowledge) -> Combination:
    """An attacker that reads ties between two fixed places."""
    return Combination(known, (LawAttacker(known, fit_positional_pairs(known), "ties"),), (((1.0, 1.0),),))


def pairs_of_words(known: Knowledge) -> Combination:
    """An attacker that reads which words come together."""
    return fit_and_combine(known, [fit_cooccurrence], rng=np.random.default_rng(0))


@dataclass(frozen=True)
class Kind:
    """Documents that the test is tried on, how often, and the attacker; `share` of them follow a code, if any."""

    name: str
    draw: Draw
    times: int
    fit: Callable[[Knowledge], Combination]
    points: int = POINTS
    size: int = LEARNED[0]
    share: float = 0.0

    def alarms(self) -> Alarms:
        """The test again and again."""
        start = time.process_time()
        found = sum(
            bool(tested(self.draw, self.size, seed, self.points, self.fit).missing) for seed in range(self.times)
        )
        return Alarms(found, self.times, (time.process_time() - start) / self.times)


def kinds() -> Iterator[Kind]:
    """What the test is tried on."""
    yield Kind("independent places", places(None, tie=False), REPEATED, nothing)
    yield Kind("a tie", places(None), REPEATED, pairs)
    yield Kind("texts", words(0.0), REPEATED, pairs_of_words, points=WORDS)
    for size in LEARNED:
        for share in SHARES:
            yield Kind(f"a tie, and a code in {share:.0%}", places(share), POWERED, pairs, size=size, share=share)
        for share in (0.25, 0.5, 1.0):
            yield Kind(f"texts, and a code in {share / 2:.1%}", words(share), POWERED, pairs_of_words, WORDS, size)


def gate_rows(minutes: float) -> Iterator[list[object]]:
    """Every kind of the test by itself, those that were computed or that there is time for."""
    end = time.monotonic() + 60 * minutes
    for kind in kinds():
        file = file_of("gate", kind.name, kind.size)
        if not file.is_file() and time.monotonic() < end:
            save(file, kind.alarms())
        if file.is_file():
            made: Alarms = load(file, Alarms)
            most = f"{clopper_pearson_upper(made.found, made.asked, 0.05):.1%}" if made.asked == REPEATED else ""
            missed = (
                [f"{part:.1%}" for part in (missed_gain(kind.share), missed_rate(kind.share))]
                if kind.share
                else ["", ""]
            )
            yield [kind.name, f"{kind.size:,}", f"{made.found} of {made.asked}", most, *missed, f"{made.seconds:.2f}"]


def missed_gain(share: float) -> float:
    """The part of all nats that values tell of each other which a code in this share of documents has."""

    def told(share: float) -> float:
        one, others = share + (1.0 - share) / POINTS, (1.0 - share) / POINTS
        return float(one * np.log(one * POINTS) + (POINTS - 1) * others * np.log(others * POINTS))

    return told(share) / (told(share) + told(0.9))


def missed_rate(share: float) -> float:
    """The part of the exact rate of pairs beyond epsilon that is not found where the code is not read."""
    rng = np.random.default_rng([2033, int(100 * share)])
    space = Space(4.0 * rng.random((POINTS, 2)))
    mechanism, tiers = Exponential(space, EPSILON), one_tier(space)
    secrets = Records.from_documents(space, places(share)(CERTIFY, rng))
    known, release = knowledge(mechanism, tiers, secrets), perturb(secrets, mechanism, tiers, rng)
    budget = Budget(mechanism, tiers, EPSILON)
    rates = []
    for asked_share in (share, 0.0):
        reader = LawAttacker(known, Dense(exact_law(asked_share)), "exact")
        found = scan(reader, release, secrets, budget, rng, laws=("anchored",), detailed=False)
        rates.append(float(found.anchored.mean()))
    return 1.0 - rates[1] / rates[0]


def exact_law(share: float) -> PlaceTrees:
    """The law of places with the tie and a code in this share of documents."""
    flat, same = np.full(POINTS, 1.0 / POINTS), np.eye(POINTS)
    code = same[np.add.outer(np.arange(POINTS), np.arange(POINTS)) % POINTS]
    cherries = [Cherry(p, (), flat) for p in (0, 3, 4)]
    cherries += [Cherry(1, (0,), np.tile(flat, (POINTS, 1))), Cherry(2, (0, 1), share * code + (1.0 - share) / POINTS)]
    return PlaceTrees({LENGTH: CherryTree((*cherries, Cherry(5, (4,), 0.9 * same + 0.1 / POINTS)))}, flat)


GATES = [
    "documents", "fit documents", "alarms", "share at most (level 0.05)", "gain that is missing",
    "rate that is missing", "CPU s with the fit",
]  # fmt: skip


def main() -> None:
    """Work for some minutes, most of them on audits, then write the page from everything that is finished."""
    minutes, repetitions = asked(20, 4)
    names, (audits, adaptations) = tuple(THREES), (0.5 * minutes, 0.3 * minutes)
    work("audit", worlds.once, audits, repetitions, names=names)
    work("adapt", worlds_adapt.once, adaptations, repetitions, names=names)
    gates = list(gate_rows(0.2 * minutes))
    lines = finished("audit", Outcome, repetitions, names)
    chosen = finished("adapt", Choice, repetitions, names)
    shares = [choice.share for _, _, done in chosen for choice in done if choice.share is not None]
    adapted = sum(len(done) for _, _, done in chosen)
    above = [sum(share > most for share in shares) for most in (1.0, 1.1)]
    bounds = [f"{clopper_pearson_upper(k, max(1, len(shares)), 0.05):.1%}" for k in above]
    beyond = (
        f"{len(shares)} of {adapted} adaptations certified scales, {above[0]} truly above delta, {above[1]} above 1.1"
    )
    parts = [
        " ".join((__doc__ or "").split()),
        table(HEADER, [row(*line) for line in lines]),
        summary(lines).replace(f"{PARAMETERS} sets of parameters", f"{PARAMETERS} sets of parameters, drawn by seed"),
        f"{beyond} times or more (shares of at most {bounds[0]} and {bounds[1]} at level 0.05; the largest is "
        f"{max(shares, default=0.0):.2f} times delta); delta is half of the true rate at scale 1.",
        f"## The test by itself, at level {LEVEL:g}",
        table(GATES, gates),
        f"{SELECT} select documents of {LENGTH} places over {POINTS} values, or texts over {WORDS} words, in any "
        "order. Attackers read ties between fixed places, or which words come together.",
        "## Real tables with columns added by arithmetic",
        table(TABLES_HEADER, list(real_rows())),
        " ".join((made_tables.__doc__ or "").split()),
        "## What it costs, and two corpora",
        " ".join((gate_cost.__doc__ or "").split()),
        table(gate_cost.HEADER, list(gate_cost.cost_rows())),
    ]
    write("threes", "Dependence that no pair shows", "\n\n".join(parts))


if __name__ == "__main__":
    main()

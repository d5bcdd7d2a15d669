"""The means of an answer: workers, a folder for unfinished work, a limit of CPU seconds, and fits that exist.

A limit means fewer documents, drawn at random, and never a shortcut in what is computed from them. The cost of each
piece is estimated on a small part of it before it starts, so that the limit holds; what was left out is said. The CPU
time is that of this process.

Questions that were asked of one data set: each further one is answered at a smaller level, so that asking often
does not lead to a certificate.

Another δ, ε, seed, mechanism or attacker is another question to the same documents. The questions of all run folders
that lie in one folder are counted there, by the fingerprint of the data; asked again, a question keeps its level. From
Python only questions with `counted_in` are.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import positive
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution, Progress, silent
from oddshift.base.private_database import private_database, transaction
from oddshift.bounds.methods import spend
from oddshift.model.records import Records, Split
from oddshift.model.release import perturb

TRIAL = 16
"""Documents on which the cost of measuring one document is estimated."""

FIT_TRIAL, FIT_POSITIONS = 64, 512
"""Documents on which the cost of fitting is estimated first, at least, and then on twice as many; fewer where they are
so long that fewer have this many positions."""

FITTING, FITS, HASTE = 0.4, 2.0, 1.2
"""Share of the remaining seconds for fitting, how many full fits that has to cover (attackers that count are fitted
again on a quarter and on half of the documents), and by what factor an estimate may be exceeded."""

MEASURING, SCANS = 0.7, 2.5
"""Share of the remaining seconds for measuring, and how many scans of everybody that has to cover: those of attackers
that were fitted again, of the recalibrated one, and of worst pairs."""

LOADING, WRITING = 4.0, 2.0
"""Seconds that a process may have used before the limit was stated and that count, at most; and seconds kept back for
the end, where the run is written."""


@dataclass(frozen=True)
class CpuLimit:
    """At most this many CPU seconds from `start` on; `start` is a value of `time.process_time`."""

    seconds: float
    start: float

    @classmethod
    def begin(cls, seconds: float) -> CpuLimit:
        """A limit that counts from now on, and what the process needed in order to start."""
        now = time.process_time()
        return cls(positive(seconds, "max_cpu"), now - min(now, LOADING))

    @property
    def left(self) -> float:
        """Seconds that may still be used; a little is kept back."""
        used = time.process_time() - self.start
        return max(0.95 * self.seconds - min(WRITING, self.seconds / 4.0) - used, 0.0)


@dataclass(frozen=True, kw_only=True)
class Means:
    """What an answer may cost and where unfinished work is kept; this never changes the question.

    `folder` keeps unfinished work, so that the same question continues. `limit` bounds the CPU seconds of an audit, by
    fewer documents. `fits` holds attackers by everything that determines their fit: those in it are not fitted again,
    and newly fitted ones are added.
    """

    execution: Execution = SERIAL
    folder: Path | None = None
    limit: CpuLimit | None = None
    progress: Progress = silent
    fits: dict[str, Attacker] = field(default_factory=dict, repr=False)


def fit_within(
    fit: Records, fitting: Callable[[Records], object], limit: CpuLimit, rng: np.random.Generator
) -> tuple[Records, str]:
    """As many fit documents as the limit allows attackers to learn from, and a line that says so.

    `fitting` fits every attacker on some documents. Its cost is taken to grow linearly, from what two small parts cost;
    where the first of them costs more than fitting may, the second is not tried and the first is all that is taken.
    """
    few = min(FIT_TRIAL, -(-FIT_POSITIONS * len(fit) // max(len(fit.points), 1)))
    order, small = rng.permutation(len(fit)), max(few, len(fit) // 16)
    if 4 * small > len(fit):
        return fit, ""
    allowed = FITTING * limit.left / FITS
    try:
        least, twice = (fit.take(np.sort(order[:size])) for size in (small, 2 * small))
        costs = [_cost(partial(fitting, least))]
        if costs[0] > allowed:
            return least, _learning_from(small, fit, limit)
        costs.append(_cost(partial(fitting, twice)))
    except InvalidInput:  # these attackers need more documents than that
        return fit, ""
    each = max(costs[1] - costs[0], 0.0) / small
    fixed = max(costs[1] - 2.0 * small * each, 0.0)
    if HASTE * (fixed + each * len(fit)) <= allowed:
        return fit, ""
    affordable = (allowed / HASTE - fixed) / max(each, 1e-9)
    size = int(min(max(affordable, small), len(fit)))
    return fit.take(np.sort(order[:size])), _learning_from(size, fit, limit)


def _learning_from(size: int, fit: Records, limit: CpuLimit) -> str:
    return f"limited to {limit.seconds:g} CPU s: attackers learn from {size} of {len(fit)} records"


def within_cpu(
    split: Split, known: Knowledge, attackers: Sequence[Attacker], limit: CpuLimit, seed: int
) -> tuple[Split, str]:
    """The split with as many select and certify documents as the CPU seconds allow, and a line that says so.

    How many that is depends on the machine: an audit under a limit is not repeated bit for bit elsewhere.
    """
    rng = np.random.default_rng([seed, 5])
    some = split.certify.take(rng.permutation(len(split.certify))[:TRIAL])
    release = perturb(some, known.mechanism, known.tiers, rng)
    budget = Budget(known.mechanism, known.tiers, 1.0)
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *attackers)
    each = _cost(lambda: [scan(attacker, release, some, budget, rng) for attacker in everyone]) / len(some)
    affordable = MEASURING * limit.left / (SCANS * max(each, 1e-9))
    wanted = len(split.select) + len(split.certify)
    if affordable >= wanted:
        return split, ""
    keep = affordable / wanted
    select, certify = (
        part.take(np.sort(rng.permutation(len(part))[: max(TRIAL, round(keep * len(part)))]))
        for part in (split.select, split.certify)
    )
    left = len(select) + len(certify)
    note = f"limited to {limit.seconds:g} CPU s: {left} of {wanted} records to choose and certify with, drawn at random"
    return replace(split, select=select, certify=certify), note


def rows_within(measure: Callable[[int], object], trial: int, most: int, limit: CpuLimit) -> int:
    """How many rows of at most `most` can be measured in the rest of the time, from what `trial` of them cost."""
    if trial >= most:
        return most
    each = _cost(lambda: measure(trial)) / trial
    return int(min(max(limit.left / (HASTE * max(each, 1e-9)), trial), most))


def _cost(work: Callable[[], object]) -> float:
    """CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


QUESTIONS = ".oddshift-questions.db"
"""Name of the file that counts questions, in the folder around the run folders; only its owner can read it."""

WAIT = 60.0
"""Seconds to wait for other runs."""

_TABLE = """
CREATE TABLE IF NOT EXISTS question (
    data TEXT NOT NULL, question TEXT NOT NULL, number INTEGER NOT NULL, level REAL NOT NULL,
    PRIMARY KEY (data, question)
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class QuestionLevel:
    """The number of a question among those asked of the same data, its level, and the sum of all levels so far."""

    number: int
    level: float
    total: float

    @property
    def note(self) -> str:
        """The sentence about it; empty for a first question."""
        if self.number == 1:
            return ""
        return (
            f"question {self.number} to the same data: it is answered at level {self.level:.2g}, and any certificate "
            f"of the {self.number} questions is wrong with probability at most {self.total:.2g}; fresh data start over"
        )


def level_of_question(folder: Path, data: str, question: str, alpha: float) -> QuestionLevel:
    """Note a question to some data, both by their fingerprints, and return the level at which it is answered.

    The first question has level α, question r has 6α/(π²r²); a question that was asked before keeps what it had.

    **Guarantee**: the levels of all questions that were noted in the folder around `folder` sum to `total`, which
    bounds the probability that any of their certificates is wrong (union bound). Run folders elsewhere, and data that
    were changed or stored in another format, are not recognised.
    """
    place = folder.absolute().parent / QUESTIONS
    with private_database(place, "questions to the same data are counted there", wait=WAIT) as db, transaction(db):
        db.execute(_TABLE)
        return _noted(db, data, question, alpha)


def _noted(db: sqlite3.Connection, data: str, question: str, alpha: float) -> QuestionLevel:
    known = db.execute(
        "SELECT number, level FROM question WHERE data = ? AND question = ?", (data, question)
    ).fetchone()
    if known is None:
        number = 1 + int(db.execute("SELECT count(*) FROM question WHERE data = ?", (data,)).fetchone()[0])
        known = (number, alpha if number == 1 else spend(alpha, number))
        db.execute("INSERT INTO question VALUES (?, ?, ?, ?)", (data, question, *known))
    total = db.execute("SELECT sum(level) FROM question WHERE data = ? AND number <= ?", (data, known[0])).fetchone()[0]
    return QuestionLevel(int(known[0]), float(known[1]), min(1.0, float(total)))

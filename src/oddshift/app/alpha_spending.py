"""Questions that were asked of one data set: each further one is answered at a smaller level, so that asking often
does not lead to a certificate.

Another δ, ε, seed, mechanism or attacker is another question to the same documents. The questions of all run folders
that lie in one folder are counted there, by the fingerprint of the data; asked again, a question keeps its level. From
Python only questions with `counted_in` are.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from oddshift.base.private_database import private_database, transaction
from oddshift.bounds.methods import spend

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

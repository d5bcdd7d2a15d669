"""A watched series: values window after window, and the evidence that they are no longer what the audit found.

A rate is compared with δ. Any other series is compared with the audit's own values, by rank, so that no bound on the
values and no model of them is needed.

The answer of a watch: every window so far, the series over time, and the alarms.

The state of a watch: a SQLite database in the run folder, to which a whole window is added or nothing.

A window is known by its content, so that it counts once, however often it is given and whenever a process dies.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.watch.windows import RATE, Baseline
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.private_database import private_database, transaction
from oddshift.bounds.betting import ShiftStream, conformal_ranks


@dataclass(frozen=True, eq=False, repr=False)
class WatchedSeries:
    """One series: its name, the values of window zero, and δ for a rate that has one."""

    name: str
    reference: FloatArray
    delta: float | None

    @property
    def start(self) -> ShiftStream:
        """No evidence yet."""
        return ShiftStream(0.5, is_two_sided=True) if self.delta is None else ShiftStream(self.delta)

    def compared(self, values: FloatArray, earlier: Sequence[FloatArray], rng: np.random.Generator) -> FloatArray:
        """What the evidence is updated with: the values of a rate, otherwise ranks among all earlier values."""
        if self.delta is not None or not len(values):
            return values
        return conformal_ranks(values, np.concatenate([self.reference, *earlier]), rng)

    @property
    def question(self) -> str:
        """What an alarm would say."""
        if self.delta is not None:
            return f"above delta = {self.delta:g}"
        return "changed against the audit"


def watched_series(baseline: Baseline) -> tuple[WatchedSeries, ...]:
    """The series of a baseline; one that window zero has no values of cannot be compared and is left out.

    A rate with δ needs no reference, so every tier has one.
    """
    delta, reference = baseline.settings.delta, baseline.reference
    none: FloatArray = np.empty(0)
    rates = [WatchedSeries(name, reference.get(name, none), delta) for name in baseline.rate_names]
    others = [WatchedSeries(name, found, None) for name, found in reference.items() if not name.startswith(RATE)]
    return tuple(series for series in (*rates, *others) if series.delta is not None or len(series.reference))


@dataclass(frozen=True)
class SeriesLine:
    """One series over all windows: its mean in the audit and in each window (None where it has no value), and ln E.

    `delta` is the limit of a rate, None for a series that is compared with the audit. `reference` is None where the
    audit has no value of it.
    """

    name: str
    delta: float | None
    reference: float | None
    means: tuple[float | None, ...]
    log_e: tuple[float, ...]


@dataclass(frozen=True)
class Alarm:
    """A certified change: the series, the window after which it was certain, and the units that were read by then."""

    series: str
    window: int
    units: int
    sentence: str


@dataclass(frozen=True)
class Watch:
    """What watching found so far.

    `counted` windows were added by this call, `known` ones had been counted before, and `waiting` rows fill no window.

    **Guarantee**: without a change there is ever an alarm with probability at most `alpha`, however many windows come.
    This assumes independent units, none of them in two windows.
    """

    alpha: float
    windows: tuple[str, ...]
    units: tuple[int, ...]
    series: tuple[SeriesLine, ...]
    alarms: tuple[Alarm, ...]
    counted: int
    known: int
    waiting: int
    notes: tuple[str, ...]

    @property
    def state(self) -> str:
        """`alarm` once a change is certified, otherwise `quiet`."""
        return "alarm" if self.alarms else "quiet"

    @property
    def threshold(self) -> float:
        """ln E at which a series raises an alarm: ln(number of series / alpha), by Bonferroni."""
        return math.log(len(self.series) / self.alpha)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        read = f"{len(self.windows)} windows, {sum(self.units):,} independent units"
        if not self.alarms:
            return f"Quiet: no change is certified after {read}; a change may be there all the same."
        return f"Alarm: {self.alarms[0].sentence}" + (f" ({len(self.alarms)} alarms)" if len(self.alarms) > 1 else "")

    def __repr__(self) -> str:
        """The state and the means of every series, without a secret."""
        return "\n".join((self.sentence, *map(series_sentence, self.series)))


def series_sentence(line: SeriesLine) -> str:
    """One series in words: the audit, the last window, and the evidence."""
    last = next((mean for mean in reversed(line.means) if mean is not None), None)
    compared = "not measured" if line.reference is None else f"{line.reference:.4f}"
    limit = "" if line.delta is None else f", delta {line.delta:g}"
    now = "no value yet" if last is None else f"{last:.4f}"
    evidence = f"{line.log_e[-1]:.1f}" if line.log_e else "0.0"
    return f"{line.name}: audit {compared}{limit}, last window {now}, ln E {evidence}"


def watch_of(
    series: Sequence[WatchedSeries],
    windows: Sequence[KeptWindow],
    alpha: float,
    read: tuple[int, int, int],
    notes: tuple[str, ...],
) -> Watch:
    """The answer after some windows; `read` counts new windows, windows that were known, and rows that wait."""
    names, units = tuple(w.name for w in windows), tuple(w.units for w in windows)
    return Watch(alpha, names, units, series_lines(series, windows), alarms_of(series, windows, alpha), *read, notes)


def series_lines(series: Sequence[WatchedSeries], windows: Sequence[KeptWindow]) -> tuple[SeriesLine, ...]:
    """The means and the evidence of every series."""
    return tuple(
        SeriesLine(
            one.name,
            one.delta,
            _mean(one.reference),
            tuple(_mean(window.values.get(one.name, np.empty(0))) for window in windows),
            tuple(_evidence(one.name, windows)),
        )
        for one in series
    )


def alarms_of(series: Sequence[WatchedSeries], windows: Sequence[KeptWindow], alpha: float) -> tuple[Alarm, ...]:
    """The first window after which each series was certain to have changed, the earliest alarm first."""
    needed = math.log(len(series) / alpha) + 1e-9
    found = []
    for one in series:
        first = next((w for w in windows if w.log_peak.get(one.name, 0.0) >= needed), None)
        if first is not None:
            units = sum(window.units for window in windows[: first.number])
            found.append(Alarm(one.name, first.number, units, _sentence(one, windows[: first.number], units)))
    return tuple(sorted(found, key=lambda alarm: alarm.window))


def _sentence(one: WatchedSeries, windows: Sequence[KeptWindow], units: int) -> str:
    last = float(windows[-1].values[one.name].mean())
    before = "" if not len(one.reference) else f", {float(one.reference.mean()):.4f} in the audit"
    return f"{one.name} {one.question} after window {len(windows)} ({units:,} units): {last:.4f} there{before}."


def _evidence(name: str, windows: Sequence[KeptWindow]) -> Iterator[float]:
    """ln E after every window; where a window has no value, as before."""
    now = 0.0
    for window in windows:
        now = window.log_e.get(name, now)
        yield now


def _mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None


STATE = "watch.db"
"""Name of the database in a run folder; only its owner can read it."""

WAIT = 300.0
"""Seconds to wait for another process."""

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS window (
    number INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE, name TEXT NOT NULL, units INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS series (
    window INTEGER NOT NULL, name TEXT NOT NULL, vals BLOB NOT NULL, windows INTEGER NOT NULL, log_e REAL NOT NULL,
    log_peak REAL NOT NULL, log_wealths TEXT NOT NULL, PRIMARY KEY (window, name)
) WITHOUT ROWID
"""


@dataclass(frozen=True, eq=False, repr=False)
class KeptWindow:
    """One window that was counted: its number, the name of its file, its units, and its series by name."""

    number: int
    name: str
    units: int
    values: Mapping[str, FloatArray]
    log_e: Mapping[str, float]
    log_peak: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class NewWindow:
    """A window that was measured and is not yet counted."""

    content: str
    name: str
    units: int
    values: Mapping[str, FloatArray]


Grow = Callable[[str, FloatArray, list[FloatArray], Mapping[str, Any]], ShiftStream]
"""From the name of a series, its new values, its earlier values and the fields of its evidence (none at first) to the
evidence after the window.
"""


@contextmanager
def watch_state(folder: Path, question: Mapping[str, str]) -> Iterator[sqlite3.Connection]:
    """The database of a run folder; it is refused when it was begun with another baseline or level."""
    path = folder / STATE
    with private_database(path, "the state of a watch is kept there", wait=WAIT) as db:
        db.execute("PRAGMA synchronous = FULL")
        with transaction(db):
            for statement in _TABLES.split(";"):
                db.execute(statement)
            db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", list(question.items()))
            known = dict(db.execute("SELECT name, value FROM meta"))
        for name, value in question.items():
            if known[name] != value:
                raise InvalidInput(f"{path} was begun with another {name}, expected the same one")
        yield db


def is_counted(db: sqlite3.Connection, content: str) -> bool:
    """Whether a window with this content was counted."""
    return db.execute("SELECT 1 FROM window WHERE content = ?", (content,)).fetchone() is not None


def count_window(db: sqlite3.Connection, new: NewWindow, grow: Grow) -> bool:
    """Add a window with its evidence, in one transaction; False when another process was faster.

    **Guarantee**: when it returns, the window is on disk as a whole; when the process dies before, nothing of it is.
    """
    with transaction(db):
        if is_counted(db, new.content):
            return False
        number = 1 + int(db.execute("SELECT count(*) FROM window").fetchone()[0])
        db.execute("INSERT INTO window VALUES (?, ?, ?, ?)", (number, new.content, new.name, new.units))
        for name, values in new.values.items():
            rows = db.execute(
                "SELECT vals, windows, log_peak, log_wealths FROM series WHERE name = ? ORDER BY window", (name,)
            ).fetchall()
            earlier = [_floats(row[0]) for row in rows]
            after = grow(name, values, earlier, _grown(rows[-1]) if rows else {})
            state = (after.windows, after.log_e, after.log_peak, json.dumps(after.log_wealths))
            stored = np.ascontiguousarray(values, dtype="<f8").tobytes()
            db.execute("INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?)", (number, name, stored, *state))
    return True


def counted_windows(db: sqlite3.Connection) -> tuple[KeptWindow, ...]:
    """Every window so far, in the order in which they were counted."""
    found: dict[int, KeptWindow] = {}
    for number, name, units in db.execute("SELECT number, name, units FROM window ORDER BY number"):
        found[number] = KeptWindow(number, name, units, {}, {}, {})
    for number, name, values, log_e, peak in db.execute("SELECT window, name, vals, log_e, log_peak FROM series"):
        kept = found[number]
        for part, value in ((kept.values, _floats(values)), (kept.log_e, log_e), (kept.log_peak, peak)):
            part[name] = value  # type: ignore[index]
    return tuple(found.values())


def _grown(row: tuple[bytes, int, float, str]) -> dict[str, Any]:
    return {"windows": row[1], "log_peak": row[2], "log_wealths": tuple(json.loads(row[3]))}


def _floats(stored: bytes) -> FloatArray:
    return np.frombuffer(stored, dtype="<f8").astype(np.float64)

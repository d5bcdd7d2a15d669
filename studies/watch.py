"""Watching: how often a watch of 200 windows without drift raises an alarm, and how soon a doubled rate is found.

Three worlds whose topic mix can shift: the evidence alone, fed with simulated rates; texts with four names; trips with
four fixes. In a share of the documents (a topic) what comes first says much about the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import oddshift as od
from oddshift.bounds.betting import ShiftStream
from oddshift.data.codecs import WordVectors
from oddshift.data.dataset import Dataset
from oddshift.data.detectors import Gazetteer
from studies.tables import table, write

ALPHA, SERIES, WINDOWS, UNITS = 0.05, 4, 200, 50
SHIFTED, RUNS, REPEATS, REFERENCE = 80, 200, 8, 1000
ROOM = 1.25
NAMES = ("anna", "boris", "clara", "david", "elena", "felix")
ANGLE = 2.0 * np.pi * np.arange(len(NAMES)) / len(NAMES)
CIRCLE = np.stack([np.cos(ANGLE), np.sin(ANGLE)], axis=1)


def chosen(n: int, alike: float, rng: np.random.Generator) -> np.ndarray:
    """Four of six values for each of n documents; in a share of them each value follows from the one before."""
    free = rng.integers(0, len(NAMES), (n, 4))
    steps = (free[:, :1] + np.arange(4)) % len(NAMES)
    return np.where(rng.random((n, 1)) < alike, steps, free)


def texts(n: int, alike: float, rng: np.random.Generator) -> Dataset:
    """Texts with four names."""
    said = [
        f"{NAMES[a]} called {NAMES[b]}, then {NAMES[c]} wrote to {NAMES[d]}." for a, b, c, d in chosen(n, alike, rng)
    ]
    return od.texts(
        [f"{text} Case {number}." for text, number in zip(said, rng.integers(0, 10**9, n), strict=True)],
        vectors=WordVectors(NAMES, (3.0 * CIRCLE).astype(np.float32)),
        detectors=[Gazetteer(dict.fromkeys(NAMES, "PERSON"))],
        settings={"is_public": True, "near_duplicates": False, "repeats": "each", "tokeniser": "plain"},
    )


def trips(n: int, alike: float, rng: np.random.Generator) -> Dataset:
    """Trips with four fixes."""
    places = np.array([40.0, 116.0]) + 0.03 * CIRCLE[chosen(n, alike, rng).ravel()]
    who = np.repeat([f"u{number}" for number in rng.integers(0, 10**12, n)], 4)
    columns = {"lat": places[:, 0].tolist(), "lon": places[:, 1].tolist(), "user": who.tolist()}
    return od.trajectories(columns, settings={"timestamp": "", "trip": "", "every": 0.0})


@dataclass(frozen=True)
class World:
    """Documents of one kind, the ε of their audit, and the shares of the topic before and after a shift."""

    make: Callable[[int, float, np.random.Generator], Dataset]
    epsilon: float
    quiet: float = 0.4
    shifted: float = 1.0


WORLDS = {"texts": World(texts, 1.0), "trips": World(trips, 1.2, shifted=0.9)}


@dataclass(frozen=True)
class Watched:
    """What a watch of one run showed: alarms without a shift, mean rates, and documents from a shift to an alarm."""

    is_false: bool
    delta: float
    before: float
    after: float
    any_alarm: int
    rate_alarm: int


def watched(world: World, seed: int, quiet: int = WINDOWS, shifted: int = SHIFTED) -> Watched:
    """Watch a run over windows like its own data, and then over windows whose topic mix has shifted."""
    rng = np.random.default_rng([11, seed])
    data = world.make(REFERENCE, world.quiet, rng)
    with TemporaryDirectory() as folder:
        trial, run = Path(folder) / "trial", Path(folder) / "run"
        od.audit(data, epsilon=world.epsilon, delta=0.1, attackers=["plugin"], seed=seed).save(trial)
        measured = rate_of(od.watch(trial, world.make(2000, world.quiet, rng), reference=data))
        delta = ROOM * float(measured[0])
        od.audit(data, epsilon=world.epsilon, delta=delta, attackers=["plugin"], seed=seed).save(run)
        first = od.watch(run, [world.make(UNITS, world.quiet, rng) for _ in range(quiet)], reference=data, alpha=ALPHA)
        last = od.watch(run, [world.make(UNITS, world.shifted, rng) for _ in range(shifted)], alpha=ALPHA)
    means = rate_of(last)
    since = [(alarm.window - quiet, alarm.series) for alarm in last.alarms if alarm.window > quiet]
    return Watched(
        is_false=first.state == "alarm",
        delta=delta,
        before=float(means[:quiet].mean()),
        after=float(means[quiet:].mean()),
        any_alarm=UNITS * min((window for window, _ in since), default=0),
        rate_alarm=UNITS * min((window for window, name in since if name.startswith("rate")), default=0),
    )


def rate_of(found: Any) -> np.ndarray:
    """The mean rate of every window, under the strongest attacker."""
    return np.array(next(line.means for line in found.series if line.name.startswith("rate")))


def rates(n: int, mean: float, rng: np.random.Generator) -> np.ndarray:
    """Shares of 20 pairs beyond the budget, in documents that differ."""
    return rng.binomial(20, rng.beta(mean * 3.0, (1.0 - mean) * 3.0, n)) / 20


def simulated_false(runs: int = RUNS, delta: float = 0.05) -> float:
    """The share of watches that ever raise an alarm: two rates that are exactly δ, and two series that never change."""
    rng, false = np.random.default_rng(5), 0
    for _ in range(runs):
        streams = [ShiftStream(delta), ShiftStream(delta)] + [ShiftStream(0.5, is_two_sided=True)] * 2
        for _ in range(WINDOWS):
            values = [rates(UNITS, delta, rng) for _ in range(2)] + [rng.random(UNITS) for _ in range(2)]
            streams = [stream.update(value) for stream, value in zip(streams, values, strict=True)]
        false += any(stream.reaches(ALPHA / SERIES) for stream in streams)
    return false / runs


def simulated_delay(quiet: int, before: float, runs: int = 60, delta: float = 0.05) -> np.ndarray:
    """Documents until a rate of 2δ is found, in each of some runs, after quiet windows with a smaller rate."""
    rng, found = np.random.default_rng(6), []
    for _ in range(runs):
        stream, number = ShiftStream(delta), 0
        for _ in range(quiet):
            stream = stream.update(rates(UNITS, before * delta, rng))
        while not stream.reaches(ALPHA / SERIES):
            stream, number = stream.update(rates(UNITS, 2.0 * delta, rng)), number + 1
        found.append(UNITS * number)
    return np.array(found)


def delay_cells(documents: np.ndarray) -> list[str]:
    """Median, nine of ten, and the largest number of documents; "not found" where one has none."""
    if not documents.all():
        return [f"{(documents > 0).sum()} of {len(documents)} found", "", ""]
    return [f"{np.median(documents):,.0f}", f"{np.quantile(documents, 0.9):,.0f}", f"{documents.max():,}"]


def main() -> None:
    """Run everything and write the page."""
    start, worlds = time.process_time(), {}
    for name, world in WORLDS.items():
        worlds[name] = [watched(world, seed) for seed in range(REPEATS)]
    false = [["simulated rates of exactly δ", RUNS, f"{100 * simulated_false():.1f} %"]]
    false += [
        [name, len(found), f"{100 * np.mean([w.is_false for w in found]):.1f} %"] for name, found in worlds.items()
    ]
    delays = [
        ["simulated: from δ to 2δ at the first window", "rate", *delay_cells(simulated_delay(0, 1.0))],
        ["simulated: from .6δ to 2δ after 100 windows", "rate", *delay_cells(simulated_delay(100, 0.6))],
    ]
    for name, found in worlds.items():
        before, after = (float(np.mean([getattr(w, side) for w in found])) for side in ("before", "after"))
        delta = float(np.mean([w.delta for w in found]))
        what = f"{name}: rate from {before:.3f} to {after:.3f} after {WINDOWS} windows, δ about {delta:.3f}"
        delays.append([what, "rate", *delay_cells(np.array([w.rate_alarm for w in found]))])
        delays.append([what, "any", *delay_cells(np.array([w.any_alarm for w in found]))])
    text = (
        f"Windows of {UNITS} documents, level α = {ALPHA:g} over all series and all windows, {SERIES} series in the "
        f"simulation. Texts hold four names and trips four fixes, each of six values; a run is audited on {REFERENCE} "
        f"documents with the attacker `plugin` and then watched by `od.watch`. δ is {ROOM:g} times the rate of the "
        "audited mix, measured on other documents.\n\n"
        f"Alarms within {WINDOWS} windows **without a change**; at most 5 % are allowed:\n\n"
        f"{table(['what', 'watches', 'with an alarm'], false)}\n\n"
        "Documents until an alarm **after the topic mix shifts**, so that the rate about doubles; `any` counts the "
        "first alarm of any series, mostly that of the log score, which shows a change before the rate does:\n\n"
        f"{table(['shift', 'series', 'median', '9 of 10', 'all'], delays)}\n\n"
        f"CPU time {time.process_time() - start:.0f} s."
    )
    write("watch", "Watching for drift", text)


if __name__ == "__main__":
    main()

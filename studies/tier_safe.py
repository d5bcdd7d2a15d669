"""Secret tiers: what naive tiers leak across tiers, and what safe constructions cost, on the words of AG News.

GloVe points with the tiers of the shared NER (PII) and of similarity (PoII), scales (.4, .9). Exact ε over all pairs at
2,000 points and over the whole vocabulary; utility against one common scale.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.sparse.csgraph import floyd_warshall

from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.mechanisms import Channel, Mechanism, PathExponential, Tiered, path_closure
from oddshift.mechanisms.epsilon import exponential_epsilon, true_epsilon
from oddshift.mechanisms.mechanism import log_normalisers, normalised
from oddshift.mechanisms.utility import measure
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from studies.ag_news import ag_news
from studies.tables import table, write

EPSILONS, SCALES, POINTS = (1.0, 2.5, 4.0), (0.4, 0.9), 2_000
HALVINGS = 8
NO_PAIR = 1e300  # a distance so large that the pair can never be the worst

Value = TypeVar("Value")
Parts = tuple[float, float, float]
"""Exact ε within tier 1, within tier 2, and across."""


@dataclass(frozen=True)
class Words:
    """Points with their tiers, and how often the fit documents have each."""

    space: Space
    tiers: Tiers
    counts: IntArray

    def some(self, n: int) -> Words:
        """A seeded subset of n points."""
        index = np.sort(np.random.default_rng(0).permutation(len(self.space))[:n])
        tiers = Tiers(self.tiers.labels[index], names=self.tiers.names, scales=SCALES, is_public=False)
        return Words(Space(self.space.points[index]), tiers, self.counts[index])

    def parts(self, index: IntArray) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Which pairs of `index` and every point are within tier 1, within tier 2, and across."""
        here, there = self.tiers.labels[index, None], self.tiers.labels[None, :]
        return (here == 0) & (there == 0), (here == 1) & (there == 1), here != there


def words() -> Words:
    """The vocabulary of AG News, from the fit documents."""
    loaded = prepare_configured(parse_config(ag_news(is_public=False), "study"))
    fit = loaded.split.fit
    return Words(fit.space, loaded.tiers.with_scales(SCALES), np.bincount(fit.points, minlength=len(fit.space)))


def scanned(mechanism: Mechanism, data: Words) -> Parts:
    """Exact ε of the three parts by a scan over all outputs, which supposes nothing."""
    rows, far = mechanism.log_matrix, data.space.distances
    one, two = (np.flatnonzero(data.tiers.labels == tier) for tier in (0, 1))
    apart = np.where(data.parts(np.arange(len(far)))[2], far, NO_PAIR)
    np.fill_diagonal(apart, 0.0)
    within = [true_epsilon(rows[few], far[np.ix_(few, few)]) for few in (one, two)]
    return within[0], within[1], true_epsilon(rows, apart)


def in_closed_form(ways: FloatArray, epsilon: float, data: Words) -> Parts:
    """Exact ε of the three parts for the exponential mechanism on the metric `ways`."""
    log_z = log_normalisers(lambda index: -0.5 * epsilon * ways[index], len(ways), len(ways))

    def part(which: int) -> float:
        def rows(index: IntArray) -> tuple[FloatArray, FloatArray]:
            counts = data.parts(index)[which]
            return np.where(counts, data.space.distances[index], np.inf), 0.5 * epsilon * ways[index]

        return exponential_epsilon(log_z, rows)

    return part(0), part(1), part(2)


def on_metric(ways: FloatArray, epsilon: float, data: Words) -> Channel:
    """The exponential mechanism on a metric."""
    return Channel(data.space, normalised(-0.5 * epsilon * ways), data.space)


def calibrated(ways: FloatArray, epsilon: float, data: Words) -> float:
    """The largest nominal ε (found by halving) whose exact ε keeps scale·ε in each tier, the largest scale across."""
    requests = np.array([*SCALES, max(SCALES)]) * epsilon
    low, high = epsilon, 2.0 * epsilon
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (np.array(in_closed_form(ways, middle, data)) <= requests).all():
            low = middle
        else:
            high = middle
    return low


def variants(data: Words) -> dict[str, FloatArray]:
    """Closures under other costs of a step: the smaller or the larger of both scales instead of their mean."""
    each, far = data.tiers.scale_of_points, data.space.distances
    return {
        "smaller scale on a path": floyd_warshall(np.minimum(each[:, None], each[None, :]) * far),
        "larger scale on a path": floyd_warshall(np.maximum(each[:, None], each[None, :]) * far),
    }


def timed(step: Callable[[], Value]) -> tuple[Value, float]:
    """What a step returns, and its CPU seconds."""
    start = time.process_time()
    return step(), time.process_time() - start


def row(name: str, mechanism: Mechanism, parts: Parts, data: Words) -> list[str]:
    """One line of a table: exact ε of each part and of all pairs, losses, effective outputs."""
    found = measure(mechanism, data.counts, "cosine", data.tiers)
    losses = [f"{loss:.4f}" for loss in (*found.tier_losses, found.loss)]
    return [name, *(f"{part:.4f}" for part in (*parts, max(parts))), *losses, f"{found.effective_outputs:.0f}"]


def rows(data: Words, ways: FloatArray, others: dict[str, FloatArray], epsilon: float) -> Iterator[list[str]]:
    """The mechanisms at one ε: naive tiers by a scan, the others, which draw from a metric, by the closed form."""
    naive = Tiered(data.space, data.tiers, epsilon)
    yield row("naive tiers", naive, scanned(naive, data), data)
    common = data.space.distances * min(SCALES)
    for name, metric in {"one common scale": common, "**path metric**": ways, **others}.items():
        yield row(name, on_metric(metric, epsilon, data), in_closed_form(metric, epsilon, data), data)
        nominal = calibrated(metric, epsilon, data)
        spent = f"{name.strip('*')}, calibrated (nominal {nominal:.2f})"
        yield row(spent, on_metric(metric, nominal, data), in_closed_form(metric, nominal, data), data)


def section(data: Words, others: dict[str, FloatArray]) -> str:
    """The tables of one vocabulary, and what the guarantee took to compute."""
    each, far = data.tiers.scale_of_points, data.space.distances
    ways, closing = timed(lambda: path_closure(far, each))
    shortened = (ways < 0.5 * (each[:, None] + each[None, :]) * far * (1 - 1e-12)).mean()
    lines = [
        f"## {len(data.space):,} points ({', '.join(f'{n} {c}' for n, c in sizes(data).items())})",
        f"Closure: {closing:.1f} CPU s; it shortens {shortened:.1%} of the entries.",
    ]
    for epsilon in EPSILONS:
        found = table(HEADER, list(rows(data, ways, others, epsilon)))
        lines += [f"### ε = {epsilon:g}", confirmed(PathExponential(data.space, data.tiers, epsilon), data), found]
    return "\n\n".join(lines)


def confirmed(safe: PathExponential, data: Words) -> str:
    """Exact ε over all pairs against the request, by the closed form and, at few points, by a scan over outputs."""
    exact, seconds = timed(lambda: safe.exact_epsilon)
    verdict = "kept" if exact <= safe.claimed_epsilon else "BROKEN"
    said = f"exact ε {exact:.6f}, request {safe.claimed_epsilon:g}: {verdict} ({seconds:.1f} CPU s, closure included)"
    if len(data.space) <= POINTS:
        scan, work = timed(lambda: true_epsilon(safe.log_matrix, data.space.distances))
        said += f"; by a scan over all outputs {scan:.6f} ({work:.1f} CPU s)"
    return f"Path metric over all pairs: {said}."


def sizes(data: Words) -> dict[str, int]:
    """Points of each tier."""
    return {name: int((data.tiers.labels == tier).sum()) for tier, name in enumerate(data.tiers.names)}


HEADER = ["mechanism", "within PII", "within PoII", "across", "all pairs", "loss PII", "loss PoII", "loss", "outputs"]

READING = """\
Scales (.4, .9). Exact ε of one release within each tier, across tiers and over all pairs; expected cosine loss under \
the word frequencies of the fit documents; outputs: their effective number. Requests: .4·ε within PII, .9·ε within \
PoII; across, the path metric claims the mean scale .65·ε, and nothing may exceed the largest, .9·ε. Calibrated rows \
raise the nominal ε until one of .4·ε, .9·ε, .9·ε is met. Other metrics charge the smaller or the larger of both \
scales for a step instead of the mean (2,000 points only, by Floyd-Warshall)."""


def main() -> None:
    """Both sizes, one page."""
    everyone = words()
    few = everyone.some(POINTS)
    sections = [section(few, variants(few)), section(everyone, {})]
    used = f"{time.process_time():.0f} CPU s in all, peak memory {_gigabytes():.1f} GB."
    write("tier_safe", "Secret tiers", "\n\n".join([READING, *sections, used]))


def _gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()

"""How much of the exact leakage attackers find, on chains of 200 words whose exact posterior is known.

95 % deterministic, 8 positions, ε = 1.2, 2,000 training sequences, 1,000 fresh ones, three seeds. Beside it: error
against the number of sequences, secrets that are independent, and a dependence that bigrams cannot see.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.controls import Own
from oddshift.attackers.paper import fit_paper
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.logarithms import log_sum
from oddshift.data.embedded import draw_sequences
from oddshift.mechanisms import Exponential
from oddshift.model.prior import Markov
from oddshift.model.records import Records
from oddshift.model.release import Release, one_tier, perturb
from oddshift.model.space import Space
from studies.tables import table, write

WORDS, LENGTH, STRENGTH, EPSILON = 200, 8, 0.95, 1.2
DIMENSIONS, SPREAD = 40, 0.84  # near the own log score 4.19 and exact anchored rate 41 % of the reference chain
TRAIN, TEST, SEEDS = 2_000, 1_000, (0, 1, 2)
SIZES = (250, 500, 1_000)


@dataclass(frozen=True)
class Setting:
    """One generated population: what the attacker knows, fresh secrets, their release, and the exact shift."""

    known: Knowledge
    secrets: Records
    release: Release
    exact: FloatArray


def setting(seed: int, train: int = TRAIN, strength: float = STRENGTH, lag: int = 1, words: int = WORDS) -> Setting:
    """A chain; with lag 2 two chains are interleaved, so that neighbours are independent."""
    rng = np.random.default_rng([seed, lag])
    space = Space(SPREAD * rng.standard_normal((words, DIMENSIONS)))
    follow = np.zeros((words, words))
    follow[np.arange(words), rng.permutation(words)] = 1.0
    prior = Markov(np.full(words, 1 / words), strength * follow + (1 - strength) / words, LENGTH // lag)
    fit, fresh = (Records.from_documents(space, _sequences(prior, lag, n, rng)) for n in (train, TEST))
    mechanism, tiers = Exponential(space, EPSILON), one_tier(space)
    release = perturb(fresh, mechanism, tiers, rng)
    return Setting(knowledge(mechanism, tiers, fit), fresh, release, _exact(prior, lag, mechanism, release))


def _sequences(prior: Markov, lag: int, count: int, rng: np.random.Generator) -> list[IntArray]:
    parts = [draw_sequences(prior, count, rng) for _ in range(lag)]
    return list(np.stack(parts, axis=2).reshape(count, -1))


def _exact(prior: Markov, lag: int, mechanism: Exponential, release: Release) -> FloatArray:
    """Shift of the true posterior at every position: forward-backward within each interleaved chain."""
    columns = mechanism.log_columns(release.outputs).reshape(len(release), -1, lag, len(mechanism.space))
    seen, step = np.exp(columns - columns.max(axis=-1, keepdims=True)), prior.transitions[0]
    length, size = seen.shape[1], seen.shape[3]
    left, right = np.full(seen.shape, 1.0 / size), np.ones(seen.shape)
    for t in range(1, length):
        left[:, t] = (left[:, t - 1] * seen[:, t - 1]) @ step
        left[:, t] /= left[:, t].sum(axis=-1, keepdims=True)
    for t in range(length - 2, -1, -1):
        right[:, t] = (right[:, t + 1] * seen[:, t + 1]) @ step.T
        right[:, t] /= right[:, t].max(axis=-1, keepdims=True)
    return (columns + np.log(left * size) + np.log(right)).reshape(len(release.outputs), -1)


@dataclass(frozen=True)
class Marks:
    """How an attacker compares with the exact posterior; rates and errors in per cent, mPL in its own unit."""

    log_score: float
    anchored: float
    miss: float
    false_alarm: float
    uniform_error: float


def marks(shift: FloatArray, log_prior: FloatArray, world: Setting) -> Marks:
    """Log score, anchored pairs missed and falsely flagged, mean error of mPL on uniform pairs."""
    truth, rows = world.secrets.points, np.arange(len(shift))
    total = shift + log_prior
    distance = world.secrets.space.distances
    others = np.ones(shift.shape, dtype=bool)
    others[rows, truth] = False

    def violates(of: FloatArray) -> BoolArray:
        gap = np.abs(of - of[rows, truth][:, None])
        return (gap > EPSILON * distance[truth] * (1 + 1e-12) + 1e-12) & others

    real, found = violates(world.exact), violates(shift)
    rng = np.random.default_rng(0)
    a = rng.integers(shift.shape[1], size=(20, len(shift)))
    b = (a + rng.integers(1, shift.shape[1], size=a.shape)) % shift.shape[1]
    gaps = [np.abs(s[rows, a] - s[rows, b]) / distance[a, b] for s in (world.exact, shift)]
    return Marks(
        float(np.mean(log_sum(total) - total[rows, truth])),
        100 * found.sum() / others.sum(),
        100 * (real & ~found).sum() / max(1, real.sum()),
        100 * (found & ~real).sum() / max(1, (others & ~real).sum()),
        float(np.abs(gaps[0] - gaps[1]).mean()),
    )


def run(attacker: Attacker, world: Setting) -> Marks:
    """Marks of an attacker on the fresh release."""
    shift, prior = (np.empty((len(world.release.outputs), len(world.known.log_prior))) for _ in range(2))
    for block in attacker.beliefs(world.release):
        shift[block.positions], prior[block.positions] = block.shift, block.log_prior
    return marks(shift, prior, world)


def portfolio(known: Knowledge, seed: int) -> Attacker:
    """The default attacker."""
    return fit_portfolio(known, np.random.default_rng(seed))


def main_part(seed: int) -> dict[str, Marks]:
    """Every attacker on one chain."""
    world = setting(seed)
    attackers = {"own": Own(world.known), "plug-in": fit_plugin(world.known), "portfolio": portfolio(world.known, seed)}
    attackers |= {"paper mode, T = 1": fit_paper(world.known)}
    uniform = np.full(WORDS, -np.log(WORDS))
    exact = marks(world.exact, np.broadcast_to(uniform, world.exact.shape), world)
    return {"exact": exact} | {name: run(attacker, world) for name, attacker in attackers.items()}


def size_part(train: int) -> dict[str, Marks]:
    """Both attackers from the first sequences only: same chain, same fresh sequences."""
    world = setting(0)
    known = knowledge(world.known.mechanism, world.known.tiers, world.known.fit.take(np.arange(train)))
    return {"plug-in": run(fit_plugin(known), world), "portfolio": run(portfolio(known, 0), world)}


def other_part(which: str) -> dict[str, Marks]:
    """Independent secrets, or interleaved chains of 50 words."""
    world = setting(0, strength=0.0) if which == "independent" else setting(0, lag=2, words=50)
    attackers = {"own": Own(world.known), "plug-in": fit_plugin(world.known), "portfolio": portfolio(world.known, 0)}
    exact = marks(world.exact, np.zeros(world.exact.shape), world)
    return {"exact": exact} | {name: run(attacker, world) for name, attacker in attackers.items()}


def _row(name: str, found: list[Marks]) -> list[str]:
    """One line: the mean over seeds, and the range where there are several."""
    cells = [name]
    for field, digits in (("log_score", 2), ("anchored", 1), ("miss", 1), ("false_alarm", 2), ("uniform_error", 3)):
        values = [getattr(m, field) for m in found]
        span = f" ({min(values):.{digits}f}-{max(values):.{digits}f})" if len(values) > 1 else ""
        cells.append(f"{np.mean(values):.{digits}f}{span}")
    return cells


HEADER = ["attacker", "log score", "anchored rate %", "anchored miss %", "false alarm %", "uniform-pair error"]


def _exponent(sizes: tuple[int, ...], errors: list[float]) -> float:
    """b of the fit error = a·n^b."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def _sizes_text(parts: list[dict[str, Marks]], whole: dict[str, Marks]) -> str:
    names, sizes = ("plug-in", "portfolio"), (*SIZES, TRAIN)
    rows, fits = [], []
    for name in names:
        found = [part[name] for part in (*parts, whole)]
        rows += [[name, n, f"{m.log_score:.2f}", f"{m.miss:.1f}", f"{m.false_alarm:.2f}", f"{m.uniform_error:.4f}"]
                 for n, m in zip(sizes, found, strict=True)]  # fmt: skip
        fits.append(f"{name} n^{_exponent(sizes, [m.uniform_error for m in found]):.2f}")
    header = ["attacker", "sequences", "log score", "anchored miss %", "false alarm %", "uniform-pair error"]
    return f"{table(header, rows)}\n\nFitted: the error on uniform pairs goes as " + ", ".join(fits) + "."


def _text(seeds: list[dict[str, Marks]], sizes: list[dict[str, Marks]], others: list[dict[str, Marks]]) -> str:
    main_rows = [_row(name, [seed[name] for seed in seeds]) for name in seeds[0]]
    return (
        f"{WORDS} words, {LENGTH} positions, {STRENGTH:.0%} deterministic, ε = {EPSILON}; {TRAIN} training and {TEST} "
        "fresh sequences, three seeds (mean and range). `exact` is forward-backward with the true chain. Missed: pairs "
        "of the truth and another word whose exact mPL exceeds ε and whose estimate does not; false alarm: the "
        "reverse, among pairs that do not violate. Uniform-pair error: mean |mPL − exact| of two random words."
        f"\n\n{table(HEADER, main_rows)}\n\n"
        f"How to read it. Points are Gaussian in {DIMENSIONS} dimensions with spread {SPREAD}, taken after a dozen "
        "geometries were tried so that own and exact come near 4.19 and 41 %; "
        "it is not the chain of earlier prototypes. Paper mode is one "
        "architecture (LSTM) at one temperature, untuned.\n\n"
        f"Targets: plug-in miss ≤ 20 and false alarm ≤ 2 (reached {_mean(seeds, 'plug-in', 'miss'):.1f} and "
        f"{_mean(seeds, 'plug-in', 'false_alarm'):.2f}).\n\n"
        "## Error against the number of sequences (one seed, nested training sets, the same fresh sequences)\n\n"
        f"{_sizes_text(sizes, seeds[0])}\n\n## Independent secrets (one seed)\n\nThe exact rate is 0; whatever "
        f"is flagged is a false alarm.\n\n{table(HEADER, [_row(n, [m]) for n, m in others[0].items()])}\n\n"
        "## What bigrams cannot see (one seed)\n\nTwo chains of 50 words interleaved: neighbours are independent, "
        f"every second word follows.\n\n{table(HEADER, [_row(n, [m]) for n, m in others[1].items()])}"
    )


def _mean(seeds: list[dict[str, Marks]], name: str, field: str) -> float:
    return float(np.mean([getattr(seed[name], field) for seed in seeds]))


def main() -> None:
    """Run every part on two processes and write the page."""
    start = time.monotonic()
    with ProcessPoolExecutor(2) as pool:
        seeds = [pool.submit(main_part, seed) for seed in SEEDS]
        others = [pool.submit(other_part, which) for which in ("independent", "interleaved")]
        sizes = [pool.submit(size_part, n) for n in SIZES]
        found = [[job.result() for job in jobs] for jobs in (seeds, sizes, others)]
    text = _text(*found) + f"\n\n{time.monotonic() - start:.0f} s on two shared cores."
    write("chains", "Attackers on chains with a known posterior", text)


if __name__ == "__main__":
    main()

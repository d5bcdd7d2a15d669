"""Peeking: looking after every document and stopping at the first yes, when the truth is exactly δ.

A wrong yes is an upper bound below δ at any of the looks. Fixed-n bounds were never meant for this.
"""

from __future__ import annotations

import math
import time

import numpy as np
from scipy import special

from oddshift.bounds import BETS
from studies.tables import table, write

RUNS, LOOKS, ALPHA, PAIRS = 2_000, 3_000, 0.05, 20


def betting_errs(values: np.ndarray, delta: float) -> np.ndarray:
    """Whether the grid mixture ever reaches 1/alpha, for each row of values."""
    logs = np.stack([np.cumsum(np.log1p(bet * (delta - values)), axis=1) for bet in BETS])
    peak = logs.max(axis=0)
    log_e = peak + np.log(np.exp(logs - peak).mean(axis=0))
    return np.asarray((log_e >= -math.log(ALPHA)).any(axis=1))


def clopper_pearson_errs(values: np.ndarray, delta: float) -> np.ndarray:
    """Whether the exact fixed-n bound is ever at or below δ, for each row of 0/1 values."""
    k, n = np.cumsum(values, axis=1), np.arange(1, values.shape[1] + 1)
    tail = special.betaincc(k + 1, np.maximum(n - k, 1e-9), delta)
    return np.asarray(((tail <= ALPHA) & (k < n)).any(axis=1))


def robbins_errs(values: np.ndarray, delta: float) -> np.ndarray:
    """Whether Robbins' mixture ever reaches 1/alpha, for each row of 0/1 values."""
    k, n = np.cumsum(values, axis=1), np.arange(1, values.shape[1] + 1)
    with np.errstate(divide="ignore"):
        mass = np.log(special.betainc(k + 1, n - k + 1, delta)) + special.betaln(k + 1, n - k + 1)
    log_e = mass - (k + 1) * math.log(delta) - (n - k) * math.log1p(-delta)
    return np.asarray((log_e >= -math.log(ALPHA)).any(axis=1))


def rates(delta: float, icc: float, runs: int = RUNS, looks: int = LOOKS) -> tuple[float, float, float]:
    """Share of runs with a wrong yes: betting on fractions, Robbins and Clopper-Pearson on 0/1 values."""
    rng = np.random.default_rng([7, int(1000 * delta), int(100 * icc)])
    errs = np.zeros(3)
    for start in range(0, runs, 100):
        size = (min(100, runs - start), looks)
        own = rng.beta(delta * (1 / icc - 1), (1 - delta) * (1 / icc - 1), size) if icc else np.full(size, delta)
        fractions = rng.binomial(PAIRS, own) / PAIRS
        zero_one = (rng.random(size) < own).astype(float)
        errs += [
            betting_errs(fractions, delta).sum(),
            robbins_errs(zero_one, delta).sum(),
            clopper_pearson_errs(zero_one, delta).sum(),
        ]
    first, second, third = (errs / runs).tolist()
    return first, second, third


def main() -> None:
    """Run every cell and write the table."""
    start = time.process_time()
    cells = [(0.1, 0.0), (0.1, 0.3), (0.05, 0.0), (0.01, 0.3)]
    rows = [[d, icc or "none", *(f"{100 * share:.2f} %" for share in rates(d, icc))] for d, icc in cells]
    header = ["p = δ", "ICC", "betting (default)", "Robbins", "Clopper-Pearson, misused"]
    text = (
        f"{RUNS} runs, a look after each of {LOOKS} documents, level {ALPHA}: share of runs that ever say yes. The two "
        f"anytime methods must stay at or below 6.5 %.\n\n{table(header, rows)}\n\n"
        f"CPU time {time.process_time() - start:.0f} s."
    )
    write("peeking", "Optional stopping", text)


if __name__ == "__main__":
    main()

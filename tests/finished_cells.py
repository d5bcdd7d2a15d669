"""Finished cells of the reproduction made in memory, for tests of what is read out of them."""

from pathlib import Path

from studies.paper.cell_store import FinishedCell
from studies.paper.paper_claims import Results
from studies.paper.paper_numbers import EPSILONS, METHODS
from studies.paper.reproductions import REPRODUCTIONS


def finished(name, key, values, seed=0, **settings):
    """A finished cell with these values."""
    return FinishedCell(
        name=name, key=key, command=f"python -m studies.paper {name}", settings=settings, seed=seed,
        data={}, versions={"oddshift": "0"}, cpu_seconds=1.0, values=values,
    )  # fmt: skip


def results_of(*cells):
    """All that a folder with exactly these cells would hold."""
    by_name = {name: {} for name in REPRODUCTIONS}
    for cell in cells:
        by_name[cell.name][cell.key] = cell
    return Results(Path("nowhere"), by_name)


def violation_row(epsilon, method, rate, **other):
    """One row of a network: at T = 1 the given rate, at the fitted T nothing."""
    at = {"T": 1.0, "rate": rate, "null": 0.05, "own": rate + 0.01, "mean_mpl": 1.4, **other}
    rules = {"one": at, "fitted": {**at, "T": 2.0, "rate": 0.0, "mean_mpl": at["mean_mpl"] / 2}, "matched": at}
    return {"epsilon": epsilon, "method": method, "rules": rules}


def network_cell(rate_of, corpus="ag_news", attacker="rnn", seed=0):
    """A network's cell of the table; `rate_of(epsilon, method)` is its rate, or its rate and more numbers."""
    rows = []
    for epsilon in EPSILONS:
        for method in METHODS:
            made = rate_of(epsilon, method)
            rate, other = made if isinstance(made, tuple) else (made, {})
            rows.append(violation_row(epsilon, method, rate, **other))
    key = f"{corpus}-{attacker}-{seed}"
    return finished("table-violations", key, {"rows": rows}, seed, kind="network", corpus=corpus, attacker=attacker)


def sound_cell(em, ampl, corpus="ag_news"):
    """A cell of sound mode; both methods have (lower, upper) bounds for every budget."""
    rows = [
        {"epsilon": epsilon, "method": method, "uniform": {"lower": low, "upper": high}}
        for epsilon in EPSILONS
        for method, (low, high) in (("EM", em), ("AmPL", ampl))
    ]
    return finished("table-violations", f"{corpus}-sound-0", {"rows": rows}, kind="sound", corpus=corpus)


def front_cells(corpus="amazon", attacker="transformer", slope=0.04, repaired=0.11):
    """A surface whose ratio rises with both budgets and losses that fall with them."""
    grid = [0.26, 2.6]
    low, high = 0.1 + slope * 0.26, 0.1 + slope * 2.6
    table = [[low, (low + high) / 2], [(low + high) / 2, high]]
    at = {"rate": 0.2, "null": 0.05, "own": 0.21, "T": 1.0, "mean_mpl": 1.4, "cosine": 0.7}
    surface = {
        "grid": grid, "rates": {f"{e:g}": [table, table] for e in EPSILONS}, "shares": [0.5, 0.5], "line": grid,
        "losses": [[0.4, 0.1]] * 2, "weights": [0.5, 0.5], "chosen_by": at,
    }  # fmt: skip
    ways = {
        way: [[top, (top + 0.1) / 2], [(top + 0.1) / 2, 0.1]]
        for way, top in (("drawn", 0.4), ("remapped", 0.3), ("repaired", repaired))
    }
    losses = {"grid": grid, "losses": ways, "constant_word": 0.3, "size": {"documents": [1_200, 150, 450]}}
    key = f"{corpus}-{attacker}-surface"
    return (
        finished("table-violations", key, surface, kind="surface", corpus=corpus, attacker=attacker),
        finished("tradeoff", corpus, losses),
    )

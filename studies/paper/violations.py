"""The table of violation ratios: five methods, three networks, three budgets and several seeds on one corpus.

A `surface` cell holds what the search reads; a network's cell trains one for every method at its own scales and reads
it under three rules for T, with null and own next to it; a `sound` cell has our own attackers, with intervals. Each
network is trained from nothing, for one choice of budgets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.paired_log_score import gain, units_of
from oddshift.attackers.paper import Paper, guesses, squared_distances
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting_lower, betting_upper
from oddshift.mechanisms.utility import losses
from oddshift.model.records import Records
from oddshift.model.release import perturb
from studies.paper.cell_store import Cell, read_cell
from studies.paper.layouts import LayoutShifts, drawn_layout, layout_shifts
from studies.paper.paper_numbers import EPSILONS, METHODS, violation
from studies.paper.paper_reading import LayoutSize, Read, exact_row, layout_size, read, released
from studies.paper.reproduction import Place
from studies.paper.search_surface import LoopWeights, Surface, replayed
from studies.paper.studied_corpus import Budgets, StudiedCorpus, positions_of, studied, trained

GRID = tuple(float(b) for b in np.round(np.linspace(0.26, 2.6, 5), 3))
LINE = tuple(float(b) for b in np.round(np.linspace(0.26, 2.6, 10), 3))
"""Budgets from a tenth of the largest of the paper's table up to it."""

SHARED_METHODS = {"AmPL-U": "EM"}
"""Methods that end at the scales of another one: λ_1 = 0 leaves every scale at 1."""


def violations(cell: Cell, place: Place) -> dict[str, Any]:
    """One cell of the table, by the kind that its settings name."""
    kind, corpus = str(cell.settings["kind"]), studied(cell.settings, place.data, cell.seed)
    if kind == "surface":
        return surface_values(corpus, cell)
    return _sound(corpus, cell, place) if kind == "sound" else _network(corpus, cell, place)


def surface_values(corpus: StudiedCorpus, cell: Cell) -> dict[str, Any]:
    """Ratios by tier at T = 1 over the grid of budgets, a network trained from nothing at each; losses by tier.

    `chosen_by` is how that network reads EM at 2.5 on the documents of the search, to be held against those reported.
    """
    architecture, size = str(cell.settings["attacker"]), layout_size(cell.settings)
    select, shape = corpus.split.select, (2, len(GRID), len(GRID))
    rates = {f"{e:g}": np.empty(shape) for e in EPSILONS}
    for row, first in enumerate(GRID):
        for column, second in enumerate(GRID):
            known = corpus.known((first, second))
            network = trained(known, architecture, cell.settings, cell.seed)
            beyond = [shifts.beyond(EPSILONS) for shifts in tier_shifts(network, known, select, size, cell.seed)]
            for values, found in zip(rates.values(), np.transpose(beyond), strict=True):
                values[:, row, column] = found
    at_em = corpus.known((2.5, 2.5))
    network = trained(at_em, architecture, cell.settings, cell.seed)
    found = read(network, at_em, select, select, size, seed=cell.seed)
    tier_of = select.tier_of_position(corpus.tiers)
    return {
        "grid": list(GRID),
        "rates": rates,
        "chosen_by": {**found.at(2.5, 1.0), "cosine": found.cosine},
        "shares": [float(np.mean(tier_of == tier)) for tier in range(2)],
        **loss_line(corpus),
        **sizes(corpus),
    }


def loss_line(corpus: StudiedCorpus) -> dict[str, Any]:
    """The expected cosine loss of each tier over a line of budgets, and what each tier weighs."""
    weights, labels = corpus.weights, corpus.tiers.labels
    inside = np.stack([weights * (labels == tier) for tier in range(2)])
    by_budget = np.stack([losses(corpus.known((b, b)).mechanism, "cosine") for b in LINE])
    tiers = (inside @ by_budget.T) / inside.sum(axis=1, keepdims=True)
    return {"line": list(LINE), "losses": tiers, "weights": inside.sum(axis=1)}


def tier_shifts(
    attacker: Paper, known: Knowledge, records: Records, size: LayoutSize, seed: int
) -> tuple[LayoutShifts, LayoutShifts]:
    """T·mPL of a layout for each tier: observations of that tier, candidates of both."""
    release, space = released(known, records, [seed, 2]), known.mechanism.space
    guess, found = guesses(attacker, release), []
    for tier in range(2):
        mine = positions_of(records, known.tiers, tier)
        rng = np.random.default_rng([seed, 3, tier])
        half = size.observations // 2
        seen, compared = drawn_layout(len(mine), len(space), rng, candidates=size.candidates, observations=half)
        shift = -squared_distances(guess[mine[seen]], attacker.points[compared])
        found.append(layout_shifts(shift, space, compared))
    return found[0], found[1]


def _network(corpus: StudiedCorpus, cell: Cell, place: Place) -> dict[str, Any]:
    """Every method at every ε for one network and one seed, each trained from nothing at its own scales."""
    architecture = str(cell.settings["attacker"])
    surface = stored_surface(corpus.name, architecture, place)
    done: dict[Budgets, Read] = {}
    loop = LoopWeights(**cell.settings["loop"])
    rows = []
    for epsilon in cell.settings.get("epsilons", EPSILONS):
        matched = 0.0
        for method in cell.settings.get("methods", METHODS):
            chosen = SHARED_METHODS.get(method, method)
            scales = replayed(Surface.of(surface, epsilon), epsilon, chosen, loop)
            budgets = (round(scales[0] * epsilon, 4), round(scales[1] * epsilon, 4))
            if budgets not in done:
                done[budgets] = budget_reading(corpus, architecture, budgets, cell)
            reading = done[budgets]
            matched = matched or reading.matched(epsilon, violation("EM", corpus.name, architecture, epsilon)[0] / 100)
            rows.append(
                {
                    "epsilon": epsilon,
                    "method": method,
                    "scales": list(scales),
                    "loss": _loss(surface, epsilon, scales),
                    "exact": exact_row(reading, epsilon),
                    "rules": reading.rules(epsilon, matched),
                    "cosine": reading.cosine,
                }
            )
    return {"rows": rows, "temperature_curve": done[2.5, 2.5].curve(2.5), **sizes(corpus)}


def budget_reading(corpus: StudiedCorpus, architecture: str, budgets: Budgets, cell: Cell) -> Read:
    """A network trained from nothing for some budgets, read on the certify part."""
    known = corpus.known(budgets)
    network = trained(known, architecture, cell.settings, cell.seed)
    return read(network, known, corpus.split.certify, corpus.split.select, layout_size(cell.settings), seed=cell.seed)


def _loss(surface: Mapping[str, Any], epsilon: float, scales: tuple[float, float]) -> float:
    found = Surface.of(surface, epsilon)
    return float(found.loss(epsilon * np.asarray(scales)) @ found.weights)


def _sound(corpus: StudiedCorpus, cell: Cell, place: Place) -> dict[str, Any]:
    """Our own attackers against the scales of every method: the rate of documents with its interval, and the gain."""
    rows, certify = [], corpus.split.certify
    at_em = corpus.known((2.5, 2.5))
    attacker = fit_portfolio(at_em, np.random.default_rng([cell.seed, 5]))
    surface = stored_surface(corpus.name, "transformer", place)
    units, loop = units_of(certify), LoopWeights(**cell.settings["loop"])
    for epsilon in EPSILONS:
        for method in cell.settings["methods"]:
            scales = replayed(Surface.of(surface, epsilon), epsilon, method, loop)
            known = corpus.known((scales[0] * epsilon, scales[1] * epsilon))
            release = perturb(certify, known.mechanism, known.tiers, np.random.default_rng([cell.seed, 6]))
            found = scan(
                attacker.against(known), release, certify, Budget(known.mechanism, known.tiers, epsilon),
                np.random.default_rng([cell.seed, 7]), laws=("anchored", "uniform"), detailed=False,
            )  # fmt: skip
            by_law = {law: units.means(found.rate(law)) for law in ("uniform", "anchored")}
            joint = gain(found.scores.own_score, found.scores.log_score, units)
            rows.append(
                {
                    "epsilon": epsilon,
                    "method": method,
                    "scales": list(scales),
                    "exact_epsilon": known.mechanism.exact_epsilon,
                    "documents": len(by_law["uniform"]),
                    **{law: _interval(values) for law, values in by_law.items()},
                    "top1": float(units.means(found.hit).mean()),
                    "gain": joint.mean,
                    "gain_error": joint.error,
                }
            )
    return {"attacker": attacker.name, "level": 0.05, "rows": rows, **sizes(corpus)}


def _interval(values: FloatArray) -> dict[str, float]:
    """The mean over documents and both bounds, each at level .05."""
    return {"mean": float(values.mean()), "lower": betting_lower(values, 0.05), "upper": betting_upper(values, 0.05)}


def sizes(corpus: StudiedCorpus) -> dict[str, Any]:
    """How much there is: documents of each part, words of each tier, positions."""
    parts, labels = corpus.split.parts, corpus.tiers.labels
    return {
        "size": {
            "documents": [len(part) for part in parts],
            "positions": [len(part.points) for part in parts],
            "words": [int((labels == tier).sum()) for tier in range(2)],
        }
    }


def stored_surface(corpus: str, architecture: str, place: Place) -> Mapping[str, Any]:
    """The surface of a network, from its finished cell."""
    path = place.results / "table-violations" / f"{corpus}-{architecture}-surface.json"
    if not path.is_file():
        raise InvalidInput(
            f"the cell {path.name} of table-violations is not there, expected it first: python -m studies.paper "
            f"table-violations/{corpus}-{architecture}-surface"
        )
    return read_cell(path).values

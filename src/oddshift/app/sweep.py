"""A sweep: one question asked at every point of a grid, for research; a row for each cell, and no certificate.

The table `[sweep]` of a configuration lists values of what varies. Every cell is an audit, or the paper's loop and then
an audit at the scales where it ended. Finished cells are kept and not computed again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.configuration import Configuration, FileData
from oddshift.app.resources import Means
from oddshift.app.run import COSTS, Run, knowledge_of
from oddshift.app.run_folder import inputs_of
from oddshift.app.sweep_settings import SweepSettings
from oddshift.audit import Audit
from oddshift.audit.notes import CONTROLS
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution, Progress, run_unordered, silent
from oddshift.base.identity import fingerprint
from oddshift.base.storage import write_atomic
from oddshift.data.dataset import Dataset, read_dataset
from oddshift.data.preparation import Prepared, prepare
from oddshift.mechanisms.utility import expected_loss

CELLS = "cells"
"""The folder of finished cells inside that of a sweep."""

EXPLORATORY = "A sweep is exploratory: its rows are estimates of many questions, certify nothing, and spend no level."

Row = dict[str, Any]
"""One cell: the values of what varies, and what was measured there."""


def at_point(config: Configuration, point: Mapping[str, Any]) -> Configuration:
    """The configuration of one cell."""
    shared = {name: point[name] for name in ("seed", "epsilon") if name in point}
    if "attackers" in point:
        shared["attackers"] = (point["attackers"],)
    if "temperature" in point:
        shared["paper"] = replace(config.audit.paper, temperature="fixed", tau_base=point["temperature"], tau=1.0)
    mechanism, data = config.mechanism, config.data
    if "epsilon" in point:
        mechanism = replace(mechanism, epsilon=None)
    if "mechanism" in point:
        mechanism = replace(mechanism, name=point["mechanism"])
    if "scales" in point:
        mechanism = _scaled(mechanism, point["scales"])
    if "documents" in point and not isinstance(data, FileData):
        data = replace(data, documents=point["documents"])
    loop = {name: point[name] for name in ("preset", "rate_weight", "loss_weight") if name in point}
    adapt = config.adapt
    if loop:
        if adapt is None:
            raise InvalidInput(
                f"sweep.{next(iter(loop))} needs audit.delta, expected the share that may exceed epsilon"
            )
        adapt = replace(adapt, **shared, **loop, objective="weighted")
    audit = replace(config.audit, **shared)
    return replace(config, data=data, mechanism=mechanism, audit=audit, adapt=adapt)


def _scaled(mechanism: Any, scales: Sequence[float]) -> Any:
    """The mechanism with a scale for each tier; the exponential one is then that of tiers."""
    name = "tiered" if mechanism.name == "exponential" else mechanism.name
    return replace(mechanism, name=name, scales=tuple(scales))


@dataclass(frozen=True)
class _Cell:
    config: Configuration
    point: Mapping[str, Any]
    path: Path


def sweep(
    config: Configuration, folder: Path, execution: Execution | None = None, progress: Progress = silent
) -> list[Row]:
    """Compute the cells that are not there, and write every row to `sweep.csv` (and `.parquet`), with page and picture.

    **Guarantee**: none. Rows are estimates on the same documents, chosen after they were seen; no level of error is
    spent, and nothing here can be verified or released from.
    """
    asked = config.sweep
    if asked is None:
        raise InvalidInput("missing table [sweep], expected lists of what varies")
    data = inputs_of(config).files
    cells = []
    for point in asked.points:
        made = at_point(config, point)
        name = fingerprint(("sweep", made.fingerprint, data, point))[:16]
        cells.append(_Cell(made, point, folder / CELLS / f"{name}.json"))
    missing = [cell for cell in cells if not cell.path.is_file()]
    (folder / CELLS).mkdir(parents=True, exist_ok=True)
    for done, _ in enumerate(run_unordered(_computed, missing, execution or config.execution), 1):
        progress("computing cells", len(cells) - len(missing) + done, len(cells))
    return [json.loads(cell.path.read_text(encoding="utf-8")) for cell in cells]


def _computed(cell: _Cell) -> None:
    """Compute a cell and keep it as a whole file."""
    row = {**cell.point, **cell_values(cell.config, cell.point)}
    write_atomic(cell.path, (json.dumps(row, allow_nan=False) + "\n").encode())


def cell_values(config: Configuration, point: Mapping[str, Any]) -> Row:
    """What one cell finds: rates and guesses of the first attacker, its gain, the expected loss and the exact ε."""
    prepared = _prepared(config.data, point.get("documents"), config.audit.seed)
    mechanism, run = config.mechanism, Run(prepared, config.mechanism, Means())
    if config.adapt is not None and config.adapt.objective == "weighted":
        mechanism = _scaled(mechanism, run.adapt(config.adapt).result.rounds[-1].outcome.scales)
        run = replace(run, mechanism=mechanism)
    found = run.audit(replace(config.audit, delta=None)).result
    known = knowledge_of(prepared, mechanism, config.audit.epsilon)
    loss = expected_loss(known.mechanism, known.weights, COSTS.get(prepared.kind, "euclidean"))
    ends = None if mechanism.scales is None else list(mechanism.scales)
    return {"ends_at": ends, "loss": loss, "exact_epsilon": found.exact_epsilon, **_measured(found)}


def _measured(found: Audit) -> Row:
    """Rates by tier and over all positions, for the attacker that was asked for: the first besides the controls."""
    row = next((each for each in found.attackers if each.name not in CONTROLS), found.attackers[-1])
    counts = np.array([tier.positions for tier in row.tiers], dtype=np.float64)
    values: Row = {"attacker": row.name, "certify_documents": found.documents[2], "positions": int(counts.sum())}
    for what in ("uniform", "anchored", "top1"):
        each = [float(getattr(tier, what)) for tier in row.tiers]
        values[what] = float(counts @ np.array(each) / counts.sum()) if counts.sum() else 0.0
        values |= {f"{what}[{tier.tier}]": value for tier, value in zip(row.tiers, each, strict=True)}
    return values | {"log_score": row.log_score, "gain": row.gain, "gain_error": row.gain_error}


@lru_cache(maxsize=2)
def _prepared(data: Any, documents: int | None, seed: int) -> Prepared:
    """The data of a cell, prepared once for cells that share them; fewer documents are the first of a random order."""
    if not isinstance(data, FileData):
        return prepare(data, seed)
    found = _read(data)
    if documents is not None:
        if documents > len(found):
            raise InvalidInput(
                f"sweep.documents={documents}, expected at most {len(found)}, the records that are there"
            )
        chosen = np.zeros(len(found), dtype=np.bool_)
        chosen[np.random.default_rng(0).permutation(len(found))[:documents]] = True
        found = replace(found, columns=found.rows(chosen))
    return prepare(found, seed)


@lru_cache(maxsize=1)
def _read(data: FileData) -> Dataset:
    return read_dataset(data.path, data.settings)


@dataclass(frozen=True)
class PairedTest:
    """One value of what varies against the first one: differences within pairs that agree in all else, by seed.

    `pairs` counts seeds (or cells, without seeds); `error` is the standard error over them, None for one alone, and `p`
    that of the two-sided sign test.
    """

    value: str
    against: str
    what: str
    pairs: int
    difference: float
    error: float | None
    p: float


def paired_tests(rows: Sequence[Row], asked: SweepSettings) -> list[PairedTest]:
    """Every value of `compare` against its first one: uniform and anchored rates, right guesses, and the loss.

    Differences are averaged over the cells of a seed first, because those share documents and noise.

    >>> rows = [{"seed": s, "preset": m, "uniform": u, "anchored": u, "top1": u, "loss": 0.0}
    ...         for s in range(6) for m, u in (("EM", 0.2), ("AmPL", 0.1 + s / 100))]
    >>> asked = SweepSettings(seed=tuple(range(6)), preset=("EM", "AmPL"), compare="preset")
    >>> found = paired_tests(rows, asked)[0]
    >>> found.pairs, round(found.difference, 3), found.p
    (6, -0.075, 0.03125)
    """
    name = asked.compare
    if not name:
        return []
    first, *others = asked.axes[name]
    rest = [axis for axis in asked.axes if axis != name]
    unit = ["seed"] if "seed" in rest else rest
    by_place = {(_key(row, rest), _hashed(row[name])): row for row in rows}
    found = []
    for other, what in product(others, ("uniform", "anchored", "top1", "loss")):
        gaps: dict[Any, list[float]] = {}
        for row in rows:
            if _hashed(row[name]) == _hashed(other):
                base = by_place[_key(row, rest), _hashed(first)]
                gaps.setdefault(_key(row, unit), []).append(row[what] - base[what])
        means = np.array([np.mean(values) for values in gaps.values()])
        error = float(means.std(ddof=1) / math.sqrt(len(means))) if len(means) > 1 else None
        found.append(PairedTest(str(other), str(first), what, len(means), float(means.mean()), error, sign_test(means)))
    return found


def sign_test(differences: Sequence[float] | np.ndarray[Any, Any]) -> float:
    """The two-sided sign test: twice the chance of so few of the rarer sign under a fair coin; ties are left out.

    >>> sign_test([1.0, 2.0, 3.0, -1.0, 0.0])
    0.625
    """
    above, below = int(np.sum(np.asarray(differences) > 0)), int(np.sum(np.asarray(differences) < 0))
    n, few = above + below, min(above, below)
    return min(1.0, 2.0 * sum(math.comb(n, k) for k in range(few + 1)) / 2.0**n)


def front(rows: Sequence[Row], rate: str = "anchored") -> list[Row]:
    """The rows that no other one beats in both loss and rate, from the smallest loss on.

    >>> [r["loss"] for r in front([{"loss": a, "anchored": b} for a, b in ((1, 3), (2, 2), (3, 2), (4, 1))])]
    [1, 2, 4]
    """
    found: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["loss"], row[rate])):
        if not found or row[rate] < found[-1][rate]:
            found.append(row)
    assert all(a["loss"] <= b["loss"] for a, b in pairwise(found))
    return found


def _hashed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


def _key(row: Row, axes: Sequence[str]) -> tuple[Any, ...]:
    return tuple(_hashed(row[axis]) for axis in axes)

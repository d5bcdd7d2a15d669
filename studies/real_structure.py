"""Two attackers written down for one structure each, next to the default attackers, which must find it by themselves.

An exponential-step walk for movement: the next place is x' with probability proportional to exp(−d(x, x')/s), s by
likelihood. For a value that stands twice in a group: the product of both likelihoods, which is exact.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.configuration import Configuration, parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.run import fit_attackers, knowledge_of
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.controls import Own
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import FloatArray
from oddshift.data.preparation import Prepared
from oddshift.model.records import Records
from oddshift.model.release import Release, perturb

STEPS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0)
"""Kilometres of a step that are tried."""


def moving(made: Path) -> dict[str, Any]:
    """The share of places that is guessed: from one release, by the walk, and by the default attackers."""
    config, prepared, known = _opened(made)
    certify = prepared.split.certify
    release = perturb(certify, known.mechanism, known.tiers, np.random.default_rng(5))
    law, step = _walk(prepared)
    beliefs = [_smoothed(known, law, release.outputs[a:b]) for a, b in _spans(certify)]
    hits = np.concatenate([b.argmax(axis=1) for b in beliefs]) == certify.points
    right = _default(config, prepared, known, release)
    sizes = {"fixes": len(certify.points), "cells": len(certify.space), "step": step}
    return {**sizes, "walk": float(hits.mean()), **{name: float(found.hit.mean()) for name, found in right.items()}}


def repeating(data: Path, column: str, group: str) -> dict[str, Any]:
    """Anchored pairs beyond ε where a column stands in all rows of a group and each cell is drawn by itself."""
    made = data.with_name("repeats.toml")
    made.write_text(
        f'[data]\nkind = "table"\npath = "{data.name}"\nnumeric = ["{column}"]\ngroup = "{group}"\n'
        '[mechanism]\nname = "exponential"\nepsilon = 1.0\ncalibrated = true\n[audit]\ndelta = 0.05\n',
        encoding="utf-8",
    )
    config, prepared, known = _opened(made)
    certify = prepared.split.certify
    release = perturb(certify, known.mechanism, known.tiers, np.random.default_rng(5))
    log_matrix, distances = known.mechanism.log_matrix, certify.space.distances
    beyond = []
    for a, b in _spans(certify):
        shift = log_matrix[:, release.outputs[a:b]].sum(axis=1)
        for truth in certify.points[a:b]:
            others = np.arange(len(shift)) != truth
            beyond.append(float((np.abs(shift - shift[truth])[others] > distances[truth][others] + 1e-9).mean()))
    right = _default(config, prepared, known, release)
    rates = {name: float(found.rate("anchored").mean()) for name, found in right.items()}
    return {"groups": len(certify), "exact": float(np.mean(beyond)), **rates}


def _opened(made: Path) -> tuple[Configuration, Prepared, Knowledge]:
    config = parse_config(made.read_text(encoding="utf-8"), made.name, made.parent)
    prepared = prepare_configured(config)
    return config, prepared, knowledge_of(prepared, config.mechanism, config.audit.epsilon)


def _default(config: Configuration, prepared: Prepared, known: Knowledge, release: Release) -> dict[str, Any]:
    """Scans of the single release and of the attackers of an audit that names none."""
    names = [name for name in config.audit.attackers if known.fit.context is not None or not name.endswith("+W")]
    fitted = fit_attackers(names, known, prepared, config.audit, FitOptions())
    budget, truth = Budget(known.mechanism, known.tiers, config.audit.epsilon), prepared.split.certify
    return {a.name: scan(a, release, truth, budget, np.random.default_rng(1)) for a in (Own(known), *fitted)}


def _spans(records: Records) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in zip(records.offsets, records.offsets[1:], strict=False) if b > a]


def _walk(prepared: Prepared) -> tuple[FloatArray, float]:
    """The transitions of the step that makes the fit part most likely, and that step."""
    fit = prepared.split.fit
    pairs = [fit.points[a:b] for a, b in _spans(fit)]
    before, after = np.concatenate([p[:-1] for p in pairs]), np.concatenate([p[1:] for p in pairs])
    laws = {}
    for step in STEPS:
        weights = np.exp(-fit.space.distances / step)
        laws[step] = weights / weights.sum(axis=1, keepdims=True)
    best = max(STEPS, key=lambda step: float(np.log(np.maximum(laws[step][before, after], 1e-300)).sum()))
    return laws[best], best


def _smoothed(known: Knowledge, law: FloatArray, outputs: Any) -> FloatArray:
    """Forward and backward: the belief about every place of a trip."""
    seen = known.mechanism.log_matrix[:, outputs].T
    seen = np.exp(seen - seen.max(axis=1, keepdims=True))
    forward, backward = np.empty_like(seen), np.ones_like(seen)
    forward[0] = np.exp(known.log_prior - known.log_prior.max()) * seen[0]
    for t in range(1, len(seen)):
        forward[t] = forward[t - 1] @ law * seen[t]
        forward[t] /= forward[t].sum()
    for t in range(len(seen) - 2, -1, -1):
        backward[t] = law @ (backward[t + 1] * seen[t + 1])
        backward[t] /= backward[t].sum()
    return forward * backward

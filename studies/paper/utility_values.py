"""Utility loss of the five methods, with and without remapping, exactly from the channel; and what it is made of.

Every loss comes with the effective number of outputs and the loss of one constant word: a remapping that gains by
releasing a handful of words serves for nothing. The vocabulary cell varies |Y| and the prior.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.data.codecs import read_vectors
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import constant_output, effective_outputs, expected_loss
from oddshift.model.space import Space
from studies.paper.cell_store import Cell
from studies.paper.paper_numbers import ATTACKERS, EPSILONS
from studies.paper.reproduction import Place
from studies.paper.search_surface import READINGS, LoopWeights, Surface, replayed
from studies.paper.studied_corpus import studied
from studies.paper.violations import sizes, stored_surface

RELEASED_METHODS = ("EM", "AmPL", "AmPL-P", "AmPL-1")
"""Methods with scales of their own; AmPL-U is EM."""


def utility_values(cell: Cell, place: Place) -> dict[str, Any]:
    """The losses of a corpus, of EM over all its documents, or of vocabularies of several sizes."""
    return {"vocabulary": _vocabularies, "all": _whole, "corpus": _corpus}[cell.settings["kind"]](cell, place)


def _whole(cell: Cell, place: Place) -> dict[str, Any]:
    """EM with the vocabulary and the prior of all documents that are there."""
    corpus = studied(cell.settings, place.data, cell.seed)
    weights = corpus.weights
    rows = [{"epsilon": e, "method": "EM", **both(corpus.known((e, e)).mechanism, weights)} for e in EPSILONS]
    constant = constant_output(corpus.split.fit.space, weights, "cosine")[1]
    return {"rows": rows, "constant_word": constant, **sizes(corpus)}


def _corpus(cell: Cell, place: Place) -> dict[str, Any]:
    """Every method at the scales that each network chooses; those of the readings of AmPL-1 are the Transformer's."""
    corpus, loop = studied(cell.settings, place.data, cell.seed), LoopWeights(**cell.settings["loop"])
    weights, done, rows = corpus.weights, {}, []
    surfaces = {attacker: stored_surface(corpus.name, attacker, place) for attacker in ATTACKERS}
    for attacker, epsilon, method in product(ATTACKERS, EPSILONS, RELEASED_METHODS):
        scales = replayed(Surface.of(surfaces[attacker], epsilon), epsilon, method, loop)
        budgets = (scales[0] * epsilon, scales[1] * epsilon)
        if budgets not in done:
            done[budgets] = both(corpus.known(budgets).mechanism, weights)
        names = {"attacker": attacker, "epsilon": epsilon, "method": method}
        rows.append({**names, "scales": list(scales), **done[budgets]})
    surface = surfaces["transformer"]
    readings = {name: _reading(replayed(Surface.of(surface, 2.5), 2.5, name, loop), surface) for name in READINGS}
    constant = constant_output(corpus.split.fit.space, weights, "cosine")[1]
    return {"rows": rows, "constant_word": constant, "readings_of_ampl_1": readings, **sizes(corpus)}


def _reading(scales: tuple[float, float], surface: Any) -> dict[str, Any]:
    """Where a reading of AmPL-1 ends and what that costs; what is released in the clear costs nothing."""
    found = Surface.of(surface, 2.5)
    by_tier = found.loss(2.5 * np.asarray(scales)) * np.array([1.0, float(scales[1] <= 1.0)])
    return {"scales": list(scales), "loss": float(by_tier @ found.weights)}


def both(mechanism: Mechanism, weights: FloatArray) -> dict[str, float]:
    """Loss and effective outputs before and after remapping."""
    remapped = Remap(mechanism, weights, "cosine")
    return {
        "loss": expected_loss(mechanism, weights, "cosine"),
        "outputs": effective_outputs(mechanism, weights),
        "remapped_loss": expected_loss(remapped, weights, "cosine"),
        "remapped_outputs": effective_outputs(remapped, weights),
    }


def _vocabularies(cell: Cell, place: Place) -> dict[str, Any]:
    """EM at ε = 2.5 over the most frequent words, under a uniform prior and one of 1/rank."""
    vectors, rows = read_vectors(place.data / "glove.6B.100d.npz"), []
    for size in cell.settings["sizes"]:
        space = Space(np.asarray(vectors.vectors[:size], dtype=np.float64))
        for prior, law in (("uniform", np.ones(size)), ("1/rank", 1.0 / np.arange(1, size + 1))):
            weights = law / law.sum()
            found = both(Exponential(space, 2.5), weights)
            rows.append(
                {"words": size, "prior": prior, **found, "constant_word": constant_output(space, weights, "cosine")[1]}
            )
    return {"epsilon": 2.5, "rows": rows}

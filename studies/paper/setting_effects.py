"""What the paper leaves open, varied one thing at a time; and an attacker with an embedding of its own.

The row that is watched is AG News, LSTM, ε = 2.5, EM at T = 1; λ and η_0 move where AmPL ends on the stored surface.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.paper import Paper, fit_paper, guesses, squared_distances
from oddshift.attackers.reconstruction import PaperSettings
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import read_vectors
from oddshift.mechanisms.exponential import Exponential
from oddshift.model.space import Space
from studies.paper.cell_store import Cell
from studies.paper.layouts import drawn_layout, layout_shifts
from studies.paper.paper_numbers import ATTACKERS
from studies.paper.paper_reading import LayoutSize, Read, layout_size, own_means, read, released
from studies.paper.reproduction import Place
from studies.paper.search_surface import LoopWeights, Surface, replayed
from studies.paper.studied_corpus import StudiedCorpus, schedule_of, studied
from studies.paper.violations import budget_reading, sizes, stored_surface

LOOPS = (
    *(("AmPL", LoopWeights(rate=rate, first_step=step)) for rate in (1.0, 3.0, 5.0, 10.0, 20.0) for step in (0.3, 1.0)),
    *((method, LoopWeights(rate=10.0, start=start)) for method in ("AmPL", "AmPL-U") for start in (0.9, 0.5)),
)
"""Weights, first steps and starts under which the loop is replayed, each with its method."""

CANDIDATES = (32, 128, 512)


def open_settings(cell: Cell, place: Place) -> dict[str, Any]:
    """Network, prior, outputs, layout and loop, each varied alone."""
    corpus = studied(cell.settings, place.data, cell.seed)
    known = corpus.known((2.5, 2.5))
    plain = PaperSettings(architecture="lstm", width=int(cell.settings["width"]))
    rows, base = [], _trained(known, plain, cell)
    reading = _at(corpus, base, known, cell)
    rows.append({"setting": "default", "value": "", **reading.at(2.5, 1.0), "fitted": reading.fitted})
    for name, changed in {
        "width 32": replace(plain, width=32),
        "width 128": replace(plain, width=128),
        "split by pair": replace(plain, split_by="pair"),
        "fresh noise": replace(plain, fresh_noise=True),
    }.items():
        other = _at(corpus, _trained(known, changed, cell), known, cell)
        rows.append({"setting": "network", "value": name, **other.at(2.5, 1.0), "fitted": other.fitted})
    for candidates in CANDIDATES:
        size = LayoutSize(candidates, int(cell.settings["observations"]))
        other = read(base, known, corpus.split.certify, corpus.split.select, size, seed=cell.seed)
        rows.append({"setting": "candidates", "value": str(candidates), **other.at(2.5, 1.0), "fitted": other.fitted})
    rows.append({"setting": "prior", "value": "empirical", "T": 1.0, **_empirical(corpus, base, known, cell)})
    wide = _wide(corpus, int(cell.settings["more_outputs"]), place)
    other = _at(corpus, _trained(wide, plain, cell), wide, cell)
    rows.append(
        {"setting": "outputs", "value": str(wide.mechanism.n_outputs), **other.at(2.5, 1.0), "fitted": other.fitted}
    )
    any_name = studied({**cell.settings, "tier_rule": "any"}, place.data, cell.seed)
    found = budget_reading(any_name, "lstm", (2.5, 2.5), cell)
    rows.append({"setting": "PII rule", "value": "any", **found.at(2.5, 1.0), "fitted": found.fitted})
    return {"rows": rows, "temperatures": reading.curve(2.5), "loops": _loops(corpus, place), **sizes(corpus)}


def _trained(known: Knowledge, settings: PaperSettings, cell: Cell) -> Paper:
    return fit_paper(known, settings, schedule_of(cell.settings, cell.seed))


def _at(corpus: StudiedCorpus, network: Paper, known: Knowledge, cell: Cell) -> Read:
    return read(network, known, corpus.split.certify, corpus.split.select, layout_size(cell.settings), seed=cell.seed)


def _empirical(corpus: StudiedCorpus, network: Paper, known: Knowledge, cell: Cell) -> dict[str, float]:
    """The violation ratio when the prior taken out is that of the fit documents, at T = 1, with the controls."""
    certify, space, size = corpus.split.certify, known.mechanism.space, layout_size(cell.settings)
    rng = np.random.default_rng([cell.seed, 3])
    seen, compared = drawn_layout(
        len(certify.points), len(space), rng, candidates=size.candidates, observations=size.observations
    )
    release = released(known, certify, [cell.seed, 2])
    guess = guesses(network, release)[seen]
    own = own_means(known, known.mechanism.log_columns(release.outputs[seen]))
    null = np.broadcast_to(space.points.mean(axis=0), guess.shape)

    def rate(found: FloatArray) -> float:
        shift = -squared_distances(found, space.points[compared]) - known.log_prior[compared]
        return layout_shifts(shift, space, compared).beyond([2.5])[0]

    return {"rate": rate(guess), "null": rate(np.asarray(null)), "own": rate(own)}


def _wide(corpus: StudiedCorpus, more: int, place: Place) -> Knowledge:
    """EM whose outputs are the sensitive words and the most frequent other words."""
    vectors = read_vectors(place.data / "glove.6B.100d.npz")
    inside = set(corpus.words)
    others = [k for k, word in enumerate(vectors.words[: 2 * more]) if word not in inside][:more]
    space = corpus.split.fit.space
    outputs = Space(np.concatenate([space.points, np.asarray(vectors.vectors[others], dtype=np.float64)]))
    return knowledge(Exponential(space, 2.5, outputs=outputs), corpus.tiers, corpus.split.fit)


def _loops(corpus: StudiedCorpus, place: Place) -> list[dict[str, Any]]:
    """Where a method ends for some λ_1/λ_2, η_0 and starts, and its rate and loss there."""
    surface = Surface.of(stored_surface(corpus.name, "lstm", place), 2.5)
    rows = []
    for method, loop in LOOPS:
        scales = replayed(surface, 2.5, method, loop)
        budgets = 2.5 * np.asarray(scales)
        rate, loss = float(surface.rate(budgets) @ surface.shares), float(surface.loss(budgets) @ surface.weights)
        rows.append(
            {
                "method": method,
                "start": loop.start,
                "rate_weight": loop.rate,
                "first_step": loop.first_step,
                "scales": list(scales),
                "rate": rate,
                "loss": loss,
            }
        )
    return rows


def embedding_mismatch(cell: Cell, place: Place) -> dict[str, Any]:
    """Mean mPL and violation ratio of an attacker that knows the embedding, and of one that has another."""
    corpus, architecture = studied(cell.settings, place.data, cell.seed), str(cell.settings["attacker"])
    rows = []
    for epsilon in cell.settings["epsilons"]:
        known = corpus.known((epsilon, epsilon))
        for kind, embedding in (("matched", None), ("mismatched", _other(corpus, place))):
            settings = PaperSettings(architecture=architecture, width=int(cell.settings["width"]))
            schedule = schedule_of(cell.settings, cell.seed)
            found = _at(corpus, fit_paper(known, settings, schedule, embedding=embedding), known, cell)
            rules = {"one": found.at(epsilon, 1.0), "fitted": found.at(epsilon, found.fitted)}
            rows.append({"epsilon": epsilon, "kind": kind, "cosine": found.cosine, "rules": rules})
    return {"attacker": architecture, "rows": rows, "words": ATTACKERS[architecture], **sizes(corpus)}


def _other(corpus: StudiedCorpus, place: Place) -> FloatArray:
    """The words in the other embedding, scaled to the mean norm that they have in the mechanism's."""
    found, has = read_vectors(place.data / "minilm.100d.npz").look_up(corpus.words)
    if not has.all():
        raise InvalidInput(f"{int((~has).sum())} words have no vector in minilm.100d.npz, expected the words of GloVe")
    own = np.linalg.norm(corpus.split.fit.space.points, axis=1).mean()
    other = np.asarray(found, dtype=np.float64)
    return np.asarray(other * (own / np.linalg.norm(other, axis=1).mean()))

"""Context vectors: the words around a secret name a direction, and points that lie there are likelier.

log Pr[x | W] = log π(x) + v(x)·c(W) + const, with v the whitened coordinates of the points of a candidate set and
c = Σ_r β_r·f_r over relations r: for each window of words the mean of the secrets that stood in it, shrunk towards 0
where it was seen seldom, and the same for the words of the document. β ≥ 0 predict held-out secrets best (after the
linear discriminant of Gaussian classes with one covariance).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.backoff import supported
from oddshift.attackers.paired_log_score import units_of
from oddshift.attackers.term_weights import ContextTerms, NearWeights, likeliest_weights
from oddshift.attackers.word_relations import document_words, numbers_in, window_relations
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Context, Records

COORDINATES = 40
"""Coordinates of a point that are kept at most, those that vary most."""

SHRUNK = 5.0
"""Occurrences for which the mean of a context counts half."""

HELD_OUT, WEIGHED = 0.2, 1_200
"""The share of the documents on which relations are weighed, and the positions of a set that count."""


@dataclass(frozen=True, eq=False, repr=False)
class ContextMeans:
    """For one candidate set: its points and their coordinates, the weights, the codes of windows, means, words last."""

    points: IntArray
    places: FloatArray  # (points, coordinates)
    weights: FloatArray  # (relations,)
    codes: tuple[IntArray, ...]
    means: tuple[FloatArray, ...]

    def features(self, windows: list[IntArray], words: Any, rows: IntArray, document: IntArray) -> list[FloatArray]:
        """What each relation says at some positions, (positions, coordinates)."""
        found = []
        for codes, means, window in zip(self.codes, self.means, windows, strict=False):
            here = np.zeros((len(rows), self.places.shape[1]))
            if len(codes):
                place = np.minimum(np.searchsorted(codes, window[rows]), len(codes) - 1)
                seen = codes[place] == window[rows]
                here[seen] = means[place[seen]]
            found.append(here)
        return [*found, np.asarray(words @ self.means[-1])[document]]


@dataclass(frozen=True, eq=False, repr=False)
class ContextVectors:
    """The means of every candidate set, and the words that they are about."""

    symbols: tuple[str, ...]
    sets: tuple[ContextMeans, ...]

    def tilt(self, context: Context, tiers: IntArray | None, document: IntArray) -> list[tuple[IntArray, FloatArray]]:
        """For every candidate set its positions and v(x)·c(W), (positions, points of the set)."""
        windows, words = _read(context, tiers, numbers_in(context, self.symbols), len(self.symbols) + 2)
        number = np.zeros(len(document), dtype=np.int64) if tiers is None else tiers
        found = []
        for g, mine in enumerate(self.sets):
            rows = np.flatnonzero(number == g)
            told = np.zeros((len(rows), mine.places.shape[1]))
            if len(rows) and mine.weights.any():
                features = mine.features(windows, words, rows, document[rows])
                told = np.asarray(sum(w * each for w, each in zip(mine.weights, features, strict=True)))
            found.append((rows, told @ mine.places.T))
        return found


def fit_context_vectors(
    fit: Records, tiers: IntArray | None, members: list[IntArray], law: FloatArray, *, least: int, seed: int
) -> ContextVectors:
    """Estimate the means from documents; contexts that fewer than `least` of them hold are left out.

    `tiers` are the public tiers of the positions, `members` the points of every candidate set.
    """
    assert fit.context is not None
    width = len(fit.context.symbols) + 2
    read = _read(fit.context, tiers, np.arange(width), width)
    number = np.zeros(len(fit.points), dtype=np.int64) if tiers is None else tiers
    held = np.random.default_rng(seed).random(len(fit)) < HELD_OUT
    is_held = held[fit.document_of_position]
    found = []
    for g, points in enumerate(members):
        mine = number == g
        places = whitened(fit.space.points[points], law[points])
        rows = np.flatnonzero(mine & ~is_held), np.flatnonzero(mine & is_held)[:WEIGHED]
        weights = np.zeros(len(read[0]) + 1)
        if places.shape[1] and len(rows[1]):
            part = _means(fit, read, (points, places), rows[0], least=least)
            weights = _weighed(fit, part, read, rows[1], law[points])
        found.append(_means(fit, read, (points, places), np.flatnonzero(mine), least=least, weights=weights))
    return ContextVectors(fit.context.symbols, tuple(found))


def whitened(points: FloatArray, law: FloatArray) -> FloatArray:
    """Coordinates of mean 0 and, along the directions that vary most under a law, variance 1.

    >>> whitened(np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([0.5, 0.5])).round(6).tolist()
    [[-1.0], [1.0]]
    """
    share = law / law.sum() if law.sum() > 0 else np.full(len(law), 1.0 / len(law))
    centred = points - share @ points
    variance, axes = np.linalg.eigh((centred * share[:, None]).T @ centred)
    kept = np.argsort(-variance)[:COORDINATES]
    kept = kept[variance[kept] > 1e-9 * max(float(variance.max()), 1e-300)]
    found = centred @ axes[:, kept] / np.sqrt(variance[kept])
    return np.asarray(found * np.where(found[-1:] < 0, -1.0, 1.0)) if found.size else np.zeros((len(points), 0))


def _read(context: Context, tiers: IntArray | None, number: IntArray, width: int) -> tuple[list[IntArray], Any]:
    """The code of every window at every position, and the words of every document, of length one in all."""
    words = document_words(context, number, width).astype(np.float64)
    size = np.sqrt(np.maximum(np.asarray(words.sum(axis=1)).ravel(), 1.0))
    return window_relations(context, tiers, number, width), words.multiply(1.0 / size[:, None]).tocsr()


def _means(
    fit: Records,
    read: tuple[list[IntArray], Any],
    vectors: tuple[IntArray, FloatArray],
    rows: IntArray,
    *,
    least: int,
    weights: FloatArray | None = None,
) -> ContextMeans:
    """The shrunk mean of the secrets in every context that enough documents hold."""
    points, places = vectors
    (windows, words), document = read, fit.document_of_position
    value = np.searchsorted(points, fit.points[rows])
    codes, means = [], []
    for window in windows:
        inside = window[rows] >= 0
        distinct, code = np.unique(window[rows][inside], return_inverse=True)
        kept, mean = _shrunk(code, places[value[inside]], document[rows][inside], (len(distinct), least))
        codes.append(distinct[kept])
        means.append(mean[kept])
    pairs = words[document[rows]].tocoo()
    at, word = pairs.coords
    kept, mean = _shrunk(word.astype(np.int64), places[value[at]], document[rows][at], (words.shape[1], least))
    mean[~kept] = 0.0
    used = np.zeros(len(windows) + 1) if weights is None else weights
    return ContextMeans(points, places, used, tuple(codes), (*means, mean))


def _shrunk(
    code: IntArray, values: FloatArray, document: IntArray, size: tuple[int, int]
) -> tuple[np.ndarray, FloatArray]:
    """Which contexts enough documents hold, and Σ values/(n + SHRUNK) of each."""
    from scipy.sparse import csr_array

    contexts, least = size
    kept = np.zeros(contexts, dtype=np.bool_)
    kept[np.unique(code)] = supported(code, np.zeros_like(code), 1, document, least)
    each = csr_array((np.ones(len(code)), (code, np.arange(len(code)))), shape=(contexts, len(code)))
    count = np.bincount(code, minlength=contexts)
    return kept, np.asarray(each @ values) / (count + SHRUNK)[:, None]


def _weighed(
    fit: Records, part: ContextMeans, read: tuple[list[IntArray], Any], rows: IntArray, law: FloatArray
) -> FloatArray:
    """β of the best log score of held-out secrets."""
    features = part.features(*read, rows, fit.document_of_position[rows])
    terms = tuple(each @ part.places.T for each in features)
    base = np.broadcast_to(np.log(np.maximum(law, 1e-300) / max(float(law.sum()), 1e-300)), terms[0].shape)
    truth = np.searchsorted(part.points, fit.points[rows])
    units = units_of(fit)
    held = ContextTerms(base, terms, truth, type(units)(units.of_position[rows], units.total))
    start = np.zeros(len(terms))
    return likeliest_weights(NearWeights(held, start, len(rows)), start)

"""Relations between words and secrets: the words near each position, and those of its document.

A window is a run of places counted from the secret; its code is one number for the words there. Another secret counts
as a word that says its public tier, or whatever else a caller writes there, and a mask counts as a word.

Documents alike: fit documents with the same rare public words lend a document their secrets.

S(x) = Σ_d cos(W, W_d)³·n_d(x) over the fit documents d whose words resemble those of this one, n_d(x) how often x
occurs in d, and the cosine is that of words weighed by how few documents hold them. log(1 + S(x)/(k·π(x))) is what they
say about x: two reports of one event share names even where no single word of the one gives them away.

Context vectors: the words around a secret name a direction, and points that lie there are likelier.

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
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import MASKED, Context, Records

WINDOWS = ((-1,), (1,), (-2, -1), (-1, 1), (1, 2), (-3, -2, -1), (1, 2, 3))
"""The places of the words of each relation, counted from the secret; two more relations are the bag of the document and
documents alike."""

RARE, FEW = 0.016, 10
"""A word counts in the bag if at most this share of the documents holds it, or at most a few: common words say nearly
the same of every document, and the noise of their counts would add up."""

MOST_TIERS = 1_000
"""Tiers that a code of words leaves room for."""


def rare_words(fit: Records) -> BoolArray:
    """The numbers (mask, slot, then every symbol) of words that few documents hold."""
    assert fit.context is not None
    width = len(fit.context.symbols) + 2
    document = np.repeat(np.arange(len(fit)), np.diff(fit.context.offsets))
    held_by = np.bincount(np.unique(document * width + fit.context.tokens - MASKED) % width, minlength=width)
    return np.asarray(held_by <= max(FEW, RARE * len(fit)))


def numbers_in(context: Context, symbols: tuple[str, ...]) -> IntArray:
    """The number under which each token (mask, slot, then every symbol) was counted; −1 for a symbol that was not."""
    if context.symbols == symbols:
        return np.arange(len(symbols) + 2)
    place = {symbol: k + 2 for k, symbol in enumerate(symbols)}
    return np.array([0, 1, *(place.get(symbol, -1) for symbol in context.symbols)], dtype=np.int64)


def relations(
    context: Context, lengths: IntArray, tiers: IntArray | None, counted: tuple[IntArray, BoolArray]
) -> tuple[Any, ...]:
    """For each window a code of its words at every position, −1 for none; then the bag, sparse (positions, symbols).

    `counted` is the number of every token of the context (−1 for one that was not counted), and which numbers the bag
    holds. `tiers` are the public tiers of the positions. A mask counts as a word, and so does a slot, by its tier.
    """
    number, in_bag = counted
    bag = document_words(context, np.where(in_bag[number], number, -1), len(in_bag))
    windows = window_relations(context, tiers, number, len(in_bag))
    return (*windows, bag[np.repeat(np.arange(len(lengths)), lengths)])


def window_relations(context: Context, tiers: IntArray | None, number: IntArray, width: int) -> list[IntArray]:
    """The same without the bag; `width` is how many numbers there are."""
    tokens, slots = number[context.tokens - MASKED], context.slots
    tokens[slots] = width + (0 if tiers is None else tiers)
    places = slots, token_documents(context)
    return [window_codes(window, tokens, places, width + MOST_TIERS) for window in WINDOWS]


def document_words(context: Context, number: IntArray, width: int) -> Any:
    """Which words every document holds, sparse 0-1 (documents, width); words with the number −1 do not count."""
    words = number[context.tokens - MASKED]
    keep = (context.tokens >= 0) & (words >= 0)
    code = np.unique(token_documents(context)[keep] * width + words[keep])
    return zero_one(code // width, code % width, (len(context.offsets) - 1, width))


def token_documents(context: Context) -> IntArray:
    """The document of every token."""
    return np.repeat(np.arange(len(context.offsets) - 1), np.diff(context.offsets))


def window_codes(window: tuple[int, ...], tokens: IntArray, places: tuple[IntArray, IntArray], base: int) -> IntArray:
    """One number for the words at these offsets from every slot; −1 where one is missing or was never counted."""
    slots, document = places
    code, known = np.zeros(len(slots), dtype=np.int64), np.ones(len(slots), dtype=np.bool_)
    for offset in window:
        at = slots + offset
        inside = (at >= 0) & (at < len(tokens))
        at = np.where(inside, at, 0)
        known &= inside & (document[at] == document[slots]) & (tokens[at] >= 0)
        code = code * base + tokens[at]
    return np.where(known, code, -1)


def zero_one(row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    """A sparse matrix with a one at every given place."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(row)), (row, column)), shape=shape)


COMMON = 0.1
"""A word that a larger share of the documents holds does not count."""

SIMILAR, POWER = 0.08, 3.0
"""The smallest cosine that counts, and the power to which it is raised."""

STRENGTH = 3.0
"""k: the weight of π, in documents with the very same words."""

MOST_DOCUMENTS = 20_000
"""Fit documents that are remembered, at even steps if there are more."""


@dataclass(frozen=True, eq=False, repr=False)
class AlikeDocuments:
    """Weight of every word, the words of the fit documents with length one, and how often each holds every point."""

    rarity: FloatArray  # (words,)
    words: Any  # sparse (fit documents, words)
    counts: Any  # sparse (fit documents, points)

    def log_ratio(self, words: Any, points: IntArray, law: FloatArray) -> Any:
        """log(1 + S/(k·π)) for documents with these words, sparse (documents, points); `law` is π of the points."""
        similar = (scaled(words, self.rarity) @ self.words.T).tocsr()
        similar.data[similar.data < SIMILAR] = 0.0
        similar.eliminate_zeros()
        similar.data **= POWER
        lent = (similar @ self.counts[:, points]).tocsr()
        lent.data = np.log1p(lent.data / np.maximum(STRENGTH * law[lent.indices], 1e-300))
        return lent


def scaled(words: Any, rarity: FloatArray) -> Any:
    """Rows of words (documents, words) weighed by rarity, each with length one, or 0 where no word counts."""
    from scipy.sparse import diags_array

    weighed = (words @ diags_array(rarity)).tocsr()
    length = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return (diags_array(1.0 / np.where(length > 0, length, 1.0)) @ weighed).tocsr()


def fit_alike_documents(fit: Records, words: Any) -> AlikeDocuments:
    """Remember words and secrets of the fit documents; `words` is sparse 0-1, (fit documents, words)."""
    from scipy.sparse import csr_array

    held_by = np.asarray(words.sum(axis=0)).ravel()
    counts_it = (held_by > 0) & (held_by <= COMMON * len(fit))
    rarity = np.where(counts_it, np.log(max(len(fit), 1) / np.maximum(held_by, 1.0)), 0.0)
    at = fit.document_of_position, fit.points
    counts = csr_array((np.ones(len(fit.points)), at), shape=(len(fit), len(fit.space)))
    counts.sum_duplicates()
    kept = np.arange(0, len(fit), -(-max(len(fit), 1) // MOST_DOCUMENTS))
    return AlikeDocuments(rarity, scaled(words[kept], rarity), counts[kept])


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

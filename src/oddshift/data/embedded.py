"""The words of the embedded corpus: five kinds of secrets about made-up people, and the sentences around them.

The embedded corpus: short texts about made-up people whose joint law of secrets is known exactly.

Each secret depends on the one before: a name, an employer, a city, a profession, a habit, a friend's name. The
secrets of a document are a Markov chain, so the exact posterior of every audit can be computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import ClassVar

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, float_of, whole
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.codec import TextCodec
from oddshift.data.codecs.text.encoded import EncodedText
from oddshift.data.codecs.text.lexicon import Lexicon
from oddshift.data.codecs.text.settings import TextSettings, cased
from oddshift.data.codecs.text.vectors import WordVectors
from oddshift.data.detectors.names import word_lists
from oddshift.model.prior import Markov
from oddshift.model.records import Records
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

__all__ = ["People", "PeopleSettings", "people"]


_WORDS = word_lists("people")

NAMES, EMPLOYERS, CITIES, HABITS = (tuple(_WORDS[kind].split()) for kind in ("names", "employers", "cities", "habits"))
"""First names, employers, cities and habits."""

PROFESSIONS = {field: tuple(words.split()) for field, words in _WORDS["professions"].items()}
"""Professions by field; the field is the class of a document."""

KINDS: tuple[tuple[str, ...], ...] = (
    NAMES,
    EMPLOYERS,
    CITIES,
    tuple(word for field in PROFESSIONS.values() for word in field),
    HABITS,
)
"""The kinds in the order in which a text tells them."""

KIND_NAMES = ("PERSON", "ORG", "GPE", "OCCUPATION", "HABIT")
"""What the kinds are called, in that order."""

LEVEL_OF_KIND = (0, 0, 0, 1, 1)
"""Names, employers and cities are PII; professions and habits are PoII."""

PHRASES: tuple[tuple[str, ...], ...] = (
    ("{} ", "Our friend {} ", "My neighbour {} ", "The tenant {} "),
    ("works for {}.", "has a contract with {}.", "is employed by {}.", "spends most days at {}."),
    (" Home is {}.", " The family lives in {}.", " The letters go to {}.", " Most weekends are in {}."),
    (" The profession is {}.", " By training this is a {}.", " The card says {}.", " The work is that of a {}."),
    (" Evenings go to {}.", " Most money goes into {}.", " The talk is always of {}.", " Nothing beats {}."),
    (" A colleague is {} and", " The next desk is that of {} who", " A friend is {} who"),
)
"""What is written around the secret of each place; the last row opens a second person."""

CLOSING = " knows."
"""Ends a text that stops at the name of the second person."""


LENGTHS = (4, 5, 6, 7, 8)
"""Numbers of secrets in a document, equally likely and independent of the secrets."""

CASING = ("title", "lower")
"""Casing of PII and PoII words in the texts."""

LEVEL_NAMES = ("PII", "PoII")
"""What the two levels of sensitivity are called where they are the tiers."""

_FAVOURITES = 20261  # seed of the successors: part of the law, the same for every corpus


@dataclass(frozen=True, kw_only=True)
class PeopleSettings:
    """Which corpus: the number of documents, how strongly secrets depend on the last, and what its tiers are.

    `by_kind` makes each kind of word (names, employers, cities, professions, habits) a tier of its own, so that a name
    becomes a name; otherwise there are the two tiers of the paper. None means by kind where tiers are public.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    kind: ClassVar[str] = "people"

    documents: int = 3000
    strength: float = 0.8
    is_public: bool = True
    by_kind: bool | None = None

    def __post_init__(self) -> None:
        """Check both numbers."""
        whole(self.documents, "documents", 30)
        share(self.strength, "strength")


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """Texts, their codec and encoding, the exact prior of the longest documents, and a class for each text."""

    texts: tuple[str, ...]
    codec: TextCodec
    encoded: EncodedText
    prior: Markov
    labels: tuple[str, ...]
    vectors: WordVectors

    def __repr__(self) -> str:
        """Counts only."""
        return f"People({len(self.texts)} texts, {self.records!r})"

    @property
    def records(self) -> Records:
        """The secrets."""
        return self.encoded.records

    @property
    def space(self) -> Space:
        """The secret words as points."""
        return self.encoded.lexicon.space

    @property
    def tiers(self) -> Tiers:
        """The five kinds, or PII and PoII."""
        return self.encoded.lexicon.tiers

    def prior_of(self, length: int) -> Markov:
        """The exact prior of the secrets of a document with that many: the first steps of the same chain."""
        whole(length, "length", 1, max(LENGTHS))
        return Markov(self.prior.initial, self.prior.transitions[: length - 1], length)


def people(
    documents: int = 3000,
    *,
    strength: float = 0.8,
    slip: float = 0.01,
    is_public: bool = True,
    by_kind: bool | None = None,
    seed: int = 0,
) -> People:
    """Make the corpus of `documents` texts; the same arguments give the same texts everywhere.

    Each word has one favourite successor, taken with probability `strength`; otherwise any word of the next kind comes
    in its usual frequency. With probability `slip` any word at all comes, so that no secret is impossible anywhere.
    The sentences are chosen independently of the secrets, so they tell an attacker nothing. `by_kind` is explained in
    `PeopleSettings`.
    """
    rng = np.random.default_rng(seed)
    prior = law(share(strength, "strength"), share(slip, "slip"))
    values = draw_sequences(prior, whole(documents, "documents", 1), rng)
    lengths = np.array(LENGTHS)[(rng.random(documents) * len(LENGTHS)).astype(np.int64)]
    choice = rng.random(values.shape)
    lexicon, vectors = _lexicon(is_public, by_kind=is_public if by_kind is None else by_kind)
    texts = tuple(_told(row[:n], pick, lexicon) for row, n, pick in zip(values, lengths, choice, strict=True))
    casing = tuple(CASING[level] for level in lexicon.tiers.levels)
    settings = TextSettings(is_public=is_public, tokeniser="plain", unknown="refuse", repeats="each", casing=casing)
    codec = TextCodec(settings, lexicon)
    encoded = codec.encode({"text": texts})
    fields = {word: field for field, words in PROFESSIONS.items() for word in words}
    labels = tuple(fields.get(lexicon.words[row[3]], "other") for row in values)
    return People(texts, codec, encoded, prior, labels, vectors)


def law(strength: float, slip: float) -> Markov:
    """The chain of kinds: name, employer, city, profession, habit, and again."""
    rng = np.random.default_rng(_FAVOURITES)
    sizes = [len(kind) for kind in KINDS]
    starts = np.append(0, np.cumsum(sizes))
    n = int(starts[-1])
    usual = [_frequencies(size) for size in sizes]
    step = np.zeros((n, n))
    for kind, size in enumerate(sizes):
        following = (kind + 1) % len(sizes)
        block = slice(starts[following], starts[following + 1])
        rows = np.arange(starts[kind], starts[kind + 1])
        step[rows, block] = (1.0 - strength) * usual[following]
        step[rows, starts[following] + _favourites(size, sizes[following], rng)] += strength
    initial = np.zeros(n)
    initial[: sizes[0]] = usual[0]
    return Markov((1 - slip) * initial + slip / n, (1 - slip) * step + slip / n, max(LENGTHS))


def _frequencies(size: int) -> FloatArray:
    """Word r has a probability proportional to 1/(r + 10): some are common, none is rare."""
    weights = 1.0 / (np.arange(size) + 10.0)
    return weights / weights.sum()


def _favourites(size: int, following: int, rng: np.random.Generator) -> IntArray:
    """One successor for each word, every successor about equally often."""
    order = np.argsort(rng.random(size), kind="stable")
    return (order % following).astype(np.int64)


def _lexicon(is_public: bool, *, by_kind: bool) -> tuple[Lexicon, WordVectors]:
    with resources.files("oddshift.data").joinpath("people.npz").open("rb") as stream, np.load(stream) as file:
        vectors = WordVectors(tuple(file["words"].tolist()), file["vectors"].astype(np.float32))
    words = tuple(word for kind in KINDS for word in kind)
    kinds = np.repeat(np.arange(len(KINDS)), [len(kind) for kind in KINDS])
    labels = kinds if by_kind else np.array(LEVEL_OF_KIND)[kinds]
    names = KIND_NAMES if by_kind else LEVEL_NAMES
    levels = LEVEL_OF_KIND if by_kind else (0, 1)
    lexicon = Lexicon(
        words=words,
        space=Space(vectors.vectors[vectors.rows_of(words)].astype(np.float64)),
        tiers=Tiers(labels, names=names, scales=(1.0,) * len(names), is_public=is_public, levels=levels),
        point_of={word: i for i, word in enumerate(words)},
        everywhere=dict(zip(words, (names[label] for label in labels.tolist()), strict=True)),
    )
    return lexicon, vectors


def _told(points: IntArray, choice: FloatArray, lexicon: Lexicon) -> str:
    """One text: a phrase for each secret, chosen by a uniform of its own."""
    text = ""
    for place, (point, uniform) in enumerate(zip(points.tolist(), choice, strict=False)):
        row = PHRASES[-1] if place == len(KINDS) else PHRASES[place % len(KINDS)]
        word = cased(lexicon.words[point], CASING[lexicon.tiers.levels[int(lexicon.tiers.labels[point])]], False)
        text += row[int(uniform * len(row))].format(word)
        if place == len(KINDS) and place + 1 < len(points):
            text += " "
    return text + CLOSING if len(points) == len(KINDS) + 1 else text


def draw_sequences(prior: Markov, documents: int, rng: np.random.Generator) -> IntArray:
    """(documents, length) independent sequences of a chain, each value by inverting its cumulative row."""
    uniforms = rng.random((whole(documents, "documents", 1), len(prior.sizes)))
    values = np.empty(uniforms.shape, dtype=np.int64)
    values[:, 0] = invert(np.broadcast_to(prior.initial, (documents, len(prior.initial))), uniforms[:, 0])
    for t, step in enumerate(prior.transitions, start=1):
        values[:, t] = invert(step[values[:, t - 1]], uniforms[:, t])
    return values


def invert(rows: FloatArray, uniforms: FloatArray) -> IntArray:
    """The value whose interval of the cumulative row holds the uniform, row by row; never one of probability 0."""
    cumulative = np.cumsum(rows, axis=1)
    return (cumulative <= (uniforms * cumulative[:, -1])[:, None]).sum(axis=1).astype(np.int64)


def share(value: float, name: str) -> float:
    """A float in [0, 1]."""
    if not 0.0 <= float_of(value, name) <= 1.0:
        raise InvalidInput(f"{name}={value!r}, expected 0 <= {name} <= 1")
    return float(value)

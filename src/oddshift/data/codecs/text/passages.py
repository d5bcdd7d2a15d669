"""Passages: texts before and after a release, cut into pieces that name their tier. They hold SECRETS.

Averaged word vectors of texts, before and after release: what downstream tasks use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, indices
from oddshift.data.codecs.text.encoded import EncodedText
from oddshift.data.codecs.text.vectors import WordVectors
from oddshift.mechanisms.forms import Formed
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.utility import averaged
from oddshift.model.records import Records
from oddshift.model.release import draw_once, perturb
from oddshift.model.tiers import Tiers

LONGEST = 120
"""Number of tokens of a text that are shown."""

MASKED = "masked"
"""Stands for the tier of a word that is masked whatever it is."""


@dataclass(frozen=True, repr=False)
class Piece:
    """Some words; `tier` is empty where they are public."""

    text: str
    tier: str


@dataclass(frozen=True, repr=False)
class Passage:
    """One document before and after a release."""

    before: tuple[Piece, ...]
    after: tuple[Piece, ...]

    @property
    def texts(self) -> tuple[str, str]:
        """Both as plain text."""
        before, after = ("".join(piece.text for piece in pieces) for pieces in (self.before, self.after))
        return before, after


@dataclass(frozen=True, repr=False)
class Passages:
    """Several passages, in stored form; `release` says in words by which mechanism they were released."""

    passages: tuple[Passage, ...]
    release: str = ""


def passages(
    encoded: EncodedText,
    documents: IntArray,
    mechanism: Mechanism,
    tiers: Tiers,
    rng: np.random.Generator,
    *,
    repair: Callable[[Records, IntArray], IntArray] | None = None,
) -> tuple[Passage, ...]:
    """Some documents, each with a fresh and repaired release of it; none if outputs are neither words nor a mask."""
    if mechanism.outputs is not mechanism.space and mechanism.n_outputs > 1:
        return ()
    some = encoded.take(documents)
    if some.repeats == "once":
        once = draw_once(some.records)
        outputs = perturb(once.records, mechanism, tiers, rng).outputs[once.position]
    else:
        outputs = perturb(some.records, mechanism, tiers, rng).outputs
    outputs = outputs if repair is None else repair(some.records, outputs)
    masked: bool | BoolArray = mechanism.n_outputs == 1
    if isinstance(mechanism, Formed):
        some, masked = some.with_surrogates(mechanism.made_up), mechanism.marked[some.records.points]
    replaced = some.shown(outputs, masked, Random(0))
    names = dict.fromkeys(some.masked.tolist(), MASKED)
    labels = some.records.tier_of_position(tiers).tolist()
    names |= {slot: tiers.names[label] for slot, label in zip(some.slots.tolist(), labels, strict=True)}
    return tuple(_passage(some, d, replaced, names) for d in range(len(some.tokens)))


def _passage(encoded: EncodedText, document: int, replaced: dict[int, str | None], names: dict[int, str]) -> Passage:
    tokens = encoded.tokens
    start, end = tokens.offsets[document : document + 2].tolist()
    before: list[Piece] = []
    after: list[Piece] = []
    for token in range(start, min(end, start + LONGEST)):
        word, blank, tier = tokens.forms[tokens.form[token]], " " if tokens.spaced[token] else "", names.get(token, "")
        released = replaced.get(token, word)
        for pieces, said in ((before, word), (after, released)):
            if said is not None:
                pieces += [Piece(said, tier), Piece(blank, "")]
    if end - start > LONGEST:
        before.append(Piece("…", ""))
        after.append(Piece("…", ""))
    return Passage(_joined(before), _joined(after))


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Public words in one piece; every sensitive word on its own."""
    made = []
    for tier, group in groupby((p for p in pieces if p.text), key=lambda piece: piece.tier):
        words = [piece.text for piece in group]
        made += [Piece(word, tier) for word in words] if tier else [Piece("".join(words), "")]
    return tuple(made)


def text_features(
    encoded: EncodedText,
    vectors: WordVectors,
    outputs: npt.ArrayLike | None = None,
    words: Sequence[str | None] | None = None,
) -> FloatArray:
    """(documents, k) mean vectors; with `outputs` secrets are replaced by what was released, and masked words left out.

    `words` has the word of each output, by default those of the lexicon's points.
    """
    occurrences = encoded.tokens.occurrences
    rows = vectors.rows_of(occurrences.types)[occurrences.type]
    if outputs is not None:
        table = encoded.lexicon.words if words is None else tuple(words)
        chosen = indices(outputs, "outputs", len(table))
        rows[encoded.masked] = -1
        rows[encoded.slots] = vectors.rows_of([word or "" for word in table])[chosen]
    return averaged(vectors.vectors, np.asarray(rows), encoded.tokens.offsets)

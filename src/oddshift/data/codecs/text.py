"""Encoded text: tokens with their secrets, and the texts again with sensitive words replaced in place.

The paper's case study: each sensitive word is a secret, its point a word vector, its tier PII or PoII.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import IntArray, indices
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.casing import CASINGS, cased
from oddshift.data.codecs.codec import Counts
from oddshift.data.codecs.lexicon import PUBLIC, UNKNOWN, Lexicon
from oddshift.data.codecs.text_cells import TextCells
from oddshift.data.codecs.tokens import Tokens
from oddshift.model.records import MASKED, SLOT, Context, Records, numbered
from oddshift.model.tiers import Tiers

MASK = "[MASKED]"
"""What stands in a released text for a word that is masked."""


@dataclass(frozen=True, eq=False, repr=False)
class EncodedText:
    """Tokenised documents with their secrets: `slots` and `masked` are token numbers.

    `slots[i]` is the token of `records.points[i]`. `masked` are sensitive tokens without a point and tokens of types
    that the lexicon does not know (`unseen` counts the latter); a release shows a mask there. `casing` has a rule for
    each tier. `cells` are the columns that the texts came from.
    """

    tokens: Tokens
    lexicon: Lexicon
    records: Records
    slots: IntArray
    masked: IntArray
    unseen: int
    casing: tuple[str, ...]
    cells: TextCells | None = None
    keep: None = None

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"EncodedText({self.records!r}, {len(self.masked)} masked tokens, {self.unseen} of unseen types)"

    @property
    def tiers(self) -> Tiers:
        """The tiers of the lexicon's points."""
        return self.lexicon.tiers

    @property
    def counts(self) -> Counts:
        """Every sensitive token is found; those without a point are masked."""
        perturbed, masked = len(self.slots), len(self.masked)
        return Counts(found=perturbed + masked, perturbed=perturbed, masked=masked, unseen=self.unseen)

    @cached_property
    def rows(self) -> IntArray:
        """A document is a row."""
        return np.arange(len(self.tokens), dtype=np.int64)

    def decode(self, outputs: npt.ArrayLike, *, masked: bool = False) -> dict[str, list[Any]]:
        """The columns with released words in place of secrets; a cell without text stays what it is."""
        replaced = self.replaced(outputs, [None] if masked else None)
        if self.cells is None:
            return {"text": list(self.tokens.texts(replaced))}
        return self.cells.put_back(self.tokens, replaced)

    def texts(self, outputs: npt.ArrayLike, words: Sequence[str | None] | None = None) -> tuple[str, ...]:
        """The documents with every secret replaced by `words[output]`; None masks the word, "" deletes it.

        `words` are by default the words of the lexicon's points. Casing follows the rule of the released word's tier,
        so it says nothing that the released word does not say.
        """
        return self.tokens.texts(self.replaced(outputs, words))

    def replaced(self, outputs: npt.ArrayLike, words: Sequence[str | None] | None = None) -> dict[int, str | None]:
        """What `texts` puts in the place of every secret and masked token, by token number; None deletes it."""
        table = self.lexicon.words if words is None else tuple(words)
        chosen = indices(outputs, "outputs", len(table))
        if len(chosen) != len(self.slots):
            raise InvalidInput(f"outputs has {len(chosen)} entries, expected {len(self.slots)} (one for each secret)")
        rules = [self._rule(word) for word in table]
        opens = self.tokens.breaks
        replaced: dict[int, str | None] = dict.fromkeys(self.masked.tolist(), MASK)
        for slot, output in zip(self.slots.tolist(), chosen.tolist(), strict=True):
            word = table[output]
            replaced[slot] = (MASK if word is None else cased(word, rules[output], bool(opens[slot]))) or None
        return replaced

    def restored(self) -> tuple[str, ...]:
        """The texts as they came, byte for byte: the secrets in the clear."""
        return self.tokens.texts()

    def _rule(self, word: str | None) -> str:
        point = self.lexicon.point_of.get(word or "", -1)
        return "sentence" if point < 0 else self.casing[int(self.tiers.labels[point])]


def encode_tokens(
    tokens: Tokens,
    lexicon: Lexicon,
    *,
    unknown: str = "mask",
    casing: Sequence[str] | None = None,
    users: Sequence[Any] | None = None,
    subgroups: Sequence[Any] | None = None,
) -> EncodedText:
    """Tokens with the lexicon laid over them; every occurrence of a sensitive type is a secret.

    `unknown` is "mask" or "refuse".
    """
    rules = casing_rules(lexicon.tiers, casing)
    occurrences = tokens.occurrences
    code = lexicon.code(occurrences.types)[occurrences.type]
    hidden = np.flatnonzero(code < PUBLIC)
    if len(hidden) and unknown == "refuse":
        unseen = int((code == UNKNOWN).sum())
        raise InvalidInput(
            f"{len(hidden) - unseen} sensitive tokens without a vector and {unseen} of unseen types, expected none "
            "(unknown='refuse'); unknown='mask' masks them"
        )
    slots = np.flatnonzero(code >= 0)
    groups, names = (None, ()) if subgroups is None else numbered([str(s) for s in subgroups])
    records = Records(
        space=lexicon.space,
        points=code[slots],
        offsets=np.searchsorted(slots, tokens.offsets),
        context=_context(tokens, code),
        users=None if users is None else numbered(users)[0],
        subgroups=groups,
        subgroup_names=tuple(str(name) for name in names),
    )
    return EncodedText(tokens, lexicon, records, slots, hidden, int((code == UNKNOWN).sum()), rules)


def casing_rules(tiers: Tiers, casing: Sequence[str] | None) -> tuple[str, ...]:
    """The casing of each tier: by default titles in the first, and what a sentence asks for in the others."""
    rules = tuple(casing or ("title",) + ("sentence",) * (len(tiers) - 1))
    if len(rules) != len(tiers) or not set(rules) <= set(CASINGS):
        raise InvalidInput(f"casing={rules}, expected {len(tiers)} of {', '.join(CASINGS)}")
    return rules


def _context(tokens: Tokens, code: IntArray) -> Context:
    """The public side: types of untouched tokens, a slot for each secret, a mask for each masked word."""
    occurrences = tokens.occurrences
    is_public = code == PUBLIC
    used, symbol = np.unique(occurrences.type[is_public], return_inverse=True)
    symbols = np.where(code >= 0, SLOT, MASKED).astype(np.int64)
    symbols[is_public] = symbol
    names = tuple(occurrences.types[t] for t in used)
    return Context(tokens=symbols, offsets=tokens.offsets, symbols=names, breaks=tokens.breaks)

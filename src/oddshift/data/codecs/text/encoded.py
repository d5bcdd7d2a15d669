"""Encoded text: tokens with their secrets, and the same texts with sensitive words replaced in place.

The paper's case study: each sensitive word is a secret, its point a word vector, its tier PII or PoII. What was found
and has no point is replaced by a mark of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random, SystemRandom
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Encoded, checked_outputs, marked_positions
from oddshift.data.codecs.coverage import Counts, KindCounts
from oddshift.data.codecs.text.cells import TextCells
from oddshift.data.codecs.text.lexicon import Lexicon
from oddshift.data.codecs.text.settings import MASK, casing_rules, in_capitals, shown_word
from oddshift.data.codecs.text.span_detection import FoundTokens, nothing_found
from oddshift.data.codecs.text.surrogates import NAMES, Surrogates, shape_of
from oddshift.data.codecs.text.tokens import Tokens, joined_tokens
from oddshift.data.detectors.kinds import mark_of
from oddshift.model.records import SLOT, Context, Records, numbered
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class EncodedText(Encoded):
    """Tokenised documents with their secrets: `slots` and `masked` are token numbers.

    `slots[i]` is the token of `records.points[i]`, and `kind_of_slot[i]` a row of `kinds`. `masked` are found tokens
    without a point; `marks` is what a release shows for each. `casing` has a rule for each tier; `capitals` says which
    tokens stand in a heading. `cells` are the columns that the texts came from, `users` who wrote each text. With
    `substitutes` a mark is shown as a surrogate of its kind and shape, drawn again at every decoding; `made_up` says
    which points are shown as surrogate names of their tier, as are the marks of that tier then. `repeats` says how
    often a secret is drawn.
    """

    tokens: Tokens
    lexicon: Lexicon
    records: Records
    slots: IntArray
    kind_of_slot: IntArray
    kinds: tuple[str, ...]
    masked: IntArray
    marks: tuple[str, ...]
    counts: Counts
    casing: tuple[str, ...]
    capitals: BoolArray
    cells: TextCells | None = None
    users: tuple[str, ...] | None = None
    substitutes: bool = False
    repeats: str = "each"
    made_up: BoolArray | None = None
    keep: None = None

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"EncodedText({self.records!r}, {len(self.masked)} marks)"

    @property
    def tiers(self) -> Tiers:
        """The tiers of the lexicon's points."""
        return self.lexicon.tiers

    @cached_property
    def rows(self) -> IntArray:
        """A document is a row."""
        return np.arange(len(self.tokens), dtype=np.int64)

    def units(self, joint_by: str) -> tuple[bytes, ...]:
        """Who wrote each text, where the texts of a user are read together."""
        users = self.users if joint_by == "user" else None
        return tuple(user.encode("utf-8", "surrogatepass") for user in users or ())

    def decode(self, outputs: npt.ArrayLike, *, masked: bool | BoolArray = False) -> dict[str, list[Any]]:
        """The columns with released words in place of secrets; a cell without text stays as it is."""
        replaced = self.shown(outputs, masked, SystemRandom())
        if self.cells is None:
            return {"text": list(self.tokens.texts(replaced))}
        return self.cells.put_back(self.tokens, replaced)

    def texts(self, outputs: npt.ArrayLike) -> tuple[str, ...]:
        """The documents with every secret replaced by the word of its output, as that is mostly written.

        Casing follows the rule of the released word's tier and the public words around, so it reveals nothing that
        those do not.
        """
        return self.tokens.texts(self.replaced(outputs))

    def replaced(self, outputs: npt.ArrayLike) -> dict[int, str | None]:
        """What `texts` puts in the place of every secret and masked token, by token number; None deletes it."""
        rules, table = self.lexicon.written(self.casing)
        chosen = checked_outputs(outputs, len(table), len(self.slots))
        opens = self.tokens.breaks[self.slots].tolist()
        heading = self.capitals[self.slots].tolist()
        replaced: dict[int, str | None] = dict(zip(self.masked.tolist(), self.marks, strict=True))
        said: dict[tuple[int, bool, bool], str | None] = {}
        for slot, way in zip(self.slots.tolist(), zip(chosen.tolist(), opens, heading, strict=True), strict=True):
            if way not in said:
                output, is_first, is_loud = way
                said[way] = shown_word(table[output], rules[output], is_first, is_loud)
            replaced[slot] = said[way]
        return replaced

    def shown(self, outputs: npt.ArrayLike, masked: bool | BoolArray, draw: Random) -> dict[int, str | None]:
        """What a release shows in the place of every secret and masked token: words, marks, and surrogates."""
        replaced = self.marked(outputs) if masked is True else {**self.replaced(outputs), **self._marks(masked)}
        hidden: dict[int, str] = {}
        if self.substitutes:
            hidden = {**dict(zip(self.masked.tolist(), self.marks, strict=True)), **self._marks(masked)}
        kinds = {token: mark[1:-1] for token, mark in hidden.items()}
        names = {} if self.made_up is None else self._named_by_tier(~marked_positions(masked, len(self.slots)))
        lone = {} if self.substitutes else self._marks_of_made_up()
        if not kinds and not names and not lone:
            return replaced
        words = {token: len((replaced[token] or "").split()) for token in names} | dict.fromkeys(lone, 1)
        alike = frozenset(names) if self.repeats == "once" else frozenset()
        return replaced | Surrogates(self.tokens, draw, words, alike).of(kinds | names | lone, self.capitals)

    def with_surrogates(self, made_up: BoolArray) -> EncodedText:
        """The same, with the secrets of some points shown as surrogate names."""
        return replace(self, made_up=made_up)

    def _named_by_tier(self, chosen: BoolArray) -> dict[int, str]:
        """The tier of each of these slots whose secret is made up, where tiers are public and have names."""
        assert self.made_up is not None
        points = self.records.points
        here = chosen & self.made_up[points] & self.tiers.is_public
        labels = self.tiers.labels[points[here]].tolist()
        tiers = {slot: self.tiers.names[label] for slot, label in zip(self.slots[here].tolist(), labels, strict=True)}
        return {slot: tier for slot, tier in tiers.items() if tier in NAMES}

    def _marks_of_made_up(self) -> dict[int, str]:
        """The kind of each mark whose kind is a tier of made-up names: it reads as one of them, drawn for itself."""
        if self.made_up is None or not self.tiers.is_public:
            return {}
        ways = [self.made_up[self.tiers.labels == label] for label in range(len(self.tiers))]
        made_up = {name for name, way in zip(self.tiers.names, ways, strict=True) if name in NAMES and way.all()}
        marks = zip(self.masked.tolist(), self.marks, strict=True)
        return {token: mark[1:-1] for token, mark in marks if mark[1:-1] in made_up}

    def marked(self, outputs: npt.ArrayLike) -> dict[int, str | None]:
        """What a mask puts in the place of every found token: a mark of its kind."""
        checked_outputs(outputs, 1, len(self.slots))
        return {**dict(zip(self.masked.tolist(), self.marks, strict=True)), **self._marks(True)}

    def _marks(self, masked: bool | BoolArray) -> dict[int, str]:
        """The marks of the slots that are shown as such."""
        here = marked_positions(masked, len(self.slots))
        kinds = [mark_for(kind, self.tiers) for kind in self.kinds]
        shown = zip(self.slots[here].tolist(), self.kind_of_slot[here].tolist(), strict=True)
        return {slot: kinds[kind] for slot, kind in shown}

    def after_draw(self, outputs: npt.ArrayLike | None, masked: bool | BoolArray = False) -> Counts:
        """The counts with what became of the secrets of each kind: unchanged, or shown as marks."""
        here = marked_positions(masked, len(self.slots))
        same = np.zeros(len(here), dtype=np.bool_) if outputs is None else np.asarray(outputs) == self.records.points
        return self.counts.after_draw(self._times(same & ~here), self._times(here))

    def _times(self, which: BoolArray) -> dict[str, int]:
        """How many of these secrets there are of each kind."""
        times = np.bincount(self.kind_of_slot[which], minlength=len(self.kinds)).tolist()
        return {kind: n for kind, n in zip(self.kinds, times, strict=True) if n}

    def take(self, documents: IntArray) -> EncodedText:
        """Some documents, in that order, without the columns that they came from."""
        tokens = self.tokens.take(documents)
        index = np.concatenate(
            [np.arange(*self.tokens.offsets[d : d + 2]) for d in documents.tolist()] or [self.rows[:0]]
        )
        place = np.full(len(self.tokens.form), -1, dtype=np.int64)
        kind, mark = place.copy(), np.full(len(place), -1, dtype=np.int64)
        kind[self.slots], mark[self.masked] = self.kind_of_slot, np.arange(len(self.masked))
        is_slot = np.zeros(len(place), dtype=np.bool_)
        is_slot[self.slots] = True
        slots, masked = np.flatnonzero(is_slot[index]), np.flatnonzero(mark[index] >= 0)
        return EncodedText(
            tokens,
            self.lexicon,
            self.records.take(documents),
            slots,
            kind[index][slots],
            self.kinds,
            masked,
            tuple(self.marks[m] for m in mark[index][masked].tolist()),
            Counts(found=len(slots) + len(masked), perturbed=len(slots), masked=len(masked)),
            self.casing,
            self.capitals[index],
            repeats=self.repeats,
            made_up=self.made_up,
        )

    def restored(self) -> tuple[str, ...]:
        """The original texts, byte for byte: the secrets in the clear."""
        return self.tokens.texts()


def encode_tokens(
    tokens: Tokens,
    lexicon: Lexicon,
    found: FoundTokens | None = None,
    *,
    unknown: str = "mark",
    casing: Sequence[str] | None = None,
    users: Sequence[Any] | None = None,
    subgroups: Sequence[Any] | None = None,
    shows_shapes: bool = False,
) -> EncodedText:
    """Encode tokens with what was found among them: secrets where there is a point, marks of their kind elsewhere.

    Types that the lexicon protects everywhere count as found. `unknown` is "mark" or "refuse". With `shows_shapes` the
    public context has the shape of what a mark stands for, because surrogates show it.
    """
    rules = casing_rules(lexicon.tiers, casing)
    fate = _fate(tokens, lexicon, nothing_found(len(tokens.form)) if found is None else found)
    hidden = np.flatnonzero(fate.is_marked)
    if len(hidden) and unknown == "refuse":
        raise InvalidInput(
            f"{len(hidden)} sensitive tokens have no point, {fate.counts.unseen} of them of unseen types, expected "
            "none (unknown='refuse'); unknown='mark' marks them"
        )
    glued = _glued(tokens, fate, hidden)
    if glued.any():
        tokens, fate = joined_tokens(tokens, glued), fate.take(np.flatnonzero(~glued))
        hidden = np.flatnonzero(fate.is_marked)
    slots = np.flatnonzero(fate.point >= 0)
    marks = tuple(mark_for(fate.kinds[k], lexicon.tiers) for k in fate.kind[hidden].tolist())
    symbols = dict(zip(hidden.tolist(), marks, strict=True))
    if shows_shapes:
        symbols = {t: f"{mark} {shape_of(mark[1:-1], tokens.forms[tokens.form[t]])}" for t, mark in symbols.items()}
    context = _context(tokens, fate, symbols)
    groups, names = (None, ()) if subgroups is None else numbered([str(s) for s in subgroups])
    records = Records(
        space=lexicon.space,
        points=fate.point[slots],
        offsets=np.searchsorted(slots, tokens.offsets),
        context=context,
        users=None if users is None else numbered(users)[0],
        subgroups=groups,
        subgroup_names=tuple(str(name) for name in names),
    )
    who = None if users is None else tuple(str(user) for user in users)
    capitals = in_capitals(tokens, fate.is_public)
    kinds = fate.kind[slots], fate.kinds
    return EncodedText(tokens, lexicon, records, slots, *kinds, hidden, marks, fate.counts, rules, capitals, users=who)


@dataclass(frozen=True, eq=False, repr=False)
class _Fate:
    """What becomes of every token: the point that stands for it, or a mark of its kind; its span; the counts."""

    point: IntArray
    is_marked: BoolArray
    kind: IntArray
    span: IntArray
    kinds: tuple[str, ...]
    counts: Counts

    @property
    def is_public(self) -> BoolArray:
        """Which tokens are released as they are."""
        return (self.point < 0) & ~self.is_marked

    def take(self, index: IntArray) -> _Fate:
        columns = (self.point[index], self.is_marked[index], self.kind[index], self.span[index])
        return _Fate(*columns, self.kinds, self.counts)


def _fate(tokens: Tokens, lexicon: Lexicon, found: FoundTokens) -> _Fate:
    occurrences = tokens.occurrences
    kinds = tuple(dict.fromkeys((*found.kinds, *lexicon.everywhere_kinds)))
    number = {kind: row for row, kind in enumerate(kinds)}
    of_type = np.array([number[lexicon.everywhere[w]] if w in lexicon.everywhere else -1 for w in occurrences.types])
    everywhere = of_type.astype(np.int64)[occurrences.type] if kinds else np.full(len(tokens.form), -1)
    kind = np.where(found.is_found, found.kind, everywhere)
    is_found = kind >= 0
    point = np.where(is_found, lexicon.points_of(occurrences.types)[occurrences.type], -1)
    is_marked = is_found & (point < 0)
    seen = lexicon.masked_types
    is_unseen = np.array([word not in seen for word in occurrences.types], dtype=np.bool_)[occurrences.type]
    stays = found.stays & ~is_found
    counts = Counts(
        found=int(is_found.sum()),
        perturbed=int((point >= 0).sum()),
        masked=int(is_marked.sum()),
        unseen=int((is_marked & is_unseen).sum()),
        kinds=_by_kind(kinds, np.where(stays, found.kind, kind), point, stays),
    )
    return _Fate(point, is_marked, kind, found.span, kinds, counts)


def _by_kind(kinds: tuple[str, ...], kind: IntArray, point: IntArray, stays: BoolArray) -> Mapping[str, KindCounts]:
    """What happened to the tokens of each kind."""

    def times(which: BoolArray) -> list[int]:
        return np.bincount(kind[which], minlength=len(kinds)).tolist()

    rows = zip(kinds, times(kind >= 0), times(point >= 0), times(stays), strict=True)
    return {
        name: KindCounts(found=found, perturbed=perturbed, marked=found - perturbed - left, left=left)
        for name, found, perturbed, left in rows
        if found
    }


def _glued(tokens: Tokens, fate: _Fate, hidden: IntArray) -> BoolArray:
    """Which tokens belong to the mark before them: words without a point and punctuation between them, in one span."""
    occurrences = tokens.occurrences
    is_blank = np.array([not form.strip() for form in tokens.forms], dtype=np.bool_)[tokens.form]
    solid = np.cumsum(occurrences.is_word[occurrences.type] | is_blank)  # what may not lie between two marks
    glued = np.zeros(len(tokens.form), dtype=np.bool_)
    before, after = hidden[:-1], hidden[1:]
    span = fate.span[before]
    near = (span == fate.span[after]) & (span >= 0) & (solid[after] - solid[before] == 1)
    for a, b in zip(before[near].tolist(), after[near].tolist(), strict=True):
        glued[a + 1 : b + 1] = True
    return glued


def mark_for(kind: str, tiers: Tiers) -> str:
    """The mark of a kind, which is revealed only where tiers are public."""
    return mark_of(kind) if tiers.is_public else MASK


def _context(tokens: Tokens, fate: _Fate, marks: Mapping[int, str]) -> Context:
    """The public side: types of untouched tokens, a slot for each secret, and the marks as symbols."""
    occurrences = tokens.occurrences
    is_public = fate.is_public
    used, symbol = np.unique(occurrences.type[is_public], return_inverse=True)
    number, kinds = numbered(list(marks.values()))
    symbols = np.full(len(tokens.form), SLOT, dtype=np.int64)
    symbols[is_public] = symbol
    symbols[list(marks)] = len(used) + number
    names = (*(occurrences.types[t] for t in used), *(str(kind) for kind in kinds))
    return Context(tokens=symbols, offsets=tokens.offsets, symbols=names, breaks=tokens.breaks)

"""Records: the SECRETS, document by position, and the public context W around them.

A secret is the row number of a point of a Space (X_1..X_L of the paper); a document is the unit whose releases
an attacker reads together (`joint_by`). Nothing here prints a value: a repr shows counts only.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, IntArray, frozen, indices, one_of
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SLOT = -1
"""Context token that stands for a sensitive position."""

MASKED = -2
"""Context token that stands for a sensitive word without a point: it is masked, and the attacker sees the mask."""

JOINT_BY = ("document", "sentence", "user", "column")
"""What is read together: one document, one sentence of it, everything of a user, or one column of a table."""

FRACTIONS = (0.6, 0.2, 0.2)
"""Shares of the fit, select and certify parts."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Context:
    """The public side W of documents: symbols in order, with SLOT where a secret is and MASKED where one was masked.

    `tokens` is flat, cut into documents by `offsets`; a token >= 0 is a row of `symbols`; `breaks` marks tokens that
    open a sentence.
    """

    tokens: IntArray
    offsets: IntArray
    symbols: tuple[str, ...]
    breaks: BoolArray

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        _check_offsets(self.offsets, len(self.tokens), "context offsets")
        if len(self.breaks) != len(self.tokens):
            raise InvalidInput(
                f"breaks has {len(self.breaks)} entries, expected {len(self.tokens)}, one for each token"
            )
        if len(self.tokens) and not MASKED <= self.tokens.min() <= self.tokens.max() < len(self.symbols):
            span = f"[{self.tokens.min()}, {self.tokens.max()}]"
            raise InvalidInput(f"context tokens span {span}, expected [{MASKED}, {len(self.symbols)})")

    fingerprint = cached_property(content)

    def __repr__(self) -> str:
        """Counts only."""
        return f"Context({len(self.offsets) - 1} documents, {len(self.tokens)} tokens, {len(self.symbols)} symbols)"

    @cached_property
    def slots(self) -> IntArray:
        """The token number of every sensitive position, in order."""
        return np.flatnonzero(self.tokens == SLOT)

    def take(self, index: IntArray) -> Context:
        """The context of some documents, in that order."""
        flat, offsets = gather(self.offsets, index)
        return Context(tokens=self.tokens[flat], offsets=offsets, symbols=self.symbols, breaks=self.breaks[flat])

    def cut(self, offsets: IntArray) -> Context:
        """The same tokens cut into other documents."""
        return Context(tokens=self.tokens, offsets=offsets, symbols=self.symbols, breaks=self.breaks)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Records:
    """Documents of varying length; each sensitive position holds the row number of a point of `space`.

    `points` is flat, cut into documents by `offsets` (a document may hold no secret). `users` and `subgroups` hold
    one number for each document. `sources` says which original document each one was cut from.

    >>> records = Records.from_documents(Space([[0.0], [1.0]]), [[0, 1], [1]])
    >>> records
    Records(2 documents, 3 positions, 2 points; joint by document, sensitive positions only)
    """

    space: Space
    points: IntArray
    offsets: IntArray
    joint_by: str = "document"
    context: Context | None = None
    users: IntArray | None = None
    subgroups: IntArray | None = None
    subgroup_names: tuple[str, ...] = ()
    sources: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        """Check that points, documents and context fit together."""
        object.__setattr__(self, "points", frozen(indices(self.points, "points", len(self.space), is_secret=True)))
        object.__setattr__(self, "offsets", frozen(np.array(self.offsets, dtype=np.int64)))
        _check_offsets(self.offsets, len(self.points), "offsets")
        one_of(self.joint_by, "joint_by", JOINT_BY)
        if not len(self.sources):
            object.__setattr__(self, "sources", np.arange(len(self), dtype=np.int64))
        for name in ("users", "subgroups", "sources"):
            value = getattr(self, name)
            if value is not None and len(value) != len(self):
                raise InvalidInput(f"{name} has {len(value)} entries, expected {len(self)}, one for each document")
        if self.context is not None:
            _check_slots(self.context, self.offsets)

    @classmethod
    def from_documents(
        cls,
        space: Space,
        documents: Sequence[npt.ArrayLike],
        *,
        context: Context | None = None,
        users: Sequence[Hashable] | None = None,
        subgroups: Sequence[str] | None = None,
    ) -> Records:
        """Records from one sequence of indices for each document, with optional user ids and subgroup names."""
        if not len(documents):
            raise InvalidInput("documents is empty, expected at least one")
        rows = [indices(document, "a document", len(space), is_secret=True) for document in documents]
        offsets = offsets_of([len(row) for row in rows])
        groups, names = numbered(subgroups) if subgroups is not None else (None, ())
        return cls(
            space=space,
            points=np.concatenate(rows),
            offsets=offsets,
            context=context,
            users=numbered(users)[0] if users is not None else None,
            subgroups=groups,
            subgroup_names=tuple(str(name) for name in names),
        )

    def __len__(self) -> int:
        """Number of documents (units read together)."""
        return len(self.offsets) - 1

    fingerprint = cached_property(content)

    def __repr__(self) -> str:
        """Counts only; never a value."""
        seen = "sensitive positions only" if self.context is None else "with context W"
        counts = f"{len(self)} documents, {len(self.points)} positions, {len(self.space)} points"
        return f"Records({counts}; joint by {self.joint_by}, {seen})"

    @cached_property
    def documents(self) -> tuple[IntArray, ...]:
        """One array of points a document, views of `points`."""
        return tuple(self.points[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    @cached_property
    def lengths(self) -> IntArray:
        """Number of sensitive positions of each document."""
        return np.diff(self.offsets)

    @cached_property
    def document_of_position(self) -> IntArray:
        """The document of every position."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    @property
    def clusters(self) -> IntArray:
        """One number for each document; those with the same number (user, else source) never count as independent."""
        return self.sources if self.users is None else self.users

    def tier_of_position(self, tiers: Tiers) -> IntArray:
        """The tier of every position, read through its point."""
        if len(tiers.labels) != len(self.space):
            raise InvalidInput(f"tiers label {len(tiers.labels)} points, expected {len(self.space)}")
        return tiers.labels[self.points]

    def counts(self) -> IntArray:
        """How often each point occurs."""
        return np.bincount(self.points, minlength=len(self.space)).astype(np.int64)

    def take(self, index: npt.ArrayLike) -> Records:
        """Some documents, in that order."""
        chosen = indices(index, "index", len(self))
        flat, offsets = gather(self.offsets, chosen)
        return Records(
            space=self.space,
            points=self.points[flat],
            offsets=offsets,
            joint_by=self.joint_by,
            context=None if self.context is None else self.context.take(chosen),
            users=None if self.users is None else self.users[chosen],
            subgroups=None if self.subgroups is None else self.subgroups[chosen],
            subgroup_names=self.subgroup_names,
            sources=self.sources[chosen],
        )

    def joined(self, joint_by: str) -> Records:
        """The same secrets read together by sentence, document or user."""
        one_of(joint_by, "joint_by", ("document", "sentence", "user"))
        if joint_by == self.joint_by:
            return self
        if self.joint_by != "document":
            raise InvalidInput(f"records are joint by {self.joint_by}, expected by document to regroup them")
        return _by_sentence(self) if joint_by == "sentence" else _by_user(self)

    def split(
        self, *, by: str | None = None, fractions: Sequence[float] = FRACTIONS, rng: np.random.Generator
    ) -> Split:
        """Fit, select and certify parts that share no document and, when users are known, no user.

        `by` is "user" (default when users are known) or "document". Sentences of one document stay together.
        """
        by = one_of(by or ("document" if self.users is None else "user"), "by", ("document", "user"))
        if by == "user" and self.users is None:
            raise InvalidInput("by='user', but these records carry no user ids; expected by='document'")
        part = assign_parts(self.clusters if by == "user" else self.sources, fractions, rng)
        fit, select, certify = (self.take(np.flatnonzero(part == p)) for p in range(3))
        return Split(fit=fit, select=select, certify=certify, by=by)


@dataclass(frozen=True, eq=False)
class Split:
    """Three parts of Records: to learn from, to choose with, to certify on."""

    fit: Records
    select: Records
    certify: Records
    by: str

    @property
    def parts(self) -> tuple[Records, Records, Records]:
        """All three, in this order."""
        return self.fit, self.select, self.certify


def offsets_of(lengths: npt.ArrayLike) -> IntArray:
    """Where each document starts and the last one ends, from lengths."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)


def numbered(values: Sequence[Hashable]) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Each value's number, in order of first appearance, and the distinct values."""
    number: dict[Hashable, int] = {}
    try:
        codes = np.array([number.setdefault(value, len(number)) for value in values], dtype=np.int64)
    except TypeError:  # a list or a table of values has no number
        raise InvalidInput(f"value {_unhashable(values)} is not a plain value, expected a name or a number") from None
    return codes, tuple(number)


def _unhashable(values: Sequence[Any]) -> int:
    """The number, from 1, of the first value that cannot be told from others."""
    return next((row for row, value in enumerate(values, start=1) if not isinstance(value, Hashable)), 1)


def gather(offsets: IntArray, index: IntArray) -> tuple[IntArray, IntArray]:
    """Flat positions of some documents, in that order, and their new offsets."""
    lengths = np.diff(offsets)[index]
    cut = offsets_of(lengths)
    flat = np.arange(cut[-1]) - np.repeat(cut[:-1], lengths) + np.repeat(offsets[:-1][index], lengths)
    return flat.astype(np.int64), cut


def assign_parts(clusters: IntArray, fractions: Sequence[float], rng: np.random.Generator) -> IntArray:
    """0 (fit), 1 (select) or 2 (certify) for every document; whole clusters together, shares counted in clusters."""
    if len(fractions) != 3 or min(fractions) <= 0 or not abs(sum(fractions) - 1.0) <= 1e-9:
        raise InvalidInput(f"fractions={tuple(fractions)}, expected three numbers > 0 that sum to 1")
    distinct, cluster = np.unique(clusters, return_inverse=True)
    n = len(distinct)
    if n < 3:
        raise InvalidInput(f"{n} independent documents or users, expected at least 3 to split")
    first = min(max(1, round(fractions[0] * n)), n - 2)
    second = min(max(1, round(fractions[1] * n)), n - 1 - first)
    part = np.full(n, 2, dtype=np.int64)
    order = rng.permutation(n)
    part[order[:first]] = 0
    part[order[first : first + second]] = 1
    return part[cluster]


def _by_sentence(records: Records) -> Records:
    if records.context is None:
        raise InvalidInput("joint_by='sentence' needs a context with sentence breaks; these records carry none")
    context = records.context
    opens = context.breaks.copy()
    opens[context.offsets[:-1][np.diff(context.offsets) > 0]] = True
    first = np.flatnonzero(opens)
    empty = np.flatnonzero(np.diff(context.offsets) == 0)  # an empty document stays one empty sentence
    source = np.append(np.searchsorted(context.offsets, first, side="right") - 1, empty)
    starts = np.append(first, context.offsets[empty])
    order = np.lexsort((starts, source))
    source, cuts = source[order], np.append(starts[order], len(context.tokens)).astype(np.int64)
    before = np.searchsorted(context.slots, cuts)  # secrets in front of each cut
    return Records(
        space=records.space,
        points=records.points,
        offsets=before,
        joint_by="sentence",
        context=context.cut(cuts),
        users=None if records.users is None else records.users[source],
        subgroups=None if records.subgroups is None else records.subgroups[source],
        subgroup_names=records.subgroup_names,
        sources=records.sources[source],
    )


def _by_user(records: Records) -> Records:
    if records.users is None:
        raise InvalidInput("joint_by='user' needs user ids; these records carry none")
    ordered = records.take(np.argsort(records.users, kind="stable"))
    users = np.sort(records.users)
    first = np.flatnonzero(np.append(True, users[1:] != users[:-1]))
    ends = np.append(first, len(users))
    context = ordered.context
    return Records(
        space=records.space,
        points=ordered.points,
        offsets=ordered.offsets[ends],
        joint_by="user",
        context=None if context is None else context.cut(context.offsets[ends]),
        users=users[first],
        subgroups=None if ordered.subgroups is None else ordered.subgroups[first],
        subgroup_names=records.subgroup_names,
        sources=ordered.sources[first],
    )


def _check_offsets(offsets: IntArray, total: int, name: str) -> None:
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != total or (np.diff(offsets) < 0).any():
        raise InvalidInput(f"{name} must rise from 0 to {total} with at least one document ({len(offsets)} entries)")


def _check_slots(context: Context, offsets: IntArray) -> None:
    if len(context.offsets) != len(offsets):
        raise InvalidInput(f"context has {len(context.offsets) - 1} documents, expected {len(offsets) - 1}")
    per_document = np.diff(np.searchsorted(context.slots, context.offsets))
    wrong = np.flatnonzero(per_document != np.diff(offsets))
    if len(wrong):
        where = int(wrong[0])
        found, wanted = int(per_document[where]), int(np.diff(offsets)[where])
        raise InvalidInput(f"context of document {where} has {found} slots, expected {wanted} (one for each secret)")

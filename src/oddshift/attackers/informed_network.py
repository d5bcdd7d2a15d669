"""The context network: from a batch of documents, what the other outputs say about every candidate of a position.

c(x) = Σ_v log(1 − g_v + g_v·exp(f_v(x))/E[exp f_v]), f_v = h_v·B(x), h_v = view v of the other outputs minus the same
view with every output masked. Only candidates are computed: a word of one public tier is never weighed for another.

Documents as a network reads them: padded grids of elements, with the exact own release of every position.

An element is a sensitive position, or (with W) a public word. What a position gives the network is the posterior of
its own release under the known mechanism, so one network can read any mechanism and any scale.

The leave-one-out encoder: for every element of a document, vectors that depend on all elements but that one.

What position l says about itself is known exactly (the mechanism), so a network that estimates the context term must
never see it: an LSTM reads up to l−1, another one down to l+1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from oddshift.attackers.attacker import Knowledge
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_normalise
from oddshift.model.records import MASKED, SLOT, Context, Records, gather
from oddshift.model.release import Release, candidates

VIEWS = 2
"""Vectors that an encoder gives for each element; an attacker multiplies what they say, as left times right."""


class Encoder(nn.Module):
    """Two views of l: the state of a reader from the left up to l−1, and of one from the right down to l+1."""

    def __init__(self, width: int) -> None:
        """One layer in each direction."""
        super().__init__()
        self.from_left = nn.LSTM(width, width, batch_first=True)
        self.from_right = nn.LSTM(width, width, batch_first=True)
        self.merge = nn.Linear(2 * width, width)

    def forward(self, elements: Tensor, places: Tensor, real: Tensor) -> Tensor:
        """(batch, length, width) elements and places, (batch, length) which are real -> (batch, length, 2, width)."""
        mirror = _mirror(real)[:, :, None].expand_as(elements)
        before = _earlier(self.from_left(elements)[0])
        after = _earlier(self.from_right(elements.gather(1, mirror))[0]).gather(1, mirror)
        views = torch.stack([before, after], dim=2)
        joined = torch.cat([views, places[:, :, None].expand_as(views)], dim=-1)
        return views + nn.functional.silu(self.merge(joined))


def _earlier(states: Tensor) -> Tensor:
    """The state before each element: shifted by one, zero at the first."""
    return torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)


def _mirror(real: Tensor) -> Tensor:
    """For every row the element numbers with the real ones (they come first) in reverse order."""
    steps = torch.arange(real.shape[1]).expand_as(real)
    lengths = real.sum(dim=1, keepdim=True)
    return torch.where(steps < lengths, lengths - 1 - steps, steps)


_SATURATED = 15.0  # of the gates' logits, so that no ratio can vanish


@dataclass(frozen=True, eq=False)
class GroupOutput:
    """About the positions of one group and its candidates: log prior, own release, context term.

    `shift` is what W adds to the log prior, None where W is not read; `log_prior` is then already given W.
    """

    group: Group
    log_own: Tensor
    log_prior: Tensor
    context: Tensor
    shift: Tensor | None


class ContextNetwork(nn.Module):
    """Reads the releases of a document, leaves one out, and writes what the others say about that one."""

    def __init__(self, width: int, points: FloatArray, sizes: tuple[int, int]) -> None:
        """`sizes` are the numbers of features and of public words. Before training every f is 0."""
        super().__init__()
        size, (n_features, n_words) = points.shape, sizes
        spread = np.maximum(points.std(axis=0), 1e-12)
        self.points = torch.tensor((points - points.mean(axis=0)) / spread, dtype=torch.float32)
        self.read_free = nn.Parameter(0.5 * torch.randn(size[0], width))
        self.read_points = nn.Linear(size[1], width, bias=False)
        self.write_free = nn.Parameter(torch.randn(size[0], width) / width**0.5)
        self.write_points = nn.Linear(size[1], width, bias=False)
        self.place = nn.Linear(n_features, width)
        self.masked = nn.Parameter(torch.zeros(width))
        self.words = nn.Embedding(n_words, width) if n_words else None
        self.encoder = Encoder(width)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 1)
        nn.init.zeros_(self.out.weight)

    def forward(self, batch: Batch) -> list[GroupOutput]:
        """What is said about each group of the batch."""
        own = [_own(batch, group) for group in batch.groups]
        places = self.place(torch.from_numpy(batch.features))
        views = self._views(batch, places + self._seen(batch, own), places)
        full, masked = self.out(views)
        gate = self.gate(views[0]).clamp(-_SATURATED, _SATURATED)
        write = self.write_free + self.write_points(self.points)
        said = []
        for group, log_own in zip(batch.groups, own, strict=True):
            at, points = torch.from_numpy(group.members), write[group.points].T
            shift = None if self.words is None else masked[at].sum(dim=1) @ points
            log_prior = _tensor(group.log_prior)
            if shift is not None:
                log_prior = (log_prior + shift).log_softmax(dim=-1)
            hidden, gates = (full - masked)[at].unbind(dim=1), gate[at].unbind(dim=1)
            left, right = (_gated(h @ points, g, log_prior) for h, g in zip(hidden, gates, strict=True))
            context = (left * right).log()
            if batch.alone[group.members].any():
                context = context.masked_fill(torch.from_numpy(batch.alone[group.members])[:, None], 0.0)
            said.append(GroupOutput(group, log_own, log_prior, context, shift))
        return said

    def _seen(self, batch: Batch, own: list[Tensor]) -> Tensor:
        """(positions, width): each position's own posterior, read as the mean of what its candidates stand for."""
        read = self.read_free + self.read_points(self.points)
        seen = torch.zeros(len(batch.positions), read.shape[1])
        for group, log_own in zip(batch.groups, own, strict=True):
            posterior = (_tensor(group.log_prior) + log_own).softmax(dim=-1)
            seen = seen.index_add(0, torch.from_numpy(group.members), posterior @ read[group.points])
        return seen

    def _views(self, batch: Batch, seen: Tensor, places: Tensor) -> Tensor:
        """(2, positions, views, width): what the encoder says with every output there, and with every one masked."""
        row, column, real = torch.from_numpy(batch.row), torch.from_numpy(batch.column), torch.from_numpy(batch.real)
        if self.words is None or batch.tokens is None:
            elements = torch.zeros(*real.shape, seen.shape[-1])
        else:
            elements = self.words(torch.from_numpy(batch.tokens))
        grid = torch.zeros_like(elements).index_put((row, column), places)
        full = elements.index_put((row, column), seen)
        masked = elements.index_put((row, column), self.masked + places)
        views = self.encoder(torch.cat([full, masked]), grid.repeat(2, 1, 1), real.repeat(2, 1))
        return torch.stack([views[row, column], views[row + len(real), column]])


def _gated(said: Tensor, gate: Tensor, log_prior: Tensor) -> Tensor:
    """1 − g + g·exp(f)/E[exp f] for every candidate, g the gate of each position."""
    ratio = (said - said.amax(dim=-1, keepdim=True).detach()).exp()
    prior = log_prior.exp()
    mean = ratio @ prior[:, None] if prior.ndim == 1 else (ratio[:, None] @ prior[:, :, None])[:, 0]
    return torch.addcmul(torch.sigmoid(-gate), torch.sigmoid(gate) / mean, ratio)


def _own(batch: Batch, group: Group) -> Tensor:
    """The own releases of a group, (its positions, its candidates)."""
    rows = batch.log_own[group.members]
    return _tensor(rows if len(group.points) == rows.shape[1] else rows.take(group.points, axis=1))


def _tensor(array: FloatArray) -> Tensor:
    return torch.from_numpy(array).float()


BATCH_ENTRIES = 2_000_000
"""Largest number of entries (positions x points) of one batch; a performance setting."""

_SLOT_ROW, _MASKED_ROW, _UNKNOWN_ROW = 0, 1, 2


@dataclass(frozen=True, eq=False, repr=False)
class ContextWords:
    """Public words that a network distinguishes: those seen often enough in the fit records."""

    number: dict[str, int]

    def __len__(self) -> int:
        """Rows: a sensitive position, a masked word, any other word, then the known ones."""
        return len(self.number) + 3

    def rows(self, context: Context, tokens: IntArray) -> IntArray:
        """The row of every token."""
        table = np.array([self.number.get(symbol, _UNKNOWN_ROW) for symbol in context.symbols], dtype=np.int64)
        rows = np.full(len(tokens), _SLOT_ROW, dtype=np.int64)
        rows[tokens == MASKED] = _MASKED_ROW
        rows[tokens >= 0] = table[tokens[tokens >= 0]]
        return rows


def words_of(fit: Records, at_least: int) -> ContextWords:
    """The words that occur at least `at_least` times in the context of the fit records."""
    if fit.context is None:
        raise InvalidInput("records carry no context W, expected one for an attacker that reads it")
    tokens, symbols = fit.context.tokens, fit.context.symbols
    counts = np.bincount(tokens[tokens >= 0], minlength=len(symbols))
    kept = np.flatnonzero(counts >= at_least)
    return ContextWords({symbols[k]: row for row, k in enumerate(kept, start=3)})


@dataclass(frozen=True, eq=False, repr=False)
class Group:
    """Positions of a batch that have the same candidates: their numbers, those points, and the log prior over them."""

    members: IntArray
    points: IntArray
    log_prior: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Some documents: `real` is (documents, length); position p stands at (row[p], column[p]).

    `log_own` is (positions, points); each position is in one of the `groups`, so that nothing else need be computed
    for points that it cannot hold.
    """

    positions: IntArray
    row: IntArray
    column: IntArray
    real: BoolArray
    tokens: IntArray | None
    features: npt.NDArray[np.float32]
    log_own: FloatArray
    groups: tuple[Group, ...]
    alone: BoolArray  # the only position of its document


@dataclass(frozen=True, eq=False, repr=False)
class Reader:
    """Turns releases into batches, for one state of knowledge; `words` is None when W is left out."""

    known: Knowledge
    words: ContextWords | None = None

    @property
    def n_features(self) -> int:
        """Length of the public features of a position: every tier's log scale, and its own tier if public."""
        return 2 * len(self.known.tiers)

    @cached_property
    def candidates(self) -> tuple[tuple[IntArray, FloatArray], ...]:
        """Points and log prior, normalised, of every tier; of all sensitive points together when tiers are secret."""
        found = []
        for tier in range(len(self.known.tiers)) if self.known.tiers.is_public else [0]:
            points = np.flatnonzero(candidates(self.known.tiers, tier))
            found.append((points, log_normalise(self.known.log_prior[points])))
        return tuple(found)

    def batches(self, release: Release, order: IntArray, size: int) -> Iterator[Batch]:
        """Documents in the given order, at most `size` and about BATCH_ENTRIES entries at a time."""
        if self.words is not None and release.context is None:
            raise InvalidInput("the release carries no context W, expected one for an attacker that reads it")
        limit = max(1, BATCH_ENTRIES // len(self.known.log_prior))
        order = order[release.lengths[order] > 0]
        ends = np.cumsum(release.lengths[order])
        start = 0
        while start < len(order):
            before = ends[start - 1] if start else 0
            stop = int(np.searchsorted(ends, before + limit, side="right"))
            stop = min(max(stop, start + 1), start + size)
            yield self.batch(release, order[start:stop])
            start = min(stop, len(order))

    def batch(self, release: Release, documents: IntArray) -> Batch:
        """The batch of some documents, none of them empty."""
        positions, offsets = gather(release.offsets, documents)
        lengths = np.diff(offsets)
        row = np.repeat(np.arange(len(documents)), lengths)
        tokens = None
        if self.words is None:
            column = np.arange(len(positions)) - np.repeat(offsets[:-1], lengths)
            real = np.arange(lengths.max())[None, :] < lengths[:, None]
        else:
            column, real, tokens = self._with_words(release, documents)
        tiers = None if release.position_tiers is None else release.position_tiers[positions]
        own = self.known.mechanism.log_columns(release.outputs[positions])
        alone = np.repeat(lengths == 1, lengths)
        sets = np.zeros(len(positions), dtype=np.int64) if tiers is None else tiers
        groups = tuple(Group(np.flatnonzero(sets == g), *self.candidates[g]) for g in np.unique(sets))
        return Batch(positions, row, column, real, tokens, self._features(tiers, len(positions)), own, groups, alone)

    def _with_words(self, release: Release, documents: IntArray) -> tuple[IntArray, BoolArray, IntArray]:
        """Columns of the positions, which elements are real, and their rows in the table of words."""
        assert self.words is not None
        assert release.context is not None
        flat, offsets = gather(release.context.offsets, documents)
        lengths, tokens = np.diff(offsets), release.context.tokens[flat]
        real = np.arange(lengths.max())[None, :] < lengths[:, None]
        grid = np.zeros(real.shape, dtype=np.int64)
        grid[real] = self.words.rows(release.context, tokens)
        column = (np.arange(len(flat)) - np.repeat(offsets[:-1], lengths))[tokens == SLOT]
        return column, real, grid

    def _features(self, tiers: IntArray | None, count: int) -> npt.NDArray[np.float32]:
        number = len(self.known.tiers)
        features = np.zeros((count, 2 * number), dtype=np.float32)
        features[:, :number] = np.log(self.known.tiers.scales)
        if tiers is not None:
            features[np.arange(count), number + tiers] = 1.0
        return features

"""The prior of a cell given the clear columns of its row: columns that are released unchanged reveal other columns.

log Pr[x | W] = log π(x) + Σ_r β_r·log(Pr[x | w_r]/π(x)) over relations r: each clear column, and each pair of those
that say most. Tables come from counts with back-off, and β ≥ 0 are the weights that predict held-out rows best, column
by column, 0 where nothing helps beyond chance. The context term is 0: this is a prior. Missing cells count as clear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import fit_backoff, observations
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.paired_log_score import Units, choosing_clusters, split, units_of
from oddshift.attackers.row_layout import RowLayout
from oddshift.attackers.term_weights import ContextTerms, best_weights
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.model.records import Context
from oddshift.model.release import Release

MOST_PAIRED = 6
"""Number of clear columns, those that say most, that are also read in pairs."""

MOST_CODES = 20_000
"""Largest number of combinations of clear values in one table."""

HELD_OUT = 0.15
HELD_ROWS = 3_000
"""Largest number of rows on which weights are fitted."""

BLOCK = 20_000  # positions at once; a performance setting

Places = tuple[int, ...]
"""Places of a row's clear tokens: one, or two that are read together."""


@dataclass(frozen=True, eq=False, repr=False)
class ClearTable:
    """One relation of one column: for every combination of clear values that was seen the log ratios (values,)."""

    places: Places
    weight: float
    codes: dict[tuple[str, ...], int]
    ratios: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ClearColumns:
    """For every column its law and its tables."""

    layout: RowLayout
    laws: tuple[FloatArray, ...]
    tables: tuple[tuple[ClearTable, ...], ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """No context term; the prior of every cell given the clear cells of its row."""
        if release.context is None or release.position_tiers is None:
            raise InvalidInput("the release has no clear columns, expected some for an attacker that reads them")
        row, column = self.layout.places(release.position_tiers, release.offsets)
        tokens, slot_row = clear_tokens(release.context, len(self.layout.members))
        row = slot_row if slot_row is not None else row
        names = (*release.context.symbols, "", "")
        for low in range(0, len(column), BLOCK):
            part = slice(low, min(low + BLOCK, len(column)))
            prior = np.tile(known.log_prior, (part.stop - part.start, 1))
            for c, points in enumerate(self.layout.members):
                mine = np.flatnonzero(column[part] == c)
                law = self._prior(c, tokens[row[part][mine]], names)
                prior[np.ix_(mine, points)] = law
            yield Terms(np.arange(part.start, part.stop), np.zeros_like(prior), prior)

    def _prior(self, column: int, tokens: IntArray, names: tuple[str, ...]) -> FloatArray:
        found = np.tile(np.log(self.laws[column]), (len(tokens), 1))
        for table in self.tables[column]:
            code = _numbers(tokens[:, table.places], names, table.codes)
            known = code >= 0
            found[known] += table.weight * table.ratios[code[known]]
        return found


def clear_tokens(context: Context, columns: int) -> tuple[IntArray, IntArray | None]:
    """The tokens of every row (rows, places), and the row of every slot; places beyond the clear ones are cells."""
    starts = np.flatnonzero(context.breaks)
    width = np.diff(np.append(starts, len(context.tokens)))
    if not len(starts) or (width != width[0]).any() or width[0] < columns:
        raise InvalidInput("the rows of the context differ in width, expected clear cells and slots for every row")
    return context.tokens.reshape(len(starts), -1), context.slots // int(width[0])


def has_rows(context: Context | None, columns: int) -> bool:
    """Whether a context has rows of one width with a place for each column."""
    try:
        return context is not None and clear_tokens(context, columns)[0].shape[1] >= columns
    except InvalidInput:
        return False


def fit_clear_columns(known: Knowledge, layout: RowLayout, rng: np.random.Generator) -> ClearColumns:
    """Count clear values next to secret ones; weigh the relations on rows that were left out of the counts."""
    fit = known.fit
    if fit.context is None:
        raise InvalidInput("the fit records have no clear columns, expected some")
    tokens, row = clear_tokens(fit.context, len(layout.members))
    assert row is not None
    names = (*fit.context.symbols, "", "")
    _, column = layout.places(fit.tier_of_position(known.tiers), fit.offsets)
    learn, _ = split(choosing_clusters(fit), HELD_OUT, int(rng.integers(1 << 31)))
    learned = np.isin(fit.document_of_position, learn)
    varies = [k for k in range(tokens.shape[1]) if (tokens[:, k] != tokens[0, k]).any()]
    units, laws, tables = units_of(fit), [], []
    for c, points in enumerate(layout.members):
        mine = np.flatnonzero(column == c)
        value = np.searchsorted(points, fit.points[mine])
        cells = _Cells(tokens[row[mine]], value, len(points), names)
        law, made = _fitted(cells, learned[mine], replace(units, of_position=units.of_position[mine]), varies)
        laws.append(law)
        tables.append(made)
    return ClearColumns(layout, tuple(laws), tuple(tables))


@dataclass(frozen=True, eq=False, repr=False)
class _Cells:
    """The cells of one column: the clear tokens of their rows, and their values."""

    tokens: IntArray
    value: IntArray
    size: int
    names: tuple[str, ...]

    def take(self, index: IntArray) -> _Cells:
        """Some of them."""
        return replace(self, tokens=self.tokens[index], value=self.value[index])

    @property
    def law(self) -> FloatArray:
        """The law of the column."""
        counts = np.bincount(self.value, minlength=self.size) + 0.5
        return np.asarray(counts / counts.sum())

    def table(self, places: Places, weight: float = 1.0) -> ClearTable | None:
        """log(Pr[x | w]/π(x)) for every combination of tokens at some places; None where there are too many."""
        distinct, code = np.unique(self.tokens[:, places], axis=0, return_inverse=True)
        if len(distinct) > MOST_CODES or len(distinct) < 2:
            return None
        law = self.law
        seen = observations(code.ravel(), self.value, len(distinct), self.size)
        counts = seen.table(len(distinct), self.size)
        rows = fit_backoff(seen, law[seen.value]).rows(counts, np.broadcast_to(law, counts.shape))
        codes = {tuple(self.names[t] for t in tokens): k for k, tokens in enumerate(distinct.tolist())}
        return ClearTable(places, weight, codes, np.log(rows / law))


def _fitted(
    cells: _Cells, learned: BoolArray, units: Units, varies: list[int]
) -> tuple[FloatArray, tuple[ClearTable, ...]]:
    """The law of a column and its tables, weighed on the cells that were not learned from."""
    known, held = cells.take(np.flatnonzero(learned)), np.flatnonzero(~learned)[:HELD_ROWS]
    if not len(held) or not len(known.value):
        return cells.law, ()
    fresh = cells.take(held)
    base = np.tile(np.log(known.law), (len(held), 1))

    def terms(tables: list[ClearTable]) -> ContextTerms:
        ratios = tuple(_looked_up(table, fresh) for table in tables)
        return ContextTerms(base, ratios, fresh.value, replace(units, of_position=units.of_position[held]))

    singles = [table for k in varies if (table := known.table((k,))) is not None]
    scored = terms(singles)
    worth = [scored.loss(row)[0] for row in np.eye(len(singles))]
    best = sorted(range(len(singles)), key=lambda k: worth[k])[:MOST_PAIRED]
    pairs = combinations(sorted(singles[k].places[0] for k in best), 2)
    tables = [*singles, *(table for pair in pairs if (table := known.table(pair)) is not None)]
    if not tables:
        return cells.law, ()
    weights = best_weights(terms(tables))
    kept = [(t.places, float(w)) for t, w in zip(tables, weights, strict=True) if w > 1e-3]
    return cells.law, tuple(t for places, w in kept if (t := cells.table(places, w)) is not None)


def _looked_up(table: ClearTable, cells: _Cells) -> FloatArray:
    code = _numbers(cells.tokens[:, table.places], cells.names, table.codes)
    return np.asarray(np.where(code[:, None] >= 0, table.ratios[code], 0.0))


def _numbers(tokens: IntArray, names: tuple[str, ...], codes: dict[tuple[str, ...], int]) -> IntArray:
    """The number of every combination of tokens; −1 for one that was not seen."""
    distinct, which = np.unique(tokens, axis=0, return_inverse=True)
    code = np.array([codes.get(tuple(names[t] for t in row), -1) for row in distinct.tolist()], dtype=np.int64)
    return np.asarray(code[which.ravel()])

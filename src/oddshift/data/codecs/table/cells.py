"""Cells of a table as secrets: the points are the values of every column's domain, and a cell stays in its column.

A point is (column, place on the line of numbers, one axis for each category), so that the distance of two numbers is
their difference and the distance of two categories is `weight`.

The public side of a table: columns that are released as they are, and which cells are missing, as context W.

Public numbers of many values are cut into shares, so that attackers meet each symbol often enough to learn from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isnan
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.table.domains import (
    ColumnDomain,
    Grid,
    TableVocabulary,
    category_values,
    number_places,
    number_values,
)
from oddshift.data.codecs.table.settings import TableSettings
from oddshift.data.formats.cells import (
    MOSTLY,
    CellType,
    categories,
    date_cells,
    date_form,
    is_missing,
    missing_cells,
    number_cells,
    number_type,
)
from oddshift.model.metric import MetricLike, scaled, summed
from oddshift.model.records import MASKED, SLOT, Context, numbered, offsets_of
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

BETWEEN_COLUMNS = 1e3
"""Distance between cells of different columns: they are never alternatives of one another."""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnCells:
    """The cells of one column as row numbers of its domain, −1 where a cell is missing or outside.

    `kept` are the rows of missing cells that stay as they are, `outside` counts values that the domain does not have.
    """

    values: IntArray
    kept: IntArray
    outside: int


def learn_domains(columns: Columns, settings: TableSettings) -> tuple[ColumnDomain, ...]:
    """The domain of every secret column, declared or from some rows."""
    return tuple(_learned(columns, name, settings) for name in settings.secret)


def cell_space(domains: Sequence[ColumnDomain], weight: float) -> Space:
    """The values of all domains as points."""
    axes = max((len(d.values) if d.type is None else 0) + d.has_missing for d in domains)
    tables = []
    for column, domain in enumerate(domains):
        table = np.zeros((len(domain), 2 + axes))
        table[:, 0] = column
        numbers = 0 if domain.type is None else len(domain.values)
        table[:numbers, 1] = domain.places
        for axis, row in enumerate(range(numbers, len(domain))):
            table[row, 2 + axis] = weight / np.sqrt(2.0)
        if domain.has_missing and numbers:  # in the middle, and off the line
            table[-1, 1] = float(np.median(domain.places))
        tables.append(table)
    apart: list[tuple[MetricLike, list[int]]] = [(scaled("hamming", BETWEEN_COLUMNS), [0]), ("euclidean", [1])]
    if axes:  # two categories differ on two axes
        apart.append((scaled("hamming", weight / 2.0), list(range(2, 2 + axes))))
    return Space(np.vstack(tables), summed(apart))


def column_tiers(settings: TableSettings, domains: Sequence[ColumnDomain]) -> Tiers:
    """Every column is a public tier of its own, so that outputs stay in it; columns of one level share a scale."""
    level = [settings.tier_names.index(settings.tier_of[d.name]) if settings.tier_of else 0 for d in domains]
    order = sorted(range(len(domains)), key=lambda c: level[c])
    used = sorted(set(level))
    labels = np.repeat([order.index(c) for c in range(len(domains))], [len(d) for d in domains])
    return Tiers(
        labels,
        names=[domains[c].name for c in order],
        scales=[1.0] * len(domains),
        is_public=True,
        levels=[used.index(level[c]) for c in order],
    )


def read_cells(domain: ColumnDomain, columns: Columns, settings: TableSettings, first: int) -> ColumnCells:
    """The cells of one column as values of its domain."""
    cells = columns[domain.name]
    if domain.type is None:
        found = _category_cells(domain, columns, settings, first)
        missing: BoolArray = missing_cells(cells)
    else:
        numbers = column_numbers(columns, domain.name, domain.type, first)
        missing = np.isnan(numbers)
        values, outside = domain.nearest(numbers)
        found = ColumnCells(values, np.empty(0, dtype=np.int64), outside)
    if domain.has_missing:
        return ColumnCells(np.where(missing, len(domain) - 1, found.values), found.kept, found.outside)
    return ColumnCells(found.values, np.flatnonzero(missing), found.outside)


def _category_cells(domain: ColumnDomain, columns: Columns, settings: TableSettings, first: int) -> ColumnCells:
    known = {value: code for code, value in enumerate(domain.values)}
    cells = _plain(columns, domain.name, first)
    codes: IntArray = np.fromiter(map(known.get, cells, repeat(-1)), dtype=np.int64, count=len(cells))
    outside = [row for row in np.flatnonzero(codes < 0).tolist() if not is_missing(cells[row])]
    if outside and settings.unknown == "refuse":
        raise InvalidInput(
            f"column {domain.name!r} at row {first + outside[0]} holds a category that the policy does not know"
        )
    return ColumnCells(codes, np.empty(0, dtype=np.int64), len(outside))


def _learned(columns: Columns, name: str, settings: TableSettings) -> ColumnDomain:
    missing = bool(missing_cells(columns[name]).any())
    has_missing = missing and (settings.missing == "value" or name in settings.blank_values)
    flags = {"has_missing": has_missing, "keeps_missing": missing and not has_missing}
    declared = settings.domains.get(name)
    if name in settings.categorical:
        values = _categories(columns, name, declared, settings)
        places: FloatArray = np.empty(0)
        spacing = "distinct" if declared is None else "declared"
        return ColumnDomain(name=name, type=None, values=values, places=places, spacing=spacing, **flags)
    kind = _type(columns, name, settings)
    numbers = column_numbers(columns, name, kind)
    numbers = numbers[~np.isnan(numbers)]
    if declared is not None:
        grid, spacing = _declared_numbers(declared, name, kind), "declared"
        kind = kind if kind.family == "date" else number_type([], np.append(grid, numbers))
    else:
        if not len(numbers) or numbers.min() == numbers.max():  # one value: nothing to draw, so it becomes a mark
            only, place = (float(numbers[0]) if len(numbers) else 0.0,), np.zeros(1)
            return ColumnDomain(name=name, type=kind, values=only, places=place, spacing="distinct", **flags)
        grid, spacing = number_values(numbers, kind, settings.bins, settings.binning)
    places = number_places(grid, numbers, spacing)
    if not np.isfinite(places).all() or (len(places) > 1 and not (np.diff(places) > 0).all()):
        raise InvalidInput(f"column {name!r} has spread 0, expected values that differ")
    return ColumnDomain(name=name, type=kind, values=tuple(grid.tolist()), places=places, spacing=spacing, **flags)


def _type(columns: Columns, name: str, settings: TableSettings) -> CellType:
    if name not in settings.dates:
        return number_type(columns[name], number_cells(columns, name))
    form = date_form(columns[name], MOSTLY)
    if form is None:
        raise InvalidInput(f"column {name!r} is not a column of dates of one form, expected ISO or DD/MM/YYYY")
    return CellType(family="date", form=form)


def column_numbers(columns: Columns, name: str, kind: CellType, first: int = 1) -> FloatArray:
    """A column of numbers or dates as numbers, NaN where a cell is missing."""
    if kind.family == "date":
        return date_cells(columns, name, kind.form, first=first)
    return number_cells(columns, name, first=first, form=kind.form)


def refuse_bad_cells(columns: Columns, settings: TableSettings) -> None:
    """Refuse cells that are neither missing nor a number or date like the others of their column, by their rows."""
    for name in settings.numeric:
        number_cells(columns, name)
    for name in settings.dates:
        column_numbers(columns, name, _type(columns, name, settings))


def _declared_numbers(declared: Grid | tuple[Any, ...], name: str, kind: CellType) -> FloatArray:
    if isinstance(declared, Grid):
        values = np.array(declared.values)
    elif kind.family == "date":
        values = date_cells({name: declared}, name, kind.form)
    else:
        values = number_cells({name: declared}, name)
    if len(values) < 2 or np.isnan(values).any():
        raise InvalidInput(f"domains[{name!r}] has {len(values)} values, expected at least two, none missing")
    return np.unique(values)


def _categories(columns: Columns, name: str, declared: Any, settings: TableSettings) -> tuple[Any, ...]:
    if isinstance(declared, Grid):
        raise InvalidInput(f"domains[{name!r}] is a grid for a column of categories, expected a list")
    cells = _plain(columns, name, 1)
    values = (
        category_values([c for c in cells if not is_missing(c)], settings.most_categories)
        if declared is None
        else tuple(dict.fromkeys(declared))
    )
    if not values:
        raise InvalidInput(f"column {name!r} has no value, expected categories")
    return values


def _plain(columns: Columns, name: str, first: int) -> list[Any]:
    """Cells that can be looked up; NaN is a missing one."""
    cells = columns[name]
    if {*map(type, cells)} == {str}:
        return list(cells)
    cells = [None if isinstance(c, float) and isnan(c) else c for c in cells]
    return categories({name: cells}, name, first=first)


MOST_SYMBOLS = 50
"""Smallest number of distinct values for a public column of numbers to be cut."""

_SHARES = 12


def public_steps(settings: TableSettings, columns: Columns) -> dict[str, FloatArray]:
    """Where public columns of many numbers are cut: at equal shares of some rows."""
    found = {}
    for name in settings.public:
        numbers = _numbers(columns, name) if len(set(map(str, columns[name]))) > MOST_SYMBOLS else None
        if numbers is not None and not np.isnan(numbers).all():
            edges = np.quantile(numbers[~np.isnan(numbers)], np.arange(1, _SHARES) / _SHARES)
            found[name] = np.unique(edges)
    return found


def table_context(
    settings: TableSettings,
    vocabulary: TableVocabulary,
    columns: Columns,
    rows: IntArray,
    cells: tuple[BoolArray, Mapping[str, Mapping[int, Any]]],
    *,
    sizes: IntArray,
) -> Context | None:
    """For every row its public cells as symbols `column=value`, then its slots; None where nothing is public.

    `cells` says for every cell, in the order of `rows`, whether it is a secret, and holds the missing ones of each
    column.
    """
    is_secret, kept = cells
    public = [name for name in settings.public if name in columns]
    may_be_missing = [d.name for d in vocabulary.domains if d.keeps_missing]
    if settings.joint_by == "column" or not (public or may_be_missing or any(kept.values())):
        return None
    words = [word for name in public for word in _words(vocabulary, columns, name)]
    number, symbols = numbered([*words, *(f"{name} is missing" for name in kept)])
    table = np.hstack(
        [
            number[: len(words)].reshape(len(public), len(rows)).T[rows],
            _slots(is_secret, list(kept.values()), rows, number[len(words) :]),
        ]
    )
    breaks = np.zeros(table.shape, dtype=np.bool_)
    breaks[:, 0] = True
    offsets = offsets_of(sizes * table.shape[1])
    return Context(tokens=table.ravel(), offsets=offsets, symbols=tuple(map(str, symbols)), breaks=breaks.ravel())


def _slots(is_secret: BoolArray, kept: list[Mapping[int, Any]], rows: IntArray, symbol: IntArray) -> IntArray:
    """A slot for each secret, the symbol of its column for a missing cell, a mask for any other."""
    slots = np.where(is_secret, SLOT, MASKED)
    for column, missing in enumerate(kept):
        if missing:
            slots[np.isin(rows, list(missing)), column] = symbol[column]
    return slots


def _words(vocabulary: TableVocabulary, columns: Columns, name: str) -> list[str]:
    edges = vocabulary.steps.get(name)
    if edges is None:
        return [f"{name}={value}" for value in columns[name]]
    numbers = _numbers(columns, name)
    if numbers is None:
        raise InvalidInput(f"column {name!r} has cells that are not numbers, unlike the rows learned from")
    step = np.searchsorted(edges, numbers)
    return [f"{name} is missing" if np.isnan(n) else f"{name} in share {s}" for s, n in zip(step, numbers, strict=True)]


def _numbers(columns: Columns, name: str) -> FloatArray | None:
    try:
        return number_cells(columns, name)
    except InvalidInput:
        return None

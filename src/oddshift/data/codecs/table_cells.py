"""Cells of a table as secrets: the points are the values of every column's domain, and a cell stays in its column.

A point is (column, place on the line of numbers, one axis for each category), so that the distance of two numbers is
their difference and the distance of two categories is `weight`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isnan
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.table_domains import (
    ColumnDomain,
    Grid,
    category_values,
    number_places,
    number_values,
)
from oddshift.data.codecs.table_settings import TableSettings
from oddshift.data.formats.cell_types import (
    MOSTLY,
    CellType,
    date_cells,
    date_form,
    is_missing,
    missing_cells,
    number_cells,
    number_type,
)
from oddshift.data.formats.cell_values import categories
from oddshift.model.metric import MetricLike, scaled, summed
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
        if not len(numbers) or numbers.min() == numbers.max():
            raise InvalidInput(f"column {name!r} has spread 0, expected values that differ")
        grid, spacing = number_values(numbers, kind, settings.bins, settings.binning)
    places = number_places(grid, numbers, spacing, settings.scaling)
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
    return number_cells(columns, name, first=first)


def refuse_bad_cells(columns: Columns, settings: TableSettings) -> None:
    """Name the first cell that is neither missing nor a number or date like the others of its column, by its row."""
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

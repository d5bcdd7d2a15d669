"""What is asked of a table: which columns are secret, how far apart their values are, and what is read together.

What a table codec says about itself: which values count as public, what stays, and what a row costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns, length_of
from oddshift.data.codecs.table.domains import ColumnDomain, Grid, Value
from oddshift.data.formats.cells import is_missing
from oddshift.model.records import numbered
from oddshift.model.release import REPEATS


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How the cells of a table become secrets.

    Each cell is a secret and is released as a value of its own column. Numbers are as far apart as they differ, in
    units of the column's spread; two categories are `weight` apart.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    kind: ClassVar[str] = "table"

    numeric: tuple[str, ...] = ()
    """Secret columns of numbers."""
    categorical: tuple[str, ...] = ()
    """Secret columns of categories."""
    dates: tuple[str, ...] = ()
    """Secret columns of dates: ISO, DD/MM/YYYY, or seconds or milliseconds since 1970."""
    domains: Mapping[str, Grid | tuple[Value, ...]] = field(default_factory=dict, repr=False)
    """Public values of columns, as a list or a grid of numbers; those of other columns come from the fit part."""
    binning: Literal["auto", "equal", "log", "quantile"] = "auto"
    """The grid of numbers without a declared domain: equal steps, equal ratios, equal shares, or what fits."""
    bins: int = 20
    """The approximate number of steps of such a grid."""
    most_categories: int = 50
    """Categories without a declared domain: the most frequent ones are kept, a cell of any other is left empty."""
    missing: Literal["keep", "value"] = "keep"
    """A missing cell stays missing, which is public, or is a secret value of its own."""
    blank_values: tuple[str, ...] = ()
    """Columns whose missing cells are a secret value in any case: who has no cause of death is alive."""
    weight: float = 1.0
    """How far apart two values of a categorical column are."""
    group: str | None = None
    """A column whose equal values are read together; without it each row is. It is released under pseudonyms, new ones
    in every release, unless it is masked or public too."""
    once: tuple[str, ...] = ()
    """Columns whose value belongs to the group (the sex of a patient): one draw for all rows of a group that agree."""
    repeats: Literal["once", "each"] = "each"
    """With "once" this holds for every secret column: equal values of a group share one draw."""
    public: tuple[str, ...] = ()
    """Columns that are released as they are and that an attacker may use."""
    masked: tuple[str, ...] = ()
    """Columns whose cells are left empty on release: names, addresses, identifiers."""
    joint_by: Literal["document", "column"] = "document"
    """What attackers read together: a group of rows, or each column."""
    most_cells: int = 100_000
    """Secret cells that an audit or an adaptation reads, at most: whole groups of a longer table are drawn; 0: all."""
    tier_names: tuple[str, ...] = ()
    """Levels of sensitivity, most sensitive first; without them all columns are equally sensitive."""
    tier_of: Mapping[str, str] = field(default_factory=dict)
    """The level of each secret column."""
    unknown: Literal["mask", "refuse"] = "mask"
    """A category outside the domain: its cell is left empty, or the data are refused."""

    def __post_init__(self) -> None:
        """Check the names against each other."""
        columns = self.secret
        if not columns or len(set(columns)) != len(columns):
            raise InvalidInput(f"{len(columns)} secret columns, expected at least one, each named once")
        one_of(self.joint_by, "joint_by", ("document", "column"))
        one_of(self.unknown, "unknown", ("mask", "refuse"))
        one_of(self.missing, "missing", ("keep", "value"))
        one_of(self.binning, "binning", ("auto", "equal", "log", "quantile"))
        positive(self.weight, "weight")
        whole(self.bins, "bins", 2)
        whole(self.most_categories, "most_categories", 2)
        whole(self.most_cells, "most_cells", 0)
        if self.joint_by == "column" and (self.group or self.public):
            raise InvalidInput("joint_by='column' needs no group and no public columns")
        self._check_names()

    def _check_names(self) -> None:
        """Domains and tiers are about secret columns, and no secret column is released in another way too."""
        shared = set(self.secret) & {*self.public, *self.masked} or set(self.public) & set(self.masked)
        if shared:
            raise InvalidInput(f"column {min(shared)!r} has two roles, expected one of secret, public and masked")
        for field_name, named in (("domains", self.domains), ("blank_values", self.blank_values)):
            odd = set(named) - set(self.secret)
            if odd:
                raise InvalidInput(f"{field_name} names {min(odd)!r}, expected secret columns")
        if self.once and (not self.group or not set(self.once) <= set(self.secret)):
            raise InvalidInput("once needs a group and names of secret columns")
        if one_of(self.repeats, "repeats", REPEATS) == "once" and not self.group:
            raise InvalidInput("repeats='once' needs a group, whose rows are read together")
        if self.tier_of and set(self.tier_of) != set(self.secret):
            raise InvalidInput("tier_of needs a tier for every secret column")
        if not set(self.tier_of.values()) <= set(self.tier_names):
            raise InvalidInput(f"tier_of names a tier outside tier_names={self.tier_names}")

    @property
    def secret(self) -> tuple[str, ...]:
        """The secret columns: numbers, dates, categories."""
        return (*self.numeric, *self.dates, *self.categorical)

    def wanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys((*self.secret, *self.public, *((self.group,) if self.group else ()))))

    def is_once(self, domains: Sequence[ColumnDomain]) -> BoolArray:
        """Which points are values of columns that belong to the group."""
        return np.repeat([d.name in self.of_group for d in domains], [len(d) for d in domains])

    @property
    def most_rows(self) -> int | None:
        """Rows that an audit or an adaptation reads, at most; None for all."""
        return self.most_cells // len(self.secret) if self.most_cells else None

    @property
    def of_group(self) -> tuple[str, ...]:
        """The columns in which equal values of a group share one draw."""
        return self.secret if self.repeats == "once" else self.once

    @property
    def renamed(self) -> tuple[str, ...]:
        """The column whose names are replaced by pseudonyms on release: a group that has no other role."""
        has_role = self.group in {None, "", *self.secret, *self.public, *self.masked}
        return () if has_role else (str(self.group),)

    def units(self, columns: Columns) -> tuple[IntArray, str]:
        """A number for each row, equal for rows that are not independent, and the name of such a unit."""
        rows = length_of(columns, self.wanted(()))
        return groups_of(columns, self.group, rows), "document"


def groups_of(columns: Columns, group: str | None, rows: int) -> IntArray:
    """The number of each row's group; a row without a value, or without a group column, is a group of its own."""
    if not group or group not in columns:
        return np.arange(rows, dtype=np.int64)
    return numbered([(row,) if is_missing(cell) else cell for row, cell in enumerate(columns[group])])[0]


_GRIDS = {
    "equal": "equal steps",
    "log": "equal ratios, because they are skewed",
    "quantile": "equal shares, because they are skewed",
    "distinct": "the values found",
}


def table_notes(settings: TableSettings, domains: Sequence[ColumnDomain]) -> Iterator[str]:
    """One sentence for each choice that a user should know of; never a value of a cell."""
    yield from _domain_notes(domains)
    if len(domains) > 1:
        yield (
            f"the {len(domains)} cells of a row are released one by one, each as a value of its own column; their "
            f"budgets add up, so a whole row costs at most {len(domains)} times epsilon"
        )
    if settings.of_group:
        agreeing = f"rows of one {settings.group} that agree, and which rows agree is public"
        yield f"drawn once for all {agreeing}: {_columns(settings.of_group)}"
    if settings.public:
        yield f"released unchanged: {_columns(settings.public)}"
    if settings.renamed:
        yield f"released under pseudonyms: column {settings.group}, which says whose rows are read together"
    if settings.masked:
        yield f"left empty on release: {_columns(settings.masked)}"


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(name or 'without a name' for name in names)}"


def _domain_notes(domains: Sequence[ColumnDomain]) -> Iterator[str]:
    by_grid: dict[str, list[str]] = {}
    for domain in domains:
        if domain.spacing != "declared":
            by_grid.setdefault(_GRIDS[domain.spacing], []).append(domain.name)
    if by_grid:
        learned = "; ".join(f"{', '.join(names)} ({grid})" for grid, names in by_grid.items())
        yield f"these values were taken from the fit part and count as public, `domains` declares others: {learned}"
    kept = [d.name for d in domains if d.keeps_missing]
    if kept:
        yield f"missing cells stay missing in {', '.join(kept)}: which cells are empty is public"

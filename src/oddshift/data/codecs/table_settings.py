"""What is asked of a table: which columns are secret, how far apart their values are, and what is read together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from oddshift.base.arrays import IntArray, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns, length_of
from oddshift.model.records import numbered


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How the cells of a table become secrets.

    The distance of rows is the Euclidean distance of the scaled numeric part plus `weight` for each categorical column
    that differs.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    kind: ClassVar[str] = "table"

    numeric: tuple[str, ...] = ()
    """Secret columns of numbers."""
    categorical: tuple[str, ...] = ()
    """Secret columns of categories."""
    unit: Literal["row", "cell"] = "row"
    """What a secret is: a whole row, or each of its cells."""
    scaling: Literal["z-score", "robust"] = "z-score"
    """The unit of a numeric column: its standard deviation, or its interquartile range."""
    weight: float = 1.0
    """How far apart two values of a categorical column are."""
    bins: int = 20
    """With unit "cell", numeric columns of more values are rounded to so many equal steps."""
    group: str | None = None
    """A column whose equal values are read together; without it each row is."""
    public: tuple[str, ...] = ()
    """Columns that are released as they are and that an attacker may use."""
    joint_by: Literal["document", "column"] = "document"
    """What attackers read together: a group of rows, or each column (needs unit "cell")."""
    tier_names: tuple[str, ...] = ()
    """The tiers of columns, most sensitive first."""
    tier_of: Mapping[str, str] = field(default_factory=dict)
    """The tier of each secret column (needs unit "cell")."""
    is_public: bool = True
    """Whether the attacker is told the tier of each cell."""
    unknown: Literal["mask", "refuse"] = "mask"
    """A category that the fit part lacks: its cell is left empty (a row is taken for the nearest known one), or the
    data are refused."""

    def __post_init__(self) -> None:
        """Check the names against each other."""
        columns = self.secret
        if not columns or len(set(columns)) != len(columns):
            raise InvalidInput(f"{len(columns)} secret columns, expected at least one, each named once")
        one_of(self.unit, "unit", ("row", "cell"))
        one_of(self.scaling, "scaling", ("z-score", "robust"))
        one_of(self.joint_by, "joint_by", ("document", "column"))
        one_of(self.unknown, "unknown", ("mask", "refuse"))
        if self.joint_by == "column" and (self.unit != "cell" or self.group or self.public):
            raise InvalidInput("joint_by='column' needs unit='cell', no group and no public columns")
        positive(self.weight, "weight")
        whole(self.bins, "bins", 2)
        if self.tier_of and (self.unit != "cell" or set(self.tier_of) != set(columns)):
            raise InvalidInput("tier_of needs unit='cell' and a tier for every secret column")
        if not set(self.tier_of.values()) <= set(self.tier_names):
            raise InvalidInput(f"tier_of leads to a tier outside tier_names={self.tier_names}")

    @property
    def secret(self) -> tuple[str, ...]:
        """The secret columns, numeric ones first."""
        return (*self.numeric, *self.categorical)

    def wanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys((*self.secret, *self.public, *((self.group,) if self.group else ()))))

    def units(self, columns: Columns) -> tuple[IntArray, str]:
        """A number for each row, equal where rows are never told apart as independent, and what such a unit is."""
        rows = length_of(columns, self.wanted(()))
        return groups_of(columns, self.group, rows), "document"


def groups_of(columns: Columns, group: str | None, rows: int) -> IntArray:
    """The number of each row's group; every row is one of its own where there is no such column."""
    return numbered(columns[group])[0] if group and group in columns else np.arange(rows, dtype=np.int64)

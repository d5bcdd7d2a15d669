"""A codec for grey values: the pixels of one picture are read together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

import oddshift as od
from oddshift.base.arrays import IntArray, whole
from oddshift.data.codecs import Codec, Columns, Counts, Encoded, NoVocabulary
from oddshift.data.codecs.codec import checked_outputs
from oddshift.model.records import Records, numbered, offsets_of
from oddshift.model.release import one_tier


@dataclass(frozen=True, kw_only=True)
class ShadeSettings:
    """A column of grey values from 0 to 255, and a column that names the picture of each."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    kind: ClassVar[str] = "shades"

    shade: str = "shade"
    picture: str = "picture"
    levels: int = 8

    def __post_init__(self) -> None:
        """Check how many shades are distinguished."""
        whole(self.levels, "levels", 2)

    def wanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are read, of those that a file has."""
        return self.shade, self.picture

    def units(self, columns: Columns) -> tuple[IntArray, str]:
        """The number of each row's independent unit, and what such a unit is called."""
        return numbered(columns[self.picture])[0], "document"


@dataclass(frozen=True, eq=False, repr=False)
class EncodedShades(Encoded):
    """Pixels as secrets, picture after picture; `order` is the row behind each position."""

    records: Records
    name: str
    order: IntArray
    rows: IntArray
    keep: None = None

    @property
    def counts(self) -> Counts:
        """Every pixel is a secret."""
        return Counts(found=len(self.order), perturbed=len(self.order))

    def decode(self, outputs: npt.ArrayLike, *, masked: bool = False) -> dict[str, list[Any]]:
        """Released shades in the order of the rows; None for a mask."""
        chosen = checked_outputs(outputs, 1 if masked else len(self.records.space), len(self.order))
        cells: list[Any] = [None] * len(chosen)
        if not masked:
            for row, point in zip(self.order, chosen, strict=True):
                cells[row] = round(float(self.records.space.points[point, 0]))
        return {self.name: cells}


@dataclass(frozen=True, eq=False, repr=False)
class ShadeCodec(Codec):
    """A public scale of equally spaced shades; a pixel is taken for the nearest of them."""

    settings: ShadeSettings
    space: od.Space
    tiers: od.Tiers

    kind: ClassVar[str] = "shades"
    settings_class: ClassVar[type[ShadeSettings]] = ShadeSettings
    vocabulary_class: ClassVar[type[NoVocabulary]] = NoVocabulary

    @classmethod
    def fit(cls, columns: Columns, settings: ShadeSettings) -> "ShadeCodec":
        """The scale does not depend on the data."""
        space = od.Space(np.linspace(0.0, 255.0, settings.levels)[:, None])
        return cls(settings, space, one_tier(space))

    @property
    def released(self) -> tuple[str, ...]:
        """The column of grey values."""
        return (self.settings.shade,)

    @property
    def required(self) -> tuple[str, ...]:
        """Both columns."""
        return self.settings.wanted(())

    def encode(self, columns: Columns, first: int = 1) -> EncodedShades:
        """The pixels of one picture form a document, in order."""
        cells = np.array([float(cell) for cell in columns[self.settings.shade]])[:, None]
        pictures = numbered(columns[self.settings.picture])[0]
        order = np.argsort(pictures, kind="stable").astype(np.int64)
        points = self.space.nearest(cells)[order]
        records = Records(space=self.space, points=points, offsets=offsets_of(np.bincount(pictures)))
        return EncodedShades(records, self.settings.shade, order, order[records.offsets[:-1]])

    def to_policy(self) -> tuple[ShadeSettings, NoVocabulary]:
        """The settings say it all."""
        return self.settings, NoVocabulary()

    @classmethod
    def from_policy(
        cls, settings: ShadeSettings, vocabulary: NoVocabulary, space: od.Space, tiers: od.Tiers
    ) -> "ShadeCodec":
        """The codec over the same scale."""
        return cls(settings, space, tiers)

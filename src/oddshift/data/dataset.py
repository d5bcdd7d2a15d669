"""A data set: raw columns, and the settings by which their codec finds the secrets in them.

It holds SECRETS in the clear; a repr shows counts only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import CODECS, Codec, Columns, TextSettings, WordVectors
from oddshift.data.detectors import Detector
from oddshift.data.formats import FOLDER, TEXT, open_data, read_columns
from oddshift.data.formats.plain_text import TextFile, TextFolder

FEWEST = 1
"""Smallest number of rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Named columns of equal length and the settings of a codec.

    `source` names where they come from in messages. `detectors` and `vectors` are objects that replace those that the
    settings name, for texts.
    """

    columns: Columns
    settings: Any
    source: str = "the values"
    detectors: tuple[Detector, ...] | None = None
    vectors: WordVectors | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        """Kind and counts; never a value."""
        return f"Dataset({self.kind}, {len(self)} rows, {len(self.columns)} columns)"

    @property
    def kind(self) -> str:
        """The kind of data: a key of `CODECS`."""
        return str(self.settings.kind)

    @property
    def fingerprint(self) -> str:
        """Names the data by their content and by how they are read."""
        parts = (dict(self.columns), self.settings, self.detectors, self.vectors)
        return fingerprint(("Dataset", *parts))

    def rows(self, chosen: BoolArray) -> Columns:
        """Some rows of all columns."""
        index = np.flatnonzero(chosen).tolist()
        return {name: [cells[row] for row in index] for name, cells in self.columns.items()}

    def fit(self, chosen: BoolArray) -> Codec:
        """The codec learned from some rows."""
        with self.naming():
            self.refuse_bad_cells()
            objects = {"detectors": self.detectors, "vectors": self.vectors}
            given = {name: value for name, value in objects.items() if value is not None}
            codec: Codec = CODECS[self.kind].fit(self.rows(chosen), self.settings, **given)
            return codec

    def refuse_bad_cells(self) -> None:
        """Name a bad cell by its row among all rows; the codec sees some of them only."""
        CODECS[self.kind].refuse_bad_cells(self.columns, self.settings)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Refusals of cells, with the source of the data named."""
        try:
            yield
        except InvalidInput as error:
            if str(error).startswith("column "):
                raise InvalidInput(f"{self.source}: {error}") from error
            raise


def read_dataset(path: str | Path, settings: Any) -> Dataset:
    """The columns of a file or folder that the settings name."""
    place = Path(path)
    file = open_data(place, settings.kind, header=getattr(settings, "header", None))
    if isinstance(settings, TextSettings) and isinstance(file, TextFile | TextFolder):
        label = FOLDER if FOLDER in file.names else None
        settings = replace(settings, text=(TEXT,), label=label, user=None, subgroup=None)
    columns = read_columns(file, settings.wanted(file.names), at_least=FEWEST)
    return Dataset(columns, settings, place.name)


def enough_rows(columns: Columns, source: str) -> Columns:
    """The columns, if there are enough rows to split."""
    rows = len(next(iter(columns.values()), ()))
    if rows < FEWEST:
        raise InvalidInput(f"{source} has {rows} rows, expected at least {FEWEST}")
    return columns


def named_columns(columns: Columns, wanted: Sequence[str], source: str) -> Columns:
    """The wanted columns; a missing one is refused."""
    for name in wanted:
        if name not in columns:
            raise InvalidInput(f"{source} has no column {name!r} among its {len(columns)}")
    return {name: columns[name] for name in wanted}

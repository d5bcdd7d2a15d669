"""Windows of new data: whole files, or files cut into windows of equal size, each window known by its content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import whole
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.data.dataset import Dataset, named_columns, read_dataset


@dataclass(frozen=True, eq=False, repr=False)
class DataWindow:
    """Rows that are counted together, the name that a page shows, and what they are known by."""

    data: Dataset
    name: str

    @property
    def content(self) -> str:
        """The same rows have the same name, whichever file they are in."""
        return fingerprint(("window", {name: list(cells) for name, cells in self.data.columns.items()}))


def read_window_data(source: str | Path | Dataset, settings: Any) -> Dataset:
    """New data, read as the codec of the run reads them."""
    if not isinstance(source, Dataset):
        return read_dataset(source, settings)
    if source.kind != settings.kind:
        raise InvalidInput(f"the new data are of kind {source.kind}, expected {settings.kind} as in the run")
    wanted = settings.wanted(tuple(source.columns))
    return Dataset(named_columns(source.columns, wanted, source.source), settings, source.source)


def cut_windows(data: Dataset, rows: int) -> Iterator[DataWindow]:
    """A data set as one window, or as windows of `rows` rows; rows that fill no window are left for later."""
    if not whole(rows, "window", 0):
        yield DataWindow(data, data.source)
        return
    units, by = data.settings.units(data.columns)
    starts = np.arange(0, len(data) - rows + 1, rows)
    if len(np.unique(units)) < len(units):
        raise InvalidInput(f"{data.source} has several rows of one {by}, expected a file for each window: none is cut")
    for start in starts.tolist():
        chosen = np.zeros(len(data), dtype=np.bool_)
        chosen[start : start + rows] = True
        name = f"{data.source}, rows {start + 1} to {start + rows}"
        yield DataWindow(replace(data, columns=data.rows(chosen)), name)

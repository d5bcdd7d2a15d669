"""A cell: one piece of a reproduction with everything that determines it, kept as one JSON file.

The file holds settings, seed, SHA-256 of the data files, versions, CPU seconds and values, and the SHA-256 of all of
that but the CPU seconds, so that a cell computed twice has the same sum and a damaged file is noticed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.storage import sha256, write_atomic

CELL_SCHEMA = 1
"""Version of the files of cells."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is to be computed: `name` of the reproduction, `key` within it, plain settings, and the seed.

    `files` are the data files that it reads, relative to the data folder.
    """

    name: str
    key: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    files: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Where it is kept, relative to the folder of results."""
        return f"{self.name}/{self.key}.json"


@dataclass(frozen=True, kw_only=True)
class FinishedCell:
    """A computed cell: the question, the data by hash, versions, the CPU seconds it took, and its values."""

    name: str
    key: str
    command: str
    settings: Mapping[str, Any]
    seed: int
    data: Mapping[str, str]
    versions: Mapping[str, str]
    cpu_seconds: float
    values: Mapping[str, Any]

    @property
    def file(self) -> str:
        """Where it is kept, relative to the folder of results."""
        return f"{self.name}/{self.key}.json"

    @property
    def sum(self) -> str:
        """SHA-256 of everything but the CPU seconds."""
        plain = {key: value for key, value in asdict(self).items() if key != "cpu_seconds"}
        return sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode())

    def answers(self, cell: Cell, data: Mapping[str, str]) -> bool:
        """Whether it is the answer to that question, on that data."""
        asked = json.loads(json.dumps(dict(cell.settings)))
        return (self.settings, self.seed, dict(self.data)) == (asked, cell.seed, dict(data))


def write_cell(folder: Path, cell: FinishedCell) -> Path:
    """Keep a cell: the old file or the whole new one, never a part."""
    path = folder / cell.file
    path.parent.mkdir(parents=True, exist_ok=True)
    body = {"schema": CELL_SCHEMA, "sha256": cell.sum, **asdict(cell)}
    write_atomic(path, (json.dumps(body, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode())
    return path


def read_cell(path: Path) -> FinishedCell:
    """A kept cell; a file that is not complete or was changed is refused."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        schema, stated = raw.pop("schema"), raw.pop("sha256")
        found = FinishedCell(**raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TamperedEvidence(f"{path.name} does not hold a complete cell") from error
    if schema != CELL_SCHEMA:
        raise TamperedEvidence(f"{path.name} has schema {schema}, expected {CELL_SCHEMA}")
    if found.sum != stated:
        raise TamperedEvidence(f"{path.name} does not hold the values that its sum was taken of")
    return found


def read_cells(folder: Path, name: str) -> list[FinishedCell]:
    """All kept cells of one reproduction, by key; damaged ones are refused."""
    return [read_cell(path) for path in sorted((folder / name).glob("*.json"))]


def data_hashes(cell: Cell, data: Path) -> dict[str, str]:
    """SHA-256 of every data file that a cell reads; a missing one is named, with where it is expected."""
    found = {}
    for name in cell.files:
        path = data / name
        if not path.is_file():
            raise InvalidInput(
                f"{cell.name} needs the data file {name}, expected at {path}; give its folder with --data or "
                f"ODDSHIFT_DATA. It is made {made_from(name)}."
            )
        found[name] = _sum_of(path, path.stat().st_mtime_ns)
    return found


FILES_MADE = {
    "ag_news.csv": "from the public corpus AG News as a CSV file with the columns label, title and text",
    "imdb.csv": "from the public corpus IMDB reviews as a CSV file with the columns label and text",
    "amazon.csv": "from public Amazon reviews as a CSV file with the columns label and text",
    "glove.6B.100d.npz": "from glove.6B.100d.txt with numpy.savez: words, most frequent first, and vectors",
    "minilm.100d.npz": "with numpy.savez: the same words and their MiniLM vectors, projected on 100 dimensions",
    "ner": "by loading spaCy's en_core_web_sm without its other components and saving it as ner/en_core_web_sm_ner",
}
"""How each data file is made, by its name or its first folder."""


def made_from(name: str) -> str:
    """How a data file is made."""
    return FILES_MADE[name.split("/", maxsplit=1)[0]]


_SUMS: dict[tuple[str, int], str] = {}  # files of a run do not change under it


def _sum_of(path: Path, moment: int) -> str:
    key = (str(path), moment)
    if key not in _SUMS:
        _SUMS[key] = sha256(path.read_bytes())
    return _SUMS[key]


def versions(packages: tuple[str, ...] = ()) -> dict[str, str]:
    """Versions of Python, of what every cell is computed with, and of further packages that one uses."""
    found = {name: metadata.version(name) for name in ("oddshift", "numpy", "scipy", *packages)}
    return {"python": platform.python_version(), **found}


def plain_values(value: Any) -> Any:
    """Numbers, texts, lists and tables as JSON has them; floats to nine digits, numpy's kinds as Python's.

    >>> plain_values({"rate": np.float64(1 / 3), "holds": np.bool_(True)})
    {'rate': 0.333333333, 'holds': True}
    """
    if isinstance(value, Mapping):
        return {str(key): plain_values(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_values(inner) for inner in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.9g}")
    return value

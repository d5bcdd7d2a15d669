"""One reader for each format: CSV, TSV, JSON lines, Parquet, plain text and folders of it, NumPy arrays.

Adding one: a file with a class that keeps the promises of `DataFile`, and a line in FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.data_file import Block, Columns, Count, DataFile, Released, read_columns, require_columns
from oddshift.data.formats.delimited import DelimitedFile, delimiter_of
from oddshift.data.formats.json_lines import JsonLinesFile
from oddshift.data.formats.parquet_file import ParquetFile
from oddshift.data.formats.plain_text import FOLDER, TEXT, TextFile, TextFolder
from oddshift.data.formats.vector_files import VECTORS, ArchiveFile, ArrayFile

__all__ = [
    "FOLDER",
    "FORMATS",
    "TEXT",
    "VECTORS",
    "Block",
    "Columns",
    "Count",
    "DataFile",
    "Format",
    "Released",
    "open_data",
    "read_columns",
    "require_columns",
]

Header = tuple[str, ...] | None


@dataclass(frozen=True)
class Format:
    """How files of one ending are opened (with the names of columns that a file may lack), and what they can hold.

    `only_kind` is the one kind of data that such a file can hold, empty when it can hold several.
    """

    opened: Callable[[Path, Header], DataFile]
    only_kind: str = ""


FORMATS: dict[str, Format] = {
    ".csv": Format(lambda path, header: DelimitedFile(path, header, "," if header else delimiter_of(path))),
    ".tsv": Format(lambda path, header: DelimitedFile(path, header, "\t")),
    ".jsonl": Format(lambda path, header: JsonLinesFile(path)),
    ".parquet": Format(lambda path, header: ParquetFile(path)),
    ".txt": Format(lambda path, header: TextFile(path), "text"),
    ".npz": Format(lambda path, header: ArchiveFile(path), "vectors"),
    ".npy": Format(lambda path, header: ArrayFile(path), "vectors"),
}
"""Every format by the ending of its files."""


def open_data(path: str | Path, kind: str = "", *, header: Sequence[str] | None = None) -> DataFile:
    """The records of a file, or of a folder of .txt files, that should hold data of some kind (any when empty).

    `header` names the columns of a CSV or TSV file that has no header row.
    """
    place = Path(path)
    if place.is_dir():
        _refuse_kind(place, "text", kind)
        return TextFolder(place)
    if not place.is_file():
        raise InvalidInput(f"{place} is not a file or folder")
    if place.suffix not in FORMATS:
        raise InvalidInput(f"{place.name} ends in {place.suffix!r}, expected one of {', '.join(FORMATS)} or a folder")
    if place.stat().st_size == 0:
        raise InvalidInput(f"{place.name} is empty (0 bytes), expected records")
    found = FORMATS[place.suffix]
    _refuse_kind(place, found.only_kind, kind)
    return found.opened(place, None if header is None else tuple(header))


def _refuse_kind(path: Path, only_kind: str, kind: str) -> None:
    if only_kind and kind and only_kind != kind:
        raise InvalidInput(f"{path.name} can only hold data of kind {only_kind}, expected data of kind {kind}")

"""A data set: files of one format in a folder or behind a pattern, cut into parts that can be read one by one.

A Parquet file is cut between row groups and a file of JSON lines between lines. A CSV file is never cut: whether a line
break ends a record depends on every quote before it.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import FORMATS, DataFile, open_data
from oddshift.data.formats.json_lines import JsonLinesFile
from oddshift.data.formats.parquet_file import ParquetFile

SET_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
"""Endings of the files that a data set may consist of."""

PART_BYTES = 1 << 26
"""About how many bytes of records a part has, unpacked; a performance setting."""

_HIDDEN = (".", "_")  # other systems leave notes about a data set under such names


@dataclass(frozen=True)
class DataPart:
    """Some records of a file: all of them, or from `start` up to `end` (bytes of JSON lines, numbers of row groups).

    `file` is relative to the folder of the data set; `name` is that of the released part.
    """

    file: str
    name: str
    start: int = 0
    end: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the part is the whole file."""
        return self.end == 0


@dataclass(frozen=True)
class DataSet:
    """Files of one format, in order of their paths; `folder` is the part of their paths that they share."""

    folder: Path
    files: tuple[Path, ...]

    def opened(self, part: DataPart, kind: str = "", header: Sequence[str] | None = None) -> DataFile:
        """The records of one part, which should hold data of some kind."""
        file = open_data(self.folder / part.file, kind, header=header)
        if part.is_whole:
            return file
        if isinstance(file, ParquetFile):
            return replace(file, groups=tuple(range(part.start, part.end)))
        assert isinstance(file, JsonLinesFile)
        return replace(file, span=(part.start, part.end))

    def parts(self, size: int = PART_BYTES, *, keep_whole: bool = False) -> tuple[DataPart, ...]:
        """Every file in parts of about `size` bytes, or as a whole."""
        return tuple(part for file in self.files for part in self._cut(file, size, keep_whole))

    def _cut(self, path: Path, size: int, keep_whole: bool) -> Iterator[DataPart]:
        name = path.relative_to(self.folder).as_posix()
        cuts = [] if keep_whole else _cuts(path, size)
        if len(cuts) <= 2:
            yield DataPart(name, name)
            return
        inside = Path(name)
        for number, (start, end) in enumerate(pairwise(cuts), 1):
            new = inside.with_name(f"{inside.stem}.part-{number:05d}{inside.suffix}").as_posix()
            yield DataPart(name, new, start, end)


def find_data_set(source: str | Path) -> DataSet | None:
    """The data set of a folder or a pattern such as `mail/*.jsonl`; None for one file, and for a folder of plain text.

    Names that begin with a dot or an underscore are passed over; files of several formats are refused.
    """
    place = Path(source)
    if place.is_dir():
        found, folder = [path for path in place.rglob("*") if not _is_hidden(path, place)], place
    elif not place.exists() and glob.has_magic(str(source)):
        found = [Path(name) for name in glob.glob(str(source), recursive=True)]
        folder = _fixed_part(place)
    else:
        return None
    files = tuple(sorted(path for path in found if path.is_file() and path.suffix in FORMATS))
    endings = sorted({path.suffix for path in files})
    if place.is_dir() and not set(endings) & set(SET_ENDINGS):
        return None
    if len(endings) > 1:
        raise InvalidInput(
            f"{source} holds {' and '.join(endings)} files, expected files of one format; a pattern such as "
            f"'{folder}/*{endings[0]}' selects them"
        )
    if not files or endings[0] not in SET_ENDINGS:
        raise InvalidInput(f"{source} matches no data, expected some of {', '.join(SET_ENDINGS)} files")
    return DataSet(folder, files)


def refuse_other_columns(data: DataSet, header: Sequence[str] | None = None, *, allow_new_keys: bool = False) -> None:
    """Refuse an empty file, and a file whose columns differ from those of the first one."""
    first = open_data(data.files[0], header=header)
    for path in data.files[1:]:
        file = open_data(path, header=header)
        same = file.names == first.names
        if isinstance(file, JsonLinesFile):
            same = allow_new_keys or set(file.names) == set(first.names)
        if isinstance(file, ParquetFile) and isinstance(first, ParquetFile):
            same = file.schema == first.schema
        if not same:
            raise InvalidInput(
                f"{path.name} has other columns than {first.path.name} ({len(file.names)} and {len(first.names)}), "
                "expected the same names and types in every file"
            )


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(name.startswith(_HIDDEN) for name in path.relative_to(folder).parts)


def _fixed_part(pattern: Path) -> Path:
    """The folder before the first part of a path that is a pattern."""
    parts = pattern.parts
    magic = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:magic])


def _cuts(path: Path, size: int) -> list[int]:
    """Where the parts of a file begin, and where the last one ends."""
    if path.suffix == ".parquet" and path.stat().st_size:
        cuts, held = [0], 0
        groups = ParquetFile(path).group_bytes
        for number, group in enumerate(groups):
            if held and held + group > size:
                cuts.append(number)
                held = 0
            held += group
        return [*cuts, len(groups)]
    if path.suffix == ".jsonl":
        return _line_cuts(path, size)
    return []


def _line_cuts(path: Path, size: int) -> list[int]:
    cuts, end = [0], path.stat().st_size
    with path.open("rb") as stream:
        while cuts[-1] + size < end:
            stream.seek(cuts[-1] + size - 1)
            stream.readline()
            if stream.tell() >= end:
                break
            cuts.append(stream.tell())
    return [*cuts, end]

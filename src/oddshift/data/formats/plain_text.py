"""Plain text: a file in which every line is a record, or a folder in which every .txt file is one.

A folder is read with all folders inside it. Where files are in such folders, the name of the folder around each file is
its class, as in the published IMDB reviews (`neg` and `pos`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats import data_file
from oddshift.data.formats.data_file import (
    BYTE_ORDER_MARK,
    Count,
    DataFile,
    Released,
    byte_sink,
    refuse_long,
    texts_of,
    whole_text,
)

TEXT = "text"
"""The name of the one column of plain text."""

FOLDER = "folder"
"""The name of the column that holds the folder around each file of a folder."""


@dataclass(frozen=True, eq=False, repr=False)
class LineBlock:
    """Lines of plain text."""

    lines: list[str]

    def __len__(self) -> int:
        """Number of lines."""
        return len(self.lines)

    def cells(self, name: str) -> list[str]:
        """The lines without their ends, and without a byte-order mark."""
        return [_split_line(line)[1] for line in self.lines]

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """Other words, the same line ends."""
        written = []
        lines = self.lines if keep is None else list(compress(self.lines, keep))
        for line, text in zip(lines, released[TEXT], strict=True):
            before, _, after = _split_line(line)
            written += [before, str(text), after]
        return "".join(written).encode()


@dataclass(frozen=True, eq=False)
class TextFile(DataFile):
    """A plain-text file, each line a record."""

    path: Path
    names: tuple[str, ...] = (TEXT,)

    def blocks(self, count: Count) -> Iterator[LineBlock]:
        """All lines, a block at a time."""
        return (LineBlock(lines) for lines in lines_of(self.path, count))


FileText = tuple[str, bytes]
"""The name of a file inside its folder, and what is written to it."""


@dataclass(frozen=True, eq=False, repr=False)
class FolderBlock:
    """Some files of a folder: their names in it, and their texts."""

    names: list[str]
    texts: list[str]

    def __len__(self) -> int:
        """Number of files."""
        return len(self.names)

    def cells(self, name: str) -> list[str]:
        """The texts without a byte-order mark, or the name of the folder around each file."""
        if name == FOLDER:
            return [Path(file).parent.name for file in self.names]
        return [text.removeprefix(BYTE_ORDER_MARK) for text in self.texts]

    def render(self, released: Released, keep: BoolArray | None) -> list[FileText]:
        """Files of the same names with other words."""
        names = self.names if keep is None else list(compress(self.names, keep))
        texts = self.texts if keep is None else list(compress(self.texts, keep))
        rows = zip(names, texts, released[TEXT], strict=True)
        marks = ((name, BYTE_ORDER_MARK if old.startswith(BYTE_ORDER_MARK) else "", new) for name, old, new in rows)
        return [(name, f"{mark}{new}".encode()) for name, mark, new in marks]


@dataclass(frozen=True, eq=False)
class TextFolder(DataFile):
    """A folder of .txt files at any depth, each a record, in order of their paths."""

    path: Path

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The .txt files; a folder without one is refused."""
        found = tuple(sorted(path for path in self.path.rglob("*.txt") if path.is_file()))
        if not found:
            raise InvalidInput(f"folder {self.path} holds no .txt file, expected at least one")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The text, and the folder around it where there is one."""
        return (TEXT, FOLDER) if any(file.parent != self.path for file in self.files) else (TEXT,)

    @property
    def unpacked_bytes(self) -> int:
        """The size of all its files."""
        return sum(file.stat().st_size for file in self.files)

    def blocks(self, count: Count) -> Iterator[FolderBlock]:
        """All files, about as many characters at a time as a block of one file has bytes."""
        names: list[str] = []
        texts: list[str] = []
        size = 0
        for file in self.files:
            names.append(file.relative_to(self.path).as_posix())
            texts.append(whole_text(file))
            size += len(texts[-1])
            count(file.stat().st_size)
            if size >= data_file.BLOCK:
                yield FolderBlock(names, texts)
                names, texts, size = [], [], 0
        if names:
            yield FolderBlock(names, texts)

    @contextmanager
    def sink(self, path: Path) -> Iterator[Callable[[list[FileText]], object]]:
        """Files in a new folder that only its owner can read."""
        path.mkdir(mode=0o700)

        def write(files: list[FileText]) -> None:
            for name, data in files:
                (path / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with byte_sink(path / name) as put:
                    put(data)

        yield write


def lines_of(path: Path, count: Count, span: tuple[int, int] | None = None) -> Iterator[list[str]]:
    """Whole lines of each block of a file, or of a range of its bytes, with their ends."""
    rest, row = "", 1
    for text, is_last in texts_of(path, count, span=span):
        whole, end, rest = (rest + text).rpartition("\n")
        lines = [line + "\n" for line in whole.split("\n")] if end else []
        lines += [rest] if is_last and rest else []
        row += len(lines)
        refuse_long(rest, path, row)
        if lines:
            yield lines


def _split_line(line: str) -> tuple[str, str, str]:
    """A byte-order mark, the text of a line, and its end."""
    text = line.removeprefix(BYTE_ORDER_MARK)
    inside = text.rstrip("\r\n")
    return line[: len(line) - len(text)], inside, text[len(inside) :]

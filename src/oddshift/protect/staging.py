"""A release in the making: written in a hidden folder beside its place, and renamed when it is whole.

**Guarantee**: under OUT there is nothing, or a whole release. What an interrupted run left is deleted, never read.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oddshift.base.errors import InvalidInput

SIDECAR = ".protected.json"
"""What is added to OUT for the file beside it."""

_LOCK = "lock"
_NOTE = "note"


@dataclass(frozen=True)
class Parts:
    """The hidden folder of one release; `part` is the name of what is being written in it."""

    out: Path
    home: Path
    part: str

    @property
    def path(self) -> Path:
        """Where to write, a file or a folder."""
        return self.home / self.part

    def publish(self, note: bytes) -> None:
        """Make the release visible, its sidecar first; each is renamed whole."""
        sidecar = self.out.with_name(self.out.name + SIDECAR)
        (self.home / _NOTE).write_bytes(note)
        refuse_existing(self.out)
        os.replace(self.home / _NOTE, sidecar)
        os.rename(self.path, self.out)
        _flush(self.out.parent)


def refuse_existing(out: Path) -> None:
    """Never write over anything."""
    if out.exists() or out.is_symlink():
        raise InvalidInput(f"{out} exists, expected a new name: a release is never written over")
    if not out.parent.is_dir():
        raise InvalidInput(f"{out.parent} is not a folder, expected one to write {out.name} into")


@contextmanager
def parts_of(out: Path, withdraw: Callable[[list[str]], None]) -> Iterator[Parts]:
    """The folder of a new release of `out`; what an earlier one left there is withdrawn, then deleted unread.

    Whatever happens inside, nothing is left behind but what was published.
    """
    import fcntl  # not on every system, and needed for files only

    home = out.with_name(f".{out.name}.parts")
    home.mkdir(mode=0o700, exist_ok=True)
    with (home / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InvalidInput(f"another run is writing {out}, expected one at a time") from error
        try:
            left = [path for path in home.iterdir() if path.name != _LOCK]
            withdraw([path.name for path in left])
            for path in left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            yield Parts(out, home, secrets.token_hex(16))
        finally:
            shutil.rmtree(home, ignore_errors=True)


def _flush(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)

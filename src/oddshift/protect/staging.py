"""Staging: a release is written in a new hidden folder next to its place, and gets its name when it is complete.

**Guarantee**: OUT does not exist, or is a complete release. The folder is new, readable by its owner alone, and
locked while its process lives; no link is ever followed. What a dead process left is deleted, never read.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger import Ledger, StagedFolder

SIDECAR = ".protected.json"
"""What is added to the name of OUT for its sidecar."""

PREFIX = ".oddshift-"
"""How the names of hidden folders begin."""

_PART, _NOTE = "part", "note"
_CANNOT_LINK = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EISDIR)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass(frozen=True)
class Staging:
    """The hidden folder of one release; `folder` and `parent` are open descriptors of it and of the place of OUT."""

    out: Path
    home: Path
    folder: int
    parent: int

    @property
    def part(self) -> Path:
        """Where the release is written, a file or a folder."""
        return self.home / _PART

    @property
    def cells(self) -> Path:
        """Where released cells are noted by row."""
        return self.home / "cells.db"

    @property
    def keys(self) -> Path:
        """Where the keys of the records are noted."""
        return self.home / "keys"

    @property
    def staged(self) -> StagedFolder:
        """The folder as the ledger notes it."""
        found = os.fstat(self.folder)
        return StagedFolder(str(self.home.absolute()), found.st_dev, found.st_ino)

    def publish(self, note: bytes) -> None:
        """Make the release visible, its sidecar first; both are complete before, and nothing is overwritten."""
        sidecar = self.out.name + SIDECAR
        with open(os.open(_NOTE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self.folder), "wb") as stream:
            stream.write(note)
            stream.flush()
            os.fsync(stream.fileno())
        self._name(_NOTE, sidecar)
        try:
            self._name(_PART, self.out.name)
        except BaseException:
            with suppress(OSError):
                os.unlink(sidecar, dir_fd=self.parent)
            raise
        os.fsync(self.parent)

    def _name(self, inside: str, name: str) -> None:
        """Give something in the folder its name outside; a name that is taken is refused."""
        ends = {"src_dir_fd": self.folder, "dst_dir_fd": self.parent}
        try:
            os.link(inside, name, follow_symlinks=False, **ends)
            os.unlink(inside, dir_fd=self.folder)
        except FileExistsError:
            raise InvalidInput(
                f"{self.out.with_name(name)} exists, expected a new name: nothing is overwritten"
            ) from None
        except OSError as error:
            if error.errno not in _CANNOT_LINK:
                raise
            self._rename(inside, name)

    def _rename(self, inside: str, name: str) -> None:
        """Where links cannot be made (folders, some file systems): the system refuses to rename a folder over files."""
        if os.path.lexists(self.out.with_name(name)):
            raise InvalidInput(f"{self.out.with_name(name)} exists, expected a new name: nothing is overwritten")
        os.rename(inside, name, src_dir_fd=self.folder, dst_dir_fd=self.parent)

    def is_visible(self) -> bool:
        """Whether the part has left the folder, or has a second name outside it."""
        return _was_visible(self.folder)

    def discard(self) -> None:
        """Delete what was drawn."""
        for name in os.listdir(self.folder):
            _delete(name, self.folder)


def refuse_existing(out: Path) -> None:
    """Refuse to overwrite anything, or to write next to the sidecar of another release."""
    for taken in (out, out.with_name(out.name + SIDECAR)):
        if taken.exists() or taken.is_symlink():
            raise InvalidInput(f"{taken} exists, expected a new name: a release is never overwritten")
    if not out.parent.is_dir():
        raise InvalidInput(f"{out.parent} is not a folder, expected one to write {out.name} into")


@contextmanager
def staging_for(out: Path) -> Iterator[Staging]:
    """A fresh folder for a new release of `out`; whatever happens inside, only what was published is left behind."""
    import fcntl  # not on every system, and needed for files only

    name = PREFIX + secrets.token_hex(8)
    parent = os.open(out.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
        try:
            folder = os.open(name, _FOLDER, dir_fd=parent)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)  # the system releases it when the process dies
                yield Staging(out, out.parent / name, folder, parent)
            finally:
                os.close(folder)
        finally:
            shutil.rmtree(name, ignore_errors=True, dir_fd=parent)
    finally:
        os.close(parent)


def clear_dead(ledger: Ledger) -> int:
    """Delete what dead processes left of releases of this ledger, wherever their OUT was; returns how many died.

    Their claims stay: somebody may have seen what was drawn. `Ledger.claim` with `may_take_over` claims them again.
    """
    died = 0
    for release, staged, _ in ledger.unfinished():
        found = _removed(staged)
        if found is not None:
            ledger.settle(release, lambda is_visible=found: is_visible)  # type: ignore[misc]
            died += 1
    return died


def _removed(staged: StagedFolder) -> bool | None:
    """Delete the folder of a dead process; whether its release was visible, or None while the process lives."""
    import fcntl

    place = Path(staged.path)
    try:
        parent = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None  # not on this machine, perhaps on another
    try:
        folder = os.open(place.name, _FOLDER, dir_fd=parent)
    except OSError:
        os.close(parent)
        return True  # somebody deleted or replaced it: treat it as visible
    try:
        found = os.fstat(folder)
        if (found.st_dev, found.st_ino) != (staged.device, staged.inode):
            return True
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_visible = _was_visible(folder)
        shutil.rmtree(place.name, ignore_errors=True, dir_fd=parent)
        return is_visible
    except BlockingIOError:
        return None
    finally:
        os.close(folder)
        os.close(parent)


def _was_visible(folder: int) -> bool:
    """Whether the part has left the folder, or has a second name outside it."""
    try:
        part = os.stat(_PART, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return part.st_nlink > 1 and not stat.S_ISDIR(part.st_mode)


def _delete(name: str, folder: int) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)

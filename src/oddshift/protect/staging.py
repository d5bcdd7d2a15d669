"""Staging: a release is written in a new hidden folder next to its place, and gets its name when it is complete.

**Guarantee**: OUT does not exist, or is a complete release. The folder is new, readable by its owner alone, and
locked while its process lives; no link is ever followed. What a dead process left is deleted, never read.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.releases import StagedFolder

SIDECAR = ".protected.json"
"""What is added to the name of OUT for its sidecar."""

PREFIX = ".oddshift-"
"""How the names of hidden folders begin."""

JOB = "job.json"
"""What the folder of a data set holds from the start: another process can finish such a release, so it is kept."""

PART, _NOTE = "part", "note"
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
        return self.home / PART

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
        return StagedFolder(str(self.home.absolute()), found.st_dev, found.st_ino, socket.gethostname())

    def publish(self, note: bytes) -> None:
        """Make the release visible, its sidecar first; both are complete before, and nothing is overwritten."""
        sidecar = self.out.name + SIDECAR
        with open(os.open(_NOTE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self.folder), "wb") as stream:
            stream.write(note)
            stream.flush()
            os.fsync(stream.fileno())
        self._name(_NOTE, sidecar)
        try:
            self._name(PART, self.out.name)
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
def staging_for(
    out: Path, begun: StagedFolder | None = None, *, stays_after: type[BaseException] | None = None
) -> Iterator[Staging]:
    """A fresh folder for a new release of `out`; whatever happens inside, only what was published is left behind.

    `begun` is a folder that a dead process left, to be used again. After an error of the kind `stays_after` the folder
    stays, so that another process can go on.
    """
    import fcntl  # not on every system, and needed for files only

    clear_empty(out.parent)
    parent = os.open(out.parent, os.O_RDONLY | os.O_DIRECTORY)
    is_left = False
    try:
        name = _made(parent) if begun is None else Path(begun.path).name
        folder = os.open(name, _FOLDER, dir_fd=parent)
        try:
            if begun is None:
                fcntl.flock(folder, fcntl.LOCK_EX)  # the system releases it when the process dies
            else:
                _take(folder, begun, out)
            try:
                yield Staging(out, out.parent / name, folder, parent)
            except BaseException as error:
                is_left = stays_after is not None and isinstance(error, stays_after)
                raise
            finally:
                if not is_left:
                    shutil.rmtree(name, ignore_errors=True, dir_fd=parent)
        finally:
            os.close(folder)
    finally:
        os.close(parent)


def _made(parent: int) -> str:
    name = PREFIX + secrets.token_hex(8)
    os.mkdir(name, 0o700, dir_fd=parent)
    return name


def _take(folder: int, begun: StagedFolder, out: Path) -> None:
    """Lock a folder that was left behind; refuse one that is in use, or that something else has replaced."""
    import fcntl

    found = os.fstat(folder)
    if (found.st_dev, found.st_ino) != (begun.device, begun.inode):
        raise InvalidInput(f"the folder of the unfinished release of {out} was replaced, expected it as it was")
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidInput(f"another process is releasing {out}, expected one at a time") from None


def clear_dead(ledger: Ledger, *, data_sets_too: bool = False, only: int = 0) -> int:
    """Delete what dead processes left of releases of this ledger, wherever their OUT was; returns how many died.

    Their claims stay: somebody may have seen what was drawn. `Ledger.claim` with `may_take_over` claims them again.
    A data set that can be finished is left alone, unless `data_sets_too`. `only` is the one release that is looked at.
    Releases of other machines are theirs to clear.
    """
    died = 0
    for release, staged, _ in ledger.unfinished():
        is_asked = staged.is_here and only in (0, release)
        if not is_asked or (not data_sets_too and (Path(staged.path) / JOB).is_file()):
            continue
        found = _removed(staged)
        if found is not None:
            ledger.settle(release, lambda is_visible=found: is_visible)  # type: ignore[misc]
            died += 1
    return died


LEFT_EMPTY = 60.0
"""Seconds after which an empty hidden folder is one that a process left as it died, before or after its release."""


def clear_empty(parent: Path) -> None:
    """Delete empty hidden folders: nothing was drawn in them any more, or not yet."""
    for place in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if time.time() - place.lstat().st_mtime > LEFT_EMPTY:
                place.rmdir()  # refused by the system unless it is an empty folder


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
        part = os.stat(PART, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return part.st_nlink > 1 and not stat.S_ISDIR(part.st_mode)


def _delete(name: str, folder: int) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)

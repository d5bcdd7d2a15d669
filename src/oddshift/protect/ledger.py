"""The ledger: which inputs were released with a policy, kept beside the policy so that it travels with it.

Releasing an input twice leaks more than was certified, so a second time has to be asked for. Inputs are known by a
keyed hash (HMAC-SHA256); the key stays here, because a plain hash of a short input could be undone by guessing it.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from oddshift.base.errors import InvalidInput

LEDGER = "releases.jsonl"
"""Name of the ledger in the folder of a policy."""

_READ = 1 << 20


@dataclass(frozen=True)
class Ledger:
    """A file of one JSON object a line: a key, releases, and releases that never became visible (`withdrawn`)."""

    path: Path

    @classmethod
    def beside(cls, policy: str | Path) -> Ledger:
        """The ledger of a policy.json, or of the folder that holds one."""
        place = Path(policy)
        return cls((place if place.is_dir() else place.parent) / LEDGER)

    def fingerprint(self, files: Sequence[Path]) -> str:
        """The keyed hash of an input: the contents of its files, whatever their names and order."""
        key = self._key()
        marks = sorted(_mark(key, path) for path in files)
        return hmac.new(key, b"".join(marks), "sha256").hexdigest()

    def count(self, fingerprint: str, policy: str) -> int:
        """How often that input was released with that policy."""
        entries = self._entries()
        gone = {entry["withdrawn"] for entry in entries if "withdrawn" in entry}
        return sum(e.get("input") == fingerprint and e["policy"] == policy and e["part"] not in gone for e in entries)

    def record(self, fingerprint: str, policy: str, part: str, out: Path) -> None:
        """Note a release, before it becomes visible under `out`; `part` is its name until then."""
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"input": fingerprint, "policy": policy, "part": part, "out": str(out.resolve()), "time": moment}
        self._append(entry)

    def withdraw(self, parts: Sequence[str]) -> None:
        """Note that some releases never became visible: they were interrupted between ledger and rename."""
        known = {entry.get("part") for entry in self._entries()}
        for part in parts:
            if part in known:
                self._append({"withdrawn": part})

    def _key(self) -> bytes:
        first = next((entry["key"] for entry in self._entries() if "key" in entry), None)
        if first is None:
            first = secrets.token_hex(32)
            self._append({"key": first})
        return bytes.fromhex(first)

    def _entries(self) -> list[dict[str, Any]]:
        if not self.path.is_file():
            return []
        lines = self.path.read_text(encoding="utf-8").split("\n")
        try:
            return [json.loads(line) for line in lines[:-1]]  # a line without its end was never finished
        except ValueError as error:
            raise InvalidInput(f"{self.path} is damaged, expected one JSON object a line") from error

    def _append(self, entry: dict[str, str]) -> None:
        with _locked(self.path) as stream:
            end = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            whole = stream.read().rfind(b"\n") + 1
            if whole < end:
                stream.truncate(whole)
            stream.seek(whole)
            stream.write(json.dumps(entry).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())


def _mark(key: bytes, path: Path) -> bytes:
    total = hmac.new(key, digestmod="sha256")
    with path.open("rb") as stream:
        while data := stream.read(_READ):
            total.update(data)
    return total.digest()


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, for one writer at a time; it is readable by its owner alone."""
    import fcntl  # not on every system, and needed for files only

    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written ({error.strerror}); releases are recorded beside the policy"
        ) from error
    with open(number, "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream

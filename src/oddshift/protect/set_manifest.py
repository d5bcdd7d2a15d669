"""The manifest of a released data set: every part with its records, size and SHA-256, in a file inside the folder.

Its name begins with an underscore, so that readers of data sets (Arrow, Dask, Spark) pass it over.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from oddshift.base.storage import load

MANIFEST = "_manifest.json"
"""Name of the manifest in the folder of a released data set."""


@dataclass(frozen=True, kw_only=True)
class ReleasedPart:
    """One file of a released data set, and the records that it comes from: a file, or a range of it."""

    name: str
    file: str
    start: int
    end: int
    records: int
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class SetManifest:
    """All parts of a released data set; `input` names the data by a keyed hash of its records in their order."""

    policy: str
    input: str
    records: int
    parts: tuple[ReleasedPart, ...]


def manifest_problems(folder: str | Path) -> list[str]:
    """What differs between a released data set and its manifest, line by line; empty when it is complete."""
    home = Path(folder)
    manifest: SetManifest = load(home / MANIFEST, SetManifest)
    problems = []
    for part in manifest.parts:
        path = home / part.name
        if not path.is_file():
            problems.append(f"{part.name} is missing")
            continue
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != part.sha256:
                problems.append(f"{part.name} differs from what was released")
    known = {part.name for part in manifest.parts} | {MANIFEST}
    found = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    problems += [f"{name} is not in the manifest" for name in sorted(found - known)]
    if manifest.records != sum(part.records for part in manifest.parts):
        problems.append("the parts do not have as many records as the data set")
    return problems

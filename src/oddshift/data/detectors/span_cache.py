"""Spans kept on disk: the slow part of detection is done once for the same texts and the same pipeline.

A file holds character positions and label numbers under a hash; it holds no text. Folder: `XDG_CACHE_HOME`, by
default `~/.cache`, below `oddshift/spans`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from oddshift.base.errors import TamperedEvidence
from oddshift.base.storage import load, save
from oddshift.data.detectors.spans import Spans

_LAYOUT = b"spans 2"


def cache_folder() -> Path:
    """Where spans are kept."""
    root = os.environ.get("XDG_CACHE_HOME")
    return Path(root or Path.home() / ".cache") / "oddshift" / "spans"


def key_of(pipeline: Path, texts: Sequence[str]) -> str:
    """A hash of every file of the pipeline, spaCy's version, and every text with its length."""
    from importlib.metadata import version

    total = hashlib.sha256(_LAYOUT + version("spacy").encode() + fingerprint_of(pipeline).encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def fingerprint_of(pipeline: Path) -> str:
    """A hash of the names and contents of every file of a pipeline."""
    files = sorted(path for path in pipeline.rglob("*") if path.is_file() and path.suffix != ".pyc")
    state = tuple((str(f.relative_to(pipeline)), f.stat().st_size, f.stat().st_mtime_ns) for f in files)
    return _hashed(pipeline.resolve(), state)


@lru_cache(maxsize=16)
def _hashed(pipeline: Path, state: tuple[tuple[str, int, int], ...]) -> str:
    """The hash of some files; `state` changes when they do, so that unchanged files are read once."""
    total = hashlib.sha256()
    for name, _, _ in state:
        total.update(name.encode() + b"\0")
        total.update(hashlib.sha256((pipeline / name).read_bytes()).digest())
    return total.hexdigest()


def recall(key: str) -> Spans | None:
    """The spans kept under a key; None when there are none, or when the file is not what was written."""
    path = cache_folder() / f"{key}.npz"
    try:
        spans: Spans = load(path, Spans)
    except (OSError, TamperedEvidence):
        return None
    return spans


def keep(key: str, spans: Spans) -> None:
    """Keep spans under a key; a folder that cannot be written to only means that nothing is kept."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        save(cache_folder() / f"{key}.npz", spans)
    except OSError:
        return

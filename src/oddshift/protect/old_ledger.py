"""The ledger of earlier versions: whole inputs by the keyed hash of their files, one JSON object in each line.

It is read and never written. An input that it holds counts as released; it knows nothing about single records.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oddshift.base.errors import InvalidInput

OLD_LEDGER = "releases.jsonl"
"""Its name in the folder of a policy."""

_READ = 1 << 20


def earlier_releases(path: Path, files: Sequence[Path]) -> int:
    """How often an input of these files was released, whatever their names and order, as the old ledger says."""
    if not path.is_file():
        return 0
    entries = _entries(path)
    key = next((entry["key"] for entry in entries if isinstance(entry.get("key"), str)), None)
    if key is None:
        return 0
    try:
        secret = bytes.fromhex(key)
    except ValueError:
        raise InvalidInput(f"{path} is damaged, expected a key of hexadecimal digits") from None
    marks = sorted(_mark(secret, file) for file in files)
    fingerprint = hmac.new(secret, b"".join(marks), "sha256").hexdigest()
    withdrawn = {str(entry["withdrawn"]) for entry in entries if "withdrawn" in entry}
    return sum(entry.get("input") == fingerprint and str(entry.get("part")) not in withdrawn for entry in entries)


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        entries = [json.loads(line) for line in lines[:-1]]  # a line without its end was never finished
    except (ValueError, RecursionError):
        entries = [None]
    if not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput(f"{path} is damaged, expected one JSON object in each line")
    return entries


def _mark(key: bytes, path: Path) -> bytes:
    total = hmac.new(key, digestmod="sha256")
    with path.open("rb") as stream:
        while data := stream.read(_READ):
            total.update(data)
    return total.digest()

"""What a run was computed from: its configuration and the content of every file that it names, as fingerprints.

A finished run answers for these inputs only. The hashes tell whether a file has changed. Anyone who can guess a
whole file can confirm the guess, so only the owner of the run can read them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from oddshift.app.configuration import Configuration
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.identity import fingerprint
from oddshift.base.storage import SCHEMA, load, save, schema_of

INPUTS = "inputs.json"

MISSING = "missing"
"""Stands for the content of a path without a file: the name of an installed pipeline, or a file that was deleted."""


@dataclass(frozen=True)
class Inputs:
    """The fingerprint of a configuration, and of the content behind each key of it that names files."""

    configuration: str
    files: dict[str, str]


def inputs_of(config: Configuration) -> Inputs:
    """Read the files that a configuration names, once, and keep only their hashes."""
    found = {key: content_of(path, text_only=key == "data.path") for key, path in config.files.items()}
    return Inputs(config.fingerprint, found)


def write_inputs(folder: Path, inputs: Inputs) -> None:
    """Keep the inputs of a run, readable by its owner alone."""
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / INPUTS, inputs, mode=0o600)


def refuse_other_inputs(folder: Path, finished: Path, inputs: Inputs) -> None:
    """Refuse to continue in a folder whose finished run, `finished`, had another configuration or other data."""
    instead = f"or a new folder, such as --out {folder}-2"
    if not (folder / INPUTS).is_file():
        raise InvalidInput(
            f"{folder} holds a run of schema {schema_of(finished)} (now {SCHEMA}) that kept no fingerprint of its "
            f"data: it can be read and verified but not continued, expected a new folder, such as --out {folder}-2"
        )
    kept = _kept(folder / INPUTS)
    if kept.configuration != inputs.configuration:
        raise InvalidInput(
            f"{folder} holds the run of another configuration (see {folder / 'config.toml'}), "
            f"expected that configuration {instead}"
        )
    for key in sorted({*kept.files, *inputs.files}):
        if kept.files.get(key) != inputs.files.get(key):
            what = "is missing" if inputs.files.get(key) == MISSING else "has other content now"
            raise InvalidInput(
                f"{folder} holds the run of other data: the file of {key} {what}, expected the same one {instead}"
            )


def _kept(path: Path) -> Inputs:
    try:
        found: Inputs = load(path, Inputs)
    except TamperedEvidence as error:
        raise TamperedEvidence(f"{path}: {error}") from error
    return found


def content_of(path: Path, *, text_only: bool) -> str:
    """The hash of a file's bytes; for a folder, of every file in it by name, or of its text files only."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    if not path.is_dir():
        return MISSING
    inside = sorted(file for file in path.rglob("*.txt" if text_only else "*") if file.is_file())
    kept = [file for file in inside if file.suffix != ".pyc"]
    return fingerprint({file.relative_to(path).as_posix(): content_of(file, text_only=text_only) for file in kept})

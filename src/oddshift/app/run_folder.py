"""A run folder: what an audit leaves behind for the report, for verify and for compare.

Two folders in it hold secrets, each readable by its owner alone; nothing else in it does.

audit.npz           the complete Audit
adaptation.npz      the complete Adaptation, when scales were adapted
policy.json         what `oddshift protect` applies, with vocabulary.npz next to it
summary.json        the same in plain JSON, without arrays
config.toml         the configuration it was run with
inputs.json         fingerprints of that configuration and of the files it names, readable by their owner alone
evidence/*.npz      one certificate each, with the values it rests on: `oddshift verify` takes these
evidence/witness.json
belief.json         how the odds of one secret moved, its candidates called w1, w2, ...
versions.json       what it was computed with
report.html         the page that `oddshift report` makes of all this
examples/           only when asked for: SECRETS of a few documents
.kept/              the prepared SECRETS in coded form and the fitted attackers, until `oddshift adapt` is done

What a run was computed from: its configuration and the content of every file that it names, as fingerprints.

A finished run answers for these inputs only. The hashes tell whether a file has changed. Anyone who can guess a
whole file can confirm the guess, so only the owner of the run can read them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from oddshift.adapt.result import Adaptation
from oddshift.app.configuration import Configuration
from oddshift.audit import Audit
from oddshift.audit.beliefs import Belief
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.identity import fingerprint
from oddshift.base.storage import SCHEMA, load, save, schema_of, write_atomic
from oddshift.data.codecs.text.passages import Passage, Passages
from oddshift.evidence.certificates import Evidence, WitnessEvidence, evidence_name, save_evidence

Stored = TypeVar("Stored")

AUDIT = "audit.npz"
ADAPTATION = "adaptation.npz"
POLICY = "policy.json"
SUMMARY = "summary.json"
CONFIG = "config.toml"
BELIEF = "belief.json"
VERSIONS = "versions.json"
REPORT = "report.html"
EVIDENCE = "evidence"
EXAMPLES = "examples"
PASSAGES = "passages.json"

AS_AUDITED = "Released by the mechanism that was audited."
BY_POLICY = "Released by the policy of this run."
"""What passages are, for a reader."""

PRIVATE = 0o600
"""Mode of a file that holds secrets."""

LIBRARIES = ("oddshift", "numpy", "scipy", "torch", "spacy", "presidio-analyzer")
"""Whose versions a run keeps, where they are installed."""


def write_run(folder: str | Path, audit: Audit, config: str = "", inputs: Inputs | None = None) -> Path:
    """Write the folder; `audit.npz` comes last, so that a folder that has it is complete.

    Without `inputs` no later run continues it.
    """
    home = _begun(folder, audit.evidence, "", config, inputs)
    if audit.witness is not None:
        first = audit.evidence[0]
        shown = WitnessEvidence(witness=audit.witness, mechanism_hash=first.mechanism_hash, split_hash=first.split_hash)
        save_evidence(home / EVIDENCE / "witness.json", shown)
    write_atomic(home / SUMMARY, json.dumps(summary(audit), indent=1).encode())
    write_atomic(home / VERSIONS, json.dumps(versions(), indent=1).encode())
    save(home / AUDIT, audit)
    return home


def write_adaptation(
    folder: str | Path, adaptation: Adaptation, config: str = "", inputs: Inputs | None = None
) -> Path:
    """Write an adaptation into the folder of the audit with the same configuration; `adaptation.npz` comes last."""
    home = _begun(folder, adaptation.evidence, "adapted-", config, inputs)
    save(home / ADAPTATION, adaptation)
    return home


def _begun(folder: str | Path, found: Sequence[Evidence], prefix: str, config: str, inputs: Inputs | None) -> Path:
    """A run folder with its evidence, its configuration, and what it was computed from."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    (home / EVIDENCE).mkdir(mode=0o700, exist_ok=True)
    for evidence in found:
        save_evidence(home / EVIDENCE / f"{prefix}{evidence_name(evidence.certificate.claim)}", evidence)
    write_atomic(home / CONFIG, config.encode())
    if inputs is not None:
        write_inputs(home, inputs)
    return home


def write_belief(folder: str | Path, belief: Belief) -> None:
    """Keep how the odds of one secret moved."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    save(Path(folder) / BELIEF, belief)


def write_examples(folder: str | Path, belief: Belief, passages: Sequence[Passage] = ()) -> None:
    """Keep a belief by name, and texts, in a separate folder, in files that only their owner can read."""
    home = write_passages(folder, Passages(tuple(passages), AS_AUDITED))
    save(home / BELIEF, belief, mode=PRIVATE)


def read_run(folder: str | Path) -> Audit:
    """The audit of a run folder."""
    return _stored(folder, AUDIT, Audit, "is not a run folder")


def read_adaptation(folder: str | Path) -> Adaptation:
    """The adaptation of a run folder."""
    return _stored(folder, ADAPTATION, Adaptation, "holds no adaptation")


def _stored(folder: str | Path, name: str, kind: type[Stored], otherwise: str) -> Stored:
    path = Path(folder) / name
    if not path.is_file():
        raise InvalidInput(f"{folder} {otherwise}: it has no {name}")
    try:
        found: Stored = load(path, kind)
    except TamperedEvidence as error:
        raise TamperedEvidence(f"{path}: {error}") from error
    return found


def refuse_no_run(folder: str | Path) -> None:
    """Refuse a folder that holds neither an audit nor an adaptation."""
    if not any((Path(folder) / name).is_file() for name in (AUDIT, ADAPTATION)):
        raise InvalidInput(f"{folder} is not a run folder: it has neither {AUDIT} nor {ADAPTATION}")


def refuse_other_run(folder: Path, inputs: Inputs) -> None:
    """Refuse to read or overwrite the run of another configuration or of other data."""
    finished = next((folder / name for name in (AUDIT, ADAPTATION) if (folder / name).is_file()), None)
    if finished is not None:
        refuse_other_inputs(folder, finished, inputs)


def read_belief(folder: str | Path, *, with_secrets: bool) -> Belief | None:
    """How the odds of one secret moved, if kept; by name only `with_secrets`, where the run kept examples."""
    home = Path(folder)
    named = home / EXAMPLES / BELIEF
    path = named if with_secrets and named.is_file() else home / BELIEF
    found: Belief | None = load(path, Belief) if path.is_file() else None
    return found


def write_passages(folder: str | Path, passages: Passages) -> Path:
    """Keep texts before and after a release where only their owner can read them, in place of earlier ones."""
    home = Path(folder) / EXAMPLES
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    save(home / PASSAGES, passages, mode=PRIVATE)
    return home


def read_passages(folder: str | Path) -> Passages:
    """Texts before and after, where the run kept examples: SECRETS."""
    path = Path(folder) / EXAMPLES / PASSAGES
    found: Passages = load(path, Passages) if path.is_file() else Passages(())
    return found


def versions() -> dict[str, str]:
    """The versions of Python and of the installed libraries, without importing any."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def summary(audit: Audit) -> dict[str, Any]:
    """Plain values of an audit, without arrays, its certificates with their sentences."""
    plain: dict[str, Any] = _plain(audit)
    del plain["evidence"]
    plain["state"], plain["state_in_words"] = audit.state, audit.state_in_words
    deciding = len(audit.deciding_rates)  # they come first
    plain["certificates"] = [
        {**_plain(c), "sentence": c.sentence, "file": evidence_name(c.claim), "decides": place < deciding}
        for place, c in enumerate(audit.certificates)
    ]
    return plain


def adaptation_summary(adaptation: Adaptation) -> dict[str, Any]:
    """Plain values of an adaptation, its certificates with their sentences."""
    plain: dict[str, Any] = _plain(adaptation)
    for key in ("evidence", "verdict"):
        del plain[key]
    plain["state"], plain["state_in_words"] = adaptation.state, adaptation.state_in_words
    for name in ("guarantee", "kept", "forms", "repair"):
        plain[name] = getattr(adaptation, name)
    plain["certificates"] = [{**_plain(e.certificate), "sentence": e.certificate.sentence} for e in adaptation.evidence]
    return plain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {name: _plain(item) for name, item in fields.items() if not isinstance(item, np.ndarray)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


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

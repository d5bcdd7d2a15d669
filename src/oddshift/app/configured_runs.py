"""Runs of a configuration: read its data, ask its question, keep the answer in a run folder.

A finished run is read, not repeated; an interrupted one continues; a folder never mixes two configurations or two
states of the data.

Kept work: what an audit leaves in its run folder so that an adaptation need not read, encode or fit anything again.

It holds the SECRETS in coded form next to the vocabulary that decodes them, readable by their owner alone, until the
adaptation is done. It is read again only for the same configuration, seed, files and versions; anything else is
ignored, and the work is done again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oddshift.adapt import Adaptation
from oddshift.app.configuration import Configuration, FileData, parse_config
from oddshift.app.release_quality import example_rows, released_passages
from oddshift.app.resources import CpuLimit, Means
from oddshift.app.run import Run, Settings
from oddshift.app.run_folder import (
    ADAPTATION,
    AUDIT,
    EXAMPLES,
    POLICY,
    PRIVATE,
    Inputs,
    inputs_of,
    read_adaptation,
    read_run,
    refuse_other_run,
    versions,
    write_passages,
)
from oddshift.attackers.attacker import Attacker
from oddshift.audit import Audit
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.execution import Progress, silent
from oddshift.base.identity import fingerprint
from oddshift.base.safe_serialization import can_be_stored, load_graph, save_graph
from oddshift.base.storage import write_atomic
from oddshift.data.codecs import CODECS, Codec
from oddshift.data.dataset import read_dataset
from oddshift.data.preparation import Prepared, people_of, prepare
from oddshift.mechanisms.named import SCALED
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from oddshift.protect.policies import Policy

KEPT = ".kept"
"""Where kept work lies in a run folder."""

WORK = "work.npz"
NOTE = "README.txt"
CHECKPOINTS = "*.safetensors"

PRIVATE_FOLDER = 0o700

NOTE_TEXT = """This folder holds SECRETS: the audited records in coded form, the vocabulary that decodes them, and the
attackers that were fitted on them. `oddshift adapt` with the same configuration reads them instead of the data, and
removes this folder when it is done. `oddshift audit --no-keep` never writes it. You can delete it at any time.
"""


@dataclass(frozen=True, eq=False, repr=False)
class StoredCodec:
    """A codec in a form that a file can hold: its kind, its settings, and what it learned."""

    kind: str
    settings: Any
    vocabulary: Any

    @classmethod
    def of(cls, codec: Codec) -> StoredCodec:
        """The form of a codec; one that no file can hold, such as one with a detector of the caller's, is refused."""
        return cls(codec.kind, *codec.to_policy())

    def made(self, space: Space, tiers: Tiers) -> Codec:
        """The codec, made as a policy makes it."""
        return CODECS[self.kind].from_policy(self.settings, self.vocabulary, space, tiers)


@dataclass(frozen=True, eq=False, repr=False)
class KeptWork:
    """Prepared data (encoded texts, or the cells of a table) apart from their codec, and fits by their keys."""

    key: str
    without_codec: Prepared
    codec: StoredCodec | None
    fits: Mapping[str, Attacker]

    @property
    def prepared(self) -> Prepared:
        """The data as they were prepared."""
        some = self.without_codec
        return replace(some, codec=None if self.codec is None else self.codec.made(some.split.fit.space, some.tiers))


def keep_work(folder: Path, inputs: Inputs, prepared: Prepared, fits: Mapping[str, Attacker], unfinished: Path) -> None:
    """Keep what was prepared and fitted; `unfinished` is where networks left their checkpoints.

    A codec or an attacker that no file can hold (a detector of the caller's own, a network) is left out.
    """
    try:
        codec = None if prepared.codec is None else StoredCodec.of(prepared.codec)
    except InvalidInput:
        return
    columns = None if prepared.columns is None else {name: list(cells) for name, cells in prepared.columns.items()}
    work = KeptWork(
        _key(inputs),
        replace(prepared, codec=None, encoded=None, columns=columns, labels=None, certify_rows=None),
        codec,
        {key: attacker for key, attacker in fits.items() if can_be_stored(attacker)},
    )
    if not can_be_stored(work):
        return
    home = folder / KEPT
    remove_kept(folder)
    home.mkdir(mode=PRIVATE_FOLDER, parents=True)
    write_atomic(home / NOTE, NOTE_TEXT.encode(), mode=PRIVATE)
    for checkpoint in unfinished.glob(CHECKPOINTS):
        write_atomic(home / checkpoint.name, checkpoint.read_bytes(), mode=PRIVATE)
    save_graph(home / WORK, work, mode=PRIVATE)


def read_kept(folder: Path, inputs: Inputs) -> KeptWork | None:
    """What an audit of the same inputs kept; None when there is nothing, or nothing that can be trusted."""
    home = folder / KEPT
    if home.is_symlink() or not (home / WORK).is_file() or home.stat().st_mode & 0o077:
        return None
    try:
        found = load_graph(home / WORK)
    except (TamperedEvidence, OSError):
        return None
    return found if isinstance(found, KeptWork) and found.key == _key(inputs) else None


def lay_out_checkpoints(folder: Path, unfinished: Path) -> None:
    """Put the kept checkpoints of networks where training looks for them: a finished one trains no further."""
    for checkpoint in (folder / KEPT).glob(CHECKPOINTS):
        if not (unfinished / checkpoint.name).exists():
            write_atomic(unfinished / checkpoint.name, checkpoint.read_bytes(), mode=PRIVATE)


def remove_kept(folder: Path) -> None:
    """Remove the kept work of a run folder, if there is any."""
    if (folder / KEPT).is_symlink():
        (folder / KEPT).unlink()
    elif (folder / KEPT).is_dir():
        shutil.rmtree(folder / KEPT)


def _key(inputs: Inputs) -> str:
    return fingerprint(("kept", inputs.configuration, inputs.files, versions()))


UNFINISHED = ".unfinished"
"""Where unfinished work of an audit is kept in its run folder."""

UNFINISHED_ADAPT = ".unfinished-adapt"
"""Where unfinished work of an adaptation is kept in its run folder."""


def prepare_configured(config: Configuration) -> Prepared:
    """Read, split and encode the data of a configuration."""
    data = config.data
    found = read_dataset(data.path, data.settings) if isinstance(data, FileData) else data
    return prepare(found, config.audit.seed)


def run_audit(
    asked: str | Configuration,
    folder: Path,
    source: str = "configuration",
    *,
    home: Path | None = None,
    max_cpu: float | None = None,
    keep_examples: bool = False,
    keep: bool = True,
    progress: Progress = silent,
) -> Audit:
    """Run the audit that a configuration describes and keep it in `folder`; a finished run is read, not repeated.

    `home` is the folder that relative paths are looked for in first: that of the configuration file.
    `max_cpu` bounds the work, in CPU seconds: where that is not enough, fewer documents are taken, which is said.
    `keep_examples` also writes what the strongest attacker believes about a few documents: these are secrets.
    `keep` leaves the prepared data and the fitted attackers in a private folder where the configuration can also be
    adapted, so that `run_adapt` need not do that work again; these are secrets in coded form.
    `progress` is told how far the work is.
    """
    limit = None if max_cpu is None else CpuLimit.begin(max_cpu)
    config = _parsed(asked, source, home)
    inputs = inputs_of(config)
    refuse_other_run(folder, inputs)
    if (folder / AUDIT).is_file() and (not keep_examples or (folder / EXAMPLES).is_dir()):
        return read_run(folder)
    progress("reading the data", 0, 0)
    prepared = prepare_configured(config)
    with _unfinished(folder / UNFINISHED) as kept:
        means = Means(execution=config.execution, folder=kept, limit=limit, progress=progress)
        run, question = _at_level(_run(config, prepared, means), config.audit, folder, config, inputs)
        found = run.audit(question, keep_examples=keep_examples)
        can_adapt = config.adapt is not None and config.mechanism.name in SCALED
        if keep and can_adapt and not (folder / ADAPTATION).is_file():
            keep_work(folder, inputs, prepared, means.fits, kept)
        found.save(folder, inputs)
    return found.result


def run_adapt(
    asked: str | Configuration,
    folder: Path,
    source: str = "configuration",
    *,
    home: Path | None = None,
    progress: Progress = silent,
) -> Adaptation:
    """Adapt the scales that a configuration asks for and keep them in `folder`, with a policy when they are certified.

    A finished adaptation is read, not repeated. What an audit of the same inputs kept in the folder is used instead of
    reading, encoding and fitting again, and is removed at the end. `home` is the folder that relative paths are looked
    for in first.
    """
    config = _parsed(asked, source, home)
    inputs = inputs_of(config)
    refuse_other_run(folder, inputs)
    if (folder / ADAPTATION).is_file():
        return read_adaptation(folder)
    if config.audit.delta is None:
        raise InvalidInput(
            f"{source}: missing key audit.delta, expected the share of cases in which epsilon may be exceeded"
        )
    if config.adapt is None:
        raise InvalidInput(f"{source}: audit.law={config.audit.law!r} cannot be adapted, expected anchored or uniform")
    earlier = read_kept(folder, inputs)
    progress("reading the data", 0, 0)
    prepared = prepare_configured(config) if earlier is None else earlier.prepared
    with _unfinished(folder / UNFINISHED_ADAPT) as kept:
        if earlier is not None:
            lay_out_checkpoints(folder, kept)
        fits = {} if earlier is None else dict(earlier.fits)
        means = Means(execution=config.execution, folder=kept, progress=progress, fits=fits)
        run, question = _at_level(_run(config, prepared, means), config.adapt, folder, config, inputs)
        found = run.adapt(question)
        released = found.policy or found.proposal
        if released is None:
            (folder / POLICY).unlink(missing_ok=True)
        else:
            released.save(folder)
            if (folder / EXAMPLES).is_dir():
                _show_release(folder, config, prepared, released.policy)
        found.save(folder, inputs)
        remove_kept(folder)
    return found.result


def _parsed(asked: str | Configuration, source: str, home: Path | None) -> Configuration:
    return parse_config(asked, source, home) if isinstance(asked, str) else asked


def _run(config: Configuration, prepared: Prepared, means: Means) -> Run:
    return Run(prepared, config.mechanism, means, config.text, config.users, config.ledger.address)


def _at_level(
    run: Run, question: Settings, folder: Path, config: Configuration, inputs: Inputs
) -> tuple[Run, Settings]:
    """The question at its level; the embedded corpus is made up, and may be asked anything."""
    if not isinstance(config.data, FileData):
        return run, question
    return run.at_level(question, folder, inputs.files["data.path"], inputs.configuration)


def _show_release(folder: Path, config: Configuration, prepared: Prepared, policy: Policy) -> None:
    """Put the release of the policy in the place of the examples that the audit kept, where they are texts."""
    if prepared.codec is None or prepared.codec.point_names is None:
        return
    rows = example_rows(prepared.split.certify, config.audit.seed)
    if prepared.encoded is not None:
        encoded = prepared.encoded.take(rows)
    elif isinstance(config.data, FileData):
        data = read_dataset(config.data.path, config.data.settings)
        some = prepared.codec.encode({name: [cells[row] for row in rows] for name, cells in data.columns.items()})
        found = prepared.codec.texts_in(some)
        if found is None:
            return
        encoded = found
    else:
        encoded = people_of(config.data).encoded.take(rows)
    write_passages(folder, released_passages(encoded, policy))


@contextmanager
def _unfinished(place: Path) -> Iterator[Path]:
    """A folder for unfinished work, removed when the work is done, or when the work was refused before it began."""
    place.mkdir(parents=True, exist_ok=True)
    try:
        yield place
    except InvalidInput:
        for empty in (place, place.parent):
            if not any(empty.iterdir()):
                empty.rmdir()
        raise
    shutil.rmtree(place, ignore_errors=True)

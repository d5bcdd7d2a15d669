"""Runs of a configuration: read its data, ask its question, keep the answer in a run folder.

A finished run is read, not repeated; an interrupted one continues; a folder never mixes two configurations or two
states of the data.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oddshift.adapt import Adaptation
from oddshift.app.configuration import Configuration, FileData, parse_config
from oddshift.app.fit_cache import keep_work, lay_out_checkpoints, read_kept, remove_kept
from oddshift.app.illustration import example_rows, released_passages
from oddshift.app.resources import CpuLimit, Means
from oddshift.app.run import Run, Settings
from oddshift.app.run_folder import (
    ADAPTATION,
    AUDIT,
    EXAMPLES,
    POLICY,
    Inputs,
    inputs_of,
    read_adaptation,
    read_run,
    refuse_other_run,
    write_passages,
)
from oddshift.audit import Audit
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Progress, silent
from oddshift.data.codecs import EncodedText
from oddshift.data.dataset import read_dataset
from oddshift.data.preparation import Prepared, people_of, prepare
from oddshift.mechanisms.named import SCALED
from oddshift.protect.policies import Policy

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
        found = prepared.codec.encode({name: [cells[row] for row in rows] for name, cells in data.columns.items()})
        if not isinstance(found, EncodedText):
            return
        encoded = found
    else:
        encoded = people_of(config.data).encoded.take(rows)
    write_passages(folder, released_passages(encoded, policy.mechanism(), policy.tiers))


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

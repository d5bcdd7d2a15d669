"""Kept work: what an audit leaves in its run folder so that an adaptation need not read, encode or fit anything again.

It holds the SECRETS in coded form next to the vocabulary that decodes them, readable by their owner alone, until the
adaptation is done. It is read again only for the same configuration, seed, files and versions; anything else is
ignored, and the work is done again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddshift.app.run_folder import PRIVATE, Inputs, versions
from oddshift.attackers.attacker import Attacker
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.identity import fingerprint
from oddshift.base.safe_serialization import can_be_stored, load_graph, save_graph
from oddshift.base.storage import write_atomic
from oddshift.data.codecs import CODECS
from oddshift.data.found_points import FoundPoints
from oddshift.data.preparation import Prepared
from oddshift.model.prior import Markov
from oddshift.model.records import Split
from oddshift.model.tiers import Tiers

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
class KeptWork:
    """Prepared data (encoded texts, or the cells of a table), and fitted attackers by the key of their fit."""

    key: str
    split: Split
    tiers: Tiers
    detector: str
    kind: str
    notes: tuple[str, ...]
    codec_kind: str | None
    codec_settings: Any
    vocabulary: Any
    prior_of: Callable[[int], Markov] | None
    fits: Mapping[str, Attacker]
    columns: Mapping[str, tuple[Any, ...]] | None
    found: FoundPoints | None

    @property
    def prepared(self) -> Prepared:
        """The data as they were prepared; the codec is made as a policy makes it."""
        codec = None
        if self.codec_kind is not None:
            made = CODECS[self.codec_kind]
            codec = made.from_policy(self.codec_settings, self.vocabulary, self.split.fit.space, self.tiers)
        return Prepared(
            self.split,
            self.tiers,
            self.detector,
            self.kind,
            codec,
            self.notes,
            self.prior_of,
            columns=None if self.columns is None else {name: list(cells) for name, cells in self.columns.items()},
            found=self.found,
        )


def keep_work(folder: Path, inputs: Inputs, prepared: Prepared, fits: Mapping[str, Attacker], unfinished: Path) -> None:
    """Keep what was prepared and fitted; `unfinished` is where networks left their checkpoints.

    A codec or an attacker that no file can hold (a detector of the caller's own, a network) is left out.
    """
    codec = prepared.codec
    try:
        settings, vocabulary = (None, None) if codec is None else codec.to_policy()
    except InvalidInput:
        return
    work = KeptWork(
        _key(inputs),
        prepared.split,
        prepared.tiers,
        prepared.detector,
        prepared.kind,
        prepared.notes,
        None if codec is None else codec.kind,
        settings,
        vocabulary,
        prepared.prior_of,
        {key: attacker for key, attacker in fits.items() if can_be_stored(attacker)},
        None if prepared.columns is None else {name: tuple(cells) for name, cells in prepared.columns.items()},
        prepared.found,
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

"""Kept work: what an audit leaves in its run folder so that an adaptation need not read, encode or fit anything again.

It holds the SECRETS in coded form next to the vocabulary that decodes them, readable by their owner alone, until the
adaptation is done. It is read again only for the same configuration, seed, files and versions; anything else is
ignored, and the work is done again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oddshift.app.run_folder import PRIVATE, Inputs, versions
from oddshift.attackers.attacker import Attacker
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.identity import fingerprint
from oddshift.base.safe_serialization import can_be_stored, load_graph, save_graph
from oddshift.base.storage import write_atomic
from oddshift.data.codecs import CODECS, Codec
from oddshift.data.preparation import Prepared
from oddshift.model.space import Space
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

"""A policy in use: it can be applied to values in memory and to files, and kept in a folder.

    policy = load_policy("run")
    policy.apply(["Ann met the nurse."])          # a list in, a list out; a frame in, the same kind of frame out
    policy.protect("mail.csv", "mail-protected.csv")

Noise comes from the operating system. **Every call of `apply` is a release**: releasing the same record twice leaks
more than was certified. `protect` keeps a ledger next to the policy and refuses that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TextCodec, VectorCodec
from oddshift.data.frames import column_like, columns_of, frame_like, is_frame, list_of
from oddshift.protect.known_columns import refuse_closed_columns, refuse_unknown_columns
from oddshift.protect.ledger import Ledger
from oddshift.protect.policies import POLICY, Policy, load_policy, save_policy
from oddshift.protect.release_files import protect
from oddshift.protect.release_report import Protected, ProtectSettings
from oddshift.protect.release_set import SetMeans
from oddshift.protect.sanitizer import Sanitizer


@dataclass(frozen=True, eq=False, repr=False)
class ReleasePolicy:
    """A policy, and the folder of the policy and its ledger (None until it is saved).

    **Guarantee**: each secret goes through the policy's mechanism once for every call; everything else stays as it was.
    """

    policy: Policy
    folder: Path | None = None

    def __repr__(self) -> str:
        """Kind, sizes and state; never a word."""
        return repr(self.policy)

    @property
    def state(self) -> str:
        """`certified`, or why it is not."""
        return self.policy.terms.certificate.state

    @property
    def sentence(self) -> str:
        """What was certified, in one sentence."""
        return self.policy.terms.certificate.sentence

    @property
    def fingerprint(self) -> str:
        """Names the policy by its content."""
        return self.policy.sha256

    @cached_property
    def sanitizer(self) -> Sanitizer:
        """The policy ready to be applied, with noise from the operating system."""
        return Sanitizer(self.policy)

    def apply(self, values: Any, *, clear: Sequence[str] = ()) -> Any:
        """The values as released: the same kind out as in (list, tuple, array, series or frame).

        Texts come as a column of strings or as a frame with the policy's text columns; tables and trajectories as a
        frame (or a mapping of columns); vectors as an array with one row for each. `clear` names columns that stay
        as they are: those that the policy does not know (any other is refused), and those of users, trips and
        groups, which get pseudonyms otherwise. A policy that limits what users
        spend cannot be applied in this way, because nothing counts it.
        """
        self.sanitizer.refuse_uncounted_users()
        codec = self.sanitizer.codec
        if isinstance(codec, VectorCodec) and not is_frame(values):
            return column_like(values, list(self.sanitizer.rows(np.asarray(values, dtype=np.float64))))
        if isinstance(codec, TextCodec) and not is_frame(values):
            return column_like(values, self._texts(list_of(values, "the texts"), codec))
        columns = columns_of(values)
        missing = [name for name in codec.required if name not in columns]
        if missing:
            raise InvalidInput(f"the table has no column {missing[0]!r} among its {len(columns)}")
        refuse_closed_columns(codec, clear)
        refuse_unknown_columns(codec, tuple(columns), clear)
        if not len(columns[codec.required[0]]):
            return values
        encoded = codec.encode(columns)
        if encoded.keep is not None and not encoded.keep.all():
            raise InvalidInput(
                f"the policy leaves out {int((~encoded.keep).sum())} of {len(encoded.keep)} rows (thinned fixes), "
                "expected data of which every row is kept; use protect for files"
            )
        names = self.sanitizer.names(encoded, columns, clear)
        return frame_like(values, {**self.sanitizer.released(encoded), **names})

    def protect(
        self,
        path_in: str | Path,
        path_out: str | Path,
        settings: ProtectSettings | None = None,
        means: SetMeans | None = None,
    ) -> Protected:
        """Release a file or folder under a new name, each record once; a ledger in the policy's folder records it.

        `means` says how the parts of a data set are released: one after the other, by processes or by a cluster.
        """
        if self.folder is None:
            raise InvalidInput("the policy was not saved, expected policy.save(folder) first: its ledger is kept there")
        return protect(path_in, path_out, self.policy, Ledger.beside(self.folder / POLICY), settings, means=means)

    def save(self, folder: str | Path) -> ReleasePolicy:
        """Write the policy and its vocabulary into a folder that only its owner can read, and return it from there."""
        home = Path(folder)
        save_policy(home, self.policy)
        return replace(self, folder=home)

    def _texts(self, texts: list[Any], codec: TextCodec) -> list[Any]:
        name = codec.settings.text[0]
        if not texts:
            return []
        return self.sanitizer.released(codec.on_columns([name]).encode({name: texts}))[name]


def load_release_policy(folder: str | Path) -> ReleasePolicy:
    """The policy of a folder (or of a policy.json in it), ready to be applied."""
    place = Path(folder)
    home = place if place.is_dir() else place.parent
    return ReleasePolicy(load_policy(place), home)

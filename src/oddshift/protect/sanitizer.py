"""The sanitizer: a policy applied to values in memory.

    sanitizer = Sanitizer(load_policy("run/policy.json"))
    sanitizer.texts(["Ann met the nurse."])         # texts in, texts out
    sanitizer.points([3, 3, 8])                     # row numbers of the policy's points in, row numbers out
    sanitizer.rows([[0.1, 0.2], [0.0, 0.4]])        # vectors or places in, released ones out
    sanitizer.columns({"age": [31], "city": ["oslo"]})    # a table in, its secret columns out

Noise comes from the operating system, so every call gives another result, and no result can be computed again. **Every
call is a release**: releasing the same record twice leaks more than was certified. With a ledger, records are claimed
before their noise is drawn, and a record that was released before is refused. `Sanitizer.seeded_for_experiments` is
repeatable.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, finite, indices
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, Columns, Encoded, named_cells
from oddshift.data.codecs.text.short_text import ShortText
from oddshift.data.detectors import Detector
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch
from oddshift.protect.noise import (
    ROW_BYTES,
    Draws,
    Uniforms,
    keyed_uniforms,
    os_uniforms,
    outputs_of_groups,
    outputs_once,
    seeded_uniforms,
)
from oddshift.protect.policies import Policy
from oddshift.protect.pseudonyms import pseudonyms
from oddshift.protect.repair import Repairer, repairer_of


@dataclass(frozen=True, eq=False, repr=False)
class Sanitizer:
    """A policy ready to be applied; rows of its mechanism are built when they are first needed, and kept.

    `detector` finds further names in texts (see `TextCodec`). `ledger` (optional) remembers what was released:
    equal texts of one call get one value, records that it holds are refused. With a ledger `users` names the user of
    each record, and what users spend is counted. A policy that limits it needs both, and refuses every call that
    would exceed the limit, whatever it says about records of files. `key` is given where several processes make one
    release, and equal secrets must be drawn equally in all of them. `row_bytes` is memory for kept rows.

    **Guarantee**: each secret is released through the policy's mechanism once for every call, with a uniform of its
    own; with `repeats = "once"` equal secrets of a document (or of a user, as the policy says) share one draw, and
    which positions are equal is public. The certificate is about one release of each record. Threads may share a
    sanitizer.
    """

    policy: Policy
    uniforms: Uniforms = os_uniforms
    detector: Detector | None = None
    ledger: Ledger | None = None
    key: bytes = b""
    row_bytes: int = ROW_BYTES

    @classmethod
    def seeded_for_experiments(cls, policy: Policy, seed: int) -> Sanitizer:
        """A sanitizer with seeded noise; whoever knows the seed can undo it, so it is never for a release."""
        return cls(policy, seeded_uniforms(seed))

    def __repr__(self) -> str:
        """The policy, which shows no word."""
        return f"Sanitizer({self.policy!r})"

    def texts(
        self, texts: Sequence[str], *, ids: Sequence[object] | None = None, users: Sequence[object] | None = None
    ) -> list[str]:
        """Texts with every word that was found replaced by another or by a mark, and everything else unchanged.

        With a ledger a text is known by its id, or by its content when no `ids` are given.
        """
        self._expect("text", "texts")
        if isinstance(texts, str):
            raise InvalidInput("texts is one string, expected a list of strings")
        if not len(texts):
            return []
        encoded = self.encoded(self._one_column, {"text": list(texts)})
        first = self._claim([texts], ids, users, by_content=True)
        released = self.short(encoded) if isinstance(encoded, ShortText) else self.released(encoded)
        return [str(released["text"][row]) for row in first]

    def encoded(self, codec: Codec, columns: Columns, first: int = 1) -> Encoded | ShortText:
        """What a codec of this policy finds in some columns; one short text is encoded in a faster way."""
        is_plain = not (self.policy.marked | self.policy.made_up).any() and self._repairer is None
        found: Encoded | ShortText = codec.encode_few(columns, first) if is_plain else codec.encode(columns, first)
        return found

    def short(self, text: ShortText) -> dict[str, list[Any]]:
        """The released column of one short text; the caller has claimed the record."""
        if getattr(self.codec.settings, "repeats", "each") == "each":
            return text.decode(self._draws.few(text.points))
        distinct = list(dict.fromkeys(text.points))
        output = dict(zip(distinct, self._draws.few(distinct), strict=True))
        return text.decode([output[point] for point in text.points])

    def released(self, encoded: Encoded) -> dict[str, list[Any]]:
        """The columns of encoded data, each secret put through the mechanism; the caller has claimed the records."""
        return self.decoded(encoded, self.repaired(encoded, self.outputs(encoded)))

    def decoded(self, encoded: Encoded, outputs: IntArray) -> dict[str, list[Any]]:
        """The released columns, with marks where the policy shows them."""
        if not self.is_mask and encoded.crossing(outputs):
            raise InvalidInput("a cell would be released as a value of another column, expected outputs = 'tier'")
        made_up = self.policy.made_up
        shown = encoded.with_surrogates(made_up) if made_up.any() else encoded
        return shown.decode(outputs, masked=self.masked(encoded))

    def masked(self, encoded: Encoded) -> bool | BoolArray:
        """Whether everything is shown as a mark, nothing, or which positions are."""
        marked = self.policy.marked
        return self.is_mask or (marked[encoded.records.points] if marked.any() else False)

    def repaired(self, encoded: Encoded, outputs: IntArray) -> IntArray:
        """What is released for these outputs: as they are, or repaired where the policy says so."""
        return outputs if self._repairer is None or self.is_mask else self._repairer(encoded.records, outputs)

    def names(self, encoded: Encoded, columns: Columns, clear: Collection[str] = ()) -> dict[str, list[Any]]:
        """Pseudonyms of users, trips and groups, the same in every call and in all processes of a release.

        `columns` has the groups of rows of a table, if there are any; those in `clear` are released as they are.
        """
        named = getattr(encoded, "named", None)
        if named is None:
            here = [name for name in getattr(self.codec.settings, "renamed", ()) if name in columns]
            named = tuple(named_cells(columns, np.arange(len(columns[name])), name) for name in here)
        asked = [some for some in named if some.column not in clear]
        return pseudonyms(asked, self._draws.key()) if asked else {}

    def outputs(self, encoded: Encoded) -> IntArray:
        """An output for each secret; where the policy says so, one draw for each secret of what is read together."""
        asked = self.codec.settings
        if encoded.groups:
            return outputs_of_groups(encoded, self.codec, self._draws)
        if getattr(asked, "repeats", "each") == "each":
            return self._draws(encoded.records.points)
        return outputs_once(encoded, asked.joint_by, self._draws)

    def outputs_of(self, encoded: Encoded, unit: str) -> IntArray:
        """An output for each secret of a unit that is read in pieces; equal secrets of all its pieces share a draw."""
        points = encoded.records.points
        return self._draws(points, keyed_uniforms(self._draws.key(), [unit.encode()] * len(points), points))

    def redraw(self, encoded: Encoded, outputs: IntArray, positions: IntArray, units: Sequence[bytes]) -> None:
        """Draw some positions again: equal pairs (unit, secret) have one output in all processes of a release."""
        points = encoded.records.points[positions]
        outputs[positions] = self._draws(points, keyed_uniforms(self._draws.key(), units, points))

    def points(self, index: npt.ArrayLike) -> IntArray:
        """One output for each point, by row number (a mask has the one output 0)."""
        if self.ledger is not None:
            raise InvalidInput(
                "a ledger is about records, and points are not records; expected a sanitizer without a ledger"
            )
        return self._draws(indices(index, "index", len(self.policy.space), is_secret=True))

    def rows(
        self, rows: npt.ArrayLike, *, ids: Sequence[object] | None = None, users: Sequence[object] | None = None
    ) -> FloatArray:
        """Vectors (n, k), or latitude and longitude (n, 2), each replaced by a point of the policy (NaN for a mask).

        `ids` name the rows in the ledger, where there is one.
        """
        self._expect("vectors", "rows", "location")
        table, width = finite(rows, "rows", 2), self.policy.space.points.shape[1]
        if table.shape[1] != width:
            raise InvalidInput(f"rows has {table.shape[1]} columns, expected {width}")
        points = self.codec.points(table)
        first = self._claim([table.tolist()], ids, users)
        outputs = self._draws(points)[first]
        if self.is_mask:
            return np.full(table.shape, np.nan)
        return np.where(self.policy.marked[points[first], None], np.nan, self.policy.space.points[outputs])

    def columns(
        self, columns: Columns, *, ids: Sequence[object] | None = None, users: Sequence[object] | None = None
    ) -> dict[str, list[Any]]:
        """The secret columns of a table, released; other columns are ignored.

        `ids` name the rows in the ledger, where there is one.
        """
        self._expect("table", "columns")
        encoded = self.codec.encode(columns)
        first = self._claim([columns[name] for name in self.codec.released], ids, users)
        shown = self.released(encoded)
        return {name: [column[row] for row in first] for name, column in shown.items()}

    def refuse_uncounted_users(self, users: Sequence[object] | None = None) -> None:
        """Refuse a release whose users cannot be counted although the policy limits what they spend."""
        if self.policy.terms.user_limit is not None and (self.ledger is None or users is None):
            raise InvalidInput(
                "the policy limits the budget of users, expected a sanitizer with a ledger and the users of the "
                "records, or oddshift protect"
            )

    def _claim(
        self,
        columns: Sequence[Sequence[Any]],
        ids: Sequence[object] | None,
        users: Sequence[object] | None,
        *,
        by_content: bool = False,
    ) -> IntArray:
        """Claim some records, if there is a ledger; returns for each row the row whose value it gets."""
        own: IntArray = np.arange(len(columns[0]))
        for name, given in (("ids", ids), ("users", users)):
            if given is not None and len(given) != len(own):
                raise InvalidInput(f"{len(given)} {name} for {len(own)} records, expected one for each")
        self.refuse_uncounted_users(users)
        if self.ledger is None and users is not None:
            raise InvalidInput("users are counted in a ledger, expected a sanitizer with one")
        if self.ledger is None or not len(own):
            return own
        keys, limit = self.ledger.keys(), self.policy.terms.user_limit
        contents = keys.contents(columns) if by_content else keys.rows(columns)
        terms = ClaimTerms(
            policy=self.policy.sha256,
            epsilon=self.policy.terms.mechanism.claimed_epsilon,
            is_named=by_content or ids is not None,
            limit=None if limit is None else replace(limit, past="refuse"),
        )
        batch = KeyBatch(
            contents if ids is None else keys.ids(ids, "ids"),
            b"" if users is None else keys.users(users, "users"),
            (contents,) if by_content and ids is not None else (),
        )
        claimed = self.ledger.claim([batch], terms, is_final=True)
        own[claimed.copies[:, 0] - 1] = claimed.copies[:, 1] - 1
        return own

    @cached_property
    def mechanism(self) -> Mechanism:
        """The policy's mechanism."""
        return self.policy.mechanism()

    @property
    def is_mask(self) -> bool:
        """Whether the policy releases only a placeholder."""
        return self.policy.terms.mechanism.name == "mask"

    @cached_property
    def codec(self) -> Codec:
        """What finds the secrets in this kind of data."""
        codec = self.policy.codec
        return codec if self.detector is None else codec.with_detector(self.detector)

    @cached_property
    def _one_column(self) -> Codec:
        """The codec for texts in one column, made once for all calls."""
        return self.codec.on_columns(["text"])

    @cached_property
    def _repairer(self) -> Repairer | None:
        return repairer_of(self.policy, self.mechanism)

    @cached_property
    def _draws(self) -> Draws:
        return Draws(self.mechanism, self.uniforms, self.row_bytes, self.key)

    def _expect(self, kind: str, method: str, also: str = "") -> None:
        if self.policy.kind not in (kind, also):
            raise InvalidInput(f"{method} needs a policy of kind {kind}, this one is of kind {self.policy.kind}")

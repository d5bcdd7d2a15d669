"""Apply a policy to a stream: JSON lines come in, and each is answered by its release as soon as it is drawn.

Lines that wait together are claimed and drawn together, so the rate rises with the load, and a reader that is slow to
take answers slows the stream down. A line that cannot be released is answered by an object with the key `error`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, Encoded
from oddshift.data.codecs.text.short_text import ShortText
from oddshift.data.formats.json_lines import JsonLinesBlock
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.terms import ClaimTerms, UserLimit, smaller_limit
from oddshift.protect.policies import Policy
from oddshift.protect.pseudonyms import refuse_closed_columns, refuse_unknown_columns
from oddshift.protect.record_identity import KnownBy
from oddshift.protect.record_keys import WIDTH, RecordKeys
from oddshift.protect.report import (
    ProtectSettings,
    known_as_asked,
    refuse_uncertified,
    refuse_unnamed_users,
    terms_as_asked,
)
from oddshift.protect.sanitizer import Sanitizer

MOST_LINES = 256
"""How many waiting lines are claimed and drawn together at most; a performance setting."""


@dataclass(eq=False, repr=False)
class ReleaseStream:
    """A policy applied line by line; `keys` are those of the first line, and later lines may not bring others.

    **Guarantee**: records are claimed in the ledger before their noise is drawn, and a record that it holds is not
    released again. A line without a release is answered by an error that quotes nothing of it.
    """

    policy: Policy
    ledger: Ledger
    settings: ProtectSettings
    keys: tuple[str, ...] = ()
    number: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that a stream cannot meet."""
        asked = self.settings
        refuse_uncertified(self.policy, asked)
        if asked.keep_releases or asked.take_over or asked.dry_run:
            raise InvalidInput("a stream cannot keep releases, take them over or rehearse, expected none of these")
        if asked.limit is not None and asked.limit.past != "refuse":
            raise InvalidInput(f"past_budget={asked.limit.past!r} in a stream, expected refuse")
        refuse_unnamed_users(self.known, self._limit)
        if not self.known.is_named:
            raise InvalidInput("rows without an id cannot be recognised in a stream, expected an id (--id)")
        refuse_closed_columns(self._sanitizer.codec, asked.clear)

    def answers(self, lines: Sequence[str]) -> Iterator[str]:
        """The answers to some lines, in order: one for each, except where fixes are thinned."""
        at_once = 1 if self._codec.follows_rows else MOST_LINES
        for start in range(0, len(lines), at_once):
            some = [line if line.endswith("\n") else line + "\n" for line in lines[start : start + at_once]]
            first, self.number = self.number + 1, self.number + len(some)
            yield from self._answers(some, first)

    def _answers(self, lines: list[str], first: int) -> Iterator[str]:
        """Claim and draw some lines together; if they are refused, each by itself."""
        try:
            block, encoded = self._encoded(lines, first)
            self._claim(block, first)
        except InvalidInput as error:
            if len(lines) == 1:
                yield refusal(error)
                return
            for place, line in enumerate(lines):
                yield from self._answers([line], first + place)
            return
        yield from self._drawn(block, encoded)

    def _drawn(self, block: JsonLinesBlock, encoded: Encoded | ShortText) -> Iterator[str]:
        if isinstance(encoded, ShortText):
            shown = self._sanitizer.short(encoded)
        else:
            shown = self._sanitizer.released(encoded)
            here = [name for name in getattr(self._codec.settings, "renamed", ()) if name in self.keys]
            groups = {name: block.cells(name) for name in here}
            shown |= self._sanitizer.names(encoded, groups, self.settings.clear)
        yield from block.render(shown, encoded.keep).decode().splitlines(keepends=True)

    def _encoded(self, lines: list[str], first: int) -> tuple[JsonLinesBlock, Encoded | ShortText]:
        block = self._read(lines, first)
        columns = {name: block.cells(name) for name in self._codec.required}
        return block, self._sanitizer.encoded(self._codec, columns, first)

    def _read(self, lines: list[str], first: int) -> JsonLinesBlock:
        """The objects of some lines; a line without one, or with a key that the first line lacks, is refused."""
        block = JsonLinesBlock(lines, "the stream", first)
        if len(block) != len(lines):
            raise InvalidInput("the stream has an empty line, expected a JSON object")
        found = block.all_keys
        if not self.keys:
            refuse_unknown_columns(self._codec, tuple(found), (*self.settings.clear, self.settings.id, self.known.user))
            for name in (*self._codec.required, *self.known.columns):
                block.cells(name)
            self.keys = block.keys
        if not self.settings.allow_new_keys and not set(found) <= set(self.keys):
            raise InvalidInput("the line has a key that the first line lacks; --allow-new-keys allows it")
        return block

    def _claim(self, block: JsonLinesBlock, first: int) -> None:
        """Claim the records of a block, all or none; a record that occurs twice in it is refused."""
        batch = replace(self.known.batch(self._keys, block, first), rows=b"")  # single rows are equal by chance
        keys = [batch.keys[at : at + WIDTH] for at in range(0, len(batch.keys), WIDTH)]
        named = [key for key in keys if any(key)]
        if len(set(named)) < len(named):
            raise InvalidInput("a record occurs twice, and releases of a record add up")
        self.ledger.claim([batch], self._terms, is_final=True)

    @cached_property
    def known(self) -> KnownBy:
        """What identifies the records."""
        return known_as_asked(self.policy, self._codec, self.settings, self._limit)

    @cached_property
    def _limit(self) -> UserLimit | None:
        return smaller_limit(self.settings.limit, self.policy.terms.user_limit)

    @cached_property
    def _terms(self) -> ClaimTerms:
        limit = None if self._limit is None else replace(self._limit, past="refuse")
        return terms_as_asked(self.policy, self.known, self.settings, limit)

    @cached_property
    def _keys(self) -> RecordKeys:
        return self.ledger.keys()

    @cached_property
    def _sanitizer(self) -> Sanitizer:
        return Sanitizer(self.policy, detector=self.settings.detector)

    @cached_property
    def _codec(self) -> Codec:
        codec = self._sanitizer.codec
        return codec.stream().on_columns(self.settings.columns or codec.released)


def refusal(error: InvalidInput) -> str:
    """The answer to a line that cannot be released."""
    return json.dumps({"error": str(error)}) + "\n"

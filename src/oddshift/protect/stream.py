"""Apply a policy to a stream: JSON lines come in, and each is answered by its release as soon as it is drawn.

Lines that wait together are claimed and drawn together, so the rate rises with the load, and a reader that is slow to
take answers slows the stream down. A line that cannot be released is answered by an object with the key `error`.

Visits in a stream: the fixes of a trip come one by one, and a visit is known when it closes.

A visit closes when a fix is farther away from its first fix than a stay may reach, when the user begins another trip,
or when the stream ends. The visits are those that `stay_points` finds in the whole trip.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, Encoded
from oddshift.data.codecs.place_codec import trips_of
from oddshift.data.codecs.places import PlaceSettings, seconds_of_fixes
from oddshift.data.codecs.text.short_text import ShortText
from oddshift.data.formats.cells import number_cells
from oddshift.data.formats.json_lines import JsonLinesBlock
from oddshift.model.metric import Haversine
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
    visits: VisitStream | None = field(init=False, default=None)

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
        codec = self._sanitizer.codec
        refuse_closed_columns(codec, asked.clear)
        if getattr(codec.settings, "stays", False):
            self.visits = VisitStream(codec.settings)

    def answers(self, lines: Sequence[str]) -> Iterator[str]:
        """The answers to some lines, in order: one for each, except where fixes are thinned or wait for their visit."""
        at_once = 1 if self._codec.follows_rows else MOST_LINES
        for start in range(0, len(lines), at_once):
            some = [line if line.endswith("\n") else line + "\n" for line in lines[start : start + at_once]]
            first, self.number = self.number + 1, self.number + len(some)
            if self.visits is not None:
                yield from self._visited(some[0], first)
            else:
                yield from self._answers(some, first)

    def end(self) -> Iterator[str]:
        """What the end of the stream closes."""
        for visit in [] if self.visits is None else self.visits.end():
            yield from self._visit(visit.line, visit.place, self.number)

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

    def _visited(self, line: str, number: int) -> Iterator[str]:
        """Add a fix to its visit, and release the visits that it closes."""
        assert self.visits is not None
        try:
            block = self._read([line], number)
            asked = self.visits.settings
            columns = {name: block.cells(name) for name in asked.wanted(())}
            lat, lon = (float(number_cells(columns, name, first=number)[0]) for name in (asked.lat, asked.lon))
            if not (abs(lat) <= 90.0 and abs(lon) <= 180.0):
                raise InvalidInput("the fix has no place within range, expected latitude and longitude in degrees")
            seconds = float(seconds_of_fixes(asked, columns, 1, number)[0])
            closed = self.visits.add(trips_of(asked, columns, number)[0], StreamFix((lat, lon), seconds, line))
        except InvalidInput as error:
            yield refusal(error)
            return
        for visit in closed:
            yield from self._visit(visit.line, visit.place, number)

    def _visit(self, line: str, place: tuple[float, float], number: int) -> Iterator[str]:
        """Release a visit: the line of its first fix, at a released place for the mean of its fixes."""
        codec = self._codec
        settings, vocabulary = codec.to_policy()
        each = replace(settings, stays=False, every=0.0)
        alone = type(codec).from_policy(each, vocabulary, codec.space, codec.tiers)
        try:
            block = self._read([line], number)
            columns: dict[str, list[Any]] = {name: block.cells(name) for name in codec.required}
            columns |= {codec.settings.lat: [place[0]], codec.settings.lon: [place[1]]}
            encoded = alone.encode(columns, number)
            self._claim(block, number)
        except InvalidInput as error:
            yield refusal(error)
            return
        yield from self._drawn(block, encoded)

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
        if getattr(codec.settings, "stays", False):
            return codec
        return codec.stream().on_columns(self.settings.columns or codec.released)


def refusal(error: InvalidInput) -> str:
    """The answer to a line that cannot be released."""
    return json.dumps({"error": str(error)}) + "\n"


Trip = tuple[str, Hashable]


@dataclass(frozen=True, repr=False)
class StreamFix:
    """Where somebody was and when, and the line that said so."""

    place: tuple[float, float]
    seconds: float
    line: str


@dataclass(frozen=True, repr=False)
class ClosedVisit:
    """The mean place of a visit, and the line of its first fix."""

    place: tuple[float, float]
    line: str


@dataclass(eq=False, repr=False)
class VisitStream:
    """The open visit of every trip: the fixes since its possible beginning, which is what is held in memory."""

    settings: PlaceSettings
    trips: dict[Trip, list[StreamFix]] = field(default_factory=dict)
    current: dict[str, Trip] = field(default_factory=dict)
    last: dict[Trip, float] = field(default_factory=dict)

    def add(self, trip: Trip, fix: StreamFix) -> list[ClosedVisit]:
        """One more fix; the visits that it closes. A fix that comes out of order is refused."""
        before = self.last.get(trip, -np.inf)
        slot = np.floor(fix.seconds / self.settings.every) if self.settings.every else fix.seconds
        if slot < before:
            raise InvalidInput("the fix is out of order, expected each trip in order of time")
        ended = self.current.get(trip[0])
        closed = [] if ended in (None, trip) else list(self._end(ended))
        self.current[trip[0]] = trip
        if slot == before and self.settings.every:
            return closed
        self.last[trip] = slot
        held = self.trips.setdefault(trip, [])
        held.append(fix)
        return [*closed, *self._closed(held, is_over=False)]

    def end(self) -> list[ClosedVisit]:
        """The visits that the end of the stream closes."""
        return [visit for trip in list(self.trips) for visit in self._end(trip)]

    def _end(self, trip: Trip | None) -> Iterator[ClosedVisit]:
        if trip is not None and trip in self.trips:
            yield from self._closed(self.trips.pop(trip), is_over=True)

    def _closed(self, held: list[StreamFix], *, is_over: bool) -> Iterator[ClosedVisit]:
        """Take the visits that are over, and fixes that begin none, from the front of what is held."""
        while held:
            far = Haversine().between(np.array([held[0].place]), np.array([fix.place for fix in held]))[0]
            outside = np.flatnonzero(far > self.settings.stay_kilometres)
            if not len(outside) and not is_over:
                return
            stop = int(outside[0]) if len(outside) else len(held)
            if held[stop - 1].seconds - held[0].seconds >= 60.0 * self.settings.stay_minutes:
                mean = np.mean([fix.place for fix in held[:stop]], axis=0)
                yield ClosedVisit((float(mean[0]), float(mean[1])), held[0].line)
                del held[:stop]
            else:
                del held[:1]

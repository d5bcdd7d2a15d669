"""Columns that a policy knows: other columns of a file of rows or places were never examined, and are not released."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, PlaceSettings, TableSettings, TextSettings, VectorSettings


def refuse_unknown_columns(codec: Codec, names: Sequence[str], allowed: Collection[str] = ()) -> None:
    """Refuse a table or places with a column that the policy says nothing about, unless it is allowed by name.

    The same holds for data of a codec that another package adds: it knows the columns that its settings want.

    The message names the column, because one has to know it to allow it; it never quotes a cell.
    """
    settings = codec.settings
    if isinstance(settings, TextSettings | VectorSettings):
        return
    is_own = isinstance(settings, TableSettings | PlaceSettings)
    known = settings.known if is_own else (*settings.wanted(tuple(names)), *codec.released)
    named = {name for name in allowed if name}  # a column that was not asked for is "", and so is the name of an index
    unknown = [name for name in names if name not in known and name not in named]
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        roles = "public or masked" if isinstance(settings, TableSettings) else "masked"
        way = f"list it as {roles} in the configuration, or allow it" if is_own else "allow it"
        raise InvalidInput(
            f"column {unknown[0]!r}{more} is not known to the policy and would be released as it is: {way} by name "
            "(--clear)"
        )


def refuse_closed_columns(codec: Codec, clear: Collection[str]) -> None:
    """Refuse to release a column as it is that the policy protects or leaves empty: nothing was certified for that."""
    settings = codec.settings
    if not isinstance(settings, TableSettings | PlaceSettings):
        return
    if isinstance(settings, TableSettings):
        closed = {*settings.secret, *settings.masked}
    else:
        closed = {settings.lat, settings.lon, *settings.masked}
    named = sorted(closed & set(clear))
    if named:
        raise InvalidInput(
            f"column {named[0]!r} is protected or left empty by the policy, expected others (--clear): what it would "
            "give away was never measured"
        )

"""Columns that a policy knows: whatever else a table has was never looked at, so it is not released unasked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, TableSettings


def refuse_unknown_columns(codec: Codec, names: Sequence[str], allowed: Collection[str] = ()) -> None:
    """Refuse a table with a column that its policy says nothing about, unless it is allowed by name.

    The message names the column, which whoever allows it has to know; no cell.
    """
    settings = codec.settings
    if not isinstance(settings, TableSettings):
        return
    unknown = [name for name in names if name not in settings.known and name not in allowed]
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise InvalidInput(
            f"column {unknown[0]!r}{more} is not known to the policy and would be released as it is: list it as public "
            "or masked in the configuration, or allow it by name (--clear)"
        )

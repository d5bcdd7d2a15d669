"""A round trip: would a value be read back from a file as it was written?

Asked of dataclasses of other packages, whose fields may be of types that no file keeps.
"""

from __future__ import annotations

import json
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import Arrays, content_digest, decode, digest, encode


def refuse_unreadable(value: Any, refusal: str) -> None:
    """Refuse a value that cannot be stored, or that would be read back as another; `refusal` opens the message.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shelf:
    ...     books: list[str]
    >>> refuse_unreadable(Shelf(["a"]), "the shelf stays here")
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: the shelf stays here: value.books is "['a']", expected list
    """
    arrays: Arrays = {}
    try:
        body = json.loads(json.dumps(encode(value, arrays), allow_nan=False))
        again = decode(body, type(value), {name: array.copy() for name, array in arrays.items()})
    except InvalidInput as error:
        raise InvalidInput(f"{refusal}: {error}") from error
    if digest(again) != content_digest(body, arrays):
        raise InvalidInput(f"{refusal}: it would be read back as another value")

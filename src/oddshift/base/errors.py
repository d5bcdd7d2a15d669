"""Every exception of oddshift, in one tree.

OddshiftError
├── WorkerLost (also a RuntimeError)   workers of `execution` died, which says nothing about the input
└── InvalidInput (also a ValueError)   the input cannot be used; says what was given and what was expected
    ├── TooLarge                       exact work is refused above a stated size; says what would work instead
    ├── ImpossibleObservation          outputs that have probability zero under the stated model
    ├── NoGuarantee                    the quantity asked for does not exist or could not be verified
    ├── NotInstalled                   a stored value needs a package that is missing, or another version of it
    └── TamperedEvidence               a stored file whose contents do not support what it states
"""

from __future__ import annotations


class OddshiftError(Exception):
    """Root of every exception raised on purpose by oddshift."""


class InvalidInput(OddshiftError, ValueError):
    """The input cannot be used; the message says what was given and what was expected."""


class TooLarge(InvalidInput):
    """Exact work is refused above a stated size; the message says what would work instead."""


class ImpossibleObservation(InvalidInput):
    """The observed outputs have probability zero under the stated prior and mechanisms."""


class NoGuarantee(InvalidInput):
    """The quantity asked for does not exist for this object, or could not be verified."""


class NotInstalled(InvalidInput):
    """A stored value needs an entry of a package that is not installed, or not in the version that it was made with."""


class TamperedEvidence(InvalidInput):
    """A stored file whose contents do not support what it states."""


def visible(text: str) -> str:
    r"""The text with every control character spelled out: names in data must not give orders to a terminal.

    >>> visible("a\x1b[31mb\tc\nd")
    'a\\x1b[31mb\tc\nd'
    """
    return text.translate(_SPELLED)


_ORDERS = (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SPELLED = {code: ascii(chr(code))[1:-1] for code in _ORDERS}
"""Control characters but tabs and line ends, and those that turn the direction of what follows."""


def a_kind(value: object) -> str:
    """Return the type of a value with its article, for messages.

    >>> a_kind(1), a_kind("x"), a_kind([])
    ('an int', 'a str', 'a list')
    """
    return named_kind(type(value).__name__)


def named_kind(name: str) -> str:
    """Return the name of a type with its article."""
    return f"an {name}" if name[:1].lower() in set("aeio") or name.startswith("nd") else f"a {name}"

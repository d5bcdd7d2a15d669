"""A registry: what is known by name, our own entries and those that installed packages add through entry points.

Entry points are looked for when a name is first asked for or names are listed, never when oddshift is imported, and
each is loaded only when its own name is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from oddshift.base.errors import InvalidInput, NotInstalled

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Entry = TypeVar("Entry")

OWN = "oddshift"
"""The package of our own entries."""


@dataclass(frozen=True, kw_only=True)
class StoredName:
    """An entry as a file keeps it: its name, and the package and version that add it (no version for our own)."""

    name: str
    package: str
    version: str


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name, in order: our own, then those of the entry point group, sorted.

    `what` is the noun of an entry in messages, `group` the entry point group, for example `oddshift.attackers`.

    >>> colours = Registry("colour", "example.colours", {"red": 1, "blue": 2})
    >>> list(colours), colours["blue"], "green" in colours
    (['red', 'blue'], 2, False)
    """

    def __init__(
        self, what: str, group: str, own: Mapping[str, Entry], retired: Mapping[str, str] | None = None
    ) -> None:
        """Keep a copy of our own entries; `retired` are names of earlier versions, each with what to use now."""
        self.what, self.group, self._own, self._retired = what, group, dict(own), dict(retired or {})

    def __getitem__(self, name: str) -> Entry:
        """The entry of that name; one of another package is loaded now."""
        if name in self._own:
            return self._own[name]
        point = self._others[name]
        try:
            return cast(Entry, point.load())
        except Exception as error:  # whatever another package does wrong, the reader is told whose entry it is
            raise InvalidInput(f"{self.what} {name!r} of {_origin(point)} cannot be loaded: {error}") from error

    def __iter__(self) -> Iterator[str]:
        """All names."""
        return iter((*self._own, *self._others))

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._own) + len(self._others)

    def __contains__(self, name: object) -> bool:
        """Whether there is an entry of that name; nothing is loaded."""
        return name in self._own or name in self._others

    def find(self, name: str, where: str) -> Entry:
        """The entry of that name, or a refusal that lists all names; `where` says which option named it.

        >>> Registry("colour", "example.colours", {"red": 1}).find("green", "paint")
        Traceback (most recent call last):
        oddshift.base.errors.InvalidInput: paint names the colour 'green', expected one of red
        """
        if name not in self and name in self._retired:
            raise InvalidInput(f"{where} names the {self.what} {name!r}, which is retired: use {self._retired[name]}")
        if name not in self:
            raise InvalidInput(f"{where} names the {self.what} {name!r}, expected one of {', '.join(self)}")
        return self[name]

    def stored(self, name: str) -> StoredName:
        """How a file names an entry, so that `again` can find it.

        >>> Registry("colour", "example.colours", {"red": 1}).stored("red")
        StoredName(name='red', package='oddshift', version='')
        """
        if name in self._own:
            return StoredName(name=name, package=OWN, version="")
        about = self._others[name].dist
        return StoredName(
            name=name, package="" if about is None else about.name, version="" if about is None else about.version
        )

    def again(self, stored: StoredName) -> Entry:
        """The entry that a file names; nothing but a registered name leads to code.

        **Guarantee**: an entry that is not installed is refused, and so is one of another package or version, because
        it may do something else under the same name.
        """
        source = f"the package {stored.package}" if stored.package else "another package"
        needs = f"the {self.what} {stored.name!r} of {source} is needed"
        if stored.name not in self:
            raise NotInstalled(f"{needs}, which is not installed; expected {_release(stored)}")
        found = self.stored(stored.name)
        if found != stored:
            raise NotInstalled(f"{needs}, and {_release(found)} is installed; expected {_release(stored)}")
        return self[stored.name]

    @cached_property
    def _others(self) -> dict[str, EntryPoint]:
        """Entry points by name; a name that is taken is refused, because nobody could tell which one is meant."""
        found: dict[str, EntryPoint] = {}
        for point in sorted(_installed(self.group), key=lambda point: point.name):
            if point.name in self._own:
                raise InvalidInput(
                    f"{_origin(point)} adds the {self.what} {point.name!r}, which oddshift has already; "
                    "expected another name"
                )
            if point.name in found and found[point.name].value != point.value:
                both = f"{_origin(found[point.name])} and {_origin(point)}"
                raise InvalidInput(f"{both} both add the {self.what} {point.name!r}, expected one of them")
            found[point.name] = point
        return found


def _installed(group: str) -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # takes a while to import, and is rarely needed

    return tuple(entry_points(group=group))


def _release(stored: StoredName) -> str:
    """A package and its version."""
    return f"{stored.package or 'that package'} {stored.version}".rstrip()


def _origin(point: EntryPoint) -> str:
    """The package that an entry point comes from."""
    return "an installed package" if point.dist is None else f"the package {point.dist.name}"

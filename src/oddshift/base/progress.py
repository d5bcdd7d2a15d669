"""How far some work is: a function that is told, and one that says nothing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""A function of what is being done, how many steps are done, and their total (0 where it is not known)."""


def silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""

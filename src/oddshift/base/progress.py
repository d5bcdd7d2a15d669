"""How far some work is and what it will cost: functions that are told, and two that say nothing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""A function of what is being done, how many steps are done, and their total (0 where it is not known)."""


Say = Callable[[str], None]
"""A function of one line that is worth saying before work begins."""


def silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""


def unsaid(line: str) -> None:
    """Nothing is said."""

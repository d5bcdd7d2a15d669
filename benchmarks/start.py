"""How long it takes until something is on the screen: the import, and the help of the command line."""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.table import Line

RUNS = 5


def least(*arguments: str) -> float:
    """The least CPU seconds of a Python process among some runs."""
    spent = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def run() -> list[Line]:
    tasks = [
        ("import oddshift", ("-c", "import oddshift"), 0.5),
        ("oddshift --help", ("-m", "oddshift", "--help"), 0.8),
    ]
    found = [(what, least(*arguments), limit) for what, arguments, limit in tasks]
    return [Line(what, f"{s:.2f} s", limit=f"<= {limit:g} s", holds=s <= limit) for what, s, limit in found]

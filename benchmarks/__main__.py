"""Run `run()` of every module in this folder, or of those named; `--write` keeps their tables in docs/benchmarks.md.

A section that was not measured in this run stays on the page as it was. What takes too long for one run
(`benchmarks.five_gigabytes`) has a command of its own, and its stored table is shown here.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import tempfile
import traceback

import benchmarks
from benchmarks import page
from benchmarks.table import Line, forget, markdown, spent

APART = {"__main__", "table", "made_table", "page"}
STORED = ("five_gigabytes",)
FAILED = "failed"


def names() -> list[str]:
    return [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in {*APART, *STORED}]


def run(name: str) -> list[Line]:
    """One module's lines; a module that prints its own text returns none, and one that fails a line that says so."""
    print(f"\n## {name}\n", flush=True)
    try:
        lines = importlib.import_module(f"benchmarks.{name}").run() or []
    except Exception:  # the other sections are measured all the same
        traceback.print_exc()
        return [Line(name, FAILED, holds=False)]
    if lines:
        print(markdown(lines), flush=True)
    return lines


def section(name: str, lines: list[Line]) -> str:
    """The table of a module, and what the module says about it."""
    note = getattr(importlib.import_module(f"benchmarks.{name}"), "NOTE", "")
    return f"{markdown(lines)}\n\n{note}" if note else markdown(lines)


def keep_elsewhere(name: str, lines: list[Line]) -> None:
    """Write a module's lines into another page too, where it has one, so that two pages never state two numbers."""
    also = getattr(importlib.import_module(f"benchmarks.{name}"), "keep_elsewhere", None)
    if also is not None:
        also(lines)


def show_stored() -> None:
    """Tables that other commands have measured."""
    for name in STORED:
        print(f"\n## {name} (stored: measured by python -m benchmarks.{name})\n\n{page.kept().get(name, 'not yet')}")


def main(arguments: list[str]) -> int:
    chosen = [a for a in arguments if not a.startswith("-")] or names()
    unknown = {*chosen} - {*names()} | {a for a in arguments if a.startswith("-")} - {"--write"}
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; expected --write or some of {', '.join(names())}")
        return 1
    tables: dict[str, list[Line]] = {}
    for name in chosen:
        forget()
        with tempfile.TemporaryDirectory() as cache:  # nothing that an earlier run found is on disk
            os.environ["XDG_CACHE_HOME"] = cache
            tables[name] = run(name)
        if "--write" in arguments and tables[name] and tables[name][0].measured != FAILED:
            page.keep({name: section(name, tables[name])})
            keep_elsewhere(name, tables[name])
    if set(chosen) == set(names()):
        show_stored()
    print(f"\n{spent() / 60:.1f} minutes of CPU")
    return 0 if all(line.holds is not False for lines in tables.values() for line in lines) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

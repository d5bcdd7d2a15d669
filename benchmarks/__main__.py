"""Run `run()` of every module in this folder, or of those named; `--write` keeps the tables in docs/benchmarks.md."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks
from benchmarks.table import Line, markdown

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
APART = {"__main__", "table", "made_table"}


def names() -> list[str]:
    return [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in APART]


def run(name: str) -> list[Line]:
    """One module's lines; a module that prints its own text returns none."""
    print(f"\n## {name}\n", flush=True)
    lines = importlib.import_module(f"benchmarks.{name}").run() or []
    if lines:
        print(markdown(lines), flush=True)
    return lines


def write(tables: dict[str, list[Line]]) -> None:
    text = "# Benchmarks\n\nCPU time on one core, measured by `python -m benchmarks --write`.\n"
    for name, lines in tables.items():
        if lines:
            text += f"\n## {name}\n\n{markdown(lines)}\n"
    PAGE.write_text(text)


def main(arguments: list[str]) -> int:
    chosen = [a for a in arguments if not a.startswith("-")] or names()
    unknown = {*chosen} - {*names()} | {a for a in arguments if a.startswith("-")} - {"--write"}
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; expected --write or some of {', '.join(names())}")
        return 1
    if "--write" in arguments and {*chosen} != {*names()}:
        print("--write keeps the tables of all modules, expected no names beside it")
        return 1
    tables = {name: run(name) for name in chosen}
    if "--write" in arguments:
        write(tables)
    return 0 if all(line.holds is not False for lines in tables.values() for line in lines) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

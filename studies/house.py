"""How large the package is, and how far a story runs through it: lines, files, importers, files that commands cross.

`make house` writes the figures into docs/architecture.md. `python -m studies.house` prints them, and with `--list` the
modules behind them.
"""

from __future__ import annotations

import argparse
import ast
import csv
import inspect
import io
import os
import sys
import tempfile
import threading
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "oddshift"
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- make house: begin -->", "<!-- make house: end -->"
SMALL = 50
"""Lines below which a file has to have an importer other than its neighbours."""

TEXTS = 400
"""Texts in the file of the traced story: too few for a certificate, so `protect` is told to release all the same."""

NOT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True)
class Module:
    """One file: its dotted name below the package, its lines, those with code, and what it imports of ours."""

    name: str
    lines: int
    code: int
    imports: frozenset[str]

    @property
    def folder(self) -> str:
        """The package that it stands in."""
        return self.name.rpartition(".")[0]


def modules(source: Path = SOURCE) -> dict[str, Module]:
    """Every file of the package by name; the `__init__` of a package has the name of the package."""
    paths = {_name(path, source): path for path in sorted(source.rglob("*.py"))}
    return {name: _module(name, path.read_text(encoding="utf-8"), set(paths)) for name, path in paths.items()}


def _name(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def _module(name: str, text: str, known: set[str]) -> Module:
    tree = ast.parse(text)
    imports = {found for given in _imported(tree) if (found := _file_of(given, known)) not in (None, name)}
    return Module(name, len(text.splitlines()), _code_lines(text, tree), frozenset(filter(None, imports)))


def _imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names below oddshift that a file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (_below(alias.name) for alias in node.names if alias.name.startswith("oddshift."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "oddshift":
            yield from (f"{_below(node.module or '')}.{alias.name}".lstrip(".") for alias in node.names)


def _below(name: str) -> str:
    return name.removeprefix("oddshift").lstrip(".")


def _file_of(name: str, known: set[str]) -> str | None:
    """The file that an imported name lives in."""
    return name if name in known else parent if (parent := name.rpartition(".")[0]) in known and parent else None


def _code_lines(text: str, tree: ast.AST) -> int:
    """Lines that hold more than a comment or a docstring."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


def importers(known: dict[str, Module]) -> dict[str, set[str]]:
    """The files that import each file; what a package passes on counts as imported by the package."""
    return {name: {other.name for other in known.values() if name in other.imports} for name in known}


def one_importer(known: dict[str, Module]) -> dict[str, str]:
    """Modules that one other file imports, and which; packages and what the command line finds by name apart."""
    by = importers(known)
    packages = {module.folder for module in known.values()}
    return {name: next(iter(by[name])) for name in known if len(by[name]) == 1 and name not in packages}


def small_neighbours(known: dict[str, Module]) -> dict[str, str]:
    """Files under 50 lines whose only importer stands in the same folder: the notion belongs to that neighbour."""
    only = one_importer(known)
    packages = {module.folder for module in known.values()}
    return {
        name: other
        for name, other in only.items()
        if known[name].lines < SMALL and other not in packages and known[other].folder == known[name].folder
    }


@contextmanager
def crossed(files: set[str]) -> Iterator[None]:
    """Collect the package's files of which a function is called in this process."""
    start = str(SOURCE) + os.sep

    def called(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(start):  # no module, no class body
            files.add(code.co_filename)

    sys.settrace(called)
    threading.settrace(called)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


def command(*words: str) -> None:
    """Run one command in this process; what it prints is not shown."""
    from oddshift.app import cli  # noqa: PLC0415 - nothing of the package is loaded before it is traced

    before, sys.argv = sys.argv, ["oddshift", *words]
    try:
        with redirect_stdout(io.StringIO()), suppress(SystemExit):
            cli.main()
    finally:
        sys.argv = before


def story() -> dict[str, set[str]]:
    """The files that each of the four commands crosses on one small file of texts."""
    from oddshift.data.embedded import people  # noqa: PLC0415

    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        with open("notes.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("note",), *((text,) for text in people(TEXTS).texts)])
        for words in (
            ("init", "notes.csv"),
            ("audit", "oddshift.toml", "--out", "run"),
            ("adapt", "oddshift.toml", "--out", "run"),
            ("protect", "notes.csv", "released.csv", "--policy", "run/policy.json", "--allow-uncertified"),
        ):
            found[words[0]] = set()
            with crossed(found[words[0]]):
                command(*words)
        if not Path("released.csv").is_file():
            raise SystemExit("the traced story released nothing, expected a policy and a released file")
    return found


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Rows of a Markdown table."""
    return "\n".join(["| what | count |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def figures() -> str:
    """The figures as the page shows them."""
    known, crossing = modules(), story()
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    by_command = ", ".join(f"{name} {len(files)}" for name, files in crossing.items())
    rows = [
        ("files of the package", f"{len(known)}"),
        ("lines", f"{sum(module.lines for module in known.values()):,}"),
        ("of these, lines of code (no blank line, comment or docstring)", f"{sum(m.code for m in known.values()):,}"),
        ("modules that one other file imports", f"{len(one_importer(known))}"),
        ("files under 50 lines that only a neighbour imports", f"{len(small_neighbours(known))}"),
        (
            "files of which a function runs when the four commands work on one file of texts",
            f"{len(set.union(*crossing.values()))} ({by_command})",
        ),
        ("lines of tests", f"{sum(len(text.splitlines()) for text in tests):,}"),
    ]
    return table(rows)


def write(page: Path = PAGE) -> None:
    """Put the figures between the two marks of the page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{START}\n{figures()}\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Print, list or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/architecture.md")
    parser.add_argument("--list", action="store_true", help="the modules that one other file imports")
    asked = parser.parse_args()
    if asked.list:
        known = modules()
        small = small_neighbours(known)
        for name, other in sorted(one_importer(known).items()):
            print(f"{known[name].lines:4} {'small ' if name in small else '      '}{name} <- {other}")
    elif asked.write:
        write()
    else:
        print(figures())


if __name__ == "__main__":
    main()

"""`python -m studies.paper`, also `make reproduce`: the paper's tables and figures computed again, and studies."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshift.app.commands.terminal import Json
from oddshift.base.errors import InvalidInput, OddshiftError
from oddshift.base.execution import SERIAL, Execution

if TYPE_CHECKING:
    from studies.paper.cell_runs import Outcome
    from studies.paper.cell_store import Cell
    from studies.paper.reproduction import Place, ReproductionOptions

EVERYTHING = "all"
PAGE = "page"


def reproduce(
    name: Annotated[
        str, typer.Argument(help="A name, NAME/PREFIX of a cell's key, or all; by default the names are listed.")
    ] = "",
    data: Annotated[Path | None, typer.Option(help="Folder of the corpora; by default ODDSHIFT_DATA.")] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds for each cell that uses randomness.")] = 3,
    scale: Annotated[str, typer.Option(help="small or full.")] = "small",
    out: Annotated[Path, typer.Option(help="Folder of the cells; the page is written next to it.")] = Path(
        "oddshift-results"
    ),
    workers: Annotated[int, typer.Option(help="Number of cells computed at the same time.")] = 1,
    check: Annotated[bool, typer.Option(help="Run finished cells afresh, keep nothing, and compare.")] = False,
    as_json: Json = False,
) -> None:
    """Compute a table or figure of the paper again, one JSON file for each cell; finished cells are skipped.

    Example: python -m studies.paper toy
    """
    from oddshift.data.codecs import data_folder
    from studies.paper.reproduction import Place, ReproductionOptions
    from studies.paper.reproductions import REPRODUCTIONS

    home = Path(__file__).resolve().parents[2]
    studies = _studies(home / "studies")
    if not name:
        _show(_about(studies), as_json)
        return
    if name in studies:
        _study(name, home, as_json)
        return
    if name == PAGE:
        _page(out, as_json)
        return
    family, _, start = name.partition("/")
    if family not in {EVERYTHING, *REPRODUCTIONS}:
        raise InvalidInput(f"{name!r}, expected one of {', '.join([*REPRODUCTIONS, EVERYTHING, PAGE, *studies])}")
    options = ReproductionOptions(scale=scale, seeds=seeds, start=start)  # type: ignore[arg-type]
    place = Place(data or data_folder(), out)
    names = list(REPRODUCTIONS) if family == EVERYTHING else [family]
    if check:
        _check(names, options, place, as_json)
        return
    _report({each: _run(each, options, place, workers) for each in names}, out, as_json)


def _about(studies: dict[str, str]) -> dict[str, dict[str, str]]:
    from studies.paper.reproductions import REPRODUCTIONS

    return {"reproductions": {name: found.about for name, found in REPRODUCTIONS.items()}, "studies": studies}


def _show(found: dict[str, dict[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
        return
    width = max(len(name) for group in found.values() for name in group)
    for title, group in found.items():
        if group:
            print("\n".join([f"{title}:", *(f"  {name:<{width}}  {about}" for name, about in group.items())]))


def _check(names: list[str], options: ReproductionOptions, place: Place, as_json: bool) -> None:
    """Compare kept cells with fresh runs; a difference ends with exit code 1."""
    from studies.paper.cell_runs import changed_cells

    cells = [cell for name in names for cell in _cells(name, options)]
    changed = changed_cells(cells, place, say=lambda line: print(line, file=sys.stderr, flush=True))
    said = f"{len(cells)} cells computed again, {len(changed)} with other values: {', '.join(changed) or 'none'}"
    print(json.dumps({"cells": len(cells), "changed": changed}) if as_json else said)
    if changed:
        raise typer.Exit(1)


def _cells(name: str, options: ReproductionOptions) -> list[Cell]:
    from studies.paper.reproductions import REPRODUCTIONS

    cells = [cell for cell in REPRODUCTIONS[name].cells(options) if cell.key.startswith(options.start)]
    if not cells:
        raise InvalidInput(f"{name} has no cell whose key starts with {options.start!r}")
    return cells


def _run(name: str, options: ReproductionOptions, place: Place, workers: int) -> Outcome:
    """All cells of one name; progress goes to standard error."""
    from studies.paper.cell_runs import run_cells

    execution = SERIAL if workers == 1 else Execution("processes", workers)
    command = f"python -m studies.paper {name} --scale {options.scale}"

    def say(line: str) -> None:
        print(f"{name}: {line}", file=sys.stderr, flush=True)

    return run_cells(_cells(name, options), place, command=command, execution=execution, say=say)


def _report(outcomes: dict[str, Outcome], out: Path, as_json: bool) -> None:
    found: dict[str, Any] = {
        name: {
            "cells": {cell.key: cell.values for cell in outcome.cells},
            "skipped": outcome.skipped,
            "recomputed": outcome.recomputed,
        }
        for name, outcome in outcomes.items()
    }
    if as_json:
        print(json.dumps({"reproduced": found, "folder": str(out)}))
        return
    for name, outcome in outcomes.items():
        computed = len(outcome.cells) - outcome.skipped
        print(f"{name}: {computed} computed, {outcome.skipped} were there, in {out / name}")
        for line in outcome.recomputed:
            print(f"  computed again: {line}")


def _page(out: Path, as_json: bool) -> None:
    """The page from the cells that are there, as Markdown and as HTML."""
    from studies.paper.results_page import write_page

    if not out.is_dir():
        raise InvalidInput(f"{out} is not a folder of cells, expected one that python -m studies.paper has written")
    written, drawn = write_page(out)
    print(json.dumps({"markdown": str(written), "html": str(drawn)}) if as_json else f"wrote {written} and {drawn}")


def _study(name: str, home: Path, as_json: bool) -> None:
    """Run a study of the clone, which writes its own page under docs/studies."""
    done = subprocess.run([sys.executable, "-m", f"studies.{name}"], cwd=home, check=False, capture_output=as_json)
    if as_json:
        page = home / "docs" / "studies" / f"{name}.md"
        print(json.dumps({"study": name, "exit_code": done.returncode, "page": str(page) if page.is_file() else None}))
    if done.returncode:
        raise typer.Exit(1)


def _studies(folder: Path) -> dict[str, str]:
    """Every study that can be run, with the first line of its docstring."""
    found = {}
    for path in sorted(folder.glob("[!_]*.py")):
        text = path.read_text(encoding="utf-8")
        if "__main__" in text:
            found[path.stem] = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    return found


def main() -> None:
    """Run the command; a refusal becomes one line on stderr and exit code 1."""
    command = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    command.command()(reproduce)
    try:
        command()
    except OddshiftError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()

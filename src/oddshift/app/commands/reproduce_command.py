"""`oddshift reproduce`: run the committed studies again."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import Json
from oddshift.base.errors import InvalidInput


def reproduce(
    name: Annotated[str, typer.Argument(help="A study; without it all of them are listed.")] = "",
    listed: Annotated[bool, typer.Option("--list", help="List the studies and what each is about.")] = False,
    as_json: Json = False,
) -> None:
    """Run a committed study again and write its page under docs/studies; only in a clone of the repository.

    Example: oddshift reproduce toy
    """

    home = Path(__file__).resolve().parents[4]
    studies = _studies(home / "studies")
    if not studies:
        raise InvalidInput("the studies are not in the installed package: clone the repository and run this there")
    if name and name not in studies:
        raise InvalidInput(f"study {name!r}, expected one of {', '.join(studies)}")
    if listed or not name:
        width = max(map(len, studies))
        lines = [f"{study:<{width}}  {about}" for study, about in studies.items()]
        print(json.dumps({"studies": studies}) if as_json else "\n".join(lines))
        return
    done = subprocess.run([sys.executable, "-m", f"studies.{name}"], cwd=home, check=False, capture_output=as_json)
    if as_json:
        page = home / "docs" / "studies" / f"{name}.md"
        print(json.dumps({"study": name, "exit_code": done.returncode, "page": str(page) if page.is_file() else None}))
    if done.returncode:
        raise typer.Exit(1)


def _studies(folder: Path) -> dict[str, str]:
    """Every study that can be run, with the first line of what it says about itself."""
    found = {}
    for path in sorted(folder.glob("[!_]*.py")):
        text = path.read_text(encoding="utf-8")
        if "__main__" in text:
            found[path.stem] = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    return found

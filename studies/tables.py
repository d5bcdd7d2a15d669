"""A study's result: one Markdown page with the command, the seed and a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "studies"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write(name: str, title: str, text: str, command: str = "") -> None:
    """Print a page and store it under docs/studies; the command is the module of that name unless it is given."""
    page = (
        f"# {title}\n\nWritten by `{command or f'python -m studies.{name}'}` (seeds fixed in the command).\n\n{text}\n"
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.md").write_text(page, encoding="utf-8")
    print(page)

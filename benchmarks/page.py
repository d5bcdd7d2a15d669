"""The page of all benchmarks: one section for each module, of which some are measured anew and the others kept."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

CPU time of one core, children and workers included, unless a line says otherwise. A line with new texts is one that
no cache has seen; known texts were read before. The baseline is another library, or a few lines of numpy, on the same
input in the same run; the limit is what was asked for. The machine was shared: ratios within a run count more than
rates, and elapsed times are as long as others made them. `python -m benchmarks --write` measures everything,
`python -m benchmarks --write NAME…` some sections. What takes too long for one run is stored: `five_gigabytes` and the
figures of studies.
"""


def sections(text: str) -> dict[str, str]:
    """The body of every section, by its name.

    >>> sections("# All\\n\\n## core\\n\\none\\n\\n## text\\n\\ntwo\\n")
    {'core': 'one', 'text': 'two'}
    """
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    return {name.strip(): body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def kept(page: Path = PAGE) -> dict[str, str]:
    """What the page says today."""
    return sections(page.read_text(encoding="utf-8")) if page.exists() else {}


def keep(measured: dict[str, str], page: Path = PAGE) -> None:
    """Write some sections, in order of their names, and keep the others."""
    found = {**kept(page), **measured}
    body = "".join(f"\n## {name}\n\n{found[name].strip()}\n" for name in sorted(found))
    page.write_text(HEAD + body, encoding="utf-8")

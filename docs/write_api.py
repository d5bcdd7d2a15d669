"""Write docs/api.md from the docstrings of everything public: `python docs/write_api.py`."""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
PAGE = HERE / "api.md"

MODULES = (
    *(
        "oddshift",
        "oddshift.bounds",
        "oddshift.evidence.witness",
        "oddshift.evidence.certificates",
        "oddshift.audit",
        "oddshift.adapt",
    ),
    *(
        "oddshift.data.detectors",
        "oddshift.data.codecs",
        "oddshift.data.embedded",
        "oddshift.protect.policies",
        "oddshift.protect",
    ),
)
"""Packages whose `__all__` is described; the first one holds the names that stay stable."""

HEAD = """# API

Everything public, from its docstring; written by `python docs/write_api.py`. The names of the first part are stable,
and are reached as `oddshift.Name`. Formulas, guarantees and examples stand in the docstrings: `help(oddshift.Space)`.
"""


def entries(module: str) -> Iterator[tuple[str, str]]:
    """Each public name of a module and its entry; sub-modules have parts of their own."""
    package = importlib.import_module(module)
    for name in sorted(package.__all__, key=str.lower):
        value = getattr(package, name)
        if not isinstance(value, types.ModuleType):
            yield name, f"### {name}\n\n{_called(name, value)}{_about(value)}\n"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for module in MODULES:
        about = (inspect.getdoc(importlib.import_module(module)) or "").splitlines()[0]
        parts += [f"## {module}\n\n{about}\n", *(entry for _, entry in entries(module))]
    return "\n".join(parts)


def _called(name: str, value: Any) -> str:
    """How a function or class is called, with defaults and without types."""
    if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters if not p.name.startswith("_")]
    called = re.sub(r"<function (\S+) at 0x[0-9a-f]+>", r"\1", f"{name}{inspect.Signature(plain)}")
    return f"`{called}`\n\n" if all(len(str(p)) < 60 for p in plain) else ""


def _about(value: Any) -> str:
    """The first paragraph of the docstring on one line, and the file."""
    if not callable(value):
        return f"A {type(value).__name__}."
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    try:
        file = Path(inspect.getsourcefile(value) or "").resolve()
    except TypeError:
        return text
    if not file.is_relative_to(SOURCE):
        return text
    return f"{text} ([{file.relative_to(SOURCE / 'oddshift')}](../{file.relative_to(SOURCE.parent)}))"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")

"""Examples in docstrings shown as code: Markdown would take the marks of a Python prompt for quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"((?:^>>> .*\n?)(?:^(?!\s*$).*\n?)*)", re.MULTILINE)


def fenced(text: str) -> str:
    """Each run of lines that starts with a prompt, up to the next blank line, inside a code fence."""
    return EXAMPLE.sub(lambda match: f"```pycon\n{match.group(1).rstrip()}\n```\n", text)


class Doctests(griffe.Extension):
    """Fences the examples of every docstring that is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

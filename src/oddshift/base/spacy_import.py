"""The import of spaCy: one refusal where it is missing, and without torch where that is possible.

The library below spaCy imports torch whenever it is installed, which takes two thirds of the time, although only
pipelines with transformers use it. A command that runs in a process of its own spares itself that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from oddshift.base.errors import InvalidInput

WITH_TORCH = ("spacy_curated_transformers", "spacy_transformers")
"""Libraries whose pipelines run on torch: where one of them is installed, torch is imported as usual."""

_IS_SPARED: ContextVar[bool] = ContextVar("is_spared", default=False)


@contextmanager
def sparing_torch() -> Iterator[None]:
    """Let a first import of spaCy in this block leave torch out; for a process that belongs to oddshift alone.

    In a process of a user spaCy stays as it is everywhere, because it would be without torch for good.
    """
    before = _IS_SPARED.set(True)
    try:
        yield
    finally:
        _IS_SPARED.reset(before)


def is_torch_spared() -> bool:
    """Whether this is a block of `sparing_torch`: the processes that it starts belong to oddshift alone too."""
    return _IS_SPARED.get()


def import_spacy() -> Any:
    """Return the module spaCy, imported if need be."""
    try:
        with leaving_out("torch"):
            import spacy
    except ImportError as error:
        raise InvalidInput("spaCy is not installed; get it with: pip install 'oddshift[text]'") from error
    return spacy


@contextmanager
def leaving_out(*libraries: str) -> Iterator[None]:
    """Let imports in this block find libraries missing that nothing here needs, where `sparing_torch` allows it.

    Presidio imports torch and transformers wherever they are installed, and spaCy imports Presidio with every pipeline.
    """
    is_spared = _IS_SPARED.get() and not any(map(find_spec, WITH_TORCH))
    hidden = [name for name in libraries if is_spared and name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # so that importing it fails as if it were missing
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]

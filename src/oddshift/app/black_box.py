"""A mechanism that is known only as a Python function: found by its name, and called once for each draw."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.evidence.witness.mdp import Sample

Function = Callable[[Any], Any]
"""A word to a word, or a vector to a vector, with noise of its own."""


def find_function(name: str) -> Function:
    """The function that MODULE:FUNCTION names; the current folder is searched too.

    >>> find_function("math:sqrt")(4.0)
    2.0
    """
    module, separator, path = name.partition(":")
    if not (module and separator and path):
        raise InvalidInput(f"{name!r} is not of the form MODULE:FUNCTION, such as my_noise:replace_word")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # whatever the module does when it is imported
        raise InvalidInput(f"module {module!r} cannot be imported: {type(error).__name__}: {_line(error)}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise InvalidInput(f"{module!r} has no {path!r}, expected the name of a function in it")
        found = getattr(found, part)
    if not callable(found):
        raise InvalidInput(f"{name!r} is {a_kind(found)}, expected a function")
    function: Function = found
    return function


def sampler_of(function: Function, words: Sequence[str], points: FloatArray | None = None) -> Sample:
    """A sampler that calls a function on words, or on `points` when they are given. Outputs are words or vectors.

    >>> draw = sampler_of(str.upper, ["red", "blue"])
    >>> draw(np.array([1, 0]), np.random.default_rng(0)).tolist()
    ['BLUE', 'RED']
    """

    return lambda index, _rng: _stacked(_called(function, words, points, index))


def _called(function: Function, words: Sequence[str], points: FloatArray | None, index: IntArray) -> list[Any]:
    given = [words[i] if points is None else points[i].copy() for i in index.tolist()]
    try:
        return [function(one) for one in given]
    except Exception as error:  # whatever somebody else's function raises
        raise InvalidInput(f"the function failed: {type(error).__name__}: {_line(error)}") from error


def _stacked(drawn: list[Any]) -> Any:
    if all(isinstance(one, str) for one in drawn):
        return np.array(drawn, dtype=str)
    try:
        found = np.stack([np.asarray(one, dtype=np.float64) for one in drawn])
    except (TypeError, ValueError):
        raise InvalidInput(f"the function gave {a_kind(drawn[0])}, expected a word or a vector") from None
    if not np.isfinite(found).all():
        odd = next(one for one, row in zip(drawn, found, strict=True) if not np.isfinite(row).all())
        raise InvalidInput(f"the function gave {a_kind(odd)}, expected a word or a vector of finite numbers")
    return found


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]

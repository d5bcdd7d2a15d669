"""The sanitizer inside other libraries: a scikit-learn transformer, a spaCy component, a Presidio operator.

Each has a file of its own, whose library is imported when it is first used; `docs/integrations.md` shows them. spaCy
finds its component on its own: `nlp.add_pipe("oddshift", config={"policy": "policy.json"})`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oddshift.base.errors import InvalidInput

if TYPE_CHECKING:
    from oddshift.protect.integrations.presidio_operator import OddshiftOperator
    from oddshift.protect.integrations.scikit_learn import MetricPrivacyTransformer
    from oddshift.protect.integrations.spacy_component import Protector

__all__ = ["MetricPrivacyTransformer", "OddshiftOperator", "Protector"]

_FILES = {
    "MetricPrivacyTransformer": ("scikit_learn", "scikit-learn", "tables"),
    "OddshiftOperator": ("presidio_operator", "Presidio", "text"),
    "Protector": ("spacy_component", "spaCy", "text"),
}


def __getattr__(name: str) -> Any:
    """The class of that name, from its file; a message names a library that is not installed."""
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file, library, extra = _FILES[name]
    try:
        return getattr(import_module(f"{__name__}.{file}"), name)
    except ModuleNotFoundError as error:
        raise InvalidInput(f"{library} is not installed; get it with: pip install 'oddshift[{extra}]'") from error

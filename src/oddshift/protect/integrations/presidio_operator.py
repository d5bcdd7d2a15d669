"""A Presidio operator: each entity that an analyzer found is released word by word through a policy's mechanism.

    engine = AnonymizerEngine()
    engine.add_anonymizer(OddshiftOperator)
    released = OperatorConfig("oddshift", {"sanitizer": Sanitizer(load_policy("policy.json"))})
    engine.anonymize(text, analyzer.analyze(text, "en"), {"DEFAULT": released})

Presidio makes an operator anew for every entity, so what is worth keeping between entities is in the sanitizer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from presidio_anonymizer.operators import Operator, OperatorType

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TextCodec
from oddshift.protect import Sanitizer


class OddshiftOperator(Operator):
    """Replaces the words of an entity: those of the policy's points through its mechanism, all others by a mask.

    Its one parameter is `sanitizer`, a `Sanitizer` of a policy for texts. A word that the policy takes for public is
    masked too, since the analyzer takes it for part of a name; marks and blanks stay.

    **Guarantee**: no word of an entity is released but through the mechanism, each with a uniform of its own. What the
    analyzer misses stays in the text, so the policy's certificate, which is about every occurrence of a sensitive word,
    does not cover the result. Unknown words are refused when the policy says so.
    """

    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:
        """The released words of one entity."""
        sanitizer, codec = _checked(params)
        encoded = codec.on_columns(["text"]).encode({"text": [text]})
        occurrences = encoded.tokens.occurrences
        words = np.flatnonzero(occurrences.is_word[occurrences.type])
        hidden = replace(encoded, masked=np.setdiff1d(words, encoded.slots))
        return str(sanitizer.released(hidden)["text"][0])

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Refuse parameters without a sanitizer for texts."""
        _checked(params)

    def operator_name(self) -> str:
        """The name by which an `OperatorConfig` asks for it."""
        return "oddshift"

    def operator_type(self) -> OperatorType:
        """It anonymizes."""
        return OperatorType.Anonymize


def _checked(params: dict[str, Any] | None) -> tuple[Sanitizer, TextCodec]:
    given = (params or {}).get("sanitizer")
    if not isinstance(given, Sanitizer) or not isinstance(given.codec, TextCodec):
        raise InvalidInput(f"sanitizer={given!r}, expected a Sanitizer of a policy for texts")
    return given, given.codec

"""A Presidio operator: each entity that an analyzer found is released word by word through a policy's mechanism.

    engine = AnonymizerEngine()
    engine.add_anonymizer(OddshiftOperator)
    released = OperatorConfig("oddshift", {"sanitizer": Sanitizer(load_policy("policy.json"))})
    engine.anonymize(text, analyzer.analyze(text, "en"), {"DEFAULT": released})

Presidio makes a new operator for every entity, so everything that entities share is in the sanitizer.
"""

from __future__ import annotations

from typing import Any

from presidio_anonymizer.operators import Operator, OperatorType

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec
from oddshift.protect import Sanitizer


class OddshiftOperator(Operator):
    """Replaces the words of an entity: those of the policy's points through its mechanism, all others by a mark.

    Its parameter is `sanitizer`, a `Sanitizer` of a policy for texts. Words without a point become a mark of the
    entity's type; punctuation and blanks stay. Presidio does not say which text an entity belongs to: with a parameter
    `document` (any text that names it) equal words of one document share one draw, without it each entity is drawn
    separately.

    **Guarantee**: words of an entity are released only through the mechanism. What the analyzer misses stays in the
    text, so the policy's certificate, which is about what its own detectors find, does not cover the result. Words
    without a point are refused when the policy says so.
    """

    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:
        """The released words of one entity."""
        sanitizer, codec = _checked(params)
        given = params or {}
        encoded = codec.encode_name(text, str(given.get("entity_type") or "NAME"))
        document = given.get("document")
        outputs = sanitizer.outputs(encoded) if document is None else sanitizer.outputs_of(encoded, str(document))
        return str(sanitizer.decoded(encoded, outputs)["text"][0])

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Refuse parameters without a sanitizer for texts."""
        _checked(params)

    def operator_name(self) -> str:
        """Its name in an `OperatorConfig`."""
        return "oddshift"

    def operator_type(self) -> OperatorType:
        """It anonymizes."""
        return OperatorType.Anonymize


def _checked(params: dict[str, Any] | None) -> tuple[Sanitizer, Codec]:
    given = (params or {}).get("sanitizer")
    if not isinstance(given, Sanitizer) or given.policy.kind != "text":
        raise InvalidInput(f"sanitizer={given!r}, expected a Sanitizer of a policy for texts")
    given.refuse_uncounted_users()
    return given, given.codec

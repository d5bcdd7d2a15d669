"""A codec that a policy knows by its registered name: its settings and vocabulary are of its own classes.

The four codecs of oddshift have forms of their own in a policy (see `policy_terms`, `vocabulary`). Any other codec of
the registry, those of installed packages included, is kept in these two forms. A file never names code: only a name of
the registry leads to a class.

The vocabulary of a policy: points, tier labels, remapping and codings, in one file next to policy.json.

It names the words and places that are sensitive, so it is as confidential as the records it was built from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import refuse_unreadable
from oddshift.base.registry import StoredName
from oddshift.base.storage import ADDED_LATER, TYPED_BY
from oddshift.data.codecs import CODECS, Codec, NoVocabulary, PlaceVocabulary, TableVocabulary, TextVocabulary
from oddshift.model.metric import METRICS, Metric, Scaled, Summed, scaled, summed


@dataclass(frozen=True, kw_only=True, repr=False)
class NamedSettings:
    """The settings of a codec that the registry knows by name."""

    codec: StoredName
    settings: Any = field(metadata={TYPED_BY: lambda known: CODECS.again(known["codec"]).settings_class})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NamedVocabulary:
    """What such a codec learned from the fit part."""

    codec: StoredName
    learned: Any = field(metadata={TYPED_BY: lambda known: CODECS.again(known["codec"]).vocabulary_class})


def named_codec(codec: Codec) -> tuple[NamedSettings, NamedVocabulary]:
    """A codec in both forms.

    **Guarantee**: a codec that its registered name does not lead to is refused, and so is one whose settings or
    vocabulary could not be read back as they are.
    """
    kind = type(codec).__name__
    refusal = f"{kind} cannot be kept in a policy"
    if codec.kind not in CODECS or CODECS[codec.kind] is not type(codec):
        raise InvalidInput(f"{refusal}: its kind is {codec.kind!r}, expected a registered name that leads to it")
    stored = CODECS.stored(codec.kind)
    settings, learned = codec.to_policy()
    forms = NamedSettings(codec=stored, settings=settings), NamedVocabulary(codec=stored, learned=learned)
    for form in forms:
        refuse_unreadable(form, refusal)
    return forms


CodecVocabulary = TextVocabulary | TableVocabulary | PlaceVocabulary | NoVocabulary | NamedVocabulary
"""What a codec learned from the fit part."""


@dataclass(frozen=True, kw_only=True)
class MetricPart:
    """factor · d over some columns of the points (all of them when none is named)."""

    name: str
    factor: float
    columns: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PolicyVocabulary:
    """Points (n, k) with their metric and tier labels, what the codec learned, and the remapping when there is one.

    `law` is that of the outputs of tiers whose form ignores the secret.
    """

    points: FloatArray
    metric: tuple[MetricPart, ...]
    labels: IntArray
    codec: CodecVocabulary
    prior: FloatArray | None
    destination: IntArray | None
    law: FloatArray | None = field(default=None, metadata={ADDED_LATER: True})


def metric_parts(metric: Metric) -> tuple[MetricPart, ...]:
    """A metric in plain fields; one that only code can compute is refused."""
    if isinstance(metric, Summed):
        return tuple(_part(inner, columns) for inner, columns in metric.parts)
    return (_part(metric, ()),)


def metric_from(parts: tuple[MetricPart, ...]) -> Metric:
    """The metric that `metric_parts` described."""
    found = [METRICS.find(part.name, "the policy") for part in parts]
    made = [d if part.factor == 1.0 else scaled(d, part.factor) for d, part in zip(found, parts, strict=True)]
    if len(parts) == 1 and not parts[0].columns:
        return made[0]
    return summed([(metric, part.columns) for metric, part in zip(made, parts, strict=True)])


def _part(metric: Metric, columns: tuple[int, ...]) -> MetricPart:
    inner, factor = (metric.metric, metric.factor) if isinstance(metric, Scaled) else (metric, 1.0)
    if METRICS.get(inner.name) != inner:
        raise InvalidInput(f"a {inner.name} metric cannot be stored in a policy, expected one of {', '.join(METRICS)}")
    return MetricPart(name=inner.name, factor=factor, columns=columns)

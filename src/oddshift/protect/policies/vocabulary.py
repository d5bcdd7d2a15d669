"""The vocabulary of a policy: points, tier labels, remapping and codings, in one file beside policy.json.

It names the words and places that are sensitive, so it is as confidential as the records it was built from.
"""

from __future__ import annotations

from dataclasses import dataclass

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.model.metric import METRICS, Metric, Scaled, Summed, scaled, summed

Value = bool | int | float | str | None
"""What a cell of a table can hold."""


@dataclass(frozen=True, kw_only=True)
class MetricPart:
    """factor · d over some columns of the points (all of them when none is named)."""

    name: str
    factor: float
    columns: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class NameList:
    """Listed names, each one token wherever it stands."""

    names: tuple[str, ...]
    keep_case: bool


@dataclass(frozen=True, kw_only=True)
class Forms:
    """Numbers and addresses of fixed forms (Presidio's labels), each one token wherever it stands."""

    labels: tuple[str, ...]
    threshold: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WordReading:
    """A lexicon: the word of each point, the point of each type, types that are masked, and types that are public."""

    words: tuple[str, ...]
    types: tuple[str, ...]
    type_points: IntArray
    masked: tuple[str, ...]
    public: tuple[str, ...]
    joined: tuple[NameList | Forms, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Cells:
    """What each point reads as in a table, and how new values become points: (value − centre)/spread, categories."""

    values: tuple[tuple[Value, ...], ...]
    centres: FloatArray
    spreads: FloatArray
    categories: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Bare:
    """Points that read as their own coordinates: places and vectors."""


Reading = WordReading | Cells | Bare


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Vocabulary:
    """Points (n, k) with their metric and tier labels, what they read as, and the remapping when there is one."""

    points: FloatArray
    metric: tuple[MetricPart, ...]
    labels: IntArray
    reading: Reading
    prior: FloatArray | None
    destination: IntArray | None


def metric_parts(metric: Metric) -> tuple[MetricPart, ...]:
    """A metric in plain fields; one that only code can compute is refused."""
    if isinstance(metric, Summed):
        return tuple(_part(inner, columns) for inner, columns in metric.parts)
    return (_part(metric, ()),)


def metric_from(parts: tuple[MetricPart, ...]) -> Metric:
    """The metric that `metric_parts` described."""
    made = [METRICS[p.name] if p.factor == 1.0 else scaled(METRICS[p.name], p.factor) for p in parts]
    if len(parts) == 1 and not parts[0].columns:
        return made[0]
    return summed([(metric, part.columns) for metric, part in zip(made, parts, strict=True)])


def _part(metric: Metric, columns: tuple[int, ...]) -> MetricPart:
    inner, factor = (metric.metric, metric.factor) if isinstance(metric, Scaled) else (metric, 1.0)
    if METRICS.get(inner.name) != inner:
        raise InvalidInput(f"a {inner.name} metric cannot be stored in a policy, expected one of {', '.join(METRICS)}")
    return MetricPart(name=inner.name, factor=factor, columns=columns)

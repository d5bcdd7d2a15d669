"""From encoded data to the blueprint of a policy: what has to be kept so that new data is encoded the same way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.location import FixColumns, LocationSettings
from oddshift.data.codecs.tabular import EncodedTable
from oddshift.data.codecs.text import EncodedText
from oddshift.data.detectors import Detector, Gazetteer, Patterns, WordList
from oddshift.protect.policies import (
    Bare,
    Blueprint,
    Cells,
    Forms,
    LocationRules,
    NameList,
    TableRules,
    TextRules,
    VectorRules,
    WordReading,
)


def text_blueprint(
    encoded: EncodedText,
    *,
    columns: Sequence[str] = ("text",),
    header: Sequence[str] | None = None,
    tokeniser: str = "spacy",
    unknown: str = "mask",
    joined_by: Sequence[Detector] = (),
) -> Blueprint:
    """Texts in some columns; `joined_by` are the detectors whose every match is one token, as `PreparedText` has."""
    lexicon = encoded.lexicon
    rules = TextRules(
        columns=tuple(columns),
        header=None if header is None else tuple(header),
        tokeniser=tokeniser,
        unknown=unknown,
        casing=encoded.casing,
    )
    reading = WordReading(
        words=lexicon.words,
        types=tuple(lexicon.point_of),
        type_points=_integers(list(lexicon.point_of.values())),
        masked=lexicon.masked,
        public=lexicon.public,
        joined=tuple(_joined(detector) for detector in joined_by),
    )
    return Blueprint(rules, reading)


def table_blueprint(encoded: EncodedTable) -> Blueprint:
    """A table whose rows or cells are secrets."""
    settings = encoded.settings
    rules = TableRules(numeric=settings.numeric, categorical=settings.categorical, unit=settings.unit)
    centres, spreads = encoded.scales.T.copy()
    cells = Cells(values=encoded.values, centres=centres, spreads=spreads, categories=encoded.categories)
    return Blueprint(rules, cells)


def location_blueprint(settings: LocationSettings, columns: FixColumns | None = None) -> Blueprint:
    """Trajectories whose fixes are cells, or the nearest of listed places."""
    names = columns or FixColumns()
    rules = LocationRules(
        lat=names.lat,
        lon=names.lon,
        user=names.user,
        timestamp=names.timestamp,
        trip=names.trip,
        cell_km=settings.cell_km if settings.places is None else None,
        every=settings.every,
        stay_kilometres=settings.stays.kilometres if settings.stays else None,
        stay_minutes=settings.stays.minutes if settings.stays else None,
    )
    return Blueprint(rules, Bare())


def vector_blueprint() -> Blueprint:
    """Rows of numbers, each a secret."""
    return Blueprint(VectorRules(), Bare())


def _joined(detector: Detector) -> NameList | Forms:
    if isinstance(detector, Patterns):
        return Forms(labels=detector.labels, threshold=detector.threshold)
    if isinstance(detector, Gazetteer):
        return NameList(names=tuple(detector.entries), keep_case=detector.keep_case)
    if isinstance(detector, WordList):
        return NameList(names=tuple(detector.words), keep_case=False)
    raise InvalidInput(f"detector {detector.name!r} cannot be kept in a policy, expected patterns or a list of names")


def _integers(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)

"""From a configuration to an audit that can run: data, split, tiers, mechanism, attackers.

The vocabulary and the tiers are built from the fit documents only; words of other documents outside them follow the
unknown-word rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.configuration import (
    CapitalDetector,
    Config,
    ListDetector,
    LocationData,
    MechanismConfig,
    PatternDetector,
    PeopleData,
    TableData,
    TextData,
    VectorData,
    WordDetector,
)
from oddshift.attackers import ATTACKERS, FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.clipped import Clipped
from oddshift.audit.proven import Proven, bound_under_chain, bound_without_law
from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text import EncodedText
from oddshift.mechanisms import Exponential, Mask, Mechanism, PathExponential, Tiered, Truncated, calibrate
from oddshift.model.prior import Markov
from oddshift.model.records import FRACTIONS, Records, Split, assign_parts, numbered
from oddshift.model.release import one_tier
from oddshift.model.tiers import Tiers
from oddshift.protect.policies import Blueprint


@dataclass(frozen=True, eq=False, repr=False)
class Loaded:
    """Data ready to be audited; `prior_of` is the exact law of the secrets, where it is known, `encoded` the texts.

    `blueprint` says what a policy must keep to encode new data of this kind the same way.
    """

    split: Split
    tiers: Tiers
    detector: str
    blueprint: Blueprint
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    prior_of: Callable[[int], Markov] | None = None
    encoded: EncodedText | None = None


def load_data(config: Config) -> Loaded:
    """Read, encode and split the data of a configuration."""
    rng = np.random.default_rng([config.audit.seed, 1])
    return _LOADERS[config.data.kind](config.data, rng)


def _text(data: TextData, rng: np.random.Generator) -> Loaded:
    from oddshift.data.codecs import Layout, Similar, TextSettings, prepare, read_corpus
    from oddshift.data.detectors import TierRule
    from oddshift.protect import text_blueprint

    layout = Layout(tuple(data.text), data.label, data.user, data.subgroup, data.header)
    corpus = read_corpus(data.path, layout, at_least=3)
    clusters = np.arange(len(corpus)) if corpus.users is None else numbered(corpus.users)[0]
    part = assign_parts(clusters, FRACTIONS, rng)
    similar = Similar(percent=data.similar_percent, variant=data.similar_variant) if data.similar_percent else None
    selected = [label for d in data.detectors for label in getattr(d, "labels", ())]
    settings = TextSettings(
        is_public=data.is_public,
        rule=TierRule(names=data.tier_names, tier_of={**dict.fromkeys(selected, data.tier_names[0]), **data.tier_of}),
        similar=similar,
        unknown=data.unknown,
        join_names=data.join_names,
    )
    detectors = [_detector(d) for d in data.detectors]
    vectors = _word_vectors(data.vectors, detectors)
    made = prepare(corpus, vectors, detectors, settings, np.flatnonzero(part == 0))
    names = ", ".join(detector.name for detector in detectors)
    by = "document" if corpus.users is None else "user"
    split = _split(made.encoded.records, part, data.joint_by, by)
    hidden = (
        f"{len(made.encoded.masked)} tokens are masked, {made.encoded.unseen} of them of types that no fit document has"
    )
    notes = (*(f"fit documents: {line}" for line in made.report.lines()), hidden)
    blueprint = text_blueprint(
        made.encoded,
        columns=data.text,
        header=data.header,
        tokeniser=settings.tokeniser,
        unknown=data.unknown,
        joined_by=made.joined_by,
    )
    return Loaded(split, made.encoded.tiers, names, blueprint, notes, made.encoded.lexicon.words, encoded=made.encoded)


def _word_vectors(source: str | Path, detectors: list[Any]) -> Any:
    """The vectors that a configuration names; None for those made from the text."""
    from oddshift.data.codecs import (
        FROM_PIPELINE,
        FROM_TEXT,
        pipeline_with_vectors,
        read_vectors,
        vectors_of_pipeline,
    )

    if source == FROM_TEXT:
        return None
    return vectors_of_pipeline(pipeline_with_vectors(detectors)) if source == FROM_PIPELINE else read_vectors(source)


def _detector(chosen: Any) -> Any:
    from oddshift.data.detectors import Capitals, Gazetteer, Patterns, Pipeline, WordList

    if isinstance(chosen, PatternDetector):
        return Patterns(chosen.labels) if chosen.labels else Patterns()
    if isinstance(chosen, ListDetector):
        return Gazetteer(_lines(chosen.path), keep_case=chosen.keep_case)
    if isinstance(chosen, WordDetector):
        return WordList(dict.fromkeys(_lines(chosen.path), chosen.label))
    if isinstance(chosen, CapitalDetector):
        return Capitals()
    return Pipeline(chosen.path, chosen.labels)


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _table(data: TableData, rng: np.random.Generator) -> Loaded:
    from oddshift.data.codecs import TableSettings, read_table
    from oddshift.protect import table_blueprint

    keys = ("numeric", "categorical", "unit", "scaling", "weight", "bins", "group", "public", "tier_names", "tier_of")
    settings = TableSettings(**{key: getattr(data, key) for key in keys}, is_public=data.is_public)
    encoded = read_table(data.path, settings, at_least=3)
    found = f"columns {', '.join(settings.secret)}"
    return _whole(encoded.records, encoded.tiers, rng, found, table_blueprint(encoded))


def _location(data: LocationData, rng: np.random.Generator) -> Loaded:
    from oddshift.data.codecs import FixColumns, LocationSettings, StayPoints, encode_locations, read_trajectories
    from oddshift.protect import location_blueprint

    if not data.timestamp and (data.every or data.stays):
        raise InvalidInput("data.timestamp is empty, expected every = 0 and no stays: both need times")
    stays = StayPoints() if data.stays else None
    settings = LocationSettings(cell_km=data.cell_km, every=data.every or None, stays=stays)
    columns = FixColumns(data.lat, data.lon, data.user, data.timestamp, data.trip)
    encoded = encode_locations(read_trajectories(data.path, columns), settings)
    records = encoded.records.joined(data.joint_by)
    return _whole(records, None, rng, "every fix", location_blueprint(settings, columns))


def _vectors(data: VectorData, rng: np.random.Generator) -> Loaded:
    from oddshift.data.codecs import read_vector_set
    from oddshift.protect import vector_blueprint

    encoded = read_vector_set(data.path, is_public=data.is_public, metric=data.metric)
    return _whole(encoded.records, encoded.tiers, rng, "every vector", vector_blueprint())


def _people(data: PeopleData, rng: np.random.Generator) -> Loaded:
    from oddshift.data.embedded import people
    from oddshift.protect import text_blueprint

    corpus = people(data.documents, strength=data.strength, is_public=data.is_public)
    split = corpus.records.split(rng=rng)
    words, detector = corpus.encoded.lexicon.words, "none (the embedded corpus marks its secrets)"
    blueprint = text_blueprint(corpus.encoded, tokeniser="plain", unknown="refuse")
    return Loaded(
        split, corpus.tiers, detector, blueprint, names=words, prior_of=corpus.prior_of, encoded=corpus.encoded
    )


_LOADERS: dict[str, Callable[[Any, np.random.Generator], Loaded]] = {
    "text": _text,
    "table": _table,
    "location": _location,
    "vectors": _vectors,
    "people": _people,
}


def _whole(
    records: Records, tiers: Tiers | None, rng: np.random.Generator, detector: str, blueprint: Blueprint
) -> Loaded:
    split = records.split(rng=rng)
    return Loaded(split, one_tier(records.space) if tiers is None else tiers, f"none ({detector})", blueprint)


def _split(records: Records, part: IntArray, joint_by: str, by: str) -> Split:
    """The parts decided before the vocabulary was built, read together as asked."""
    fit, select, certify = (records.take(np.flatnonzero(part == p)).joined(joint_by) for p in range(3))
    return Split(fit=fit, select=select, certify=certify, by=by)


def build_mechanism(config: MechanismConfig, loaded: Loaded) -> tuple[Mechanism, Tiers]:
    """The mechanism of a configuration over the data's points, and the tiers with its scales."""
    space, tiers = loaded.split.fit.space, loaded.tiers
    if config.scales is not None:
        tiers = tiers.with_scales(config.scales)
    elif config.name in {"tiered", "path"}:
        raise InvalidInput(f"mechanism.name={config.name!r} needs mechanism.scales, one for each tier {tiers.names}")
    if config.name == "truncated" and config.radius is None:
        raise InvalidInput("mechanism.name='truncated' needs mechanism.radius, a distance")
    families: dict[str, Callable[[float], Mechanism]] = {
        "exponential": lambda e: Exponential(space, e),
        "truncated": lambda e: Truncated(space, e, config.radius or 1.0),
        "tiered": lambda e: Tiered(space, tiers, e),
        "path": lambda e: PathExponential(space, tiers, e),
        "mask": lambda e: Mask(space),
    }
    family = families[config.name]
    return (calibrate(family, config.epsilon) if config.calibrated else family(config.epsilon)), tiers


def fit_attackers(config: Config, known: Knowledge, loaded: Loaded, options: FitOptions) -> list[Attacker]:
    """The attackers that a configuration names, fitted on the fit split."""
    fitted: list[Attacker] = []
    for k, name in enumerate(config.audit.attackers):
        rng = np.random.default_rng([config.audit.seed, 2, k])
        fit = ATTACKERS.find(name, "audit.attackers")
        fitted.append(fit(known, rng, replace(options, prior_of=loaded.prior_of)))
    gamma = config.audit.gamma
    return fitted if gamma is None else [Clipped(known, attacker, gamma) for attacker in fitted]


def prove(config: Config, known: Knowledge, loaded: Loaded) -> Proven | None:
    """The proven bound that a configuration asks for; None when it asks for none."""
    if config.audit.upper is None:
        return None
    if config.audit.upper == "diameter":
        return bound_without_law(known, loaded.split)
    return bound_under_chain(known, loaded.split, loaded.prior_of)

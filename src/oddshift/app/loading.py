"""From a configuration to an audit that can run: data, split, tiers, mechanism, attackers.

The vocabulary and the tiers are built from the fit documents only; words of other documents outside them follow the
unknown-word rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.configuration import (
    Config,
    LocationData,
    MechanismConfig,
    PeopleData,
    TableData,
    TextData,
    VectorData,
)
from oddshift.attackers import ATTACKERS, FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.clipped import Clipped
from oddshift.audit.proven import Proven, bound_under_chain, bound_without_law
from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import CODECS, SETTINGS, Codec, Columns, Encoded, EncodedText, TextSettings
from oddshift.data.detectors import DETECTORS
from oddshift.data.formats import FOLDER, TEXT, open_data, read_columns
from oddshift.data.formats.plain_text import TextFile, TextFolder
from oddshift.mechanisms import Exponential, Mask, Mechanism, PathExponential, Tiered, Truncated, calibrate
from oddshift.model.prior import Markov
from oddshift.model.records import FRACTIONS, Records, Split, assign_parts
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class Loaded:
    """Data ready to be audited; `prior_of` is the exact law of the secrets, where it is known, `encoded` the texts.

    `codec` found the secrets, and finds those of new data of this kind the same way.
    """

    split: Split
    tiers: Tiers
    detector: str
    codec: Codec
    notes: tuple[str, ...] = ()
    prior_of: Callable[[int], Markov] | None = None
    encoded: EncodedText | None = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """What each point reads as, where that is a word."""
        return self.codec.point_names


def load_data(config: Config) -> Loaded:
    """Read, split, fit on the fit part, and encode the data of a configuration."""
    rng = np.random.default_rng([config.audit.seed, 1])
    data = config.data
    if isinstance(data, PeopleData):
        return _people(data, rng)
    return _loaded(data.path, codec_settings(data), rng)


def codec_settings(data: TextData | TableData | LocationData | VectorData) -> Any:
    """The settings of a codec from the section of a configuration: the same names, without the kind and the path."""
    kind = SETTINGS[data.kind]
    values = {f.name: getattr(data, f.name) for f in fields(kind) if hasattr(data, f.name)}
    if isinstance(data, TextData):
        values["vectors"] = str(data.vectors)
        values["detectors"] = tuple(_detector_settings(chosen) for chosen in data.detectors)
    return kind(**values)


def _detector_settings(chosen: Any) -> Any:
    kind = DETECTORS[chosen.kind]
    return kind(**{f.name: getattr(chosen, f.name) for f in fields(kind) if hasattr(chosen, f.name)})


def _loaded(path: Path, settings: Any, rng: np.random.Generator) -> Loaded:
    """One way for every kind of data."""
    file = open_data(path, settings.kind, header=getattr(settings, "header", None))
    if isinstance(settings, TextSettings) and isinstance(file, TextFile | TextFolder):
        label = FOLDER if FOLDER in file.names else None
        settings = replace(settings, text=(TEXT,), label=label, user=None, subgroup=None)
    columns = read_columns(file, settings.wanted(file.names), at_least=3)
    with _named(path):
        units, by = settings.units(columns)
        part = assign_parts(units, FRACTIONS, rng)
        codec = CODECS[settings.kind].fit(_rows(columns, part == 0), settings)
        encoded = codec.encode(columns)
    joint_by = getattr(settings, "joint_by", "document")
    if joint_by == "column":  # a column of each part is read together, so the parts are encoded one by one
        fit, select, certify = (codec.encode(_rows(columns, part == p)).records for p in range(3))
        split = Split(fit=fit, select=select, certify=certify, by=by)
    else:
        split = _split(encoded.records, part[encoded.rows], joint_by, by)
    is_text = isinstance(encoded, EncodedText)
    return Loaded(split, codec.tiers, _who(codec), codec, _notes(codec, encoded), encoded=encoded if is_text else None)


def _rows(columns: Columns, chosen: BoolArray) -> dict[str, list[Any]]:
    """Some rows of all columns."""
    rows = np.flatnonzero(chosen).tolist()
    return {name: [cells[row] for row in rows] for name, cells in columns.items()}


def _who(codec: Codec) -> str:
    """Who found the secrets."""
    asked = codec.settings
    if isinstance(asked, TextSettings):
        return ", ".join(chosen.detector().name for chosen in asked.detectors)
    found = {"table": f"columns {', '.join(codec.released)}", "location": "every fix", "vectors": "every vector"}
    return f"none ({found[codec.kind]})"


def _notes(codec: Codec, encoded: Encoded) -> tuple[str, ...]:
    counts = encoded.counts
    if codec.kind == "text":
        hidden = f"{counts.masked} tokens are masked, {counts.unseen} of them of types that no fit document has"
        return (*codec.notes, hidden)
    if counts.unseen:
        return (*codec.notes, f"{counts.unseen} cells hold a category that no fit row has")
    return codec.notes


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Refusals of cells with the name of their file."""
    try:
        yield
    except InvalidInput as error:
        if str(error).startswith("column "):
            raise InvalidInput(f"{path.name}: {error}") from error
        raise


def _people(data: PeopleData, rng: np.random.Generator) -> Loaded:
    from oddshift.data.embedded import people

    corpus = people(data.documents, strength=data.strength, is_public=data.is_public)
    detector = "none (the embedded corpus marks its secrets)"
    split = corpus.records.split(rng=rng)
    return Loaded(split, corpus.tiers, detector, corpus.codec, prior_of=corpus.prior_of, encoded=corpus.encoded)


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

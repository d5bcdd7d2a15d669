"""The configuration of an audit: a TOML file, checked key by key before any work is done.

Every key is documented here, next to its default. An unknown key is refused, and the message names the nearest known
one.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint


class _Section(BaseModel):
    """A table of the file; keys it does not list are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PipelineDetector(_Section):
    """A spaCy pipeline with an entity component, by installed name or by folder."""

    kind: Literal["pipeline"]
    path: str
    labels: tuple[str, ...] = ("PERSON", "ORG", "GPE")


class PatternDetector(_Section):
    """Presidio's recognisers of fixed forms (e-mail, phone, card, IBAN, ...), offline; by default all but URL."""

    kind: Literal["patterns"]
    labels: tuple[str, ...] = ()


class ListDetector(_Section):
    """Names of one or more words, one on each line of a text file, matched as a whole; all belong to the first tier."""

    kind: Literal["gazetteer"]
    path: Path
    keep_case: bool = False


class WordDetector(_Section):
    """Single words in any casing, one on each line of a text file, with a label that may have a tier of its own."""

    kind: Literal["words"]
    path: Path
    label: str = "WORD"


class CapitalDetector(_Section):
    """Capitalised words inside sentences: a guess at names that needs no trained pipeline; after a title, a person."""

    kind: Literal["capitals"]
    labels: tuple[Literal["CAPITALISED", "PERSON"], ...] = ("CAPITALISED", "PERSON")


Detector = Annotated[
    PipelineDetector | PatternDetector | ListDetector | WordDetector | CapitalDetector, Field(discriminator="kind")
]


class TextData(_Section):
    """Texts in a .csv, .jsonl or .parquet file, or a folder of .txt files; sensitive words are the secrets.

    `vectors` is a file of word vectors, "pipeline" for those of the spaCy pipeline that finds the names, or "from-text"
    for vectors made from the fit documents, which are rougher.
    `is_public` has no default: it says whether the attacker is told each position's tier. `similar_percent` is the
    share of the remaining vocabulary taken as the tier of similar words (0 for none), by their largest or mean
    similarity. `tier_names` are the tiers of detected words, most sensitive first; `tier_of` leads a detector's label
    to one of them, by default to the first.
    """

    kind: Literal["text"]
    path: Path
    vectors: Literal["from-text", "pipeline"] | Path
    is_public: bool
    detectors: tuple[Detector, ...] = Field(min_length=1)
    text: tuple[str, ...] = ("text",)
    label: str | None = None
    user: str | None = None
    subgroup: str | None = None
    header: tuple[str, ...] | None = None
    tier_names: tuple[str, ...] = Field(default=("PII",), min_length=1)
    tier_of: dict[str, str] = Field(default_factory=dict)
    similar_percent: float = Field(default=10.0, ge=0.0, lt=100.0)
    similar_variant: Literal["max", "mean"] = "max"
    unknown: Literal["mask", "refuse"] = "mask"
    join_names: bool = False
    joint_by: Literal["document", "sentence", "user"] = "document"


class TableData(_Section):
    """A table; each row, or each cell of the named columns, is a secret."""

    kind: Literal["table"]
    path: Path
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    unit: Literal["row", "cell"] = "row"
    scaling: Literal["z-score", "robust"] = "z-score"
    weight: float = 1.0
    bins: int = 20
    group: str | None = None
    public: tuple[str, ...] = ()
    tier_names: tuple[str, ...] = ()
    tier_of: dict[str, str] = Field(default_factory=dict)
    is_public: bool = True


class LocationData(_Section):
    """Trajectories; each fix is a secret, a trip is read together.

    The columns are named; an empty name says that there is none (`modalities.FixColumns` has what follows from that).
    `every` is the number of seconds between fixes that are kept (0 keeps all); places become cells of about `cell_km`
    kilometres.
    """

    kind: Literal["location"]
    path: Path
    lat: str = "lat"
    lon: str = "lon"
    user: str = "user"
    timestamp: str = "timestamp"
    trip: str = "trip"
    cell_km: float = 1.0
    every: float = 300.0
    stays: bool = False
    joint_by: Literal["document", "user"] = "document"


class VectorData(_Section):
    """An .npz or .parquet file of vectors with optional group and tier; each vector is a secret."""

    kind: Literal["vectors"]
    path: Path
    is_public: bool = True
    metric: str = "euclidean"


class PeopleData(_Section):
    """The embedded corpus of made-up people, whose joint law of secrets is known."""

    kind: Literal["people"]
    documents: int = Field(default=3000, ge=30)
    strength: float = Field(default=0.8, ge=0.0, le=1.0)
    is_public: bool = True


Data = Annotated[TextData | TableData | LocationData | VectorData | PeopleData, Field(discriminator="kind")]


class MechanismConfig(_Section):
    """How secrets are released: exponential, truncated (needs `radius`), tiered or path (need `scales`), mask.

    `scales` has one factor of ε for each tier, from the most sensitive on. `calibrated` raises the nominal ε until the
    exact one meets it.
    """

    name: Literal["exponential", "truncated", "tiered", "path", "mask"] = "exponential"
    epsilon: float = Field(gt=0.0)
    scales: tuple[float, ...] | None = None
    radius: float | None = Field(default=None, gt=0.0)
    calibrated: bool = False


class AuditConfig(_Section):
    """What is asked: ε (by default the mechanism's), δ, the error level, and which attackers try.

    `epochs` limits the training of networks (by default theirs: at most 60). `gamma` raises every posterior to at
    least that (none by default); an attacker's name then says so. `upper` asks for a proven bound from above: `chain`
    under the law of the data where it is known (kind people), else under a chain estimated from the fit documents;
    `diameter` under no law at all.
    """

    epsilon: float | None = Field(default=None, gt=0.0)
    delta: float | None = Field(default=None, gt=0.0, lt=1.0)
    alpha: float = Field(default=0.05, gt=0.0, lt=1.0)
    law: Literal["uniform", "anchored", "worst"] = "anchored"
    method: str = "betting"
    attackers: tuple[str, ...] = ("plugin", "counts")
    epochs: int | None = Field(default=None, ge=1)
    gamma: float | None = Field(default=None, gt=0.0, lt=1.0)
    upper: Literal["chain", "diameter"] | None = None
    worst_positions: int = Field(default=1000, ge=1)
    independent: bool = False
    seed: int = 0


class AdaptConfig(_Section):
    """How scales are looked for by `oddshift adapt`; δ, the error level, the pair law and attackers are the audit's.

    `objective` is certified (least loss whose rate is certified in every tier) or weighted (the paper's loop alone).
    `remap` releases the output of least expected cost; `cost` is by default cosine for words and vectors, haversine
    for locations, euclidean for tables. `grid` holds the scales tried in each tier, on `documents` select documents,
    with the attacker named `search_attacker` (by default the strongest at scale 1). `retrain` fits attackers
    anew for every scale, as the paper does; ours serve all scales as they are.
    `rounds` bounds the loop, whose objective is `rate_weight`·rate + `loss_weight`·loss, the rate `pooled` over tiers
    or their largest; its steps are `first_step`/(t+1)^`decay`, until scales move by less than `tolerance`.
    """

    objective: Literal["certified", "weighted"] = "certified"
    remap: bool = True
    cost: Literal["cosine", "euclidean", "haversine"] | None = None
    grid: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    documents: int = Field(default=500, ge=1)
    search_attacker: str = ""
    retrain: bool = False
    rounds: int = Field(default=10, ge=0)
    rate_weight: float = Field(default=1.0, ge=0.0)
    loss_weight: float = Field(default=1.0, ge=0.0)
    pooled: bool = False
    first_step: float = Field(default=1.0, gt=0.0)
    decay: float = Field(default=0.6, ge=0.0)
    tolerance: float = Field(default=0.005, gt=0.0)


class ExecutionConfig(_Section):
    """How attackers are spread over workers; never changes a result."""

    kind: Literal["serial", "processes", "cluster"] = "serial"
    workers: int = Field(default=2, ge=1)
    address: str = ""


class Config(_Section):
    """The whole file."""

    data: Data
    mechanism: MechanismConfig
    audit: AuditConfig = AuditConfig()
    adapt: AdaptConfig = AdaptConfig()
    execution: ExecutionConfig = ExecutionConfig()

    @property
    def fingerprint(self) -> str:
        """Every setting but those of execution, which change no result; a file counts by its name, not its folder."""
        return fingerprint(("configuration", _portable(self.model_dump(exclude={"execution"}))))


PATH_KEYS = ("path", "vectors")
"""Keys that may hold the path of a file or folder."""


def _portable(value: Any) -> Any:
    """Plain values with paths cut down to their last part."""
    if isinstance(value, dict):
        return {
            key: Path(item).name if key in PATH_KEYS and isinstance(item, str | Path) else _portable(item)
            for key, item in value.items()
        }
    return [_portable(item) for item in value] if isinstance(value, list | tuple) else value


def parse_config(text: str, source: str, folder: Path | None = None) -> Config:
    """A configuration from the text of a file; a wrong key or value is one line that names it.

    Relative paths are looked for in `folder` first (the file's own), then in the current one.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{source} is not a TOML file: {error}") from error
    if folder is not None:
        _resolve(raw.get("data"), folder)
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise InvalidInput(f"{source}: {_first_problem(error, raw)}") from error


def _resolve(section: Any, folder: Path) -> None:
    """Make paths that exist next to the file absolute, here and in nested tables."""
    if not isinstance(section, dict):
        return
    for key in PATH_KEYS:
        given = section.get(key)
        if isinstance(given, str) and (folder / given).exists():
            section[key] = str((folder / given).resolve())
    inner = section.get("detectors")
    for table in inner if isinstance(inner, list) else []:
        _resolve(table, folder)


def _first_problem(error: ValidationError, raw: dict[str, Any]) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    # the path of a union's error contains the value of the discriminator, which is not a key of the file
    names = [str(part) for part in first["loc"]]
    place = ".".join(_keys(names, raw))
    more = f" (and {len(error.errors()) - 1} more)" if len(error.errors()) > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"unknown key {place}{_suggestion(names)}{more}"
    if first["type"] == "missing":
        return f"missing key {place}{more}"
    return f"{place}={first['input']!r}: {first['msg'].lower()}{more}"


def _keys(names: list[str], raw: Any) -> list[str]:
    """The path of an error as keys of the file: the `kind` that chose one of several tables is not a key."""
    kept: list[str] = []
    for i, name in enumerate(names):
        if isinstance(raw, dict) and raw.get("kind") == name and i + 1 < len(names):
            continue
        kept.append(name)
        if isinstance(raw, dict):
            raw = raw.get(name)
        elif isinstance(raw, list) and name.isdigit() and int(name) < len(raw):
            raw = raw[int(name)]
    return kept


def _suggestion(names: list[str]) -> str:
    sections: dict[str, type[_Section]] = {
        "text": TextData, "table": TableData, "location": LocationData, "vectors": VectorData, "people": PeopleData,
        "pipeline": PipelineDetector, "patterns": PatternDetector, "gazetteer": ListDetector, "words": WordDetector,
        "capitals": CapitalDetector,
        "mechanism": MechanismConfig, "audit": AuditConfig, "adapt": AdaptConfig,
        "execution": ExecutionConfig,
    }  # fmt: skip
    owner: type[_Section] = next((sections[name] for name in reversed(names[:-1]) if name in sections), Config)
    near = get_close_matches(names[-1], list(owner.model_fields), n=1, cutoff=0.5)
    known = ", ".join(owner.model_fields)
    return f", did you mean {near[0]}?" if near else f", expected one of {known}"

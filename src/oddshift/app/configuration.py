"""The configuration file: TOML tables, each the settings class of one question, checked before any work is done.

The file adds nothing to those classes but the path of the data. An unknown key is refused, and the nearest known one is
named.
"""

from __future__ import annotations

import reprlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from oddshift.adapt.settings import SHARED, AdaptSettings
from oddshift.app.sweep_settings import SweepSettings
from oddshift.audit.settings import AuditSettings
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.base.execution import Execution
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import CODECS, FROM_PIPELINE, FROM_TEXT
from oddshift.data.detectors import DETECTORS
from oddshift.data.embedded import PeopleSettings
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.protect.ledger.ledger import refuse_address
from oddshift.protect.ledger.terms import UserLimit

TABLES = ("data", "mechanism", "audit", "adapt", "users", "ledger", "execution", "sweep")
"""The tables of a file; only `data` is required."""

LONGEST_FILE = 1 << 20
"""Bytes of the longest configuration file that is read."""

PEOPLE = "people"
"""The kind of data that needs no file: the embedded corpus of made-up people."""

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class FileData:
    """A file or folder of data, and how its contents become secrets: the settings of a codec."""

    path: Path
    settings: Any


@dataclass(frozen=True)
class LedgerSettings:
    """The address of the server that keeps the ledger of a policy; without one it is a file next to the policy."""

    address: str = ""

    def __post_init__(self) -> None:
        """Refuse anything but an address without a password."""
        if self.address:
            refuse_address(self.address)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The whole file. `adapt` is None where no δ is stated, or where the pair law cannot be adapted to.

    `users` limits what the releases of a user may spend together, and `ledger` says where releases are recorded; both
    go into the policy of an adaptation. `text` is the file as it was read.
    """

    data: FileData | PeopleSettings
    mechanism: MechanismSettings
    audit: AuditSettings
    adapt: AdaptSettings | None
    execution: Execution
    users: UserLimit | None = None
    ledger: LedgerSettings = LedgerSettings()
    sweep: SweepSettings | None = None
    text: str = ""

    @property
    def fingerprint(self) -> str:
        """Every setting except those of execution, which change no result; of a file only its name counts, not its
        folder.
        """
        asked: dict[str, Any] = {"mechanism": self.mechanism, "audit": self.audit, "adapt": self.adapt}
        if self.users is not None:
            asked["users"] = self.users
        return fingerprint(("configuration", portable(self.data), asked))

    @property
    def files(self) -> dict[str, Path]:
        """Every file or folder that the configuration names, by its key."""
        seen = self.audit.paper.embedding
        found = {} if isinstance(self.data, PeopleSettings) else dict(_files(self.data))
        return {**found, "audit.paper.embedding": Path(seen)} if seen else found


PATH_KEYS = ("path", "vectors", "embedding")
"""Fields of settings that may hold the path of a file or folder."""


def _files(data: FileData) -> Iterator[tuple[str, Path]]:
    yield "data.path", data.path
    yield from named_files(data.settings)


def named_files(settings: Any) -> Iterator[tuple[str, Path]]:
    """Every file or folder that the settings of data name, by its key."""
    if settings.kind != "text":
        return
    if settings.vectors not in {FROM_TEXT, FROM_PIPELINE}:
        yield "data.vectors", Path(settings.vectors)
    for number, detector in enumerate(settings.detectors):
        if hasattr(detector, "path"):
            yield f"data.detectors.{number}.path", Path(detector.path)


def portable(value: Any) -> Any:
    """Plain values of settings, with paths cut down to their last part."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            item.name: Path(inner).name
            if item.name in PATH_KEYS and isinstance(inner := getattr(value, item.name), str | Path)
            else portable(getattr(value, item.name))
            for item in fields(value)
        }
    if isinstance(value, Mapping):
        return {key: portable(item) for key, item in value.items()}
    return tuple(portable(item) for item in value) if isinstance(value, tuple | list) else value


def read_config(path: str | Path) -> str:
    """The text of a configuration file; one that is too long or not UTF-8 is one line that says so."""
    place = Path(path)
    if place.is_dir():
        raise InvalidInput(f"{place} is a folder, expected a TOML file")
    with place.open("rb") as stream:
        data = stream.read(LONGEST_FILE + 1)
    if len(data) > LONGEST_FILE:
        raise InvalidInput(f"{place} has over {LONGEST_FILE} bytes, expected a configuration")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidInput(f"{place} line {line} is not UTF-8, expected a TOML file in UTF-8") from None


def parse_config(text: str, source: str, folder: Path | None = None) -> Configuration:
    """A configuration from the text of a file; a wrong key or value is one line that names it.

    Relative paths are looked for in `folder` first (the file's own), then in the current one.
    """
    try:
        raw = tomllib.loads(text)
    except RecursionError as error:
        raise InvalidInput(f"{source} is nested too deeply, expected the tables {', '.join(TABLES)}") from error
    except ValueError as error:  # a number of thousands of digits raises no TOMLDecodeError
        raise InvalidInput(f"{source} is not a TOML file: {str(error)[:200]}") from error
    try:
        return replace(_configuration(raw, folder), text=text)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from error


def _configuration(raw: dict[str, Any], folder: Path | None) -> Configuration:
    _refuse_unknown(raw, TABLES, "")
    tables = {name: _table(raw, name) for name in TABLES}
    mechanism = validated(MechanismSettings, tables["mechanism"], "mechanism")
    asked = tables["audit"]
    if "epsilon" not in asked and mechanism.epsilon is not None:
        asked = {**asked, "epsilon": mechanism.epsilon}
    audit = validated(AuditSettings, asked, "audit")
    if audit.paper.embedding:
        seen = replace(audit.paper, embedding=_resolved(audit.paper.embedding, folder))
        audit = replace(audit, paper=seen)
    return Configuration(
        data=_data(tables["data"], folder),
        mechanism=mechanism,
        audit=audit,
        adapt=_adapt(tables["adapt"], audit, mechanism),
        execution=validated(Execution, tables["execution"], "execution"),
        users=validated(UserLimit, tables["users"], "users") if tables["users"] else None,
        ledger=validated(LedgerSettings, tables["ledger"], "ledger"),
        sweep=validated(SweepSettings, tables["sweep"], "sweep") if "sweep" in raw else None,
    )


def _adapt(table: Mapping[str, Any], audit: AuditSettings, mechanism: MechanismSettings) -> AdaptSettings | None:
    """The question of an adaptation: what it shares with the audit, and its own table.

    What is remapped in the audit is always remapped here too, unless the table says otherwise.
    """
    for name in SHARED:
        if name in table:
            raise InvalidInput(f"adapt.{name} belongs in the table [audit], expected it there")
    wanted = tuple(f.name for f in fields(AdaptSettings) if f.name not in SHARED)
    _refuse_unknown(table, wanted, "adapt")
    if audit.delta is None or audit.law == "worst":
        return None
    shared = {name: getattr(audit, name) for name in SHARED}
    if mechanism.remap:
        shared["remap"] = "always"
    return validated(AdaptSettings, {**shared, **table}, "adapt")


def _data(table: dict[str, Any], folder: Path | None) -> FileData | PeopleSettings:
    """The settings for this kind of data, and where the data are."""
    kind = table.get("kind")
    if kind is None:
        raise InvalidInput("missing key data.kind")
    options = {name: value for name, value in table.items() if name != "kind"}
    if kind == PEOPLE:
        return validated(PeopleSettings, options, "data")
    if kind in CODECS and not isinstance(options.get("path"), str):
        raise InvalidInput("missing key data.path")
    path = Path(_resolved(options.pop("path", ""), folder))
    return FileData(path, data_settings(kind, options, folder))


def data_settings(kind: str, table: Mapping[str, Any], folder: Path | None = None) -> Any:
    """The settings of a codec from plain values; paths are looked for in `folder` first."""
    if kind not in CODECS:
        raise InvalidInput(f"data.kind={kind!r}, expected one of {', '.join((*CODECS, PEOPLE))}")
    options = dict(table)
    if kind == "text" and isinstance(options.get("vectors"), str):
        options["vectors"] = _resolved(options["vectors"], folder)
    if "detectors" in options:
        options["detectors"] = _detectors(options["detectors"], folder)
    return validated(CODECS[kind].settings_class, options, "data")


def _detectors(tables: Any, folder: Path | None) -> tuple[Any, ...]:
    """The settings of each detector, by the kind that its table names."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidInput("data.detectors is not a list of tables, expected [[data.detectors]]")
    made = []
    for number, table in enumerate(tables):
        place = f"data.detectors.{number}"
        kind = table.get("kind")
        if kind not in DETECTORS:
            raise InvalidInput(f"{place}.kind={kind!r}, expected one of {', '.join(DETECTORS)}")
        options = dict(table)
        if isinstance(options.get("path"), str):
            options["path"] = _resolved(options["path"], folder)
        made.append(validated(DETECTORS[kind], options, place))
    return tuple(made)


def _resolved(given: str, folder: Path | None) -> str:
    """The absolute path of a file in the folder of the configuration; any other name unchanged."""
    local = None if folder is None else folder / given
    return str(local.resolve()) if local is not None and local.exists() else given


def _table(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = raw.get(name, {})
    if not isinstance(found, dict):
        raise InvalidInput(f"{name} is {a_kind(found)}, expected a table [{name}]")
    return found


def validated(kind: type[Settings], table: Mapping[str, Any], place: str) -> Settings:
    """Settings of one class from plain values; the first thing that is wrong is named by its place in the file."""
    from pydantic import ValidationError

    names = tuple(f.name for f in fields(kind) if f.init)  # type: ignore[arg-type]
    _refuse_unknown(table, names, place)
    try:
        made: Settings = _reader(kind).validate_python(dict(table))  # type: ignore[arg-type]
    except ValidationError as error:
        raise InvalidInput(_first_problem(error, place)) from error
    return made


@cache
def _reader(kind: type) -> Any:
    """What fills a class of settings from plain values; it takes longer to build than to use."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _first_problem(error: Any, place: str) -> str:
    problems = error.errors(include_url=False, include_context=False)
    first = problems[0]
    key = ".".join([place, *(str(part) for part in first["loc"])])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if first["type"] == "missing":
        return f"missing key {key}{more}"
    if first["type"] == "value_error":  # a settings class refused it, in its own words
        return f"{key}.{first['msg'].removeprefix('Value error, ')}{more}"
    return f"{key}={reprlib.repr(first['input'])}: {first['msg'].lower()}{more}"


def _refuse_unknown(table: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    names = tuple(known)
    for name in table:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(names)}"
            raise InvalidInput(f"unknown key {f'{place}.' if place else ''}{name}, {hint}")

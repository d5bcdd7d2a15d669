"""Data sets for Python: texts, tables, trajectories, vectors and files, each with the settings that `init` would write.

Whatever is left out is chosen by the rules of `oddshift init`, so Python and the command line start from the same
settings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.configuration import data_settings, validated
from oddshift.app.init.roles import Roles, roles_of, roles_of_columns
from oddshift.app.init.sections import SectionChoice, data_section, text_choice
from oddshift.base.arrays import finite
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.data.codecs import FROM_TEXT, PlaceSettings, TableSettings, TextSettings, VectorSettings, WordVectors
from oddshift.data.dataset import (
    Dataset,
    FrameColumns,
    columns_of,
    enough_rows,
    is_frame,
    list_of,
    named_columns,
    read_dataset,
)
from oddshift.data.detectors import DETECTORS, Detector

USER = "user"
"""The column that users of texts in a list are kept in."""

Vectors = str | Path | WordVectors
"""Word vectors: the path of a file, "from-text", or vectors that were read before."""


def texts(
    values: Any,
    vectors: Vectors | None = None,
    detectors: Sequence[Any] | None = None,
    users: Sequence[Any] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
) -> Dataset:
    """Take texts whose sensitive words are the secrets: a list, an array, a series, or a frame with columns of text.

    `vectors` are word vectors (a file, "from-text", or a `WordVectors`), `detectors` find the sensitive words (settings
    or names of `DETECTORS`, or detectors themselves), `users` says who wrote each text. `settings` are further fields
    of `TextSettings`. What is left out is chosen as `oddshift init` chooses it.

    >>> texts(["Ann met Bob.", "Bob left Rome.", "Ann stayed."], vectors="from-text", detectors=["capitals"])
    Dataset(text, 3 rows, 1 columns)
    """
    columns, roles = _texts(values, users)
    objects = _objects(detectors)
    choice = text_choice() if vectors is None or detectors is None else SectionChoice(vectors=FROM_TEXT)
    made = _first_settings(roles, choice)
    if detectors is not None:
        made = replace(made, detectors=tuple(_detector(d) for d in detectors if not _is_detector(d)))
    if vectors is not None and not isinstance(vectors, WordVectors):
        made = replace(made, vectors=str(vectors))
    made = _changed(made, settings)
    wanted = named_columns(columns, made.wanted(tuple(columns)), "the texts")
    return Dataset(
        enough_rows(wanted, "the texts"),
        made,
        "the texts",
        objects,
        vectors if isinstance(vectors, WordVectors) else None,
    )


def table(frame: Any, *, settings: Mapping[str, Any] | None = None) -> Dataset:
    """Take a table whose rows or cells are the secrets; `settings` are fields of `TableSettings`.

    Without settings the roles of the columns are guessed, as `oddshift init` does.

    >>> ages = {"age": [31, 44, 52, 31, 28], "note": ["a", "b", "c", "d", "e"]}
    >>> table(ages, settings={"numeric": ["age"]})
    Dataset(table, 5 rows, 1 columns)
    """
    return _framed(frame, TableSettings, settings, "the table")


def trajectories(frame: Any, *, settings: Mapping[str, Any] | None = None) -> Dataset:
    """Take position fixes whose places are the secrets; `settings` are fields of `PlaceSettings`.

    >>> fixes = {"lat": [39.9, 40.0, 40.1], "lon": [116.3, 116.4, 116.5], "who": ["a", "a", "b"]}
    >>> trajectories(fixes, settings={"user": "who", "timestamp": "", "trip": "", "every": 0})
    Dataset(location, 3 rows, 3 columns)
    """
    return _framed(frame, PlaceSettings, settings, "the trajectories")


def embeddings(
    array: Any, *, groups: Sequence[Any] | None = None, settings: Mapping[str, Any] | None = None
) -> Dataset:
    """Take vectors (n, k), each of them a secret; those of one of the `groups` are read together.

    >>> embeddings([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], groups=["a", "a", "b"])
    Dataset(vectors, 3 rows, 2 columns)
    """
    rows = finite(np.asarray(array), "the vectors", 2)
    made = validated(VectorSettings, settings or {}, "settings")
    columns: FrameColumns = {made.vectors: list(rows)}
    if groups is not None:
        columns[made.group] = list_of(groups, "groups")
        if len(columns[made.group]) != len(rows):
            raise InvalidInput(
                f"groups has {len(columns[made.group])} entries, expected {len(rows)}, one for each vector"
            )
    return Dataset(enough_rows(columns, "the vectors"), made, "the vectors")


def read(path: str | Path, *, kind: str | None = None, settings: Mapping[str, Any] | None = None) -> Dataset:
    """Read a file or a folder of texts; without settings the roles of its columns are guessed.

    `kind` is a key of `CODECS`: text, table, location or vectors. It is required when settings are given.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ages.csv"
    ...     _ = file.write_text("age\\n31\\n44\\n52\\n")
    ...     read(file, kind="table", settings={"numeric": ["age"]})
    Dataset(table, 3 rows, 1 columns)
    """
    place = Path(path)
    if settings is not None:
        if kind is None:
            raise InvalidInput("settings were given without a kind, expected text, table, location or vectors")
        return read_dataset(place, data_settings(kind, settings))
    roles = roles_of(place)
    if kind is not None and kind != roles.kind:
        raise InvalidInput(f"{place.name} seems to hold data of kind {roles.kind}, expected settings for kind {kind}")
    choice = text_choice() if roles.kind == "text" else SectionChoice()
    return read_dataset(place, _first_settings(roles, choice))


def _framed(frame: Any, kind: type[Any], settings: Mapping[str, Any] | None, source: str) -> Dataset:
    """The columns of a frame, with the given settings or with guessed roles."""
    columns = columns_of(frame, source)
    if settings is not None:
        made = validated(kind, settings, "settings")
    else:
        roles = roles_of_columns(columns, source)
        if roles.kind != kind.kind:
            raise InvalidInput(f"{source} seem to hold data of kind {roles.kind}, expected settings for {kind.kind}")
        made = _first_settings(roles, SectionChoice())
    wanted = named_columns(columns, made.wanted(tuple(columns)), source)
    return Dataset(enough_rows(wanted, source), made, source)


def _texts(values: Any, users: Sequence[Any] | None) -> tuple[FrameColumns, Roles]:
    """FrameColumns of text and the roles they have."""
    if is_frame(values):
        columns = columns_of(values, "the texts")
        roles = roles_of_columns(columns, "the texts")
        if roles.kind != "text":
            raise InvalidInput("the frame seems to have no column of text, expected one; pass that column alone")
    else:
        columns = {"text": list_of(values, "the texts")}
        roles = Roles(kind="text", rows=len(columns["text"]), text=("text",))
    if users is not None:
        columns = {**columns, USER: list_of(users, "users")}
        if len(columns[USER]) != roles.rows:
            raise InvalidInput(f"users has {len(columns[USER])} entries, expected {roles.rows}, one for each text")
        roles = replace(roles, user=USER)
    return columns, roles


def _first_settings(roles: Roles, choice: SectionChoice) -> Any:
    """The settings that a first configuration would hold for these roles."""
    section = tomllib.loads(data_section("values", roles, choice))["data"]
    kind = section.pop("kind")
    section.pop("path")
    return data_settings(kind, section)


def _changed(made: TextSettings, changes: Mapping[str, Any] | None) -> TextSettings:
    """Settings with some fields replaced."""
    if not changes:
        return made
    kept = {item.name: getattr(made, item.name) for item in fields(made)}
    return validated(TextSettings, {**kept, **changes}, "settings")


def _is_detector(given: Any) -> bool:
    return isinstance(given, Detector)


def _objects(detectors: Sequence[Any] | None) -> tuple[Detector, ...] | None:
    """All detectors as objects, if some were given as objects; None if settings describe all of them."""
    if detectors is None or not any(_is_detector(d) for d in detectors):
        return None
    return tuple(d if _is_detector(d) else _detector(d).detector() for d in detectors)


def _detector(given: Any) -> Any:
    """The settings of a detector that was given by name or as settings."""
    if isinstance(given, str):
        if given not in DETECTORS:
            raise InvalidInput(f"detector {given!r}, expected one of {', '.join(DETECTORS)} or a detector")
        return validated(DETECTORS[given], {}, f"detectors.{given}")
    if not isinstance(given, tuple(DETECTORS.values())):
        raise InvalidInput(f"a detector is {a_kind(given)}, expected a name, settings or a detector")
    return given

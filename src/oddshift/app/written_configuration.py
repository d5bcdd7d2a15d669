"""A configuration as the text of a file: the question asked in Python, in the form that `oddshift audit` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from oddshift.adapt.adapt_settings import SHARED, AdaptSettings
from oddshift.audit.audit_settings import AuditSettings
from oddshift.data.dataset import Dataset
from oddshift.data.embedded import PeopleSettings
from oddshift.mechanisms import Mechanism, MechanismSettings

IN_MEMORY = "(values in memory)"
"""Stands for the path of data that were not read from a file."""


def written_configuration(
    data: Any, mechanism: MechanismSettings | Mechanism, audit: AuditSettings, adapt: AdaptSettings | None = None
) -> str:
    """The tables of a question; default values are left out.

    Data in memory and mechanisms given as objects have no place in a file: a comment says so.
    """
    lines = ["[data]"]
    if isinstance(data, Dataset | PeopleSettings):
        lines.append(f"kind = {_value(data.kind)}")
    if isinstance(data, Dataset):
        lines.append(f"path = {_value(IN_MEMORY)}")
        lines += _changed(data.settings)
    elif isinstance(data, PeopleSettings):
        lines += _changed(data)
    else:
        lines.append("# records that were built in Python")
    lines += ["", "[mechanism]"]
    lines += _changed(mechanism) if isinstance(mechanism, MechanismSettings) else [f"# the object {mechanism!r}"]
    lines += ["", "[audit]", *_changed(audit)]
    if adapt is not None:
        lines += ["", "[adapt]", *_changed(adapt, without=SHARED)]
    return "\n".join([*lines, ""])


def _changed(settings: Any, without: tuple[str, ...] = ()) -> Iterator[str]:
    """The fields of settings that differ from their defaults, as lines."""
    for item in fields(settings):
        value = getattr(settings, item.name)
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        if item.name not in without and value is not None and (default is MISSING or value != default):
            yield f"{item.name} = {_value(value)}"


def _value(value: Any) -> str:
    """A TOML value; a table of settings is written inline."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if is_dataclass(value) and not isinstance(value, type):
        inner = {f.name: getattr(value, f.name) for f in fields(value)}
        return _value({name: item for name, item in inner.items() if item is not None})
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(str(k))} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return repr(value.item() if isinstance(value, np.generic) else value)

"""What a report is made from: all that a run folder holds, read once; secrets only where the run kept some."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from oddshift.adapt.adaptation import Adaptation
from oddshift.app.configuration import read_config
from oddshift.app.runs import (
    ADAPTATION,
    AUDIT,
    CONFIG,
    EXAMPLES,
    VERSIONS,
    read_adaptation,
    read_belief,
    read_passages,
    read_run,
    refuse_no_run,
)
from oddshift.audit import Audit
from oddshift.audit.belief import Belief
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.passages import Passage, Passages


@dataclass(frozen=True, eq=False, repr=False)
class Sources:
    """The parts of a run; an audit or an adaptation is there, or both. `passages` and a named belief hold SECRETS.

    `passages_are` says by which mechanism they were released.
    """

    name: str
    audit: Audit | None = None
    adaptation: Adaptation | None = None
    belief: Belief | None = None
    passages: tuple[Passage, ...] = ()
    passages_are: str = ""
    config: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    has_secrets: bool = False


def read_sources(folder: str | Path, *, with_examples: bool = True) -> Sources:
    """Read a run folder; examples, where the run kept them, unless `with_examples` is False."""
    home = Path(folder)
    if not home.is_dir():
        raise InvalidInput(f"{folder} is not a folder, expected a run folder")
    refuse_no_run(folder)
    has_audit, is_adapted = (home / AUDIT).is_file(), (home / ADAPTATION).is_file()
    secrets = with_examples and (home / EXAMPLES).is_dir()
    shown = read_passages(home) if secrets else Passages(())
    return Sources(
        name=home.resolve().name,
        audit=read_run(home) if has_audit else None,
        adaptation=read_adaptation(home) if is_adapted else None,
        belief=read_belief(home, with_secrets=secrets),
        passages=shown.passages,
        passages_are=shown.release,
        config=_text(home / CONFIG),
        versions=_versions(home / VERSIONS),
        has_secrets=secrets,
    )


def _text(path: Path) -> str:
    return read_config(path) if path.is_file() else ""


def _versions(path: Path) -> tuple[tuple[str, str], ...]:
    """What a run was computed with; a file that says something else is refused."""
    try:
        found = json.loads(_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not a JSON document, expected versions by name") from error
    if not isinstance(found, dict) or not all(isinstance(version, str) for version in found.values()):
        raise InvalidInput(f"{path} holds something else than versions by name")
    return tuple(found.items())

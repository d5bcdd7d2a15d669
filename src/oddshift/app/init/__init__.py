"""A first configuration for a file: look at its columns, choose, try the result, and write it with reasons.

The configuration is tried before it is written: the data are read and encoded once, so `oddshift audit` accepts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.init.roles import Roles, roles_of
from oddshift.app.init.sections import (
    ALPHA,
    DELTA,
    OwnFiles,
    SectionChoice,
    data_section,
    quoted,
    rest,
    text_choice,
    written_path,
)
from oddshift.app.init.suggestion import Suggestion, suggest_epsilon, useful_budget
from oddshift.base.errors import InvalidInput
from oddshift.bounds import ONE_SHOT, zero_failures
from oddshift.data.preparation import Prepared
from oddshift.model.records import Split


@dataclass(frozen=True, kw_only=True)
class Started:
    """A first configuration, and the counts behind it; no value of a cell."""

    config: str
    roles: Roles
    epsilon: float
    secrets: int
    values: int
    tiers: tuple[str, ...]
    documents: tuple[int, int, int]
    certify_units: int
    needed_units: int
    unit: str
    detector: str
    notes: tuple[str, ...]
    use: str = ""


def start(path: Path, out: Path, own: OwnFiles | None = None) -> Started:
    """A configuration for a file, as text for `out`; the data were loaded with it."""
    roles = roles_of(path)
    choice = text_choice(own, out) if roles.kind == "text" else SectionChoice()
    header = (
        f"# Written by oddshift init for {quoted(path.name)}. Every line can be changed; docs/audit.md has all keys.\n"
    )
    data = header + data_section(written_path(path, out), roles, choice)
    prepared = _prepared(f"{data}\n[mechanism]\nepsilon = 1.0\n", out, roles)
    split, tiers = prepared.split, prepared.tiers
    units = len(np.unique(split.certify.clusters))
    suggestion = _suggested(prepared, every_tier=roles.kind == "table")
    useful = useful_budget(prepared, suggestion) if roles.kind == "text" and len(split.fit.space) > 1 else None
    use = "" if useful is None else useful.sentence
    return Started(
        config=f"{data}\n{rest(suggestion, roles, tiers.n_levels, alone=_alone(split, roles), units=units, use=use)}",
        roles=roles,
        epsilon=suggestion.epsilon,
        secrets=sum(len(part.points) for part in split.parts),
        values=len(split.fit.space),
        tiers=tiers.names,
        documents=(len(split.fit), len(split.select), len(split.certify)),
        certify_units=units,
        needed_units=zero_failures(DELTA, ALPHA, ONE_SHOT),
        unit=split.by,
        detector=prepared.detector,
        notes=prepared.notes,
        use=use,
    )


def _suggested(prepared: Prepared, *, every_tier: bool) -> Suggestion:
    """The first ε; 1 where no tier has two values, so that no noise is drawn."""
    try:
        return suggest_epsilon(
            prepared.split.fit.space, prepared.tiers, np.random.default_rng(0), every_tier=every_tier
        )
    except InvalidInput:
        return Suggestion(1.0, 1.0, every_tier)


def _alone(split: Split, roles: Roles) -> bool:
    """Whether no document holds two secrets and no other column could link them: a key, a time, a name, a place."""
    if roles.kind == "location" or roles.user or roles.masked or roles.left_out:
        return False
    return all(np.diff(part.offsets).max(initial=0) <= 1 for part in split.parts)


def _prepared(text: str, out: Path, roles: Roles) -> Prepared:
    config = parse_config(text, str(out), out.parent)
    try:
        return prepare_configured(config)
    except InvalidInput as error:
        if roles.kind != "text" or "has a vector" not in str(error):
            raise
        raise InvalidInput(
            "no sensitive word was found that could be perturbed: name some with --words FILE (one on each line), or "
            "give a spaCy pipeline with --pipeline NAME_OR_FOLDER"
        ) from error

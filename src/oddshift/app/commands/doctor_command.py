"""`oddshift doctor`: what is installed, what is missing, and the exact command that gets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import typer

from oddshift.app.commands.terminal import Json

if TYPE_CHECKING:
    from oddshift.app.doctor import Diagnosis


def doctor(as_json: Json = False) -> None:
    """Say what is installed, which extras are missing and how to get them. The exit code is 0 when the core works.

    Example: oddshift doctor
    """
    from oddshift.app.doctor import diagnose

    found = diagnose()
    if as_json:
        print(json.dumps({**asdict(found), "missing": found.missing}))
    else:
        print("\n".join(_lines(found)))
    if not found.core_works:
        raise typer.Exit(1)


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"oddshift {found.oddshift}, Python {found.python}, {found.system}"
    yield f"{found.cpus} CPUs, {found.memory_gb:g} GB of memory"
    for extra, packages in groupby(found.packages, key=lambda package: package.extra):
        held = [f"{p.name} {p.version or 'missing'}{'' if p.holds else f' (wanted {p.wanted})'}" for p in packages]
        command = found.missing.get(extra or "core")
        yield f"{'ok     ' if command is None else 'missing'} {extra or 'core'}: {', '.join(held)}"
        if command is not None:
            yield f"        get it with: {command}"
    yield f"spaCy pipelines: {', '.join(found.pipelines) or 'none installed; name a folder, or install one with'}"
    if not found.pipelines:
        yield "        python -m spacy download en_core_web_sm"
    yield f"real data: {found.data or 'not found (set ODDSHIFT_DATA); only studies and some tests need it'}"
    yield f"cache: {found.cache or 'cannot be written, so names are detected again each time (set XDG_CACHE_HOME)'}"
    yield "the core works" if found.core_works else "the core does NOT work: see above"

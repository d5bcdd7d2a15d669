"""`oddshift verify`: is this certificate real?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import NOT_SHOWN, Json
from oddshift.base.errors import InvalidInput


def verify(
    file: Annotated[Path, typer.Argument(help="Evidence of a certificate or witness (.npz or .json).")],
    expect: Annotated[str, typer.Option(help="The digest (SHA-256) published for this file.")] = "",
    require: Annotated[str, typer.Option(help="A state that must hold, such as certified.")] = "",
    key: Annotated[Path | None, typer.Option(help="The public key of the expected signer.")] = None,
    as_json: Json = False,
) -> None:
    """Compute a stored certificate or witness again from its evidence, and say yes or no.

    Yes means that the stated bounds and state follow from the stored numbers; read the state itself in the sentence.
    With --key it also means that the holder of that key signed the file.

    Example: oddshift verify mail-run/evidence/anchored-PII-counts-1a2b3c.npz
    """
    from oddshift.evidence.certificates import verify_file

    if file.is_dir():
        raise InvalidInput(
            f"{file} is a folder, expected one file of its evidence/, such as evidence/anchored-PII-counts-1a2b3c.npz"
        )
    found = verify_file(file, expect=expect, require=require, key=key)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        print(f"{'yes' if found.holds else 'no'}: {found.reason}")
        if found.holds:
            print(f"state: {found.state}\n{found.sentence}\nsha256: {found.sha256}\nsignature: {found.signature}")
    if not found.holds:
        raise typer.Exit(NOT_SHOWN)

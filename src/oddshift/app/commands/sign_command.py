"""`oddshift sign`: sign a certificate with a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import Json
from oddshift.base.errors import InvalidInput
from oddshift.evidence.signatures import SIGNATURE, sign_file
from oddshift.evidence.signatures import new_key as make_key


def sign(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Evidence to sign, or run folders with evidence.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The private key to sign with.")] = None,
    new_key: Annotated[Path | None, typer.Option(help="Make this new key first: KEY and KEY.pub.")] = None,
    as_json: Json = False,
) -> None:
    """Sign stored evidence with an Ed25519 key, so that `verify --key` catches a forgery whose hashes were updated.

    The private key is a file that only its owner can read: keep it away from the evidence, and publish KEY.pub.

    Example: oddshift sign mail-run --new-key ~/audit-key
    """
    from oddshift.app.runs import EVIDENCE

    if (key is None) == (new_key is None):
        raise InvalidInput("sign takes either --key or --new-key")
    wanted: list[Path] = []
    for file in files or ():
        inside = sorted((file / EVIDENCE).glob("*")) if file.is_dir() else [file]
        wanted += [each for each in inside if each.suffix != SIGNATURE]
        if not inside:
            raise InvalidInput(f"{file} holds no {EVIDENCE}/, expected evidence or a run folder")
    if not wanted and new_key is None:
        raise InvalidInput("sign was given no file, expected evidence or a run folder")
    for file in wanted:
        if not file.is_file():
            raise InvalidInput(f"{file} is not a file, expected stored evidence")
    public = None if new_key is None else make_key(new_key)
    signed = [sign_file(file, key or new_key or Path()) for file in wanted]
    if as_json:
        print(json.dumps({"signatures": [str(path) for path in signed], "public_key": public and str(public)}))
        return
    if public is not None:
        print(f"made: {new_key} (private, for its owner alone) and {public} (to publish)")
    for path in signed:
        print(f"signed: {path}")

"""`oddshift verify`: is this certificate real?

`oddshift sign`: sign a certificate with a key."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import NOT_SHOWN, Json
from oddshift.base.errors import InvalidInput, visible
from oddshift.evidence.signatures import SIGNATURE, sign_file
from oddshift.evidence.signatures import new_key as make_key


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
        print(visible(f"{'yes' if found.holds else 'no'}: {found.reason}"))
        if found.holds:
            print(
                visible(f"state: {found.state}\n{found.sentence}\nsha256: {found.sha256}\nsignature: {found.signature}")
            )
    if not found.holds:
        raise typer.Exit(NOT_SHOWN)


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
    from oddshift.app.run_folder import EVIDENCE

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

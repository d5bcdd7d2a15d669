"""`oddshift verify`: is this certificate real?

`oddshift sign`: sign a certificate with a key.

`oddshift witness`: does somebody else's mechanism keep the epsilon it claims?
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import NOT_SHOWN, Json, console_for, progress_bar
from oddshift.base.arrays import whole
from oddshift.base.errors import InvalidInput, visible
from oddshift.evidence.signatures import SIGNATURE, sign_file
from oddshift.evidence.signatures import new_key as make_key
from oddshift.model.space import Space


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


def witness(  # noqa: PLR0913, PLR0917 (one for each option)
    function: Annotated[str, typer.Argument(help="MODULE:FUNCTION, from a word to a word or a vector to a vector.")],
    words: Annotated[Path, typer.Option(help="Word vectors: a word and its numbers on each line (or .bin, .npz).")],
    epsilon: Annotated[float, typer.Option(help="The epsilon that the mechanism claims, per unit of distance.")],
    metric: Annotated[str, typer.Option(help="Distance between the vectors.")] = "euclidean",
    vectors: Annotated[bool, typer.Option("--vectors", help="The function takes the vector, not the word.")] = False,
    limit: Annotated[int, typer.Option(help="Use only this many words, from the start of the file.")] = 300,
    explore: Annotated[int, typer.Option(help="Draws for each word of a pair that choose what is counted.")] = 500,
    confirm: Annotated[int, typer.Option(help="Fresh draws for each word of a pair that are counted.")] = 20_000,
    pairs: Annotated[int, typer.Option(help="Number of pairs of words that are examined.")] = 32,
    alpha: Annotated[float, typer.Option(help="The bound is too high with probability at most this.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed for the choice of pairs; the function draws its own noise.")] = 0,
    as_json: Json = False,
) -> None:
    """Look for a violation of epsilon-mDP by drawing from a mechanism. The exit code is 2 when one is shown.

    Undecided is not a pass: it only says that nothing was found with these draws.

    Example: oddshift witness my_noise:replace_word --words glove.txt --epsilon 4
    """
    import numpy as np

    from oddshift.app.black_box import find_function, sampler_of
    from oddshift.data.codecs.text.vectors import read_vectors
    from oddshift.evidence.witness import SearchSettings, plan_mdp, witness_mdp

    settings = SearchSettings(alpha=alpha, explore=explore, confirm=confirm, pairs=pairs)
    table = read_vectors(words)
    known, points = table.words[: whole(limit, "limit", 2)], np.asarray(table.vectors[:limit], dtype=np.float64)
    space, console = Space(points, metric=metric), console_for(as_json)
    sample = sampler_of(find_function(function), known, points if vectors else None)
    rng = np.random.default_rng(seed)
    plan = plan_mdp(sample, space, settings, rng=rng)
    console.print(f"{len(known)} words, {plan}", markup=False, highlight=False)
    start = time.process_time()
    with progress_bar(console, "playing games") as progress:
        found = witness_mdp(sample, space, epsilon, **asdict(settings), progress=progress, rng=rng)
    spent = time.process_time() - start
    if as_json:
        plain = {"shown": found.shown, "sentence": found.sentence, "draws": plan.draws, "cpu_seconds": spent}
        print(json.dumps({**asdict(found), **plain}))
    else:
        console.print(f"{found.sentence}\n{spent:.1f} CPU s", markup=False, soft_wrap=True, highlight=False)
    if found.shown:
        raise typer.Exit(NOT_SHOWN)

"""The command line: each command reads its arguments, calls the library, and prints what it returned.

Exit codes: 0 done; 1 bad input, in one line; 2 ran, but the answer is no (not certified, or not verified).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oddshift.errors import OddshiftError

app = typer.Typer(
    help="How far do several perturbed records, seen together, shift an attacker's odds about each secret?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Keep commands as subcommands even while there is only one."""


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="Evidence of a certificate or witness (.npz or .json).")],
    expect: Annotated[str, typer.Option(help="The digest (SHA-256) published for this file.")] = "",
    require: Annotated[str, typer.Option(help="A state that must hold, such as certified.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compute a stored certificate or witness again from its evidence, and say yes or no.

    Yes means that the stated bounds and state follow from the stored numbers; read the state itself in the sentence.
    """
    from oddshift.certificate import verify_file

    found = verify_file(file, expect=expect, require=require)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        print(f"{'yes' if found.holds else 'no'}: {found.reason}")
        if found.holds:
            print(f"state: {found.state}\n{found.sentence}\nsha256: {found.sha256}")
    if not found.holds:
        raise typer.Exit(2)


def main() -> None:
    """Run the command line; a refusal becomes one line on stderr and exit code 1."""
    try:
        app()
    except OddshiftError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"error: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()

"""The command line: each command reads its arguments, calls the library, and prints what it returned.

Exit codes: 0 done; 1 bad input, in one line; 2 ran, but the answer is no (not certified, or not verified).
"""

from __future__ import annotations

import sys

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

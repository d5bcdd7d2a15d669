"""The command line: which commands there are, and what becomes of their refusals.

Exit codes: 0 done; 1 bad input, in one line; 2 ran, but the answer is no (not certified, or not verified).
"""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Annotated

import typer

from oddshift.app.commands.adapt_command import adapt
from oddshift.app.commands.audit_command import audit
from oddshift.app.commands.compare_command import compare
from oddshift.app.commands.demo_command import demo
from oddshift.app.commands.doctor_command import doctor
from oddshift.app.commands.init_command import init
from oddshift.app.commands.ledger_command import ledger
from oddshift.app.commands.protect_command import protect
from oddshift.app.commands.report_command import report
from oddshift.app.commands.reproduce_command import reproduce
from oddshift.app.commands.verify_command import verify
from oddshift.app.commands.witness_command import witness
from oddshift.base.errors import OddshiftError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What a wrong option or command raises, whichever click typer brings along."""

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C stopped."""

app = typer.Typer(
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """How far do several perturbed records, seen together, shift an attacker's odds about each secret?"""
    if version:
        print(f"oddshift {metadata.version('oddshift')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


app.command()(demo)
app.command()(init)
app.command()(audit)
app.command()(adapt)
app.command()(protect)
app.add_typer(ledger, name="ledger")
app.command()(report)
app.command()(verify)
app.command()(witness)
app.command()(compare)
app.command()(doctor)
app.command()(reproduce)


def main() -> None:
    """Run the command line; a refusal becomes one line on stderr and exit code 1."""
    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code)
    except UsageError as error:
        _refuse(error.format_message())  # type: ignore[attr-defined]
    except OddshiftError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"{error.filename or ''}: {error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted; the same command continues", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _refuse(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()

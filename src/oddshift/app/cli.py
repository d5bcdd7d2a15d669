"""The command line: the commands, and how their refusals are shown.

Exit codes: 0 done; 1 bad input, in one line; 2 ran, but the answer is no (not certified, or not verified); 3 a defect
of oddshift, in one line that quotes no data; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import Annotated, NoReturn

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
from oddshift.app.commands.sign_command import sign
from oddshift.app.commands.verify_command import verify
from oddshift.app.commands.witness_command import witness
from oddshift.base.errors import OddshiftError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What a wrong option or command raises, in whichever version of click typer uses."""

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C stopped."""

DEFECT = 3
"""Exit code of a command that met something nobody had thought of."""

TRACEBACK = "ODDSHIFT_TRACEBACK"
"""The variable that asks for the traceback of a defect; a traceback may quote data, so none is shown unasked."""

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
app.command()(sign)
app.command()(witness)
app.command()(compare)
app.command()(doctor)
app.command()(reproduce)


def main() -> None:
    """Run the command line; a refusal becomes one line on stderr and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is escaped, not a failure
            stream.reconfigure(errors="backslashreplace")
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
        _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
    except MemoryError:
        _refuse("there is not enough memory for this input, expected a smaller one")
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__context__, EOFError):  # a file that ended too early, not a user who interrupted
            _report(error.__context__)
        print("interrupted; run the same command to continue", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except Exception as error:
        _report(error)


def _refuse(message: str, code: int = 1) -> NoReturn:
    print(f"error: {' '.join(message.splitlines())}", file=sys.stderr)
    sys.exit(code)


def _report(error: BaseException) -> NoReturn:
    """Say that oddshift has a defect, and where; the message of the exception may quote data, so it is left out."""
    if os.environ.get(TRACEBACK):
        raise error
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
    _refuse(f"this is a defect of oddshift ({where}), please report it; {TRACEBACK}=1 shows more", DEFECT)


if __name__ == "__main__":
    main()

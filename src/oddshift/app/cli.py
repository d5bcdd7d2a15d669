"""The command line: the commands, and how their refusals are shown.

Exit codes: 0 done; 1 bad input, in one line; 2 ran, but the answer is no (not certified, not verified,
or a watch found a change); 3 a defect
of oddshift, in one line that quotes no data; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from oddshift.base.errors import OddshiftError, visible
from oddshift.base.spacy_import import sparing_torch

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What a wrong option or command raises, in whichever version of click typer uses."""

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C stopped."""

DEFECT = 3
"""Exit code of a command that failed because of a defect in oddshift."""

TRACEBACK = "ODDSHIFT_TRACEBACK"
"""The variable that asks for the traceback of a defect; a traceback may quote data, so none is shown unasked."""

COMMANDS = {
    "demo": "init_commands",
    "init": "init_commands",
    "audit": "audit_commands",
    "adapt": "audit_commands",
    "protect": "protect_commands",
    "estimate": "protect_commands",
    "ledger": "run_commands",
    "watch": "run_commands",
    "report": "run_commands",
    "verify": "run_commands",
    "sign": "run_commands",
    "compare": "run_commands",
    "sweep": "audit_commands",
    "doctor": "run_commands",
}
"""The commands in the order of a first use, and the file of `commands/` in which each one lives."""


class CommandsOnDemand(TyperGroup):
    """The group of all commands, which imports the module of a command only when that command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, without importing one."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        return _command(cmd_name) if cmd_name in COMMANDS else None


@cache
def _command(name: str) -> Any:
    """The command of a name, put together once in a process."""
    found = getattr(import_module(f"oddshift.app.commands.{COMMANDS[name]}"), name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


app = typer.Typer(
    cls=CommandsOnDemand,
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


def main() -> None:
    """Run the command line; a refusal becomes one line on stderr and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is escaped, not a failure
            stream.reconfigure(errors="backslashreplace")
    try:
        with sparing_torch():
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
    print(f"error: {visible(' '.join(message.splitlines()))}", file=sys.stderr)
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

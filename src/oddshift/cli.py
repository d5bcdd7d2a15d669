"""The command line: each command reads its arguments, calls the library, and prints what it returned.

Exit codes: 0 done; 1 bad input, in one line; 2 ran, but the answer is no (not certified, or not verified).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshift.errors import OddshiftError

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
"""The option every command has."""

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What a wrong option or command raises, whichever click typer brings along."""

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C stopped."""

app = typer.Typer(
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    """How far do several perturbed records, seen together, shift an attacker's odds about each secret?"""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the run.")] = Path("oddshift-demo"),
    as_json: Json = False,
) -> None:
    """Tell the story: kept alone, broken together, bounded from both sides; then audit a corpus of made-up people."""
    from oddshift.demo import PEOPLE, story, tell
    from oddshift.files import write_atomic

    numbers = story()
    console = _console(as_json)
    tell(numbers, console)
    console.rule("an audit of 3,000 short texts about made-up people")
    found = _audited(PEOPLE, out / "run", console)
    if as_json:
        print(json.dumps({"toy": numbers.as_json(), "audit": found}))
    else:
        write_atomic(out / "report.html", console.export_html().encode())
        console.print(f"\nreport: {out / 'report.html'}, run: {out / 'run'}")


@app.command()
def audit(
    config: Annotated[Path | None, typer.Argument(help="A TOML file; docs/audit.md explains it.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Audit the embedded corpus instead of a file.")] = False,
    out: Annotated[Path, typer.Option(help="The run folder.")] = Path("oddshift-run"),
    max_cpu: Annotated[float | None, typer.Option(help="Bound the work, in CPU seconds.")] = None,
    keep_examples: Annotated[bool, typer.Option(help="Also keep SECRETS of a few documents, apart.")] = False,
    as_json: Json = False,
) -> None:
    """Measure what a joint attacker learns from releases, with certificates; run again, it continues."""
    from oddshift.demo import PEOPLE
    from oddshift.errors import InvalidInput

    if demo == (config is not None):
        raise InvalidInput("audit takes either a configuration file or --demo")
    console = _console(as_json)
    text = PEOPLE if config is None else config.read_text(encoding="utf-8")
    origin = {} if config is None else {"source": str(config), "beside": config.parent}
    found = _audited(text, out, console, max_cpu=max_cpu, keep_examples=keep_examples, **origin)
    if as_json:
        print(json.dumps(found))
    else:
        console.print(f"run: {out} (oddshift verify {out}/evidence/*.npz)")
    if found["state"] != "certified":
        raise typer.Exit(2)


def _console(quiet: bool) -> Console:
    from rich.console import Console

    return Console(record=True, quiet=quiet, width=None if sys.stdout.isatty() else 110)


def _audited(text: str, out: Path, console: Console, **options: Any) -> dict[str, Any]:
    """Run the audit of a configuration, keep it in its folder, show it, and return its summary."""
    from oddshift.display import show_audit
    from oddshift.runs import summary
    from oddshift.workflow import run_audit

    found = run_audit(text, out, **options)
    show_audit(found, console)
    return summary(found)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="Evidence of a certificate or witness (.npz or .json).")],
    expect: Annotated[str, typer.Option(help="The digest (SHA-256) published for this file.")] = "",
    require: Annotated[str, typer.Option(help="A state that must hold, such as certified.")] = "",
    as_json: Json = False,
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

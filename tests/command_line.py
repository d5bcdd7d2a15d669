"""The command line inside this process: what it prints, how it ends, and whether it ended as documented."""

import contextlib
import io
import signal
import sys
import traceback
from dataclasses import dataclass
from unittest import mock

import typer

from oddshift.app import cli

COMMAND = typer.main.get_command(cli.app)
"""All commands, put together once: typer does that anew for every call."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    trace: str = ""

    @property
    def problem(self):
        """What is not as documented; empty when all is well."""
        if self.trace:
            return f"traceback: {self.trace}"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}: {self.err.strip()[:500]}"
        if self.code == 1 and (len(self.err.strip().splitlines()) != 1 or not self.err.startswith("error: ")):
            return f"a refusal of {len(self.err.strip().splitlines())} lines: {self.err[:500]!r}"
        return ""


def _too_long(number, frame):
    raise TimeoutError("".join(traceback.format_stack(frame)[-4:]))


def run_here(*arguments, seconds=30):
    """Run `oddshift` with these arguments; one that takes longer than `seconds` ends with a traceback."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code, trace = 0, ""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(seconds)
    try:
        with (
            mock.patch.object(sys, "argv", ["oddshift", *map(str, arguments)]),
            mock.patch.object(cli, "app", COMMAND),
            mock.patch.dict("os.environ", {cli.TRACEBACK: "1"}),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        trace = traceback.format_exc(limit=-6)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return Ended(code, *(stream.buffer.getvalue().decode("utf-8") for stream in (out, err)), trace)

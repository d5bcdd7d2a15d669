"""Progress outside a terminal: when a line is written, what it says, and that it never reaches standard output."""

import sys

import pytest

from oddshift.app.commands import terminal
from oddshift.app.commands.terminal import EVERY, FIRST, PlainProgress, plain_progress, progress_line
from oddshift.base.execution import silent


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def told():
    clock, lines = Clock(), []
    return PlainProgress("reading", lines.append, clock), clock, lines


def test_nothing_is_said_about_work_that_ends_within_seconds(told):
    progress, clock, lines = told
    for second in (0.0, 1.0, FIRST - 0.1):
        clock.now = 100.0 + second
        progress("fitting", 1, 2)
        progress.tick()
    assert lines == []


def test_a_long_step_is_said_now_and_then_even_if_nothing_is_told(told):
    progress, clock, lines = told
    for second in range(int(FIRST + 2 * EVERY) + 1):
        clock.now = 100.0 + second
        progress.tick()
    assert lines == ["reading: 5 s so far", "reading: 15 s so far", "reading: 25 s so far"]


def test_a_new_step_is_said_at_once_and_its_share_and_rest_are_its_own(told):
    progress, clock, lines = told
    clock.now += 20.0
    progress("fitting", 0, 4)
    clock.now += 6.0
    progress("fitting", 1, 4)
    clock.now += 4.0
    progress("fitting", 2, 4)
    assert lines == ["fitting", "fitting: 50 % done after 10 s, about 10 s left in this step"]


@pytest.mark.parametrize(
    ("done", "total", "line"),
    [(0, 4, "x: 7 s so far"), (4, 4, "x: 7 s so far"), (0, 0, "x: 7 s so far"), (3, 2, "x: 7 s so far")],
)
def test_no_share_is_claimed_where_none_is_known(done, total, line):
    assert progress_line("x", done, total, 7.0) == line


def test_lines_go_to_standard_error_also_while_one_step_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys.modules[PlainProgress.__module__], "FIRST", 0.0)
    with plain_progress("looking at mail.csv") as progress:
        progress("reading", 0, 0)
        progress("counting", 0, 2)
    assert capsys.readouterr() == ("", "reading\ncounting\n")


def test_commands_that_print_json_are_quiet():
    with terminal.waiting("x", quiet=True) as progress:
        assert progress is silent
    with terminal.progress_bar(terminal.console_for(True), "x") as progress:
        assert progress is silent


def test_elsewhere_than_on_a_terminal_commands_write_plain_lines():
    with terminal.waiting("x") as first, terminal.progress_bar(terminal.console_for(False), "x") as second:
        assert isinstance(first, PlainProgress)
        assert isinstance(second, PlainProgress)

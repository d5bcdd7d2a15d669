"""The comparison with the earlier state: programs are whole, their names exist, a slower line is measured again."""

import ast
import importlib
from pathlib import Path

import pytest
from benchmarks.before import __main__ as before
from benchmarks.before.task import Task

ROOMS_OF_TODAY = ("oddshift.app", "oddshift.base", "oddshift.data", "oddshift.evidence", "oddshift.model")
THEN = Path("earlier")


def imported(program):
    """(module, name) of everything that a program imports from oddshift."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("oddshift"):
            yield from ((node.module, alias.name) for alias in node.names)


def test_what_is_compared_has_names_of_its_own():
    assert len({task.what for task in before.TASKS}) == len(before.TASKS)


@pytest.mark.parametrize("task", before.TASKS, ids=lambda task: task.what)
def test_a_program_of_today_imports_what_exists(task):
    for module, name in imported(task.program("home", is_earlier=False)):
        assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"


@pytest.mark.parametrize("task", before.TASKS, ids=lambda task: task.what)
def test_an_earlier_program_knows_no_room_of_today(task):
    assert not [m for m, _ in imported(task.program("home", is_earlier=True)) if m.startswith(ROOMS_OF_TODAY)]


def test_names_become_those_of_the_earlier_state():
    task = Task("x", "1", "from oddshift.audit import AuditSettings\npeople(3, by_kind=False)")
    earlier = task.program("home", is_earlier=True)
    assert "from oddshift.audit import Settings as AuditSettings\npeople(3)\n" in earlier
    assert "from oddshift.space import Space" in earlier


def test_a_line_holds_up_to_a_tenth(monkeypatch):
    seconds = {before.NOW: 1.09, THEN: 1.0}
    monkeypatch.setattr(before, "measured", lambda task, packages, home: (seconds[packages], 50.0))
    time, memory = before.lines(Task("x", "1", has_memory=True), THEN)
    assert (time.measured, time.baseline, time.ratio, time.holds) == ("1.09 s", "1.00 s", "1.09x", True)
    assert (memory.what, memory.measured, memory.holds) == ("x, peak memory", "50 MB", True)


def test_a_slower_line_is_measured_again_before_it_fails(monkeypatch):
    asked = []

    def measured(task, packages, home):
        asked.append(packages)
        return (1.2 if packages == before.NOW and len(asked) < 6 else 1.0), 50.0

    monkeypatch.setattr(before, "measured", measured)
    (time,) = before.lines(Task("x", "1"), THEN)
    assert time.holds
    assert asked.count(THEN) > before.ROUNDS
    monkeypatch.setattr(before, "measured", lambda task, packages, home: (1.0 + (packages == before.NOW), 50.0))
    assert before.lines(Task("x", "1"), THEN)[0].holds is False

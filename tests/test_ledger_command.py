"""`oddshift ledger` prints totals without secrets, and says when a ledger is damaged, missing or put back."""

import json
import re
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from oddshift.app.cli import app
from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger
from oddshift.protect.ledger.releases import StagedFolder
from oddshift.protect.ledger.store import COUNT, LEDGER
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / LEDGER)
    keys = made.keys()
    batch = KeyBatch(keys.ids(["Ann", "Bob", "Ann"], "id"), keys.users(["x", "x", "x"], "user"))
    made.claim([batch], ClaimTerms(policy="p", epsilon=0.5), is_final=True)
    again = KeyBatch(keys.ids(["Bob"], "id"))
    made.claim([again], ClaimTerms(policy="p", epsilon=float("inf"), may_repeat=True), is_final=True)
    rows = ClaimTerms(policy="p", epsilon=1.0, is_named=False)
    dead = made.claim([KeyBatch(keys.rows([[1, 2]]))], rows, StagedFolder(str(tmp_path / "gone"), 1, 2))
    made.settle(dead.release, lambda: False)
    return made


def run(*words):
    return CliRunner().invoke(app, ["ledger", *map(str, words)])


def test_totals_for_people(ledger, tmp_path):
    said = " ".join(run("show", tmp_path).output.split())
    assert "releases: 1 crashed, 2 finished" in said
    assert re.search(r"records: 2, 1\b", said)
    assert "largest metric budget of a release: inf" in said
    assert "rows without an id: 2" in said
    assert "users: 1, 2 releases of their records; largest composed metric budget of a user: 1" in said
    assert "protect --take-over" in said
    assert "Ann" not in said


def test_totals_for_programs(ledger, tmp_path):
    said = json.loads(run("show", tmp_path / "policy.json", "--json").output)
    assert said["records"] == 2
    assert said["most_composed"] == "inf"
    assert said["user_most_spent"] == 1.0


def test_a_whole_ledger(ledger, tmp_path):
    found = run("check", tmp_path)
    assert found.exit_code == 0
    assert "by older copies would not be noticed" in " ".join(found.output.split())
    assert json.loads(run("check", tmp_path, "--json").output) == {"holds": True, "problems": []}


def test_records_of_no_release(ledger, tmp_path):
    with closing(sqlite3.connect(ledger.path)) as db, db:
        db.execute("DELETE FROM release WHERE number = 1")
    found = run("check", tmp_path, "--json")
    assert found.exit_code == 2
    assert json.loads(found.output)["problems"] == ["2 records of no release"]
    assert "2 records of no release" in run("check", tmp_path).output


def test_a_ledger_that_was_put_back_or_is_missing(ledger, tmp_path):
    name = (tmp_path / COUNT).read_text().split()[0]
    (tmp_path / COUNT).write_text(f"{name} {99:020d}\n")
    for command in ("show", "check"):
        assert isinstance(run(command, tmp_path).exception, InvalidInput)
    (tmp_path / "empty").mkdir()
    assert "is not a file, expected a ledger" in str(run("show", tmp_path / "empty").exception)

"""Every readable file of at least one record ends in a release: init, adapt, protect, each with exit code 0."""

import json
from pathlib import Path

import numpy as np
import pytest
from studies.journeys import MADE, travel
from typer.testing import CliRunner

from oddshift.app.cli import app

RNG = np.random.default_rng(0)


def call(*command):
    done = CliRunner().invoke(app, [str(part) for part in command])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "name",
    [
        *("one row", "two rows", "three rows", "twelve rows", "one column", "one category", "sixty rows", "one value"),
        *("one text", "five texts", "two users", "one trip", "marks for all", "marks for a table", "marks for a tier"),
    ],
)
def test_a_file_ends_in_a_release(name, tmp_path, monkeypatch):
    """What every command advises is done; marks that were asked for are proved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODDSHIFT_DATA", str(tmp_path))
    *_, ended = travel(name, MADE[name], tmp_path)
    assert ended.arrives, ended.said
    assert ended.guarantee == "proved" or (ended.guarantee == "certified" and not MADE[name].changes)
    made_up = "surrogate" in ended.forms  # costs more than a constant, and keeps frequencies
    assert made_up or ended.loss <= ended.constant + 1e-12
    lines = [len(Path(file).read_text().splitlines()) for file in ("data.csv", "data-protected.csv")]
    assert lines[0] == lines[1]


def test_a_table_that_nothing_certifies_is_made_up_in_whole_rows(tmp_path):
    """Two columns that mostly agree: no cell is empty, no row is kept on purpose, and the columns still agree."""
    first = RNG.integers(0, 4, 900)
    second = np.where(RNG.random(900) < 0.9, first, RNG.integers(0, 4, 900))
    lines = [f"{'abcd'[a]},{'wxyz'[b]}" for a, b in zip(first, second, strict=True)]
    (tmp_path / "pairs.csv").write_text("\n".join(["one,two", *lines, ""]))
    config = '[data]\nkind = "table"\npath = "pairs.csv"\ncategorical = ["one", "two"]\n'
    config += '[mechanism]\nname = "exponential"\nepsilon = 0.05\n'
    config += '[audit]\ndelta = 0.05\n[adapt]\nforms = { "*" = "proved" }\n'
    (tmp_path / "oddshift.toml").write_text(config)
    code, said = call("adapt", tmp_path / "oddshift.toml", "--out", tmp_path / "run", "--json")
    assert code == 0, said
    assert json.loads(said.splitlines()[-1])["guarantee"] == "proved"
    code, said = call(
        "protect", tmp_path / "pairs.csv", tmp_path / "out.csv", "--policy", tmp_path / "run" / "policy.json"
    )
    assert code == 0, said
    released = [line.split(",") for line in (tmp_path / "out.csv").read_text().split()[1:]]
    assert len(released) == 900
    assert "at least 10" in (tmp_path / "run" / "policy.json").read_text()
    agree = np.mean(["abcd".index(a) == "wxyz".index(b) for a, b in released])
    assert 0.7 < agree < 0.99
    assert np.mean([line.split(",") == row for line, row in zip(lines, released, strict=True)]) < 0.4

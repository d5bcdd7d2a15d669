"""A table from the first configuration to the release: nothing that people read says "document" or "word"."""

import csv
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from oddshift.app.cli import app

TEXT_ONLY = re.compile(r"\b(documents?|words?|texts?|names it misses)\b", re.IGNORECASE)
HIDDEN = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)


def spoken_of(said):
    """The lines that speak of documents or words."""
    return [line for line in said.splitlines() if TEXT_ONLY.search(line)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Every command on a small table; what each printed, by name, and the folder."""
    home = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 700)
    columns = {
        "person": [f"p{k}" for k in range(700)],
        "level": [f"l{x}" for x in level],
        "side": [f"s{x}" for x in np.where(rng.random(700) < 0.6, level, rng.integers(0, 3, 700))],
        "score": (50 + 5 * level + rng.normal(0, 8, 700)).round().astype(int).tolist(),
        "ward": rng.choice(["north", "south"], 700).tolist(),
    }
    with (home / "visits.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    said = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        commands = {
            "init": ["init", "visits.csv"],
            "audit": ["audit", "oddshift.toml", "--out", "run"],
            "adapt": ["adapt", "oddshift.toml", "--out", "run"],
            "report": ["report", "run"],
            "protect": [
                *("protect", "visits.csv", "out.csv", "--policy", "run/policy.json"),
                "--allow-uncertified",
            ],
        }
        for name, arguments in commands.items():
            done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
            assert done.exit_code in {0, 2}, f"{name}: {done.output}"
            said[name] = done.output
    return said, home


@pytest.mark.parametrize("command", ["init", "audit", "adapt", "report", "protect"])
def test_no_command_speaks_of_documents_or_words(run, command):
    said, _ = run
    assert said[command].strip()
    assert spoken_of(said[command]) == []


def test_the_report_speaks_of_rows_and_values(run):
    _, home = run
    page = HIDDEN.sub("\n", (home / "run" / "report.html").read_text())
    assert spoken_of(page) == []
    assert "rows" in page


def test_the_configuration_speaks_of_rows(run):
    _, home = run
    comments = [line.partition("#")[2] for line in (home / "oddshift.toml").read_text().splitlines()]
    assert spoken_of("\n".join(comments)) == []


def test_headlines_say_what_goes_out(run):
    said, _ = run
    for command in ("audit", "adapt", "protect"):
        joined = " ".join(said[command].split())
        assert re.search(r"released table: .*of the cells and .* of the rows unchanged, \d+ of \d+ rows equal", joined)
        assert re.search(r"quality 0\.\d\d of 1", joined)
    assert "level" in " ".join(said["audit"].split())
    assert re.search(r"level \d+(\.\d+)?:1 between its 3 values", " ".join(said["audit"].split()))

"""A table from the first configuration to the release: nothing that people read says "document" or "word"."""

import csv
import json
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


def table(rows=700, each=1, seed=0):
    """Visits of people, each of them with so many rows."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, rows)
    return {
        "person": [f"p{k // each}" for k in range(rows)],
        "level": [f"l{x}" for x in level],
        "side": [f"s{x}" for x in np.where(rng.random(rows) < 0.6, level, rng.integers(0, 3, rows))],
        "score": (50 + 5 * level + rng.normal(0, 8, rows)).round().astype(int).tolist(),
        "ward": rng.choice(["north", "south"], rows).tolist(),
    }


def walks(users=330, fixes=4, seed=0):
    """Short walks through a city of few cells."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 5, (users, 1, 2)) + np.cumsum(rng.integers(-1, 2, (users, fixes, 2)), axis=1)
    lat, lon = (np.clip(at, 0, 5) * [0.01, 0.012] + [38.0, 23.0]).reshape(-1, 2).T
    who, fix = np.divmod(np.arange(users * fixes), fixes)
    return {
        "user": [f"u{x}" for x in who],
        "timestamp": (1_600_000_000 + 300 * fix).tolist(),
        "lat": lat.tolist(),
        "lon": lon.tolist(),
        "trip": [f"t{x}" for x in who],
    }


KINDS = {
    "rows": (table(), table(seed=1), {}),
    "groups": (table(each=2), table(each=2, seed=1), {}),
    "clear columns": (table(), table(seed=1), {"public = []": 'public = ["side"]', '"level", "side", ': '"level", '}),
    "places": (walks(), walks(seed=1), {"every = 300": "every = 0"}),
}
"""The data, data of a later day, and what is changed in the first configuration."""

COMMANDS = {
    "init": ["init", "visits.csv"],
    "audit": ["audit", "oddshift.toml", "--out", "run", "--details"],
    "audit --json": ["audit", "oddshift.toml", "--out", "other", "--json"],
    "adapt": ["adapt", "oddshift.toml", "--out", "run", "--details"],
    "adapt --json": ["adapt", "oddshift.toml", "--out", "other", "--json"],
    "report": ["report", "run"],
    "compare": ["compare", "run", "other"],
    "protect": ["protect", "visits.csv", "out.csv", "--policy", "run/policy.json", "--allow-uncertified"],
    "protect --json": [
        *("protect", "visits.csv", "out2.csv", "--policy", "run/policy.json", "--allow-uncertified"),
        *("--allow-repeat", "--json"),
    ],
    "watch": ["watch", "run", "later.csv"],
}


def written(path, columns):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])


@pytest.fixture(scope="module", params=list(KINDS))
def run(request, tmp_path_factory):
    """Every command on small data of one kind; what each printed, by name, and the folder."""
    home, (first, later, changes) = tmp_path_factory.mktemp("table"), KINDS[request.param]
    written(home / "visits.csv", first)
    written(home / "later.csv", later)
    said = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for name, arguments in COMMANDS.items():
            done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
            assert done.exit_code in {0, 2}, f"{name}: {done.output}"
            said[name] = done.stdout if "--json" in name else done.output
            if name == "init":
                config = (home / "oddshift.toml").read_text()
                for old, new in changes.items():
                    assert old in config
                    config = config.replace(old, new)
                (home / "oddshift.toml").write_text(config)
    return said, home


def sentences(value, key=""):
    """The strings of a JSON object that hold more than one word."""
    if isinstance(value, dict):
        return [text for name, one in value.items() for text in sentences(one, name)]
    if isinstance(value, list):
        return [text for one in value for text in sentences(one, key)]
    return [value] if isinstance(value, str) and " " in value else []


@pytest.mark.parametrize("command", [name for name in COMMANDS if "--json" not in name])
def test_no_command_speaks_of_documents_or_words(run, command):
    said, _ = run
    assert said[command].strip()
    assert spoken_of(said[command]) == []


@pytest.mark.parametrize("command", [name for name in COMMANDS if "--json" in name])
def test_no_sentence_of_a_json_object_does(run, command):
    said, _ = run
    spoken = sentences(json.loads(said[command]))
    assert spoken
    assert spoken_of("\n".join(spoken)) == []


@pytest.mark.parametrize("page", ["report.html", "watch.html"])
def test_pages_do_not_either(run, page):
    _, home = run
    shown = HIDDEN.sub("\n", (home / "run" / page).read_text())
    assert spoken_of(shown) == []
    assert page == "watch.html" or "rows" in shown or "trips" in shown


def test_the_configuration_speaks_of_rows(run):
    _, home = run
    comments = [line.partition("#")[2] for line in (home / "oddshift.toml").read_text().splitlines()]
    assert spoken_of("\n".join(comments)) == []


@pytest.mark.parametrize("run", ["rows"], indirect=True)
def test_headlines_say_what_goes_out(run):
    said, _ = run
    for command in ("audit", "adapt", "protect"):
        joined = " ".join(said[command].split())
        assert re.search(r"released table: .*of the cells and .* of the rows unchanged, \d+ of \d+ rows equal", joined)
        assert re.search(r"quality 0\.\d\d of 1", joined)
    assert "level" in " ".join(said["audit"].split())
    assert re.search(r"level \d+(\.\d+)?:1 between its 3 values", " ".join(said["audit"].split()))

"""Every readable file of at least one record ends in a release: init, adapt, protect, each with exit code 0."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from oddshift.app.cli import app

RNG = np.random.default_rng(0)
NAMES = ("Ann", "Bob", "Eve", "Kim", "Lee")


def rows(count, *columns):
    """A table of some of the columns age, sex and town."""
    made = {
        "age": RNG.integers(18, 90, count).tolist(),
        "sex": RNG.choice(["f", "m"], count).tolist(),
        "town": RNG.choice(["oslo", "rome", "bern"], count).tolist(),
    }
    lines = [",".join(str(made[name][row]) for name in columns) for row in range(count)]
    return "\n".join([",".join(columns), *lines, ""])


def texts(count):
    said = (f'"Dear {NAMES[k % 5]}, write to {NAMES[(k + 2) % 5].lower()}@mail.org today."' for k in range(count))
    return "\n".join(["text", *said, ""])


def fixes(users, count):
    lines = (
        f"u{k % users},{59.9 + 0.01 * (k % 7)},{10.7 + 0.01 * (k % 5)},2024-01-{1 + k // 24:02d}T{k % 24:02d}:00:00"
        for k in range(count)
    )
    return "\n".join(["user,lat,lon,timestamp", *lines, ""])


FILES = {
    "one row": rows(1, "age", "sex", "town"),
    "two rows": rows(2, "age", "sex"),
    "three rows": rows(3, "age", "sex"),
    "twelve rows": rows(12, "age", "sex", "town"),
    "one column": rows(40, "age"),
    "one category": rows(40, "town"),
    "sixty rows": rows(60, "age", "sex"),
    "one value": "age,sex\n" + "31,f\n" * 20,
    "one text": texts(1),
    "five texts": texts(5),
    "two users": fixes(2, 60),
    "one trip": fixes(1, 12),
}


def call(*command):
    done = CliRunner().invoke(app, [str(part) for part in command])
    return done.exit_code, done.output


@pytest.mark.parametrize("name", FILES)
def test_a_file_ends_in_a_release(name, tmp_path):
    data, config, run, out = (tmp_path / part for part in ("data.csv", "data.toml", "run", "out.csv"))
    data.write_text(FILES[name])
    for command in (
        ("init", data, "--out", config),
        ("adapt", config, "--out", run, "--json"),
        ("protect", data, out, "--policy", run / "policy.json"),
    ):
        code, said = call(*command)
        assert code == 0, f"{command[0]}: {said}"
        if command[0] == "adapt":
            found = json.loads(said[said.index("{") :])
            assert found["guarantee"] in ("proved", "certified")
            made_up = "surrogate" in found["forms"]  # costs more than a constant, and keeps frequencies
            assert made_up or found["loss"] <= found["constant_loss"] + 1e-12
    assert len(out.read_text().splitlines()) == len(FILES[name].splitlines())


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

"""A newcomer with a file: every command is the one that the previous command printed, and nothing leaks on the way.

Texts are read and released by real processes, the first and the last; all other commands run in this one, where nothing
is loaded twice.
"""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from command_line import run_here

CONFIDENTIAL = {"vocabulary.npz"}
"""Files of a run that hold words of the data, and say so; readable by their owner alone."""


def oddshift(folder, command):
    """Run a command line as it was printed, in that folder, where there is no data folder and no cache."""
    words = shlex.split(command)
    assert words[0] == "oddshift"
    environment = {**os.environ, "ODDSHIFT_DATA": str(folder / "none"), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The same in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODDSHIFT_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(folder, command):
        assert folder == tmp_path
        ended = run_here(*shlex.split(command)[1:], seconds=120)
        assert not ended.problem
        return subprocess.CompletedProcess(command, ended.code, ended.out, ended.err)

    return run


def following(done, name):
    """The command of that name among what a command printed as next."""
    assert done.returncode in {0, 2}, done.stderr
    found = [line.removeprefix("next: ") for line in done.stdout.splitlines() if line.startswith("next: ")]
    return next(line for line in found if shlex.split(line)[1] == name)


def journey(folder, file, run):
    """init, audit, adapt and protect, each as printed; what each said, and the released file."""
    said = [run(folder, f"oddshift init {file}")]
    for name in ("audit", "adapt", "protect"):
        said.append(run(folder, following(said[-1], name)))
    assert said[-1].returncode == 0, said[-1].stderr
    return said, folder / shlex.split(following(said[-2], "protect"))[3]


FIRST = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jon", "Kim", "Leo"]
FILLING = [f"thing{a}{b}" for a in "abcdef" for b in "ghijkl"]
ROWS = 700
PLANTED = [f"zq{k:02d}xwv@example.com" for k in range(16)]
BESIDE = [f"vw{k:03d}xqz" for k in range(ROWS)]


def write_texts(path, rows, rng):
    """Who meets whom depends; some rows hold an address that nothing else holds, in the text or beside it."""
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["id", "text", "token"])
        for k in range(rows):
            first = int(rng.integers(12))
            second = (first + 1) % 12 if rng.random() < 0.7 else int(rng.integers(12))
            words = " ".join(FILLING[i] for i in rng.integers(0, len(FILLING), 4))
            text = f"Yesterday our {FIRST[first]} met your {FIRST[second]} in the old garden with {words}."
            mail = PLANTED[k // 25] if k % 25 == 0 and k // 25 < len(PLANTED) else ""
            table.writerow([k, f"{text} Write to {mail} please." if mail else text, BESIDE[k]])


def test_a_csv_with_a_text_column(tmp_path, here):
    def run(folder, command):
        return (oddshift if shlex.split(command)[1] in {"init", "protect"} else here)(folder, command)

    write_texts(tmp_path / "mail.csv", ROWS, np.random.default_rng(0))
    said, out = journey(tmp_path, "mail.csv", run)
    assert "text (text: text)" in said[0].stdout
    assert "Yes, certified at 95%" in said[2].stdout
    with out.open(newline="") as stream:
        released = [row["text"] for row in csv.DictReader(stream)]
    with (tmp_path / "mail.csv").open(newline="") as stream:
        given = [row["text"] for row in csv.DictReader(stream)]
    assert len(released) == ROWS
    assert sum(a != b for a, b in zip(released, given, strict=True)) > ROWS / 2
    assert all("in the old garden" in text for text in released), "what is no secret stays"
    assert_nothing_planted(tmp_path, said, PLANTED, {"mail.csv"})
    assert_nothing_planted(tmp_path, said, BESIDE, {"mail.csv", out.name})
    assert "not protected, so released as they are: id, token" in said[0].stdout


def contents(path):
    """Everything a file holds as text: its bytes and those of what is packed in it, wide characters made narrow."""
    data = [path.read_bytes()]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            data += [packed.read(name) for name in packed.namelist()]
    return b"".join(data).replace(b"\0", b"").decode("latin-1").lower()


def test_a_packed_secret_would_be_seen(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", words=np.array(PLANTED[:3]))
    assert PLANTED[1] in contents(tmp_path / "a.npz")
    assert PLANTED[1].encode() not in (tmp_path / "a.npz").read_bytes()


def assert_nothing_planted(folder, said, planted, given):
    """No planted string in anything printed or written, but in the files named and in the vocabulary."""
    for done in said:
        assert not any(secret in done.stdout + done.stderr for secret in planted)
    written = [path for path in folder.rglob("*") if path.is_file() and path.name not in given]
    assert len(written) > 8
    for path in written:
        if path.name in CONFIDENTIAL:
            assert path.stat().st_mode & 0o777 == 0o600, f"{path.name} is confidential"
        else:
            held = contents(path)
            assert not [secret for secret in planted if secret in held], path.name


def test_a_numeric_table(tmp_path, here):
    rng = np.random.default_rng(1)
    age = rng.normal(50, 12, 500).round()
    cost = (age * 10 + rng.normal(0, 60, 500)).round(1)
    rows = [f"{k},{a:g},{c:g}" for k, (a, c) in enumerate(zip(age, cost, strict=True))]
    (tmp_path / "visits.csv").write_text("\n".join(["visit_id,age,cost", *rows]))
    said, out = journey(tmp_path, "visits.csv", here)
    assert "numbers: age, cost" in said[0].stdout
    with out.open(newline="") as stream:
        released = list(csv.DictReader(stream))
    assert len(released) == 500
    assert sum(float(row["age"]) != a for row, a in zip(released, age, strict=True)) > 70


def test_trajectories(tmp_path, here):
    rng = np.random.default_rng(2)
    rows = ["device_id,when,latitude,lng"]
    for device in range(700):
        home = rng.integers(0, 4, 2)
        for k in range(3):
            lat, lon = home + rng.normal([k % 2, 0], 0.2)
            moment = f"2024-01-{1 + device % 28:02d}T{8 + k:02d}:00:00Z"
            rows.append(f"d{device},{moment},{40 + lat / 100:.5f},{116 + lon / 80:.5f}")
    (tmp_path / "walks.csv").write_text("\n".join(rows))
    said, out = journey(tmp_path, "walks.csv", here)
    assert "places: latitude, lng" in said[0].stdout
    with out.open(newline="") as stream:
        released = list(csv.DictReader(stream))
    assert len(released) == 2100
    assert {"latitude", "lng"} <= set(released[0])


def test_few_rows_are_measured_undecided_and_told_how_many_it_takes(tmp_path, here):
    write_texts(tmp_path / "few.csv", 200, np.random.default_rng(3))
    started = here(tmp_path, "oddshift init few.csv")
    assert "63 documents to certify on, this file has 40" in started.stdout
    adapted = here(tmp_path, following(started, "adapt"))
    assert adapted.returncode == 0
    assert "proved" in adapted.stdout
    audited = here(tmp_path, "oddshift audit oddshift.toml --out audited")
    assert audited.returncode == 2
    check = next(line for line in audited.stdout.splitlines() if line.startswith("check: "))
    assert here(tmp_path, check.removeprefix("check: ")).returncode == 0
    assert re.search(
        r"delta = 0.05 needs 63 to certify on, \w+ has 40: adapt proves what it cannot count", audited.stdout
    )
    assert here(tmp_path, following(audited, "adapt")).returncode == 0
    assert here(tmp_path, following(audited, "report")).returncode == 0


def test_init_refuses_to_write_over_and_speaks_json(tmp_path, here):
    rows = [f"{a},{b}" for a, b in np.random.default_rng(4).integers(0, 30, (40, 2))]
    (tmp_path / "few.csv").write_text("\n".join(["age,visits", *rows]))
    done = here(tmp_path, "oddshift init few.csv --out mine.toml --json")
    plain = json.loads(done.stdout)
    assert plain["next"].endswith("mine.toml --out mine-run")
    assert plain["roles"]["numeric"] == ["age", "visits"]
    before = (tmp_path / "mine.toml").read_bytes()
    again = here(tmp_path, "oddshift init few.csv --out mine.toml")
    assert again.returncode == 1
    assert (
        again.stderr.strip()
        == "error: mine.toml already exists and is not overwritten, expected a new file: name one with --out"
    )
    assert (tmp_path / "mine.toml").read_bytes() == before

"""The built wheel in environments that hold what it asks for and nothing else: no checkout, no data."""

import csv
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from oddshift.data.embedded import people

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEN_LINES = re.search(r"^```python installed\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]


def needed(requirements):
    """The installed distributions that some requirements lead to, with those that they need themselves."""
    found, waiting = {}, [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found and wanted.extras <= found[name][1]:
            continue
        held = metadata.distribution(name)
        extras = wanted.extras | (found[name][1] if name in found else set())
        found[name] = (held, extras)
        for text in held.requires or ():
            below = Requirement(text)
            if below.marker is None or any(below.marker.evaluate({"extra": extra}) for extra in (extras or {""})):
                waiting.append(below)
    return [held for held, _ in found.values()]


def top(distribution):
    """The files and folders of site-packages that a distribution consists of."""
    parts = {file.parts[0] for file in distribution.files if ".." not in file.parts}
    return {distribution.locate_file(part) for part in parts - {"__pycache__"}}


def environment(folder, wheel, requirements):
    """A virtual environment without pip, in which the wheel is installed and what it needs is linked."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    [site] = folder.glob("lib/python*/site-packages")
    for distribution in needed(requirements):
        for path in top(distribution):
            (site / path.name).symlink_to(path)
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True, env={**os.environ, "PYTHONPATH": ""})
    return folder / "bin"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("oddshift-*.whl"))


@pytest.fixture(scope="session")
def core(tmp_path_factory, wheel):
    return environment(tmp_path_factory.mktemp("stranger") / "core", wheel, PROJECT["dependencies"])


@pytest.fixture(scope="session")
def text(tmp_path_factory, wheel):
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["text"]]
    return environment(tmp_path_factory.mktemp("stranger") / "text", wheel, wanted)


def run(folder, *command):
    """What a command prints for a stranger: in a folder of their own, with nothing in the environment."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "OMP_NUM_THREADS")}
    alone = {
        **kept,
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "ODDSHIFT_DATA": str(folder / "none"),
    }
    done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 2), done.stderr  # 2: ran, and the answer is no
    return done.stdout


def four_commands(bin_folder, folder, file):
    """Init, audit, adapt and protect on one file: the state of the audit and the number of released lines.

    So few documents are seldom enough for a certificate, which is not asked for here.
    """
    oddshift = bin_folder / "oddshift"
    run(folder, oddshift, "init", file)
    audited = json.loads(run(folder, oddshift, "audit", "oddshift.toml", "--out", "run", "--json"))
    run(folder, oddshift, "adapt", "oddshift.toml", "--out", "run")
    run(folder, oddshift, "protect", file, "released.csv", "--policy", "run/policy.json", "--allow-uncertified")
    return audited, len((folder / "released.csv").read_text().splitlines())


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"oddshift"}
    assert {name for name in names if name.startswith("oddshift/")} == {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "oddshift").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wheel.stat().st_size < 3_000_000


def test_the_core_install_tells_the_demo(core, tmp_path):
    told = json.loads(run(tmp_path, core / "oddshift", "demo", "--json"))
    assert round(told["toy"]["joint"], 4) == 1.8457
    assert len(told["sample"]) == 3
    made = told["adaptation"]
    assert made["guarantee"] == "certified"
    assert made["loss"] < 0.9 * made["constant_loss"]
    assert made["kept"] > 0.1
    assert len(set(made["forms"])) > 1 or len(set(made["chosen"])) > 1
    assert (tmp_path / "oddshift-demo" / "report.html").is_file()
    assert run(tmp_path, core / "python", "-c", "import importlib.util as u; print(u.find_spec('spacy'))") == "None\n"


def test_the_core_install_runs_the_four_commands_on_a_table(core, tmp_path):
    rows = [(f"{20 + i % 50}", ("north", "south")[i % 7 < 3], ("low", "high")[i % 5 < 2]) for i in range(360)]
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "region", "income"), *rows])
    audited, lines = four_commands(core, tmp_path, "rows.csv")
    assert audited["verdict"]
    assert lines == 361


def test_the_text_install_runs_the_ten_lines_and_the_four_commands(text, tmp_path):
    (tmp_path / "ten.py").write_text(TEN_LINES + "\nprint(len(released))\n")
    assert run(tmp_path, text / "python", "ten.py").splitlines()[-1].isdigit()
    texts = people(420).texts
    with (tmp_path / "notes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("note",), *((line,) for line in texts)])
    audited, lines = four_commands(text, tmp_path, "notes.csv")
    assert audited["verdict"]
    assert lines == 421

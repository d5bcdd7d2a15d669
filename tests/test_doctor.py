"""The checkup, the version, completion, help with examples, and the list of studies: what a newcomer tries first.

Parts of the checkup: requirements as metadata writes them, folders that cannot be written, a core that errs.
"""

import json
import os
import subprocess
import sys
from importlib import metadata
from importlib.metadata import version

import pytest
from studies.paper.__main__ import _studies
from studies.paper.reproductions import REPRODUCTIONS
from typer.testing import CliRunner

from command_line import run_here
from oddshift.app import doctor
from oddshift.app.cli import COMMANDS, app
from oddshift.app.doctor import Diagnosis, Package, diagnose

LOOK = """
import sys
from oddshift.app.cli import main
sys.argv = ["oddshift", *sys.argv[1:]]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def oddshift(*arguments, **options):
    command = [sys.executable, "-m", "oddshift", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_core_works_here_and_that_is_exit_code_0():
    done = oddshift("doctor")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "the core works"
    plain = json.loads(run_here("doctor", "--json").out)
    assert plain["core_works"] is True
    assert {p["name"] for p in plain["packages"] if not p["extra"]} >= {"numpy", "typer"}


@pytest.mark.parametrize(
    ("wanted", "version", "holds"),
    [
        (">=2.0", "1.26.4", False),
        (">=2.0", "2.10", True),
        (">=3.8,<3.9", "3.9.1", False),
        ("<3.9,>=3.8", "3.8.13", True),
        ("==2.13.0", "2.13.0+cpu", True),
        (">=2.0", "3.0rc1", True),
        ("", "0.1", True),
        ("", "", False),
    ],
)
def test_a_version_outside_the_accepted_ones_counts_as_missing(wanted, version, holds):
    assert Package("a", wanted, version, "").holds is holds


def test_every_extra_is_looked_at_once_with_its_versions():
    found = {(package.extra, package.name): package for package in diagnose().packages}
    assert found["", "numpy"].wanted.startswith(">=")
    assert found["attackers", "torch"].wanted == "==2.13.0"
    assert len(found) == len(diagnose().packages)
    assert {extra for extra, _ in found} >= {"", "attackers", "text", "tables", "cluster"}


def test_without_a_folder_to_write_to_it_still_works(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("ODDSHIFT_DATA", str(tmp_path / "none"))
    done = run_here("doctor")
    assert (done.code, done.problem) == (0, "")
    assert "cache: cannot be written" in done.out
    assert "real data: not found" in done.out


@pytest.mark.parametrize("word", ["doctor", "--help", "--version"])
def test_nothing_heavy_is_imported_to_look(word):
    done = subprocess.run([sys.executable, "-c", LOOK, word], capture_output=True, text=True, check=True)
    assert {"torch", "spacy", "pandas", "pyarrow", "matplotlib", "scipy.stats"}.isdisjoint(done.stderr.split())


def test_version_and_the_module():
    assert oddshift("--version").stdout.strip() == f"oddshift {version('oddshift')}"


def test_completion_offers_what_there_is():
    environment = {**os.environ, "_ODDSHIFT_COMPLETE": "complete_bash"}
    environment |= {"COMP_WORDS": "oddshift do", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['oddshift']; from oddshift.app.cli import main; main()"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert "doctor" in done.stdout.split()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "ledger"])
def test_every_command_has_help_with_an_example_and_json(name):
    done = CliRunner().invoke(app, [name, "--help"], terminal_width=200, env={"TERM": "dumb"})
    assert done.exit_code == 0
    assert f"Example: oddshift {name}" in done.stdout
    assert "--json" in done.stdout


def paper(*words):
    command = [sys.executable, "-m", "studies.paper", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_studies_are_listed_with_what_they_are_about(tmp_path):
    listed = json.loads(paper("--json").stdout)
    assert listed["studies"]["toy_records"].startswith("The paper's toy")
    assert set(listed["reproductions"]) == set(REPRODUCTIONS)
    assert not set(listed["reproductions"]) & set(listed["studies"]), "one command, so no name stands for both"
    for name, said in (("nothing", "expected one of"), ("toy/none", "'none'")):
        refused = paper(name)
        assert refused.returncode == 1
        assert said in refused.stderr
    assert _studies(tmp_path) == {}


@pytest.mark.parametrize(
    ("line", "name", "wanted", "extra"),
    [
        ("numpy>=1.26", "numpy", ">=1.26", ""),
        ("torch==2.13.0; extra == 'attackers'", "torch", "==2.13.0", "attackers"),
        ('dask[distributed]>=2024; extra == "cluster"', "dask", ">=2024", "cluster"),
        ("scikit-learn", "scikit-learn", "", ""),
        ("typing_extensions>=4; python_version < '3.12'", "typing_extensions", ">=4", ""),
        ("x.y~=1.0 ; extra=='text'", "x.y", "~=1.0", "text"),
    ],
)
def test_a_requirement_is_read_as_metadata_writes_it(monkeypatch, line, name, wanted, extra):
    monkeypatch.setattr(metadata, "requires", lambda package: [line])
    monkeypatch.setattr(doctor, "_version", lambda package: "1.0")
    assert doctor._packages() == (Package(name, wanted, "1.0", extra),)


def test_a_requirement_of_another_system_is_left_out(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda package: ["x; sys_platform == 'no-such-system'"])
    assert doctor._packages() == ()


def made(*packages, core_works=True):
    return Diagnosis("1", "3.11", "Linux", 1, 1.0, packages, (), "", "", core_works)


def test_each_incomplete_extra_has_one_command_and_the_core_its_own():
    gone = [Package(name, "", "", extra) for name, extra in (("a", "text"), ("b", "text"), ("c", ""), ("d", "cluster"))]
    assert made(*gone).missing == {
        "core": "pip install 'oddshift'",
        "cluster": "pip install 'oddshift[cluster]'",
        "text": "pip install 'oddshift[text]'",
    }
    assert made(Package("a", "", "1", "text")).missing == {}


def test_a_core_that_computes_something_else_does_not_work(monkeypatch):
    assert doctor._computes()
    monkeypatch.setattr(doctor, "TOY", doctor.TOY + 1e-3)
    assert not doctor._computes()
    assert not diagnose().core_works


def test_a_missing_library_of_the_core_is_a_core_that_does_not_work(monkeypatch):
    monkeypatch.setattr(doctor, "_packages", lambda: (Package("gone", "", "", ""),))
    assert not diagnose().core_works
    monkeypatch.setattr(doctor, "_packages", lambda: (Package("gone", "", "", "extra"),))
    assert diagnose().core_works


def test_a_folder_is_made_where_it_can_be_and_reported_where_it_cannot(tmp_path):
    assert doctor._can_write(tmp_path / "new" / "deep")
    assert list((tmp_path / "new" / "deep").iterdir()) == []
    (tmp_path / "file").write_text("x")
    assert not doctor._can_write(tmp_path / "file")
    assert not doctor._can_write(tmp_path / "file" / "below")

"""The command line as a user meets it: exit codes, one line for bad input, run folders, interruption."""

import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from command_line import run_here
from oddshift.app.cli import app
from oddshift.app.configured_runs import UNFINISHED
from oddshift.app.demo import PEOPLE

SMALL = PEOPLE.replace('kind = "people"', 'kind = "people"\ndocuments = 300').replace(
    "delta = 0.05", "delta = 0.05\nworst_positions = 20"
)


def oddshift(*arguments, **options):
    command = [sys.executable, "-m", "oddshift", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "audit.toml").write_text(SMALL)
    done = oddshift("audit", folder / "audit.toml", "--out", folder / "run", "--details")
    return folder, done


def test_help_and_no_arguments():
    done = oddshift()
    assert done.returncode == 0
    assert "Usage" in done.stdout
    for arguments in (["--help"], ["audit", "--help"]):
        shown = run_here(*arguments)
        assert shown.code == 0
        assert "Usage" in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["audit", "--nope"], "No such option: --nope"),
        (["audit"], "either a configuration file or --demo"),
        (["audit", "missing.toml"], "missing.toml: No such file or directory"),
        (["verify", "missing.npz"], "missing.npz: No such file or directory"),
        (["verify"], "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_here(*arguments)
    assert done.code == 1
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_process_ends_with_the_exit_code_and_the_line(tmp_path):
    done = oddshift("bogus", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: No such command 'bogus'")


def test_an_audit_that_is_not_certified_exits_with_2_and_leaves_a_run(run):
    folder, done = run
    assert done.returncode == 2, done.stderr
    assert "Not yet" in done.stdout
    assert "null" in done.stdout
    assert "Assumed:" in done.stdout
    summary = json.loads((folder / "run" / "summary.json").read_text())
    assert [row["name"] for row in summary["attackers"]] == ["null", "own", "plugin", "exact"]
    assert (folder / "run" / "audit.npz").is_file()
    assert not (folder / "run" / UNFINISHED).exists()


def test_every_stored_certificate_verifies(run):
    folder, _ = run
    for evidence in (folder / "run" / "evidence").iterdir():
        assert CliRunner().invoke(app, ["verify", str(evidence)]).exit_code == 0
    assert run_here("verify", evidence).code == 0


def test_a_finished_run_is_read_and_not_repeated(run):
    folder, first = run
    moment = (folder / "run" / "audit.npz").stat().st_mtime_ns
    again = run_here("audit", folder / "audit.toml", "--out", folder / "run", "--details")
    assert (folder / "run" / "audit.npz").stat().st_mtime_ns == moment
    assert again.out == first.stdout


def test_json_is_one_object(run):
    folder, _ = run
    done = run_here("audit", folder / "audit.toml", "--out", folder / "run", "--json")
    assert json.loads(done.out)["state"] in {"violated", "undecided", "certified"}


def test_interrupted_and_started_again_it_gives_the_same_run(run, tmp_path):
    folder, _ = run
    command = [sys.executable, "-m", "oddshift", "audit", str(folder / "audit.toml"), "--out", str(tmp_path / "run")]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job hands on that it is ignored
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    parts = tmp_path / "run" / UNFINISHED
    while process.poll() is None and not (parts.exists() and any(parts.glob("*.npz"))):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.strip() == "interrupted; run the same command to continue"
    assert not (tmp_path / "run" / "audit.npz").exists()
    run_here("audit", folder / "audit.toml", "--out", tmp_path / "run", seconds=600)
    assert (tmp_path / "run" / "audit.npz").read_bytes() == (folder / "run" / "audit.npz").read_bytes()


def test_examples_are_kept_only_on_request(run, tmp_path):
    folder, _ = run
    assert not (folder / "run" / "examples").exists()
    run_here(
        "audit", folder / "audit.toml", "--out", tmp_path / "run", "--keep-examples", "--max-cpu", "4", seconds=600
    )
    assert (tmp_path / "run" / "examples" / "belief.json").stat().st_mode & 0o777 == 0o600

"""Two runs side by side: same documents or not, paired errors where they are possible, warnings where they are due."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from oddshift.app.compare import compare
from oddshift.app.configured_runs import run_audit
from oddshift.app.run_folder import read_run
from oddshift.base.errors import InvalidInput

CONFIG = """
[data]
kind = "people"
documents = 400
by_kind = false
[mechanism]
epsilon = 1.5
[audit]
delta = 0.2
attackers = ["plugin"]
worst_positions = 5
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    run_audit(CONFIG, home / "a")
    run_audit(
        CONFIG.replace("[mechanism]\nepsilon = 1.5", '[mechanism]\nname = "truncated"\nradius = 3.0\nepsilon = 1.5'),
        home / "b",
    )
    run_audit(CONFIG.replace("epsilon = 1.5", "epsilon = 1.0").replace("400", "300"), home / "c")
    return home


def row(found, name):
    return next(row for row in found.rows if row.name == name)


def test_another_mechanism_on_the_same_documents_is_compared_document_by_document(runs):
    found = compare(runs / "a", runs / "b")
    assert found.documents == "the same"
    assert found.warnings == ()
    name = "rate, PII, anchored pairs"
    values = [
        next(e.values for e in read_run(runs / r).evidence if e.certificate.claim.pair_law == "anchored") for r in "ab"
    ]
    gap = values[1] - values[0]
    assert row(found, name).paired
    assert row(found, name).difference == pytest.approx(gap.mean())
    assert row(found, name).error == pytest.approx(gap.std(ddof=1) / np.sqrt(len(gap)))
    assert row(found, "exact epsilon of one release").difference < 0, "a shorter reach leaks less"


def test_other_documents_and_another_budget_are_warned_of(runs):
    found = compare(runs / "a", runs / "c")
    assert found.documents == "different"
    assert "epsilon differs: 1.5 and 1.0" in found.warnings
    assert any("mix data and method" in warning for warning in found.warnings)
    assert not any(r.paired for r in found.rows)
    first, second = (read_run(runs / r).row("plugin") for r in "ac")
    gain = row(found, "plugin: gain over own (nats)")
    assert gain.difference == pytest.approx(second.gain - first.gain)
    assert gain.error == pytest.approx(np.hypot(first.gain_error, second.gain_error))


def test_a_split_that_only_looks_alike_is_not_called_the_same(runs, tmp_path):
    shutil.copytree(runs / "a", tmp_path / "other")
    text = (runs / "a" / "config.toml").read_text()
    (tmp_path / "other" / "config.toml").write_text(text.replace("documents = 400", "documents = 400\nstrength = 0.1"))
    assert compare(runs / "a", tmp_path / "other").documents == "split in the same way, but described differently"


def test_a_run_compared_with_itself_differs_in_nothing(runs):
    found = compare(runs / "a", runs / "a")
    assert all(r.first == r.second and not r.difference for r in found.rows)


def test_folders_that_are_no_runs_are_refused(runs, tmp_path):
    with pytest.raises(InvalidInput, match="is not a run folder"):
        compare(runs / "a", tmp_path)


def test_the_command_prints_both_and_json_is_one_object(runs):
    command = [sys.executable, "-m", "oddshift", "compare", str(runs / "a"), str(runs / "c")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "warning: epsilon differs" in done.stdout
    assert "rate, PII, anchored pairs" in done.stdout.replace("\n", " ")
    plain = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert plain["documents"] == "different"
    assert len(plain["rows"]) > 10

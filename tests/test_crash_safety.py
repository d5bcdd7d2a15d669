"""What is left when a process dies at an awkward moment, and what a hostile name or file cannot do."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from oddshift.app.cli import app
from oddshift.app.commands.service import ReleaseMetrics, measured
from oddshift.app.commands.terminal import console_for
from oddshift.base import storage
from oddshift.base.errors import InvalidInput, TamperedEvidence, visible
from oddshift.protect import Ledger, ProtectSettings, SetMeans, protect
from oddshift.protect.dataset import steps
from oddshift.protect.policies import Policy, load_policy, save_policy
from oddshift.protect.staging import LEFT_EMPTY, PREFIX
from policies import NAMES, names_policy

FREE = ProtectSettings(allow_uncertified=True)
POLICY = names_policy()


@pytest.fixture
def home(tmp_path):
    save_policy(tmp_path / "policy", POLICY)
    (tmp_path / "in").mkdir()
    for file in range(3):
        rows = [{"text": f"{NAMES[row]} met {NAMES[file]} on day {file * 6 + row}."} for row in range(6)]
        (tmp_path / "in" / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def release(home, out="out", **means):
    return protect(home / "in", home / out, POLICY, Ledger.beside(home / "policy"), FREE, means=SetMeans(**means))


def left_over(home):
    return [path.name for path in home.iterdir() if path.name.startswith(PREFIX)]


def died(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("moment", ["clearing", "clearing half", "finished"])
def test_a_data_set_that_was_killed_after_it_was_visible_is_not_denied(home, moment):
    def work():
        if moment == "clearing":
            steps.Staging.discard = die
        elif moment == "clearing half":
            steps.Staging.discard = lambda self: ((self.home / "claim.npz").unlink(), die())
        else:
            finish = steps.Ledger.finish
            steps.Ledger.finish = lambda self, *given, **rest: die(finish(self, *given, **rest))
        release(home)

    assert died(work) == -signal.SIGKILL
    assert (home / "out").is_dir()
    assert len(left_over(home)) == 1
    if moment == "clearing":
        assert release(home, is_continued=True).records == 18
    else:
        with pytest.raises(InvalidInput, match="was released completely, expected a release that stopped"):
            release(home, is_continued=True)
    assert Ledger.beside(home / "policy").totals().releases == {"finished": 1}
    with pytest.raises(InvalidInput, match="exists, expected a new name"):
        release(home)


def test_an_empty_hidden_folder_goes_when_it_is_old_enough(home):
    for name, age in (("old", 2 * LEFT_EMPTY), ("new", 0.0)):
        (home / f"{PREFIX}{name}").mkdir()
        os.utime(home / f"{PREFIX}{name}", (time.time() - age,) * 2)
    (home / f"{PREFIX}full").mkdir()
    (home / f"{PREFIX}full" / "precious").touch()
    os.utime(home / f"{PREFIX}full", (0, 0))
    release(home)
    assert sorted(left_over(home)) == [f"{PREFIX}full", f"{PREFIX}new"]


def test_relative_paths_are_those_of_the_leading_process(home, monkeypatch):
    seen = []
    draw = steps.draw_part
    monkeypatch.setattr(steps, "draw_part", lambda task: seen.append(task.folder) or draw(task))
    monkeypatch.chdir(home)
    protect("in", "out", POLICY, Ledger.beside("policy"), FREE)
    assert all(os.path.isabs(folder) for folder in seen)
    assert (home / "out").is_dir()


def test_a_release_of_another_machine_is_left_alone(home):
    ledger = Ledger.beside(home / "policy")
    from oddshift.protect.ledger.releases import StagedFolder
    from oddshift.protect.ledger.terms import ClaimTerms

    number = ledger.prepare(
        ClaimTerms(policy="p", epsilon=1.0), StagedFolder(str(home / "gone"), 1, 2, "another-machine")
    )
    release(home)
    assert [found for found, _, _ in ledger.unfinished()] == [number]


LEADER = """
import os, sys, time
from oddshift.base.execution import Execution, run_unordered

def task(number):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep(60)

if __name__ == "__main__":
    list(run_unordered(task, range(2), Execution("processes", 2)))
"""


@pytest.mark.slow
def test_workers_end_with_the_process_that_leads_them(tmp_path):
    (tmp_path / "leader.py").write_text(LEADER)
    (tmp_path / "pids").mkdir()
    leader = subprocess.Popen([sys.executable, tmp_path / "leader.py", tmp_path / "pids"], stderr=subprocess.DEVNULL)
    give_up = time.monotonic() + 60
    while len(list((tmp_path / "pids").iterdir())) < 2 and time.monotonic() < give_up:
        time.sleep(0.05)
    workers = [int(path.name) for path in (tmp_path / "pids").iterdir()]
    leader.kill()
    leader.wait()
    while any(map(is_alive, workers)) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert len(workers) == 2
    assert not any(map(is_alive, workers))


def is_alive(number):
    try:
        with open(f"/proc/{number}/stat", encoding="ascii") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\x07b", "a\x9b31mb", "a\u202eb", "a\x7fb"])
def test_a_name_gives_no_orders_to_the_terminal(name, capsys):
    assert visible(name).isascii()
    assert visible(name).isprintable()
    console_for(False).print(f"released as they are: {name}", markup=False)
    assert name not in capsys.readouterr().out
    assert visible("tab\tand\nline é ✓") == "tab\tand\nline é ✓"


def test_a_first_configuration_shows_names_of_columns_without_orders(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text,a\x1b[31mb\n" + "Ann met the nurse in Oslo.,1\n" * 20)
    with suppress(SystemExit):
        app(["init", "in.csv"], standalone_mode=False)
    assert "\x1b" not in capsys.readouterr().out


def test_a_claimed_epsilon_that_is_not_that_of_the_mechanism_is_refused(home):
    terms = POLICY.terms
    edited = replace(terms, mechanism=replace(terms.mechanism, claimed_epsilon=terms.mechanism.claimed_epsilon / 10))
    save_policy(home / "edited", Policy(edited, POLICY.vocabulary))
    with pytest.raises(InvalidInput, match=r"claimed_epsilon=.* in the policy, expected .*: that is its mechanism's"):
        protect(
            home / "in" / "0.jsonl",
            home / "o.jsonl",
            load_policy(home / "edited"),
            Ledger.beside(home / "edited"),
            FREE,
        )
    assert not (home / "o.jsonl").exists()


def test_a_stored_file_with_an_array_that_it_does_not_name_is_refused(home):
    path = home / "policy" / "vocabulary.npz"
    text, arrays = storage.unpack(path.read_bytes())
    envelope = json.loads(text)
    arrays["value.extra"] = np.arange(3)
    envelope["sha256"] = storage.content_digest(envelope["value"], arrays)
    path.write_bytes(storage.pack(json.dumps(envelope).encode(), arrays))
    from oddshift.protect.policies import PolicyVocabulary

    with pytest.raises(TamperedEvidence, match="1 arrays that the document does not name"):
        storage.load(path, PolicyVocabulary)


def test_metrics_count_what_was_released_and_refused(home):
    path, ledger = home / "oddshift.prom", Ledger.beside(home / "policy")
    with measured(path, ledger) as found:
        found.done = protect(home / "in" / "0.jsonl", home / "o.jsonl", POLICY, found.ledger, FREE)
    first = path.read_text()
    assert "\noddshift_records_released_total 6\n" in first
    assert "\noddshift_claim_seconds_count 1\n" in first
    assert 'oddshift_claim_seconds_bucket{le="+Inf"} 1\n' in first
    with pytest.raises(InvalidInput, match="released before"), measured(path, ledger) as found:
        protect(home / "in" / "0.jsonl", home / "p.jsonl", POLICY, found.ledger, FREE)
    again = path.read_text()
    assert "\noddshift_claims_refused_total 1\n" in again
    assert "\noddshift_records_released_total 0\n" in again
    for line in again.splitlines():
        assert line.startswith(("# HELP oddshift_", "# TYPE oddshift_", "oddshift_"))
    assert "met" not in again
    with pytest.raises(InvalidInput, match="is not a folder"), measured(home / "no" / "x.prom", ledger):
        pass
    assert ReleaseMetrics(ledger).text().count("# TYPE") == 4


def test_a_configuration_states_the_ledger_of_its_policy():
    from oddshift.app.configuration import parse_config

    text = '[data]\nkind = "people"\n[mechanism]\nname = "exponential"\nepsilon = 1.0\n'
    assert parse_config(text, "c.toml").ledger.address == ""
    stated = parse_config(f'{text}[ledger]\naddress = "service=oddshift"\n', "c.toml")
    assert stated.ledger.address == "service=oddshift"
    assert stated.fingerprint == parse_config(text, "c.toml").fingerprint
    for address in ("releases.db", "postgresql://ann:Secret-7@host/db"):
        with pytest.raises(InvalidInput, match=r"^c\.toml: ") as caught:
            parse_config(f'{text}[ledger]\naddress = "{address}"\n', "c.toml")
        assert "Secret" not in str(caught.value)

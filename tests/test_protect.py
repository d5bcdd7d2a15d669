"""A release becomes visible whole or not at all, and once: kills, full disks, second runs and bad input."""

import contextlib
import json
import os
import pty
import resource
import signal
import stat
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from oddshift.app.cli import main
from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import people
from oddshift.data.formats import open_data
from oddshift.evidence.certificates import Claim, certify, evidence_of
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Ledger, ProtectSettings, protect
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import ClaimTerms
from oddshift.protect.policies import POLICY, VOCABULARY, certificate_terms, make_policy, save_policy
from oddshift.protect.record_identity import KnownBy, survey
from oddshift.protect.release_work import ReleaseWork
from oddshift.protect.staging import PREFIX, SIDECAR, staging_for

CORPUS = people(400)


def policy_of(epsilon=1.0, is_certified=True, unknown="refuse"):
    mechanism = Exponential(CORPUS.space, epsilon)
    codec = replace(CORPUS.codec, settings=replace(CORPUS.codec.settings, unknown=unknown))
    if not is_certified:
        return make_policy(codec, mechanism, CORPUS.tiers)
    names = {"attacker": "plugin", "attacker_hash": "ab", "detector": "none", "pair_law": "anchored"}
    claim = Claim(epsilon=1.0, delta=0.1, tier="PII", with_context=True, **names)
    values = np.zeros(200)
    found = certify(values, claim, 0.05)
    evidence = evidence_of(found, values, mechanism_hash=mechanism.fingerprint, split_hash="s")
    return make_policy(codec, mechanism, CORPUS.tiers, certificate=certificate_terms(found, [evidence]))


@pytest.fixture
def home(tmp_path):
    """A folder with a policy and an input."""
    save_policy(tmp_path / "policy", policy_of())
    write_input(tmp_path / "in.csv", CORPUS.texts)
    return tmp_path


def write_input(path, texts):
    rows = "".join(f'{n},"{text}"\n' for n, text in enumerate(texts))
    path.write_text("id,text\n" + rows)


def command(home, *arguments):
    return [sys.executable, "-m", "oddshift", "protect", "in.csv", "out.csv", "--policy", "policy", *arguments]


def oddshift(home, *arguments, **options):
    return subprocess.run(command(home, *arguments), cwd=home, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def here(home, monkeypatch, capsys):
    """The command in this process: the same exit codes and lines, without starting Python again."""

    def run(*arguments):
        monkeypatch.chdir(home)
        monkeypatch.setattr(sys, "argv", command(home, *arguments)[2:])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return subprocess.CompletedProcess([], ended.value.code or 0, said.out, said.err)

    return run


def refused(done, words, home=None):
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    if home is not None:
        left = {p.name for p in home.iterdir()} - {"in.csv", "policy", "disk"}
        assert left == set()


def test_a_release_and_what_is_said_about_it(home):
    done = oddshift(home, "--json")
    said = json.loads(done.stdout)
    out = (home / "out.csv").read_text()
    assert done.returncode == 0
    assert said["records"] == 400
    assert said["state"] == "certified"
    assert said["release"] == 1
    assert sum(said["positions"].values()) == len(CORPUS.records.points)
    assert said["as_they_are"] == ["id"]
    assert [line.split(",")[0] for line in out.splitlines()] == ["id", *map(str, range(400))]
    changed = sum(a != b for a, b in zip(out.splitlines(), (home / "in.csv").read_text().splitlines(), strict=True))
    assert changed > 380
    beside = json.loads((home / f"out.csv{SIDECAR}").read_text())
    assert beside["input"] == said["input"]
    assert beside["policy"] == said["policy"]
    assert "positions" not in beside
    assert stat.S_IMODE((home / "out.csv").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "policy" / LEDGER).stat().st_mode) == 0o600
    assert {p.name for p in home.iterdir()} == {"in.csv", "policy", "out.csv", f"out.csv{SIDECAR}"}


def test_what_a_terminal_is_told(home, here):
    done = here()
    assert "400 records" in done.stdout
    assert done.stdout.startswith("released as they are: id\n")
    assert "they are recognised by their content and refused" in done.stdout
    assert "Certified: Pr[" in done.stdout.replace("\n", " ")
    assert "released: out.csv" in done.stdout
    assert done.stderr == ""


def test_a_terminal_is_shown_progress(home):
    ours, theirs = pty.openpty()
    running = subprocess.Popen(command(home), cwd=home, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the other end closed
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    assert running.wait() == 0
    assert b"protecting" in shown


LAUNCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""  # started from a small process: a child's peak counts what its parent held when it was started


def peak_memory(home, times):
    """Kilobytes at the peak of one run over the corpus so many times; each row has five kilobytes that nobody reads."""
    rows = (f'{n},"{text}",{"x" * 5_000}\n' for n, text in enumerate(CORPUS.texts * times))
    (home / "in.csv").write_text("id,text,note\n" + "".join(rows))
    launched = [sys.executable, "-c", LAUNCH, *command(home), "--allow-repeat"]
    said = subprocess.run(launched, cwd=home, capture_output=True, text=True, check=True).stdout
    (home / "out.csv").unlink()
    (home / f"out.csv{SIDECAR}").unlink()
    return int(said)


def test_memory_does_not_grow_with_the_file(home):
    assert peak_memory(home, 20) < 1.1 * peak_memory(home, 4)


def test_a_dry_run_counts_and_writes_nothing(home, here):
    before = {p: p.stat().st_mtime_ns for p in home.rglob("*")}
    said = json.loads(here("--dry-run", "--json").stdout)
    assert said["is_dry_run"]
    assert sum(said["positions"].values()) == len(CORPUS.records.points)
    assert {p: p.stat().st_mtime_ns for p in home.rglob("*")} == before


def test_a_second_release_has_to_be_asked_for(home):
    policy, ledger = policy_of(), Ledger.beside(home / "policy" / POLICY)
    first = protect(home / "in.csv", home / "a.csv", policy, ledger)
    (home / "copy.csv").write_bytes((home / "in.csv").read_bytes())
    for name in ("in.csv", "copy.csv"):
        with pytest.raises(InvalidInput, match="400 of 400 records were released before") as caught:
            protect(home / name, home / "b.csv", policy, ledger)
        assert str(caught.value).endswith(" 19, 20 and 380 more")
    (home / "a.csv").unlink()
    (home / f"a.csv{SIDECAR}").unlink()
    with pytest.raises(InvalidInput, match="were released before"):
        protect(home / "in.csv", home / "a.csv", policy, ledger)
    assert not (home / "a.csv").exists()
    second = protect(home / "in.csv", home / "b.csv", policy, ledger, ProtectSettings(allow_repeat=True))
    assert (first.release, first.repeated, first.composed_epsilon) == (1, 0, 1.0)
    assert (second.repeated, second.composed_epsilon) == (400, 2.0)


def test_a_repeated_release_is_not_called_certified(home):
    """Two releases of a record at ε = 1 and one at ε = 2 spend 4 together, and no certificate speaks of that."""
    policy, ledger = policy_of(), Ledger.beside(home / "policy")
    protect(home / "in.csv", home / "a.csv", policy, ledger)
    protect(home / "in.csv", home / "b.csv", policy, ledger, ProtectSettings(allow_repeat=True))
    asked = ProtectSettings(allow_repeat=True, allow_uncertified=True)
    third = protect(home / "in.csv", home / "c.csv", policy_of(epsilon=2.0, is_certified=False), ledger, asked)
    assert third.composed_epsilon == 4.0
    states = [json.loads((home / f"{name}.csv{SIDECAR}").read_text()) for name in "abc"]
    assert [state["state"] for state in states] == ["certified", "not certified", "not certified"]
    assert [state["composed_epsilon"] for state in states] == ["1.0", "2.0", "4.0"]
    assert "no certificate covers that" in states[1]["sentence"]


def test_the_name_of_an_input_cannot_be_guessed_from_outside(home):
    """The same input has another name beside another policy: only who holds the ledger can compare."""
    save_policy(home / "other", policy_of())
    names = ("policy", "other", "policy")
    found = [
        protect(
            home / "in.csv",
            home / f"{n}.csv",
            policy_of(),
            Ledger.beside(home / name),
            ProtectSettings(allow_repeat=True),
        ).input
        for n, name in enumerate(names)
    ]
    assert found[0] != found[1]
    assert found[0] == found[2]


def test_an_uncertified_policy_is_refused_and_applied_loudly(home, here):
    save_policy(home / "policy", policy_of(is_certified=False))
    refused(here(), "the policy is not certified (state: not certified); --allow-uncertified", home)
    done = here("--allow-uncertified")
    assert done.returncode == 0
    assert "NOT CERTIFIED" in done.stdout
    assert "NOT CERTIFIED" in (home / f"out.csv{SIDECAR}").read_text()


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda home: (home / "out.csv").write_text("mine"), "out.csv exists, expected a new name"),
        (lambda home: (home / "in.csv").write_text(""), "in.csv is empty (0 bytes)"),
        (lambda home: (home / "in.csv").write_text("id,other\n1,a\n"), "in.csv has no column 'text' among its 2"),
        (lambda home: (home / "in.csv").unlink(), "in.csv is not a file or folder"),
        (lambda home: (home / "policy" / POLICY).write_text("{}"), "is not a policy: expected exactly the entries"),
        (lambda home: (home / "policy" / POLICY).unlink(), "policy.json is not a file"),
        (lambda home: (home / "policy" / VOCABULARY).write_bytes(b"PK"), "is damaged"),
        (lambda home: (home / "in.csv").write_text("id,text\n1,5\n2\n"), "in.csv row 2 has 1 columns, expected 2"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(home, here, prepare, words):
    prepare(home)
    before = {p.name: p.read_bytes() for p in home.iterdir() if p.is_file()}
    refused(here(), words)
    assert {p.name: p.read_bytes() for p in home.iterdir() if p.is_file()} == before
    assert {p.name for p in home.iterdir()} == {*before, "policy"}


def test_a_vocabulary_of_another_policy_is_one_line(home, here):
    moved = Exponential(Space(CORPUS.space.points + 1.0), 1.0)
    stranger = make_policy(CORPUS.codec, moved, CORPUS.tiers)
    save_policy(home / "stranger", stranger)
    (home / "stranger" / VOCABULARY).replace(home / "policy" / VOCABULARY)
    refused(here(), "the vocabulary is not the one that the policy names")


def test_outputs_of_another_kind_and_folders_that_are_missing(home):
    for out, words in (("out.jsonl", "ends in '.jsonl', expected '.csv'"), ("no/out.csv", "is not a folder")):
        with pytest.raises(InvalidInput, match=words):
            protect(home / "in.csv", home / out, policy_of(), Ledger.beside(home / "policy"))
    (home / "in.pdf").write_text("x")
    with pytest.raises(InvalidInput, match=r"in\.pdf ends in '\.pdf', expected one of"):
        protect(home / "in.pdf", home / "out.pdf", policy_of(), Ledger.beside(home / "policy"))


LARGEST = 1_000_000
"""Bytes: an empty ledger takes half of it, because its pages are large."""


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))


def test_a_full_disk_leaves_nothing(home, here):
    """The system itself refuses to write more than that to a file; the input has more, the ledger has not."""
    write_input(home / "in.csv", [" ".join(CORPUS.texts[n : n + 60]) for n in range(340)])
    assert (home / "in.csv").stat().st_size > 1.5 * LARGEST
    refused(oddshift(home, preexec_fn=limited), "File too large", home)
    assert here().returncode == 0
    assert sum(path.stat().st_size for path in (home / "policy").glob("releases.db*")) < LARGEST


def mounted(home):
    """A real file system of 100 kB, when we may mount one."""
    disk = home / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    return disk if made.returncode == 0 else None


def test_a_real_small_disk_leaves_nothing(home):
    disk = mounted(home)
    if disk is None:
        pytest.skip("mounting a file system is not allowed here; the limit on files stands in")
    try:
        write_input(home / "in.csv", CORPUS.texts * 5)
        arguments = command(home)
        arguments[arguments.index("out.csv")] = "disk/out.csv"
        done = subprocess.run(arguments, cwd=home, capture_output=True, text=True, check=False)
        refused(done, "No space left on device", home)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def staged(home):
    """The hidden folders of releases in the making."""
    return [path for path in home.iterdir() if path.name.startswith(PREFIX)]


def killed_midway(home, *arguments):
    """A child of this process, which has everything imported already, releases until it is killed in the middle."""
    one_block = ReleaseWork._one

    def until_killed(*block):
        one_block(*block)
        if any(part.stat().st_size > 200_000 for part in home.glob(f"{PREFIX}*/part")):
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            os.chdir(home)
            sys.argv = command(home, *arguments)[2:]
            ReleaseWork._one = until_killed
            main()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_killed_in_the_middle_and_taken_over(home, here):
    """Nothing is visible after the kill, its claims stay, its folder goes; no value of the first is ever shown."""
    write_input(home / "in.csv", CORPUS.texts * 16)
    killed_midway(home, "--id", "id")
    assert not (home / "out.csv").exists()
    (left,) = staged(home)
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    assert stat.S_IMODE((left / "part").stat().st_mode) == 0o600
    first = (left / "part").read_text().splitlines()[1:-1]
    assert len(first) > 1000
    refused(here("--id", "id"), "--take-over claims those of a release that died", home)
    done = here("--id", "id", "--take-over")
    assert done.returncode == 0, done.stderr
    rows = (home / "out.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == [str(n) for n in range(6_400)]
    same = np.mean([a == b for a, b in zip(first, rows[1:], strict=False)])
    assert same < 0.01, "the second run shows values of the first"
    assert staged(home) == []
    refused(here("--id", "id", "--take-over"), "exists, expected a new name")


def test_the_folder_of_a_dead_run_goes_whatever_the_next_out_is(home):
    write_input(home / "in.csv", CORPUS.texts * 16)
    killed_midway(home, "--id", "id")
    assert len(staged(home)) == 1
    (home / "elsewhere").mkdir()
    write_input(home / "other.csv", [f"{text} Otherwise." for text in CORPUS.texts[:3]])
    protect(home / "other.csv", home / "elsewhere" / "o.csv", policy_of(), Ledger.beside(home / "policy"))
    assert staged(home) == []


def test_killed_between_ledger_and_name(home):
    """A release whose process died before its name was given is not finished; its records wait to be taken over."""
    policy, ledger = policy_of(), Ledger.beside(home / "policy")
    with staging_for(home / "out.csv") as staging:
        staging.part.write_text("never seen")
        known = KnownBy("content", ("text",))
        found = survey(open_data(home / "in.csv", "text"), known, ledger.keys(), staging.keys, allow_new_keys=False)
        claimed = ledger.claim(found.batches(), ClaimTerms(policy=policy.sha256, epsilon=1.0), staging.staged)
        ledger.publishing(claimed.release)
        with pytest.raises(InvalidInput, match="were released before"):
            protect(home / "in.csv", home / "out.csv", policy, ledger, ProtectSettings(take_over=True))
    with pytest.raises(InvalidInput, match="were released before"):
        protect(home / "in.csv", home / "out.csv", policy, ledger)
    assert ledger.totals().releases == {"finished": 1}, "a folder that is gone is taken for visible"


def test_two_runs_of_one_out_do_not_mix(home):
    """Each run has a folder of its own; the second to end finds the name taken, and gives its records back."""
    policy, ledger = policy_of(), Ledger.beside(home / "policy")
    write_input(home / "other.csv", [f"{text} again" for text in CORPUS.texts[:5]])
    policy_other = policy_of(unknown="mark")

    def meanwhile(size):
        if not (home / "out.csv").exists():
            protect(home / "other.csv", home / "out.csv", policy_other, ledger)

    with pytest.raises(InvalidInput, match="exists, expected a new name"):
        protect(home / "in.csv", home / "out.csv", policy, ledger, count=meanwhile)
    assert len((home / "out.csv").read_text().splitlines()) == 6
    assert json.loads((home / f"out.csv{SIDECAR}").read_text())["records"] == 5
    assert protect(home / "in.csv", home / "b.csv", policy, ledger).repeated == 0


def test_an_input_that_changes_meanwhile_is_refused(home):
    ledger = Ledger.beside(home / "policy")

    def touch(size):
        os.utime(home / "in.csv", ns=(1, 1))

    with pytest.raises(InvalidInput, match="changed while it was read"):
        protect(home / "in.csv", home / "out.csv", policy_of(), ledger, count=touch)
    assert not (home / "out.csv").exists()
    assert protect(home / "in.csv", home / "out.csv", policy_of(), ledger).repeated == 0


def test_a_policy_folder_that_cannot_be_written_is_refused(home):
    ledger = Ledger(home / "nowhere" / LEDGER)
    with pytest.raises(InvalidInput, match="releases are recorded in the policy's folder"):
        protect(home / "in.csv", home / "out.csv", policy_of(), ledger)

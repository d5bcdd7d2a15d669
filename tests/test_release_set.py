"""A data set is released once, part by part, however often workers and the leading process die."""

import json
import os
import signal
import sqlite3
import stat
import sys
from contextlib import closing
from dataclasses import replace

import cloudpickle
import pyarrow as pa
import pytest
from benchmarks.data_set import manifest_problems
from pyarrow import parquet

from oddshift.app.cli import main
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution, WorkerLost, _in_worker
from oddshift.base.spacy_import import sparing_torch
from oddshift.data.codecs import PlaceCodec, PlaceSettings, TableCodec, TableSettings
from oddshift.data.formats import data_set
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Ledger, ProtectSettings, SetMeans, UserLimit, protect
from oddshift.protect.dataset import part, steps
from oddshift.protect.dataset.job import SECRETS, JobFolder, PartTask, UnfinishedRelease, made_once
from oddshift.protect.dataset.steps import MANIFEST
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.policies import make_policy, save_policy
from oddshift.protect.staging import PREFIX, SIDECAR
from policies import NAMES, names_in, names_policy

FREE = ProtectSettings(allow_uncertified=True)
POLICY = names_policy()
FILES, ROWS = 4, 6


def text_of(file, row):
    return f"{NAMES[(file + row) % 10]} met {NAMES[row]} on day {file * ROWS + row}."


def write(path, rows):
    """A file of rows (dicts) in the format of its ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        lines = [",".join(f'"{cell}"' if isinstance(cell, str) else str(cell) for cell in row.values()) for row in rows]
        path.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")


def read(path):
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    header, *lines = path.read_text().splitlines()
    return [dict(zip(header.split(","), line.replace('"', "").split(","), strict=True)) for line in lines]


@pytest.fixture
def home(tmp_path):
    """A folder with a policy and a data set of four files."""
    save_policy(tmp_path / "policy", POLICY)
    fill(tmp_path, ".jsonl")
    return tmp_path


def fill(home, ending, rows=ROWS):
    for file in range(FILES):
        write(home / "in" / f"{file}{ending}", [{"id": file * rows + r, "text": text_of(file, r)} for r in range(rows)])


def release(home, settings=FREE, policy=POLICY, out="out", ledger=None, **means):
    kept = ledger or Ledger.beside(home / "policy")
    return protect(home / "in", home / out, policy, kept, settings, means=SetMeans(**means))


def released(home, out="out"):
    return [row for path in sorted((home / out).rglob("*.*")) if path.name != MANIFEST for row in read(path)]


def left_over(home):
    return [path.name for path in home.iterdir() if path.name.startswith(PREFIX)]


def claims(home):
    if not Ledger.beside(home / "policy").exists:
        return []
    with closing(sqlite3.connect(home / "policy" / LEDGER)) as db:
        return db.execute(
            "SELECT r.key, r.row FROM record r JOIN release l ON l.number = r.release WHERE l.state <> 'abandoned' "
            "AND r.row > 0 AND (r.key, r.release) NOT IN (SELECT key, release FROM taken) ORDER BY r.key"
        ).fetchall()


def states(ledger):
    """How many releases there are in each state, apart from those that were withdrawn."""
    return {state: count for state, count in ledger.totals().releases.items() if state != "abandoned"}


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_every_record_of_every_file_is_released_once(tmp_path, ending):
    save_policy(tmp_path / "policy", POLICY)
    fill(tmp_path, ending)
    told, seen = [], []
    ledger = Ledger.beside(tmp_path / "policy")
    means = SetMeans(watch=seen.append)
    done = protect(tmp_path / "in", tmp_path / "out", POLICY, ledger, FREE, tell=told.append, means=means)
    assert (done.records, done.parts, done.copies) == (FILES * ROWS, FILES, 0)
    assert told == [("id", *(f"{n}{ending}" for n in range(FILES)))] == [done.as_they_are]
    rows = released(tmp_path)
    assert [int(row["id"]) for row in rows] == list(range(FILES * ROWS))
    assert all(len(names_in(row["text"])) == 2 and " on day " in row["text"] for row in rows)
    assert sum(row["text"] == text_of(*divmod(int(row["id"]), ROWS)) for row in rows) < FILES * ROWS / 2
    assert sum(done.positions.values()) == 2 * FILES * ROWS
    assert manifest_problems(tmp_path / "out") == []
    assert len(claims(tmp_path)) == FILES * ROWS
    assert states(Ledger.beside(tmp_path / "policy")) == {"finished": 1}
    assert {path.name for path in tmp_path.iterdir()} == {"in", "policy", "out", f"out{SIDECAR}"}
    assert {p.step: p.parts for p in seen} == {"read": FILES, "released": FILES}
    assert seen[-1].seconds_left == 0.0
    assert done.worker_megabytes > 0
    note = json.loads((tmp_path / f"out{SIDECAR}").read_text())
    assert (note["parts"], note["input"]) == (FILES, done.input)


def test_a_released_data_set_is_for_its_owner_alone(home):
    release(home)
    assert stat.S_IMODE((home / "out").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home / "out").iterdir()} == {0o600}


def test_large_files_are_released_in_several_parts(home, monkeypatch):
    monkeypatch.setattr(data_set.DataSet.parts, "__defaults__", (200,))
    done = release(home)
    assert done.parts > FILES
    assert (home / "out" / "0.part-00002.jsonl").is_file()
    assert [row["id"] for row in released(home)] == list(range(FILES * ROWS))
    assert manifest_problems(home / "out") == []


@pytest.mark.slow
def test_processes_claim_what_one_process_claims(home, tmp_path_factory):
    """The noise differs by design; the claims are the same, row by row."""
    Ledger.beside(home / "policy").keys()
    other = tmp_path_factory.mktemp("other")
    for name in ("policy", "in"):
        os.system(f"cp -r {home / name} {other / name}")
    release(home)
    with sparing_torch():  # as in a command
        done = release(other, execution=Execution("processes", 2))
    assert done.records == FILES * ROWS
    assert claims(home) == claims(other)
    assert manifest_problems(other / "out") == []


def ages_policy():
    """A column of numbers as secrets: workers of a cluster read it without the libraries that texts need."""
    settings = TableSettings(numeric=("age",), public=("id",))
    columns = {"id": list(range(FILES * ROWS)), "age": list(range(20, 20 + FILES * ROWS))}
    codec = TableCodec.fit(columns, settings)
    return make_policy(codec, Exponential(codec.space, 1.0), codec.tiers)


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_whose_worker_is_killed_releases_every_record_once(tmp_path):
    policy, home = ages_policy(), tmp_path
    save_policy(home / "policy", policy)
    for file in range(FILES):
        ids = range(file * ROWS, (file + 1) * ROWS)
        write(home / "in" / f"{file}.jsonl", [{"id": id_, "age": 20 + id_} for id_ in ids])
    distributed = pytest.importorskip("distributed", reason="needs the extra: pip install 'oddshift[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        victim, killed = next(iter(cluster.workers.values())).pid, []

        def kill_once(progress):
            if not killed and progress.step == "read":
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        execution = Execution("cluster", 2, cluster.scheduler_address)
        done = release(home, replace(FREE, id="id"), policy, execution=execution, watch=kill_once)
    assert killed
    assert (done.records, done.parts) == (FILES * ROWS, FILES)
    assert [row["id"] for row in released(home)] == list(range(FILES * ROWS))
    assert manifest_problems(home / "out") == []
    assert (len(claims(home)), left_over(home)) == (FILES * ROWS, [])
    assert done.worker_megabytes < 1000


def test_what_travels_to_a_worker_is_a_folder_and_a_number(home):
    """The scheduler of a cluster sees every task: no text, name or key may be in one."""
    sent = []

    def watching(function, tasks, execution):
        for task in tasks:
            sent.append(cloudpickle.dumps((_in_worker, function, task)))
            keys.append((JobFolder(type(home)(task.folder)).secrets(), stat_of(type(home)(task.folder))))
            yield function(task)

    def stat_of(folder):
        return stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE((folder / SECRETS).stat().st_mode)

    keys = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "run_unordered", watching)
        release(home)
    assert len(sent) == 2 * FILES
    (secrets,) = {pair for pair, _ in keys}
    assert {modes for _, modes in keys} == {(0o700, 0o600)}
    assert [len(secret) for secret in secrets] == [32, 32]
    for data in sent:
        assert len(data) < 500 + len(str(home))
        assert not any(name.encode() in data for name in (*NAMES, "met", "day"))
        assert not any(secret in data for secret in secrets)


def test_what_a_worker_answers_holds_counts_only(home):
    answers = []

    def watching(function, tasks, execution):
        for task in tasks:
            answers.append(function(task))
            yield answers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "run_unordered", watching)
        release(home)
    assert not any(name in repr(answer) for answer in answers for name in NAMES)


def test_copies_in_several_files_have_one_value(home, any_ledger):
    same = [{"id": 0, "text": f"{a} met {b}. {b} left {a}."} for a in NAMES for b in NAMES]
    for file in range(FILES):
        own = [{"id": 0, "text": text_of(file, row)} for row in range(ROWS)]
        write(home / "in" / f"{file}.jsonl", [*same, *own] if file % 2 else [*own, *same])
    done = release(home, ledger=any_ledger)
    shown = [read(home / "out" / f"{file}.jsonl") for file in range(FILES)]
    parts = [[row["text"] for row in (rows[:100] if f % 2 else rows[ROWS:])] for f, rows in enumerate(shown)]
    assert parts[0] == parts[1] == parts[2] == parts[3]
    assert len(set(parts[0])) > 50
    assert done.copies == 300
    assert any_ledger.totals().records == 100 + FILES * ROWS


def test_a_user_has_one_draw_for_each_secret_in_all_files(tmp_path):
    policy = names_policy(joint_by="user")
    save_policy(tmp_path / "policy", policy)
    for file in range(FILES):
        rows = [{"who": f"u{row % 3}", "text": f"{NAMES[row % 10]} of {file}-{row}"} for row in range(30)]
        write(tmp_path / "in" / f"{file}.jsonl", rows)
    release(tmp_path, policy=policy)
    drawn = {}
    for number, row in enumerate(released(tmp_path)):
        drawn.setdefault((row["who"], NAMES[number % 30 % 10]), set()).update(names_in(row["text"]))
    assert all(len(outputs) == 1 for outputs in drawn.values())
    assert len({(secret, *outputs) for (_, secret), outputs in drawn.items()}) > len(NAMES)


def test_a_second_release_is_refused_and_leaves_nothing(home):
    release(home)
    with pytest.raises(InvalidInput, match=r"24 of 24 records were released before"):
        release(home, out="again")
    assert left_over(home) == []
    assert states(Ledger.beside(home / "policy")) == {"finished": 1}
    assert release(home, replace(FREE, allow_repeat=True), out="again").repeated == FILES * ROWS


def test_an_id_in_two_files_is_refused_and_its_claim_withdrawn(home, any_ledger):
    write(home / "in" / "9.jsonl", [{"id": 3, "text": "another text"}])
    with pytest.raises(InvalidInput, match="1 rows have an id that an earlier part has too"):
        release(home, replace(FREE, id="id"), ledger=any_ledger)
    assert any_ledger.totals().records == 0
    assert left_over(home) == []


def test_users_are_limited_over_all_files(home):
    for file in range(FILES):
        write(home / "in" / f"{file}.jsonl", [{"who": "ann", "text": text_of(file, row)} for row in range(ROWS)])
    limit = UserLimit(budget=POLICY.terms.mechanism.claimed_epsilon * 10, past="mask")
    done = release(home, replace(FREE, user="who", limit=limit))
    assert done.past_budget == FILES * ROWS - 10
    assert [row["text"] == "" for row in released(home)] == [False] * 10 + [True] * (FILES * ROWS - 10)


@pytest.mark.parametrize("name", ["2.jsonl", "9.jsonl"])
def test_a_part_that_cannot_be_read_releases_nothing(home, name):
    (home / "in" / name).write_text('{"id": 1, "text": "Ann"}\n{"id": 2, "text":\n')
    with pytest.raises(InvalidInput, match=f"{name} line 2 is not a JSON document"):
        release(home)
    assert left_over(home) == []
    assert not (home / "out").exists()
    assert claims(home) == []


def test_a_refusal_while_parts_are_drawn_withdraws_all_claims(home, monkeypatch):
    def refusing(task):
        if task.number == 2:
            raise InvalidInput("column 'text' at row 3 is odd")
        return part.draw_part(task)

    monkeypatch.setattr(steps, "draw_part", refusing)
    with pytest.raises(InvalidInput, match="is odd"):
        release(home)
    assert (claims(home), left_over(home), states(Ledger.beside(home / "policy"))) == ([], [], {})


def test_releases_of_a_data_set_are_not_kept(home):
    with pytest.raises(InvalidInput, match="cannot be kept"):
        release(home, replace(FREE, keep_releases=True))


def test_a_rehearsal_counts_and_writes_nothing(home):
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    done = release(home, replace(FREE, dry_run=True))
    assert (done.records, done.parts, done.is_dry_run) == (FILES * ROWS, FILES, True)
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
    release(home)
    with pytest.raises(InvalidInput, match="24 of 24 records were released before"):
        release(home, replace(FREE, dry_run=True), out="other")


FIXES = PlaceCodec(PlaceSettings(every=300.0), Space([[39.9, 116.3], [40.0, 116.3]], "haversine"))


def fix(user, minute):
    return {"lat": 39.9, "lon": 116.3, "user": user, "timestamp": f"2008-10-23T02:{minute:02d}:00", "trip": "a"}


def test_a_trip_must_be_within_one_file(tmp_path):
    policy = make_policy(FIXES, Exponential(FIXES.space, 1.0), FIXES.tiers)
    save_policy(tmp_path / "policy", policy)
    write(tmp_path / "in" / "a.jsonl", [fix("u", 1), fix("u", 7)])
    write(tmp_path / "in" / "b.jsonl", [fix("v", 1), fix("v", 2)])
    done = release(tmp_path, policy=policy)
    assert (done.records, done.dropped) == (4, 1)
    write(tmp_path / "in" / "b.jsonl", [fix("w", 1), fix("u", 9)])
    with pytest.raises(InvalidInput, match=r"a\.jsonl and b\.jsonl have fixes of one trip"):
        release(tmp_path, replace(FREE, allow_repeat=True), policy=policy, out="again")


def test_the_first_of_two_workers_that_finish_a_part_counts(tmp_path):
    place = tmp_path / "drawn"
    with made_once(place) as slow:
        (slow / "data").write_text("second")
        with made_once(place) as fast:
            (fast / "data").write_text("first")
    assert (place / "data").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["drawn"]


def test_a_manifest_tells_what_is_missing_changed_or_new(home):
    release(home)
    (home / "out" / "0.jsonl").unlink()
    (home / "out" / "1.jsonl").write_text("{}")
    (home / "out" / "new.jsonl").write_text("{}")
    assert manifest_problems(home / "out") == [
        "0.jsonl is missing",
        "1.jsonl differs from what was released",
        "new.jsonl is not in the manifest",
    ]


def test_parts_of_lost_workers_are_done_again(home, monkeypatch):
    rounds = []

    def dying(function, tasks, execution):
        rounds.append([task.number for task in tasks])
        yield function(tasks[0])
        if len(tasks) > 1:
            raise WorkerLost

    monkeypatch.setattr(steps, "run_unordered", dying)
    done = release(home)
    assert rounds == 2 * [[0, 1, 2, 3], [1, 2, 3], [2, 3], [3]]
    assert done.records == FILES * ROWS
    assert len(claims(home)) == FILES * ROWS


def test_workers_that_always_die_end_the_attempt_and_it_can_be_continued(home, monkeypatch):
    def dying(function, tasks, execution):
        if function is part.draw_part:
            raise WorkerLost
        yield from map(function, tasks)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "run_unordered", dying)
        with pytest.raises(UnfinishedRelease, match=r"workers died 3 times in a row \(0 of 4 parts are done\)"):
            release(home)
    with pytest.raises(InvalidInput, match="was begun and not finished: --continue finishes it"):
        release(home)
    assert release(home, is_continued=True).records == FILES * ROWS
    assert (len(claims(home)), left_over(home)) == (FILES * ROWS, [])


def test_there_must_be_something_to_continue(home):
    with pytest.raises(InvalidInput, match="expected one to continue"):
        release(home, is_continued=True)
    write(home / "one.jsonl", [{"text": "Ann"}])
    means = SetMeans(is_continued=True)
    with pytest.raises(InvalidInput, match="is a single input"):
        protect(home / "one.jsonl", home / "o.jsonl", POLICY, Ledger.beside(home / "policy"), FREE, means=means)


def killed_at(home, patch, ledger=None):
    """Release in another process, which a patched function kills."""
    child = os.fork()
    if child == 0:
        try:
            patch(lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            release(home, ledger=ledger)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def at_part(name, number):
    """Die instead of doing a step with that part."""

    def patch(die):
        function = getattr(part, name)
        setattr(steps, name, lambda task: die() if task.number == number else function(task))

    return patch


def die_before_the_claim_is_noted(die):
    keep = steps.save
    steps.save = lambda path, *rest, **more: die() if path.name == "claim.npz" else keep(path, *rest, **more)


def die_after_a_part_was_claimed(die):
    claim = part.Ledger.claim_part
    part.Ledger.claim_part = lambda self, *given: die(claim(self, *given))


def die_between_sidecar_and_release(die):
    name = steps.Staging._name
    steps.Staging._name = lambda self, inside, out: die() if inside == "part" else name(self, inside, out)


KILLS = {
    "reading": at_part("survey_part", 1),
    "claiming": die_before_the_claim_is_noted,
    "drawing": at_part("draw_part", 2),
    "assembling": lambda die: setattr(steps.Ledger, "publishing", die),
    "publishing": lambda die: setattr(steps.Staging, "publish", die),
    "naming": die_between_sidecar_and_release,
    "finishing": lambda die: setattr(steps.Ledger, "finish", die),
}

KILLS_BY_PART = {
    "claiming parts": at_part("claim_part", 2),
    "claimed a part": die_after_a_part_was_claimed,
    "claimed all parts": lambda die: setattr(steps.Ledger, "all_claimed", die),
}
"""Where workers claim for themselves."""


@pytest.mark.parametrize(
    ("any_ledger", "moment"),
    [*(("embedded", one) for one in KILLS), *(("postgres", one) for one in (KILLS | KILLS_BY_PART))],
    indirect=["any_ledger"],
)
def test_a_killed_release_is_continued_and_no_part_is_drawn_twice(home, any_ledger, moment):
    killed_at(home, (KILLS | KILLS_BY_PART)[moment], any_ledger)
    (folder,) = left_over(home)
    drawn = {p: p.read_bytes() for p in sorted((home / folder).glob("drawn-*/*")) if p.is_file()}
    assert (home / "out").exists() == (moment == "finishing")
    held = {"reading": 0, "claiming parts": 2 * ROWS, "claimed a part": ROWS}.get(moment, FILES * ROWS)
    assert any_ledger.totals().records == held
    notes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "draw_part", lambda task: notes.append(task.number) or part.draw_part(task))
        done = release(home, ledger=any_ledger, is_continued=True)
    assert done.records == FILES * ROWS
    before = {"drawing": 2, "assembling": FILES, "publishing": FILES, "naming": FILES, "finishing": FILES}.get(
        moment, 0
    )
    assert len(notes) == FILES - before
    assert len([path for path in drawn if path.name == "note.json"]) == before
    assert [row["id"] for row in released(home)] == list(range(FILES * ROWS))
    assert manifest_problems(home / "out") == []
    assert (any_ledger.totals().records, states(any_ledger)) == (FILES * ROWS, {"finished": 1})
    assert left_over(home) == []
    if moment == "drawing":
        data = [value for path, value in drawn.items() if path.name == "data"]
        assert [(home / "out" / f"{n}.jsonl").read_bytes() for n in range(2)] == data


def test_another_release_leaves_an_unfinished_data_set_alone(home):
    killed_at(home, KILLS["drawing"])
    write(home / "one.jsonl", [{"text": "Ann"}])
    protect(home / "one.jsonl", home / "o.jsonl", POLICY, Ledger.beside(home / "policy"), FREE)
    assert release(home, is_continued=True).records == FILES * ROWS


def test_an_unfinished_data_set_can_be_taken_over(home):
    killed_at(home, KILLS["drawing"])
    with pytest.raises(InvalidInput, match="begun and not finished"):
        release(home)
    done = release(home, replace(FREE, take_over=True))
    assert done.records == FILES * ROWS
    assert left_over(home) == []
    assert len(claims(home)) == FILES * ROWS


def test_a_data_set_that_changed_is_not_continued(home):
    killed_at(home, KILLS["drawing"])
    write(home / "in" / "3.jsonl", [{"id": 99, "text": "another text"}])
    with pytest.raises(UnfinishedRelease, match="have changed, expected them as begun"):
        release(home, is_continued=True)


def test_a_full_disk_leaves_what_is_done(home, monkeypatch):
    def full(task):
        if task.number == 1:
            raise OSError(28, "No space left on device")
        return part.draw_part(task)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "draw_part", full)
        with pytest.raises(UnfinishedRelease, match=r"No space left on device \(1 of 4 parts are done\)"):
            release(home)
    assert not (home / "out").exists()
    assert release(home, is_continued=True).records == FILES * ROWS


def test_a_file_that_changes_after_it_was_read_is_refused(home):
    def changing(task):
        write(home / "in" / "0.jsonl", [{"id": 99, "text": "another text"}])
        return part.draw_part(task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "draw_part", changing)
        with pytest.raises(InvalidInput, match=r"0\.jsonl changed while the data set was read"):
            release(home)
    assert (claims(home), left_over(home)) == ([], [])


def test_tasks_are_plain(tmp_path):
    task = PartTask(str(tmp_path), 3)
    assert repr(task) == f"PartTask(folder='{tmp_path}', number=3, release=0)"


@pytest.fixture
def command(home, monkeypatch, capsys):
    """`oddshift protect` in this process; returns the exit code and what was said."""

    def run(source, *arguments):
        monkeypatch.chdir(home)
        words = ["oddshift", "protect", source, "out", "--policy", "policy", "--allow-uncertified", *arguments]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return run


def test_the_command_says_how_far_it_is_and_what_it_took(home, command):
    code, said, progress = command("in/*.jsonl")
    assert code == 0
    lines = [line.split(" parts")[0] for line in progress.splitlines()]
    assert {"read 4 of 4", "released 4 of 4"} <= set(lines)
    assert all(" MB/s, 0:0" in line and line.endswith(" left") for line in progress.splitlines())
    assert "released as they are: id, 0.jsonl, 1.jsonl" in said
    assert "4 parts; the largest worker had" in said


def test_the_command_answers_in_one_object(home, command):
    code, said, progress = command("in", "--json")
    assert (code, json.loads(said)["parts"], progress) == (0, FILES, "")


def empty(home):
    (home / "in" / "2.jsonl").write_text("")


def other_columns(home):
    write(home / "in" / "2.jsonl", [{"words": "Ann"}])


def other_format(home):
    write(home / "in" / "2.csv", [{"text": "Ann"}])


def other_kind_of_cell(home):
    write(home / "in" / "2.jsonl", [{"id": 1, "text": 7}])


BAD = {
    empty: "2.jsonl is empty (0 bytes), expected records",
    other_columns: "2.jsonl has other columns than 0.jsonl (1 and 2), expected the same names and types in every file",
    other_format: "in holds .csv and .jsonl files, expected files of one format",
    other_kind_of_cell: "column 'text' at row 1 is an int, expected text",
}


@pytest.mark.parametrize("spoil", BAD)
def test_a_bad_data_set_is_refused_in_one_line_and_nothing_is_left(home, command, spoil):
    spoil(home)
    code, _, said = command("in")
    line = said.strip().splitlines()[-1]
    assert (code, BAD[spoil] in line) == (1, True), said
    assert {path.name for path in home.iterdir()} == {"in", "policy"}
    assert claims(home) == []


def test_the_number_of_workers_and_the_cluster_are_checked(command):
    assert "workers=0, expected a whole number >= 1" in command("in", "--workers", "0")[2]

"""Watching a run: quiet without a change, an alarm by a certified one, each window once, and a second audit.

Watching texts and trips: quiet under the topic mix of the audit, and an alarm when it shifts.
"""

import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from studies.watch import WORLDS, Watched, delay_cells, simulated_delay, simulated_false, watched

import oddshift as od
from command_line import run_here
from oddshift.app.configured_runs import run_audit
from oddshift.app.watch.series import STATE, watched_series
from oddshift.app.watch.watching import PAGE, audit_again, sliding_parts, watch_page
from oddshift.app.watch.windows import BASELINE, WATCH, read_baseline
from topic_worlds import COLUMNS, CONFIG, VALUES, mixed_rows, write_rows

SETTINGS = {"categorical": list(COLUMNS), "weight": 4.0}
QUIET, SHIFTED = 0.5, 1.0


def rows(n, alike, seed, values=VALUES):
    return mixed_rows(n, alike, np.random.default_rng(seed), values)


def table(n, alike, seed, values=VALUES):
    return od.table(rows(n, alike, seed, values), settings=SETTINGS)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A run of a small table, watched once, so that its baseline is made; its data are then removed."""
    home = tmp_path_factory.mktemp("watched")
    write_rows(home / "old.csv", rows(400, QUIET, 0))
    run_audit(CONFIG, home / "run", home=home)
    od.watch(home / "run", table(40, QUIET, 1))
    (home / "old.csv").rename(home / "kept.csv")
    (home / "run" / STATE).unlink()
    return home


@pytest.fixture
def run(audited, tmp_path):
    """A copy of that run with its baseline and no window yet."""
    return shutil.copytree(audited / "run", tmp_path / "run")


def test_windows_like_the_audit_are_quiet_and_nothing_is_fitted_again(run):
    found = od.watch(run, [table(100, QUIET, seed) for seed in range(2, 6)])
    assert (found.state, found.counted, found.units) == ("quiet", 4, (100,) * 4)
    assert found.sentence.startswith("Quiet: no change is certified after 4 windows, 400 independent units")
    names = [line.name for line in found.series]
    assert names == [*(f"rate, {column}, plugin" for column in COLUMNS), "log score", "unknown values"]
    assert found.threshold == pytest.approx(math.log(6 / 0.05))
    second = found.series[1]
    assert (second.delta, len(second.means)) == (0.04, 4)
    assert np.mean(second.means) == pytest.approx(second.reference, abs=0.03)


def test_a_topic_mix_that_doubles_the_rate_is_found_within_1500_rows(run):
    od.watch(run, [table(100, QUIET, seed) for seed in range(2, 5)])
    found = od.watch(run, [table(250, SHIFTED, seed) for seed in range(10, 16)])
    alarm = next(alarm for alarm in found.alarms if alarm.series.startswith("rate"))
    assert found.state == "alarm"
    assert 3 < alarm.window <= 9
    assert "above delta = 0.04 after window" in alarm.sentence
    line = next(line for line in found.series if line.name == alarm.series)
    assert np.mean(line.means[3:]) > 1.8 * np.mean(line.means[:3])
    assert od.watch(run, table(50, QUIET, 30)).state == "alarm"  # it stays, whatever comes later


def test_values_that_no_vocabulary_has_raise_their_own_alarm(run):
    found = od.watch(run, [table(150, QUIET, seed, np.array([*VALUES, "south"])) for seed in range(2, 4)])
    assert "unknown values changed against the audit" in found.sentence
    assert found.alarms[0].series == "unknown values"
    assert found.series[-1].means[0] == pytest.approx(0.25, abs=0.05)


def test_a_window_counts_once_whatever_its_file_is_called(run, tmp_path):
    path = write_rows(tmp_path / "day.csv", rows(100, QUIET, 2))
    first = od.watch(run, path)
    again = od.watch(run, [path, write_rows(tmp_path / "copy.csv", rows(100, QUIET, 2))])
    assert (first.counted, again.counted, again.known) == (1, 0, 2)
    assert again.series == first.series


def test_a_growing_file_is_cut_into_whole_windows(run, tmp_path):
    columns = rows(250, QUIET, 2)
    path = write_rows(tmp_path / "log.csv", {name: cells[:230] for name, cells in columns.items()})
    first = od.watch(run, path, window=50)
    assert (first.counted, first.waiting) == (4, 30)
    assert first.windows[1] == "log.csv, rows 51 to 100"
    later = od.watch(run, write_rows(path, columns), window=50)
    assert (later.counted, later.known, later.waiting) == (1, 4, 0)


def test_what_cannot_be_watched_is_refused(run, tmp_path):
    with pytest.raises(od.InvalidInput, match="is not a run folder"):
        od.watch(tmp_path, table(10, QUIET, 2))
    with pytest.raises(od.InvalidInput, match="of kind vectors, expected table"):
        od.watch(run, od.embeddings(np.eye(3)))
    with pytest.raises(od.InvalidInput, match="alpha"):
        od.watch(run, table(10, QUIET, 2), alpha=1.5)
    od.watch(run, table(10, QUIET, 2))
    with pytest.raises(od.InvalidInput, match="begun with another alpha"):
        od.watch(run, table(10, QUIET, 3), alpha=0.01)
    shutil.rmtree(run / WATCH)
    with pytest.raises(od.InvalidInput, match=r"old\.csv, the data of the run, is not there"):
        od.watch(run, table(10, QUIET, 3))


def test_rows_of_one_group_are_never_cut(tmp_path):
    vectors = np.array([[4.0, 4.0], [4.0, 8.0], [8.0, 4.0]])[np.random.default_rng(0).integers(0, 3, 240)]
    data = od.embeddings(vectors, groups=np.repeat(np.arange(120), 2), settings={"points": "fit"})
    od.audit(data, epsilon=1.0, attackers=["plugin"]).save(tmp_path / "run")  # without delta
    with pytest.raises(od.InvalidInput, match="several rows of one document"):
        od.watch(tmp_path / "run", data, window=10, reference=data)
    found = od.watch(tmp_path / "run", data)
    assert [(line.name, line.delta) for line in found.series] == [("rate, all, plugin", None), ("log score", None)]


def test_what_a_watch_keeps_is_private_and_complete(run):
    od.watch(run, table(20, QUIET, 2))
    modes = {path: path.stat().st_mode & 0o777 for path in (run / WATCH, run / WATCH / BASELINE, run / STATE)}
    assert list(modes.values()) == [0o700, 0o600, 0o600]
    baseline = read_baseline(run)
    assert baseline.units == 80
    assert all(len(series.reference) == 80 for series in watched_series(baseline))
    assert "east" not in repr(od.watch(run, table(20, QUIET, 3)))


def test_the_page_shows_every_series_and_no_value(run):
    found = od.watch(run, [table(100, QUIET, 2), *(table(400, SHIFTED, seed) for seed in (3, 4, 5))])
    page = watch_page(found, "run")
    for line in found.series:
        assert line.name in page
    assert found.alarms[0].sentence in page
    assert not any(value in page for value in VALUES)


def test_the_command_says_what_to_do_next(run, tmp_path):
    quiet, shifted = (write_rows(tmp_path / f"{s}.csv", rows(1200, s, 7)) for s in (QUIET, SHIFTED))
    first = run_here("watch", run, quiet, "--window", 400)
    assert (first.code, first.problem) == (0, "")
    assert "windows: 3 counted now, 0 known before" in first.out
    second = run_here("watch", run, quiet, shifted, "--window", 400, "--json")
    assert (second.code, second.problem) == (2, "")
    found = json.loads(second.out)
    assert (found["state"], found["counted"], found["known"]) == ("alarm", 3, 3)
    assert found["again"].endswith(f"--window 400 --again {run}-2")
    assert (run / PAGE).read_text().startswith("<!doctype html>")
    assert (run / PAGE).stat().st_mode & 0o777 == 0o600


def test_a_killed_watch_continues_where_it_was_and_ends_as_if_it_had_not_been_killed(run, tmp_path):
    new = write_rows(tmp_path / "new.csv", rows(800, QUIET, 5))
    command = [sys.executable, "-m", "oddshift.app.cli", "watch", str(run), str(new), "--window", "20"]
    whole = shutil.copytree(run, tmp_path / "whole")
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ})
    limit = time.monotonic() + 120
    while time.monotonic() < limit and not _counted(run):
        time.sleep(0.005)
    os.kill(started.pid, signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    left = _counted(run)
    assert 0 < left < 40
    found, expected = (od.watch(place, new, window=20) for place in (run, whole))
    assert (found.known, found.counted) == (left, 40 - left)
    assert found.series == expected.series


def _counted(run):
    try:
        with sqlite3.connect(f"file:{run / STATE}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM window").fetchone()[0]
    except sqlite3.Error:
        return 0


def test_sliding_parts_are_disjoint_and_move_with_the_windows():
    assert sliding_parts(10).tolist() == [0] * 6 + [1] * 2 + [2] * 2
    with pytest.raises(od.InvalidInput, match="2 windows, expected at least 3"):
        sliding_parts(2)


def test_an_audit_of_the_newest_windows_is_a_run_that_can_be_watched(audited, tmp_path):
    files = [write_rows(tmp_path / f"{day}.csv", rows(60, SHIFTED, day)) for day in range(5)]
    again = tmp_path / "again"
    found = audit_again(audited / "run", files, again)
    assert found.documents == (180, 60, 60)
    with pytest.raises(od.InvalidInput, match="is not empty"):
        audit_again(audited / "run", files, again)
    later = od.watch(again, table(100, SHIFTED, 20))
    assert (later.counted, len(later.series)) == (1, 6)
    assert later.series[1].reference > 0.03


@pytest.mark.parametrize("kind", WORLDS)
def test_a_shift_of_topics_is_found_in_texts_and_trips(kind, tmp_path):
    world, rng = WORLDS[kind], np.random.default_rng(3)
    data = world.make(300, world.quiet, rng)
    od.audit(data, epsilon=world.epsilon, delta=0.1, attackers=["plugin"], seed=0).save(tmp_path / "run")
    quiet = od.watch(tmp_path / "run", [world.make(40, world.quiet, rng) for _ in range(2)], reference=data)
    assert (quiet.state, quiet.units) == ("quiet", (40,) * 2)
    assert quiet.series[0].name.startswith("rate")
    new = [world.make(200, world.shifted, rng) for _ in range(2)]
    found = od.watch(tmp_path / "run", new)
    assert (found.state, found.counted) == ("alarm", 2)
    assert all(alarm.window > 2 for alarm in found.alarms)
    again = od.watch(tmp_path / "run", new)  # as after a crash: what was counted is not counted again
    assert (again.counted, again.known, again.series) == (0, 2, found.series)


def test_the_study_counts_alarms_and_documents(monkeypatch):
    monkeypatch.setattr("studies.watch.REFERENCE", 200)
    found = watched(WORLDS["trips"], seed=1, quiet=1, shifted=5)
    assert isinstance(found, Watched)
    assert not found.is_false
    assert found.after > found.before
    assert 0 < found.any_alarm <= 250


def test_simulated_watches_rarely_alarm_and_find_a_doubled_rate(monkeypatch):
    monkeypatch.setattr("studies.watch.WINDOWS", 20)
    assert simulated_false(runs=10) <= 0.1
    documents = simulated_delay(5, 0.6, runs=5)
    assert (documents > 0).all()
    assert documents.max() <= 1500


def test_delays_of_watches_that_found_nothing_are_not_averaged():
    assert delay_cells(np.array([100, 0, 300])) == ["2 of 3 found", "", ""]
    assert delay_cells(np.array([100, 200, 300])) == ["200", "280", "300"]

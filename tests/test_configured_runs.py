"""Kept work: an adaptation after an audit in the same folder does nothing twice, and gives the same bytes."""

import csv
import stat
from dataclasses import replace

import numpy as np
import pytest

from oddshift.app import configured_runs
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import (
    KEPT,
    NOTE,
    WORK,
    keep_work,
    lay_out_checkpoints,
    prepare_configured,
    read_kept,
    run_adapt,
    run_audit,
)
from oddshift.app.resources import Means
from oddshift.app.run import Run, adapt_task
from oddshift.app.run_folder import inputs_of
from oddshift.attackers import ATTACKERS, UNTRAINED, FitOptions
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import CODECS
from oddshift.data.embedded import people
from worlds import ring, with_words

TEXT = """
[data]
kind = "text"
path = "texts.csv"
text = ["text"]
vectors = "from-text"
tokeniser = "plain"
is_public = true
[[data.detectors]]
kind = "capitals"
"""

TABLE = """
[data]
kind = "table"
path = "table.csv"
numeric = ["age", "pay"]
"""

PEOPLE = """
[data]
kind = "people"
documents = 300
"""

ASKED = """
[audit]
epsilon = 3.0
delta = 0.6
attackers = ["plugin", "counts"]
[adapt]
grid = [0.5, 1.0]
rounds = 1
documents = 60
"""


@pytest.fixture
def home(tmp_path):
    with (tmp_path / "texts.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in people(500).texts)])
    rng = np.random.default_rng(0)
    with (tmp_path / "table.csv").open("w", newline="") as stream:
        rows = zip(rng.integers(20, 30, 300).tolist(), rng.integers(1, 9, 300).tolist(), strict=True)
        csv.writer(stream).writerows([["age", "pay"], *rows])
    return tmp_path


def files(folder):
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }


def adapted(folder):
    """The bytes of everything that an adaptation writes."""
    found = files(folder)
    return {name: found[name] for name in found if "adapt" in name or name in {"policy.json", "vocabulary.npz"}}


def refuse(*args, **named):
    raise AssertionError("this was done a second time")


def forbid_work(monkeypatch, *, encoding=True):
    """Reading, fitting a codec, encoding (unless it is allowed) and fitting an attacker all fail from now on."""
    monkeypatch.setattr(configured_runs, "read_dataset", refuse)
    monkeypatch.setattr(configured_runs, "prepare", refuse)
    for codec in CODECS.values():
        monkeypatch.setattr(codec, "fit", refuse)
        if encoding:
            monkeypatch.setattr(codec, "encode", refuse)
    for name in ATTACKERS:
        monkeypatch.setitem(ATTACKERS._own, name, refuse)


@pytest.mark.parametrize(
    ("data", "attackers"),
    [(TEXT, '["plugin", "counts"]'), (TABLE, '["plugin", "counts"]'), (PEOPLE, '["plugin"]')],
    ids=["text", "table", "people"],
)
def test_an_adaptation_after_an_audit_does_nothing_again_and_gives_the_same_bytes(data, attackers, home, monkeypatch):
    text = data + ASKED.replace('["plugin", "counts"]', attackers)
    run_adapt(text, home / "alone", home=home)
    run_audit(text, home / "run", home=home)
    assert (home / "run" / KEPT / WORK).is_file()
    forbid_work(monkeypatch, encoding=data != TABLE)  # the risks of a table are measured on a release of its cells
    run_adapt(text, home / "run", home=home)
    assert adapted(home / "run") == adapted(home / "alone")
    assert "adaptation.npz" in adapted(home / "run")
    assert not (home / "run" / KEPT).exists()


def test_a_finished_network_takes_no_further_epoch(home, monkeypatch):
    training = pytest.importorskip("torch") and pytest.importorskip("oddshift.attackers.reconstruction")
    asked = ASKED.replace('["plugin", "counts"]', '["paper-rnn"]\nepochs = 1').replace(
        "[adapt]", "[adapt]\nretrain = true"
    )
    run_audit(PEOPLE + asked, home / "run")
    monkeypatch.setattr(training.PairLearner, "epoch", refuse)
    config = parse_config(PEOPLE + asked, "x")
    lay_out_checkpoints(home / "run", home)
    adapt_task(prepare_configured(config), config.mechanism, config.adapt, means=Means(folder=home))
    with pytest.raises(AssertionError, match="second time"):
        adapt_task(prepare_configured(config), config.mechanism, config.adapt, means=Means(folder=home / "run"))


def test_two_networks_of_an_audit_are_no_obstacle_to_retraining_each(home):
    pytest.importorskip("torch")
    asked = ASKED.replace('["plugin", "counts"]', '["paper-rnn", "paper-lstm"]\nepochs = 1')
    config = parse_config(PEOPLE + asked.replace("[adapt]", "[adapt]\nretrain = true"), "x")
    prepared, means = prepare_configured(config), Means(folder=home)
    Run(prepared, config.mechanism, means).audit(replace(config.audit, delta=None))
    made = adapt_task(prepared, config.mechanism, config.adapt, means=means)  # each begins by itself, with its own seed
    assert [attacker.name for attacker in made.attackers] == ["paper-rnn", "paper-lstm"]


def test_a_network_for_all_scales_is_another_one_than_that_of_the_audit(home):
    pytest.importorskip("torch")
    asked = ASKED.replace('["plugin", "counts"]', '["paper-lstm"]\nepochs = 1')
    config = parse_config(PEOPLE + asked, "x")
    prepared = prepare_configured(config)
    Run(prepared, config.mechanism, Means(folder=home)).audit(config.audit)
    alone = {file.name for file in home.glob("*.safetensors")}
    made = adapt_task(prepared, config.mechanism, config.adapt, means=Means(folder=home))  # refused if they met
    assert [attacker.name for attacker in made.attackers] == ["paper-lstm"]
    assert len({file.name for file in home.glob("*.safetensors")} - alone) == len(alone) == 1


def test_a_network_for_scale_one_alone_is_that_of_the_audit(home, monkeypatch):
    learner = pytest.importorskip("torch") and pytest.importorskip("oddshift.attackers.reconstruction")
    asked = ASKED.replace('["plugin", "counts"]', '["paper-lstm"]\nepochs = 1')
    asked = asked.replace("grid = [0.5, 1.0]", "grid = [1.0]")
    config = parse_config(PEOPLE + asked, "x")
    prepared = prepare_configured(config)
    means = Means(folder=home)
    Run(prepared, config.mechanism, means).audit(config.audit)
    monkeypatch.setattr(learner.PairLearner, "epoch", refuse)
    made = adapt_task(prepared, config.mechanism, config.adapt, means=Means(folder=home))
    assert made.attackers[0].fingerprint == next(iter(means.fits.values())).fingerprint


def test_an_adaptation_that_continues_does_not_train_again(home, monkeypatch):
    learner = pytest.importorskip("torch") and pytest.importorskip("oddshift.attackers.reconstruction")
    asked = ASKED.replace('["plugin", "counts"]', '["paper-lstm"]\nepochs = 1')
    asked = asked.replace("grid = [0.5, 1.0]", "grid = [1.0]")  # no range of scales, which would be checked anew
    config = parse_config(PEOPLE + asked, "x")
    prepared = prepare_configured(config)
    first = adapt_task(prepared, config.mechanism, config.adapt, means=Means(folder=home))
    monkeypatch.setattr(learner.PairLearner, "epoch", refuse)
    again = adapt_task(prepared, config.mechanism, config.adapt, means=Means(folder=home))
    assert again.attackers[0].fingerprint == first.attackers[0].fingerprint


def test_only_its_owner_may_read_what_is_kept_and_a_note_says_what_it_is(home):
    run_audit(TEXT + ASKED, home / "run", home=home)
    kept = home / "run" / KEPT
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert {file.name for file in kept.iterdir()} == {NOTE, WORK}
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()} == {0o600}
    assert "SECRETS" in (kept / NOTE).read_text()


def test_nothing_is_kept_when_that_is_said_or_when_nothing_could_be_adapted(home):
    run_audit(TEXT + ASKED, home / "run", home=home, keep=False)
    run_audit(TEXT + '[audit]\nepsilon = 3.0\nattackers = ["plugin"]\n', home / "without", home=home)
    assert not (home / "run" / KEPT).exists()
    assert not (home / "without" / KEPT).exists()


def kept_by(text, home):
    config = parse_config(text, "x", home)
    prepared = prepare_configured(config)
    (home / "unfinished").mkdir(exist_ok=True)
    keep_work(home / "run", inputs_of(config), prepared, {}, home / "unfinished")
    return config


@pytest.mark.parametrize(
    ("old", "new"), [("epsilon = 3.0", "epsilon = 2.0"), ("delta = 0.6", "delta = 0.6\nseed = 1"), ("rounds = 1", "")]
)
def test_another_configuration_or_seed_ignores_it(old, new, home):
    config = kept_by(TEXT + ASKED, home)
    assert read_kept(home / "run", inputs_of(config)) is not None
    other = parse_config((TEXT + ASKED).replace(old, new), "x", home)
    assert read_kept(home / "run", inputs_of(other)) is None


def test_other_data_and_other_versions_ignore_it(home, monkeypatch):
    config = kept_by(TEXT + ASKED, home)
    with (home / "texts.csv").open("a") as stream:
        stream.write("One more about Ann.\n")
    assert read_kept(home / "run", inputs_of(config)) is None
    config = kept_by(TEXT + ASKED, home)
    assert read_kept(home / "run", inputs_of(config)) is not None
    monkeypatch.setattr("oddshift.app.configured_runs.versions", lambda: {"oddshift": "another"})
    assert read_kept(home / "run", inputs_of(config)) is None


def test_a_damaged_file_or_an_open_folder_is_ignored(home):
    config = kept_by(TEXT + ASKED, home)
    kept = home / "run" / KEPT
    whole = (kept / WORK).read_bytes()
    (kept / WORK).write_bytes(whole[:-20])
    assert read_kept(home / "run", inputs_of(config)) is None
    (kept / WORK).write_bytes(whole)
    kept.chmod(0o755)
    assert read_kept(home / "run", inputs_of(config)) is None
    kept.chmod(0o700)
    assert read_kept(home / "run", inputs_of(config)) is not None
    kept.rename(home / "elsewhere")
    kept.symlink_to(home / "elsewhere")
    assert read_kept(home / "run", inputs_of(config)) is None


def test_the_prepared_data_come_back_whole(home):
    config = kept_by(TEXT + ASKED, home)
    fresh, found = prepare_configured(config), read_kept(home / "run", inputs_of(config)).prepared
    assert fingerprint(found.split) == fingerprint(fresh.split)
    assert (found.detector, found.kind, found.notes) == (fresh.detector, fresh.kind, fresh.notes)
    assert fingerprint(found.codec.to_policy()) == fingerprint(fresh.codec.to_policy())
    assert found.encoded is None  # the texts themselves are never kept


@pytest.mark.parametrize("name", sorted(UNTRAINED))
def test_no_option_changes_the_fit_of_an_untrained_attacker(name):
    known = with_words(ring(documents=40)).known
    options = FitOptions(epochs=1, width=8, max_seconds=1.0, scale_range=(0.5, 1.0))
    plain, other = (ATTACKERS[name](known, np.random.default_rng(3), o) for o in (None, options))
    assert fingerprint(plain) == fingerprint(other)

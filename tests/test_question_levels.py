"""Questions to the same data: the level is spent over them, and asking again changes nothing."""

import math
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oddshift as od
from oddshift.app import configured_runs
from oddshift.app.configured_runs import run_adapt, run_audit
from oddshift.app.resources import QUESTIONS, QuestionLevel, level_of_question
from oddshift.base.errors import InvalidInput
from oddshift.model.records import Records
from oddshift.model.space import Space

ALPHA = 0.05


def ask(folder, question, data="data", alpha=ALPHA):
    return level_of_question(folder / "run", data, question, alpha)


def test_the_first_question_has_the_whole_level(tmp_path):
    assert ask(tmp_path, "a") == QuestionLevel(1, ALPHA, ALPHA)
    assert ask(tmp_path, "a").note == ""


def test_further_questions_are_answered_at_smaller_levels(tmp_path):
    found = [ask(tmp_path, name) for name in "abcd"]
    assert [one.number for one in found] == [1, 2, 3, 4]
    assert [one.level for one in found[1:]] == pytest.approx([6 * ALPHA / (math.pi * r) ** 2 for r in (2, 3, 4)])
    assert found[-1].total == pytest.approx(sum(one.level for one in found))
    assert found[-1].total < 1.4 * ALPHA
    assert [ask(tmp_path, name) for name in "abcd"] == found  # asked again, each keeps its number and level


def test_other_data_start_anew(tmp_path):
    ask(tmp_path, "a")
    assert ask(tmp_path, "a", data="other").number == 1
    assert ask(tmp_path, "b", data="other").number == 2


def test_run_folders_of_one_folder_count_together(tmp_path):
    assert level_of_question(tmp_path / "one", "data", "a", ALPHA).number == 1
    assert level_of_question(tmp_path / "two", "data", "b", ALPHA).number == 2
    (tmp_path / "elsewhere").mkdir()
    assert level_of_question(tmp_path / "elsewhere" / "run", "data", "c", ALPHA).number == 1


def test_the_file_is_for_its_owner_alone(tmp_path):
    ask(tmp_path, "a")
    assert stat.S_IMODE((tmp_path / QUESTIONS).stat().st_mode) == 0o600


def test_many_runs_at_once_get_distinct_numbers(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: ask(tmp_path, str(name)), range(16)))
    assert sorted(one.number for one in found) == list(range(1, 17))


def test_a_damaged_or_linked_file_is_refused(tmp_path):
    (tmp_path / QUESTIONS).write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(InvalidInput, match="questions to the same data are counted there"):
        ask(tmp_path, "a")
    (tmp_path / QUESTIONS).unlink()
    (tmp_path / QUESTIONS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="cannot be used"):
        ask(tmp_path, "a")
    assert not (tmp_path / "elsewhere").exists()


TEXT = """[data]
kind = "table"
path = "{path}"
numeric = ["age"]
[mechanism]
epsilon = {epsilon}
[audit]
delta = {delta}
seed = {seed}
attackers = ["plugin"]
worst_positions = 5
"""


class Answered(InvalidInput):
    """Raised instead of an answer: what a question was asked with."""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A function that asks one table a question, and gives the level and the notes that it would be answered with."""
    path = tmp_path / "ages.csv"
    path.write_text("age\n" + "".join(f"{20 + i % 30}\n" for i in range(120)))

    def answer(run, settings, **_):
        raise Answered(settings.alpha, run.prepared.notes)

    monkeypatch.setattr(configured_runs.Run, "audit", answer)
    monkeypatch.setattr(configured_runs.Run, "adapt", answer)

    def ask(name, run=run_audit, *, epsilon=1.0, delta=0.3, seed=0):
        with pytest.raises(Answered) as found:
            run(TEXT.format(path=path, epsilon=epsilon, delta=delta, seed=seed), tmp_path / name)
        return found.value.args

    return ask


def test_another_delta_epsilon_or_seed_is_another_question(asked, tmp_path):
    alpha, notes = asked("one")
    assert alpha == ALPHA
    assert not any("question" in line for line in notes)
    for number, changes in enumerate(({"delta": 0.2}, {"epsilon": 2.0}, {"seed": 1}), start=2):
        alpha, notes = asked(f"run-{number}", **changes)
        assert alpha == pytest.approx(6 * ALPHA / (math.pi * number) ** 2)
        assert any(f"question {number} to the same data" in line for line in notes)
    assert asked("one-again")[0] == ALPHA
    with sqlite3.connect(tmp_path / QUESTIONS) as db:
        assert db.execute("SELECT count(*) FROM question").fetchone()[0] == 4
    db.close()


def test_the_adaptation_of_a_configuration_belongs_to_its_question(asked):
    assert asked("one", delta=0.2)[0] == ALPHA
    level = asked("two")[0]
    assert asked("two", run_adapt)[0] == level < ALPHA


def test_the_embedded_corpus_may_be_asked_anything(tmp_path, monkeypatch):
    def answer(run, settings, **_):
        raise Answered(settings.alpha)

    monkeypatch.setattr(configured_runs.Run, "audit", answer)
    for delta in (0.1, 0.2):
        text = f'[data]\nkind = "people"\ndocuments = 30\n[mechanism]\nepsilon = 1.0\n[audit]\ndelta = {delta}\n'
        with pytest.raises(Answered) as found:
            run_audit(text, tmp_path / str(delta))
        assert found.value.args == (ALPHA,)
    assert not (tmp_path / QUESTIONS).exists()


def test_questions_from_python_are_counted_where_that_is_asked_for(tmp_path):
    """Three looks at one corpus: each further one at a smaller level, and said so; without a folder none is counted."""
    values = np.random.default_rng(0).integers(0, 3, 600)
    pairs = Records.from_documents(Space([[0.0], [1.0], [2.0]]), [[k, k] for k in values])

    def look(delta, **counted):
        return od.audit(pairs, epsilon=1.0, delta=delta, attackers=["plugin"], **counted)

    found = [look(delta, counted_in=tmp_path / "runs") for delta in (0.1, 0.2, 0.3)]
    levels = [run.result.settings.alpha for run in found]
    assert levels == pytest.approx([ALPHA, *(6 * ALPHA / (math.pi * r) ** 2 for r in (2, 3))])
    assert any("question 3 to the same data" in note for note in found[-1].result.warnings)
    assert look(0.2, counted_in=tmp_path / "runs").result.settings.alpha == levels[1]  # asked again
    assert f"alpha = {levels[1]}" not in found[1].configuration
    assert look(0.4).result.settings.alpha == ALPHA
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.suffix == ".db"] == [QUESTIONS]

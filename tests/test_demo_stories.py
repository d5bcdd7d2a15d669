"""What the demo tells, and what commands print."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from oddshift.app.commands.terminal import NOT_SHOWN, console_for, next_step, progress_bar, waiting
from oddshift.app.demo import BUDGET, LEVEL, RELEASES, story, tell, tell_belief, tell_sample
from oddshift.audit.beliefs import Belief, Candidate
from oddshift.bounds import clopper_pearson_lower
from oddshift.data.codecs.coverage import FoundPoints, found_in_records, nearest_alternative
from oddshift.data.codecs.text.passages import Passage, Piece
from oddshift.data.detectors import PlantedRecall
from oddshift.mechanisms import Channel, Exponential, Mask
from oddshift.model.records import Records
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


def printed(tell_it, *values):
    """What is written to a console that is no terminal."""
    stream = io.StringIO()
    tell_it(*values, Console(file=stream, width=200))
    return stream.getvalue()


@pytest.fixture(scope="module")
def toy():
    return story(0)


def test_the_toy_keeps_its_promise_alone_and_breaks_it_together(toy):
    assert toy.single == pytest.approx(np.log(0.72 / 0.28))
    assert toy.single <= BUDGET < toy.joint
    assert toy.joint == pytest.approx(1.845681, abs=1e-6)
    assert (toy.prior, toy.budget) == (0.5, BUDGET)


def test_what_was_witnessed_lies_below_the_truth_and_every_proven_bound_above(toy):
    assert BUDGET < toy.witnessed <= toy.joint
    assert all(bound >= toy.joint - 1e-9 for bound in toy.upper.values())
    assert toy.guesses <= RELEASES
    share = clopper_pearson_lower(toy.correct, toy.guesses, LEVEL)
    assert toy.witnessed == pytest.approx(np.log(share / (1 - share)))


def test_the_belief_of_the_toy_is_bayes_rule(toy):
    """Pr[x1 = 0 | y = (0, 1)] by hand."""
    table, channel = np.array([[0.01, 0.49], [0.49, 0.01]]), np.array([[0.72, 0.28], [0.28, 0.72]])
    joint = (table * channel[:, [0]] * channel[None, :, 1]).sum(axis=1)
    assert toy.posterior == pytest.approx(joint[0] / joint.sum())


def test_the_seed_decides_the_guesses_and_nothing_else(toy):
    again, other = story(0), story(1)
    assert again == toy
    assert replace(other, witnessed=toy.witnessed, guesses=toy.guesses, correct=toy.correct) == toy


def test_the_story_is_told_with_its_own_numbers(toy):
    said = printed(tell, toy)
    for number in (toy.single, toy.joint, toy.masked, toy.witnessed, min(toy.upper.values())):
        assert f"{number:.4f}" in said
    assert f"{toy.correct} of {toy.guesses} guesses" in said
    assert json.loads(json.dumps(toy.as_json()))["joint"] == toy.joint


def test_a_belief_is_told_with_its_truth_and_its_chances():
    rows = tuple(Candidate(name=f"w{k + 1}", prior=0.1, alone=0.2, together=0.5) for k in range(6))
    said = printed(tell_belief, Belief(attacker="exact", tier="PII", documents=3, positions=9, candidates=rows,
                                       remaining=2, truth=1, other=0, leakage=2.25, distance=1.0))  # fmt: skip
    for part in ("'w2', a PII word", "10.0%", "20.0%", "50.0%"):
        assert part in said


def test_texts_of_a_sample_are_never_read_as_markup():
    before = (Piece("[bold]Ann[/bold]", "PERSON"), Piece(" met", ""))
    said = printed(tell_sample, [Passage(before, (Piece("[red]Eve[/red]", "PERSON"), Piece(" met", "")))])
    assert "before: [bold]Ann[/bold] met" in said
    assert "after:  [red]Eve[/red] met" in said
    assert "kinds:  PERSON" in said


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("report", "run"), "oddshift report run"),
        (("audit", "my file.toml"), "oddshift audit 'my file.toml'"),
        (("audit", "a; rm -rf ~"), "oddshift audit 'a; rm -rf ~'"),
        (("adapt", 3), "oddshift adapt 3"),
    ],
)
def test_the_next_command_can_be_pasted_whatever_the_names(words, line):
    assert next_step(*words) == line


def test_a_console_writes_nothing_next_to_json_and_reads_brackets_as_text(capsys):
    console_for(as_json=True).print("hidden")
    console_for(as_json=False).print("[red]tier[/red]")
    assert capsys.readouterr().out == "[red]tier[/red]\n"
    assert console_for(as_json=False).width == 120
    assert NOT_SHOWN == 2


def test_away_from_a_terminal_there_is_neither_a_bar_nor_a_spinner(capsys):
    stream = io.StringIO()
    with progress_bar(Console(file=stream), "adapting") as show, waiting("reading"):
        show("scales", 1, 2)
    captured = capsys.readouterr()
    assert stream.getvalue() == captured.out == captured.err == ""  # what is soon over is not worth a line


def test_on_a_terminal_a_bar_is_drawn_and_taken_away_again(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    with progress_bar(Console(file=stream, force_terminal=True, width=100), "adapting") as show:
        show("scales", 1, 2)
    assert "scales" in stream.getvalue()


SPACE = Space(np.arange(4.0)[:, None])


def points_found(times, marked=(0, 0), left=(0, 0), recall=None):
    return FoundPoints(("PERSON", "DATE"), np.asarray(times), marked, left, recall, 1.0)


def test_what_was_found_adds_up_by_kind():
    found = points_found([[2, 0, 0, 1], [0, 5, 0, 0]], marked=(4, 0), left=(0, 1))
    fate = found.fate(Mask(SPACE), np.random.default_rng(0))
    assert [(k.name, k.found, k.perturbed, k.marked, k.left, k.unchanged) for k in fate.kinds] == [
        ("PERSON", 7, 0, 7, 0, 0),
        ("DATE", 6, 0, 5, 1, 0),
    ]
    fate = found.fate(Exponential(SPACE, 1.0), np.random.default_rng(0))
    assert [(k.name, k.found, k.perturbed, k.marked, k.left) for k in fate.kinds] == [
        ("PERSON", 7, 3, 4, 0),
        ("DATE", 6, 5, 0, 1),
    ]
    assert fate.recall is None


def test_kinds_without_a_word_are_left_out():
    fate = points_found([[0, 0, 0, 0], [0, 5, 0, 0]]).fate(Mask(SPACE), np.random.default_rng(0))
    assert [kind.name for kind in fate.kinds] == ["DATE"]


def test_unchanged_words_are_those_that_a_draw_leaves_alone():
    identity = Channel(SPACE, np.where(np.eye(4) > 0, 0.0, -np.inf), outputs=SPACE)
    found = points_found([[2, 1, 0, 1], [0, 5, 0, 0]])
    assert found.fate(identity, np.random.default_rng(0)).total.unchanged == 9
    shifted = Channel(SPACE, np.where(np.roll(np.eye(4), 1, axis=1) > 0, 0.0, -np.inf), outputs=SPACE)
    assert found.fate(shifted, np.random.default_rng(0)).total.unchanged == 0


def test_outputs_that_are_not_the_points_cannot_be_called_unchanged():
    mechanism = Exponential(SPACE, 1.0, outputs=Space(np.arange(3.0)[:, None]))
    assert points_found([[1, 0, 0, 0], [0, 1, 0, 0]]).fate(mechanism, np.random.default_rng(0)) is None


def test_the_recall_of_planted_names_is_an_interval():
    fate = points_found([[1, 0, 0, 0], [0, 0, 0, 0]], recall=PlantedRecall(found=18, planted=20)).fate(
        Mask(SPACE), np.random.default_rng(0)
    )
    low, high = fate.recall
    assert (fate.planted, fate.recalled) == (20, 18)
    assert low < 0.9 < high


def test_counts_hold_no_point_in_their_representation():
    assert repr(points_found([[2, 0, 0, 1], [0, 5, 0, 0]])) == "FoundPoints(2 kinds, 8 secrets with a point)"


def test_records_are_counted_by_their_tiers_in_all_three_parts():
    tiers = Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    records = Records.from_documents(SPACE, [[0, 2], [1], [3, 3]] * 10)
    found = found_in_records(records.split(rng=np.random.default_rng(0)), tiers)
    assert found.times.sum(axis=1).tolist() == [20, 30]
    assert found.nearest == 1.0


def test_the_nearest_alternative_of_every_tier_is_the_largest_median():
    space = Space([[0.0], [1.0], [10.0], [15.0]])
    tiers = Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    assert nearest_alternative(space, tiers, np.random.default_rng(0), every_tier=True) == 5.0
    assert nearest_alternative(space, tiers, np.random.default_rng(0)) == 3.0  # the median of 1, 1, 5, 5

"""The study of known worlds: what counts as a wrong certificate, in which order cells come, and what a page says."""

from itertools import islice

import numpy as np
import pytest
from studies import worlds, worlds_adapt
from studies.three_laws import THREES
from studies.world_laws import WORLDS

from oddshift.attackers.threes import Ties, beyond_pairs
from oddshift.base.storage import save


def outcome(below="certified", sizes=(0.019, 0.02, 0.02), above="undecided"):
    return worlds.Outcome(true=0.025, found=0.02, exact=0.025, own_score=3.0, found_score=2.5, exact_score=2.4,
                          upper=0.021, below=below, above=above, sizes=sizes)  # fmt: skip


@pytest.mark.parametrize(
    ("below", "sizes", "wrong"),
    [
        ("certified", (0.019, 0.02, 0.02), True),
        ("certified", (0.01, 0.02, 0.02), False),  # it grew by half for each doubling
        ("certified", (0.01, 0.015, 0.02), False),  # it would find more with twice as many documents
        ("certified", (0.01, 0.03, 0.02), False),  # it found more with half of them
        ("undecided", (), False),
        ("violated", (), False),
    ],
)
def test_a_certificate_below_the_truth_counts_unless_the_attacker_still_learns(below, sizes, wrong):
    assert outcome(below, sizes).certifies(0.021) == wrong


def test_cells_are_balanced_over_worlds_and_sizes():
    first = list(islice(worlds.cells(100), len(WORLDS) * len(worlds.SIZES)))
    assert {task[:2] for task in first} == {(name, size) for name in WORLDS for size in worlds.SIZES}
    assert {seed for _, _, seed in first} == {0}


def test_seeds_take_the_sets_of_parameters_in_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(worlds, "HOME", tmp_path)
    monkeypatch.setattr(worlds, "exact_rate", lambda world, mechanism: float(world.space.points[0, 0]))
    found = [worlds.world_of("copies", seed) for seed in range(worlds.PARAMETERS + 1)]
    assert len({rate for _, rate in found}) == worlds.PARAMETERS
    assert found[0][1] == found[-1][1] == found[0][0].space.points[0, 0]


def test_a_page_counts_what_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(worlds, "HOME", tmp_path)
    save(worlds.file_of("audit", "copies", 1_000, 0), outcome())
    save(worlds.file_of("audit", "copies", 1_000, 7), outcome("violated", (), "violated"))
    ((name, size, done),) = worlds.finished("audit", worlds.Outcome, 10)
    row = worlds.row(name, size, done)
    assert row[:5] == ["copies", "1,000", "2.50%", "0.80 (0.80-0.80)", "0.80"]
    assert row[-3:] == ["1 of 2", "1 of 2", "1 of 2"]
    assert "2 audits in all: 1 wrongly certified, 1 wrongly violated" in worlds.summary([(name, size, done)])
    choices = [
        worlds_adapt.Choice(0.0125, 0.5, 0.9, 4.0),
        worlds_adapt.Choice(0.0125, 0.75, 1.1, 6.0),
        worlds_adapt.Choice(0.02, None, None, 5.0),
    ]
    line = worlds_adapt.row("copies", 1_000, choices)
    assert line[2:] == ["1.25% to 2.00%", "2 of 3", "0.62", "1.00 (1.10)", "1 of 2", "5"]


@pytest.mark.parametrize("name", ["sum", "check digit", "code", "parity"])
def test_two_places_decide_a_third_and_no_pair_shows_it(name):
    world = THREES[name](1)
    (tree,) = world.law.trees.values()
    (three,) = ((c.place, *c.parents) for c in tree.cherries if len(c.parents) == 2)
    points = len(world.space)
    ties = Ties(world.draw(4_000, np.random.default_rng(0)), (points,) * len(tree.cherries))
    assert max(ties.dependence(three[k], (three[k - 1],)) for k in range(3)) < 0.01
    assert beyond_pairs(ties, *three) > 0.5

"""The study of other packages' mechanisms: what it computes itself, and a worker in this very environment."""

import sys
from pathlib import Path

import numpy as np
import pytest
from studies import wall, wall_points, wall_worker

import oddshift as od


def test_our_own_mechanisms_are_judged_as_they_are():
    verdict = {str(row[1]): row[5] for row in wall.ours()}
    assert verdict["exponential"] == verdict["the same on the path metric"] == "not shown"
    assert verdict["two secret tiers, each with its own scale"] == "**broken**"


def test_the_channel_of_tem_exceeds_its_claim_where_its_radius_cuts_and_keeps_it_where_it_does_not():
    assert wall.tem(od.Space(wall.WORDS), None) > 2 * wall.EPSILON
    near = od.Space(np.random.default_rng(0).normal(size=(30, 3)) * 0.3)
    assert wall.tem(near, None) <= wall.EPSILON


@pytest.mark.parametrize("latitude", [1.35, 39.9])
def test_places_lie_within_four_kilometres(latitude):
    there = od.Space(wall_points.places(latitude, 100.0), metric="haversine")
    assert there.distances[there.distances > 0].min() > 0.05
    assert there.distances.max() < 4.0


def test_a_worker_that_cannot_start_is_told():
    brick = wall.Brick("nothing", "mldp.NotThere", wall.LINE, 1.0)
    with wall.pipe(Path(sys.executable), brick) as ask, pytest.raises((RuntimeError, OSError)):
        ask(0, 3)


def test_what_was_not_had_is_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(wall, "BRICKS", (wall.Brick("nothing", "mldp.NotThere", wall.LINE, 1.0),))
    monkeypatch.setattr(wall, "environment", lambda folder, package: Path(sys.executable))
    rows, missing = wall.theirs(tmp_path)
    assert rows == []
    assert missing[0].startswith("nothing, mldp.NotThere: ")


def test_a_row_that_was_drawn_is_kept(tmp_path):
    (tmp_path / "row-03.json").write_text('["qif", "exponential"]')
    assert wall.kept(3, wall.Brick("nothing", "mldp.NotThere", wall.LINE, 1.0), tmp_path) == ["qif", "exponential"]


def test_a_stated_channel_is_judged_with_rows_that_sum_to_one():
    line = od.Space([[0.0], [1.0]])
    rows = np.array([[0.6, 0.4], [0.4, 0.6]]) * [[1.00001], [1.0]]
    assert wall.stated(line, lambda *_: rows.tolist()) == pytest.approx(np.log(1.5))


def test_draws_by_number_are_searched_in_the_channel_and_counted():
    """A stand-in whose channel is known and broken: what the worker would say is drawn from that channel here."""
    table = np.array([[0.9, 0.1], [0.001, 0.999]])
    rng = np.random.default_rng(0)
    brick = wall.Brick("nothing", "no", wall.LINE[:2], 1.0, channel=lambda space, epsilon: np.log(table))
    found, exact, draws = wall.judged(brick, lambda x, n: [f"w{y}" for y in rng.choice(2, n, p=table[x])])
    assert exact == pytest.approx(np.log(999 / 1) - np.log(10 / 9), abs=0.2)
    assert 4.0 < found.lower_bound < exact
    assert draws == 4 * wall.TERMS["confirm"]  # one pair has two events, and nothing is drawn to explore


def test_packages_have_workers():
    assert {brick.name.partition(".")[0] for brick in wall.BRICKS} == set(vars(wall_worker.PACKAGES))
    assert {brick.package for brick in wall.BRICKS} == set(wall.PACKAGES)
    assert len(wall.BRICKS) + 4 >= 8

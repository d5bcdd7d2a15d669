"""Adaptation without documents: projection, fronts, volumes and the order of a sequence, against obvious versions.

Where noise begins to pay: between a multiple that costs too much and one that does not, to a few per cent.
"""

import itertools

import numpy as np
import pytest

from oddshift.adapt import (
    Goals,
    ScaledOutcome,
    TierOutcome,
    front,
    grid_of,
    hypervolume,
    project,
    uniform_outcomes,
)
from oddshift.adapt.certification import sequence
from oddshift.adapt.evaluation import is_admissible
from oddshift.adapt.notes import MOST, STEPS, break_even


def made(scales, rate, loss, *, gain=1.0):
    """A point with one rate in both tiers."""
    tiers = tuple(
        TierOutcome(tier=name, rate=rate, rate_error=0.0, top1=0.5, top1_error=0.0, loss=loss)
        for name in ("PII", "PoII")
    )
    return ScaledOutcome(
        scales=scales,
        admissible=is_admissible(scales),
        tiers=tiers,
        loss=loss,
        plain_loss=loss,
        effective_outputs=10.0,
        gain=gain,
        gain_error=0.1,
    )


def random_points(count, seed):
    rng = np.random.default_rng(seed)
    return [made((0.1, 0.2 + 0.001 * k), *rng.random(2)) for k in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_the_projection_is_the_nearest_ordered_point_of_the_box(seed):
    rng = np.random.default_rng(seed)
    given = rng.uniform(-0.5, 1.5, 3)
    found = project(given, 0.1, 1.0)
    steps = np.linspace(0.1, 1.0, 91)
    ordered = np.array(list(itertools.combinations_with_replacement(steps, 3)))
    nearest = np.sqrt(((ordered - given) ** 2).sum(axis=1).min())
    assert is_admissible(found)
    assert found.min() >= 0.1
    assert found.max() <= 1.0
    assert np.linalg.norm(found - given) <= nearest + 1e-12


def test_the_grid_of_the_paper_has_one_hundred_points():
    grid = grid_of([k / 10 for k in range(1, 11)], 2)
    assert len(grid) == len(set(grid)) == 100
    assert sum(is_admissible(scales) for scales in grid) == 55


def test_one_scale_for_all_tiers_is_the_diagonal():
    points = [made(scales, 0.1, 0.1) for scales in grid_of((0.2, 0.1), 2)]
    assert [p.scales for p in uniform_outcomes(points)] == [(0.1, 0.1), (0.2, 0.2)]


@pytest.mark.parametrize("seed", range(5))
def test_the_front_holds_just_what_nothing_beats(seed):
    points = random_points(40, seed)
    beaten = [any(q.loss <= p.loss and q.rate <= p.rate and q is not p for q in points) for p in points]
    expected = {p.scales for p, lost in zip(points, beaten, strict=True) if not lost}
    found = front(points)
    assert {p.scales for p in found} == expected
    assert all(a.loss > b.loss for a, b in itertools.pairwise(found))


def test_inadmissible_scales_are_never_selected():
    daring = made((0.9, 0.3), 0.0, 0.0)
    kept = made((0.3, 0.9), 0.01, 0.2)
    assert front([daring, kept]) == (kept,)


@pytest.mark.parametrize("seed", range(5))
def test_the_hypervolume_is_the_share_of_the_box_that_is_beaten(seed):
    points = random_points(15, seed)
    sample = np.random.default_rng(1).random((20_000, 2)) * (0.9, 0.8)
    beaten = np.zeros(len(sample), dtype=bool)
    for p in points:
        beaten |= (sample[:, 0] > p.loss) & (sample[:, 1] > p.rate)
    assert hypervolume(points, (0.9, 0.8)) == pytest.approx(beaten.mean(), abs=0.015)


def test_noise_under_which_nothing_is_learned_comes_first_where_the_rest_may_fail():
    idle = [made((s, s), 0.0, 1.2 - s, gain=0.1) for s in (0.5, 0.7, 0.95)]
    keen = made((0.8, 0.8), 0.06, 0.4)  # more than half of delta: it may fail
    found = sequence([*idle, keen], Goals(0.1, {}))
    assert [p.scales[0] for p in found] == [0.5, 0.7, 0.8]  # and nothing with less noise than the one that learned


def test_a_sequence_begins_with_more_noise_than_the_front_where_nothing_exceeds():
    points = [made((0.1 * k, 0.1 * k), 0.0, 1.0 - 0.1 * k) for k in range(1, 10)]
    found = sequence(points, Goals(0.1, {}))
    assert [p.scales[0] for p in found] == pytest.approx([0.1, 0.4, 0.6, 0.9])
    assert found[-1] == points[-1]


@pytest.mark.parametrize("place", [1.01, 1.9, 2.0, 7.3, 60.0])
def test_the_place_is_found_from_above_to_a_few_per_cent(place):
    found = break_even(lambda multiple: place / multiple, 1.0)
    assert place < found < place * 2.0 ** (1.0 / 2**STEPS) * 1.001


def test_a_budget_that_pays_already_stays():
    assert break_even(lambda multiple: 0.2, 0.3) == 1.0


def test_what_never_pays_is_not_a_number():
    assert break_even(lambda multiple: 0.3, 0.3) is None
    assert break_even(lambda multiple: 2 * MOST / multiple, 1.0) is None


def test_few_losses_are_computed():
    asked = []
    break_even(lambda multiple: asked.append(multiple) or 5.0 / multiple, 1.0)
    assert len(asked) <= 2 + np.ceil(np.log2(5.0)) + STEPS

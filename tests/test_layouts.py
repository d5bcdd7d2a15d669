"""The paper's layout of triples: all pairs of some candidates for some observations, and how much its rate varies."""

from itertools import combinations

import numpy as np
import pytest

from oddshift.audit.layouts import drawn_layout, layout_rate, layout_shifts
from oddshift.audit.triples import POOL, exhaustive_rate, sampled_rate
from oddshift.base.errors import InvalidInput
from oddshift.model.space import Space


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    return Space(rng.normal(size=(12, 3))), rng.normal(size=(7, 12)) * 3


def test_leakages_are_those_of_every_pair(world):
    space, shift = world
    chosen = np.array([1, 4, 5, 9])
    layout = layout_shifts(shift[:, chosen], space, chosen)
    found = layout.leakages()
    slow = [
        abs(row[i] - row[j]) / np.linalg.norm(space.points[i] - space.points[j])
        for i, j in combinations(chosen, 2)
        for row in shift
    ]
    np.testing.assert_allclose(np.sort(found), np.sort(slow), rtol=1e-6)
    assert layout.triples == len(slow)
    assert layout.tails([]).mean == pytest.approx(np.mean(slow))
    assert layout.beyond([0.5, 1.0, 1e9]) == tuple(np.mean(np.array(slow) > limit) for limit in (0.5, 1.0, 1e9))
    with pytest.raises(InvalidInput, match="observations"):
        layout_shifts(shift, space, chosen)


def test_a_layout_of_everything_is_the_exhaustive_rate(world):
    space, shift = world
    found = layout_rate(shift, space, 1.0, 2, np.random.default_rng(1))
    assert found.mean == pytest.approx(exhaustive_rate(shift, space, 1.0))
    assert found.sd == 0.0


def test_layouts_draw_without_replacement_and_vary():
    rng = np.random.default_rng(2)
    seen, compared = drawn_layout(900, 700, rng)
    assert (len(np.unique(seen)), len(np.unique(compared))) == (569, 512)
    space = Space(rng.normal(size=(600, 2)))
    shift = rng.normal(size=(700, 600)) * rng.exponential(size=(700, 1))
    found = layout_rate(shift, space, 1.0, 3, rng)
    assert found.sd > 0
    assert found.mean == pytest.approx(exhaustive_rate(shift, space, 1.0), abs=6 * found.sd)


def test_all_triples_that_are_asked_for_are_looked_at(world, monkeypatch):
    space, shift = world
    asked = 3 * POOL * len(shift) + 5
    looked, real = [], np.count_nonzero

    def counting(flags):
        looked.append(len(flags))
        return real(flags)

    monkeypatch.setattr(np, "count_nonzero", counting)
    rate = sampled_rate(shift, space, 1.0, asked, np.random.default_rng(3))
    assert asked <= sum(looked) < asked + len(shift)
    assert rate == pytest.approx(exhaustive_rate(shift, space, 1.0), abs=0.01)

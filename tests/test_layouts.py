"""The paper's layout of triples: all pairs of some candidates for some observations, and how much its rate varies."""

from itertools import combinations

import numpy as np
import pytest
from studies.paper.layouts import drawn_layout, layout_shifts
from studies.triples import POOL, sampled_rate

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


def test_layouts_draw_without_replacement_and_vary():
    rng = np.random.default_rng(2)
    seen, compared = drawn_layout(900, 700, rng)
    assert (len(np.unique(seen)), len(np.unique(compared))) == (569, 512)


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
    gaps = np.abs(shift[:, :, None] - shift[:, None, :]) > space.distances
    assert rate == pytest.approx(gaps.sum() / (len(shift) * len(space) * (len(space) - 1)), abs=0.01)

"""Conformal ranks: uniform and independent under exchangeability, by enumeration of all orders."""

from itertools import permutations

import numpy as np
import pytest

from oddshift.bounds.betting import ShiftStream, conformal_ranks


class Middle:
    """Randomness that always says one half, so that ranks can be counted."""

    def random(self, n):
        return np.full(n, 0.5)


def test_every_order_of_exchangeable_values_gives_another_vector_of_ranks():
    """4! orders of four values, one earlier and three new: all 2·3·4 cells of the ranks, once each."""
    ranks = {tuple(conformal_ranks(order[1:], order[:1], Middle()).round(6)) for order in permutations((1.0, 2, 3, 4))}
    cells = [[(k + 0.5) / n for k in range(n)] for n in (2, 3, 4)]
    assert ranks == {(round(a, 6), round(b, 6), round(c, 6)) for a in cells[0] for b in cells[1] for c in cells[2]}


def test_ties_share_their_ranks_at_random():
    ranks = conformal_ranks(np.zeros(2000), np.zeros(10), np.random.default_rng(0))
    assert ranks.mean() == pytest.approx(0.5, abs=0.03)
    assert np.histogram(ranks, 4, (0, 1))[0].min() > 400


def test_each_value_is_compared_with_those_before_it():
    assert conformal_ranks([3.0, 2.0, 2.0], [1.0], Middle()).tolist() == pytest.approx([0.75, 0.5, 0.5])


def test_a_shift_is_found_and_no_shift_is_not():
    rng = np.random.default_rng(3)
    reference, same, moved = rng.normal(size=200), rng.normal(size=300), rng.normal(size=300) + 0.8
    start = ShiftStream(0.5, is_two_sided=True)
    assert not start.update(conformal_ranks(same, reference, rng)).reaches(0.05)
    assert start.update(conformal_ranks(moved, reference, rng)).reaches(0.001)
    assert start.update(conformal_ranks(-moved, reference, rng)).reaches(0.001)

"""Pairs that stand for all pairs: their paths against the dilation that they claim."""

import numpy as np
import pytest

from oddshift.mechanisms.optimal import greedy_spanner, not_implied, sparsest_needed
from oddshift.model.space import Space


def longest_detour(edges, distances):
    """The largest ratio between the shortest path along the edges (Floyd-Warshall) and the distance."""
    ways = np.where(edges, distances, np.inf)
    np.fill_diagonal(ways, 0.0)
    for stop in range(len(ways)):
        ways = np.minimum(ways, ways[:, stop, None] + ways[None, stop, :])
    apart = ~np.eye(len(ways), dtype=bool)
    return (ways[apart] / distances[apart]).max()


DISTANCES = Space(np.random.default_rng(0).random((30, 2))).distances
GRID = Space([[i, j] for i in range(6) for j in range(6)]).distances


def test_a_greedy_spanner_has_the_dilation_it_says():
    edges, stretch = greedy_spanner(DISTANCES, 1.4)
    assert longest_detour(edges, DISTANCES) == pytest.approx(stretch)
    assert stretch <= 1.4
    assert edges.sum() < 30 * 29 / 2


def test_a_spanner_that_reaches_its_limit_says_that_it_spans_nothing():
    assert greedy_spanner(DISTANCES, 1.4, limit=10).stretch == np.inf


def test_pairs_that_others_do_not_imply_keep_every_distance():
    edges = not_implied(GRID)
    assert longest_detour(edges, GRID) == pytest.approx(1.0, abs=1e-12)
    assert not edges[0, 2]  # the point between them lies on the way
    assert edges[0, 1]


@pytest.mark.parametrize("limit", [10_000, 400, 200, 80])
def test_the_finest_spanner_within_a_limit(limit):
    edges, stretch = sparsest_needed(GRID, limit)
    assert edges.sum() <= limit or stretch == 1.0
    assert (edges == edges.T).all()
    assert longest_detour(edges, GRID) == pytest.approx(stretch)


def test_fewer_edges_stretch_further_and_a_limit_below_a_tree_gives_a_tree():
    stretches = [sparsest_needed(GRID, limit).stretch for limit in (10_000, 400, 200)]
    assert stretches == sorted(stretches)
    assert stretches[0] == 1.0 < stretches[1]
    assert sparsest_needed(GRID, 4).edges.sum() == 2 * 35

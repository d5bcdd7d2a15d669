"""Pairs that are searched: hints first, near ones, and with a channel those of which draws can show most."""

import numpy as np

from oddshift.evidence.witness.mdp_events import PairTerms, candidate_pairs
from oddshift.model.space import Space

LINE = Space([[0.0], [1.0], [3.0], [7.0]])


def pairs(channel=None, wanted=3, hints=()):
    with np.errstate(divide="ignore"):
        logs = None if channel is None else np.log(channel)
    return candidate_pairs(LINE, hints, PairTerms(1.0, wanted, 1000, logs), np.random.default_rng(0))


def test_hints_come_first_and_count_beyond_what_is_wanted():
    found = pairs(hints=[(3, 0)])
    assert next(iter(found.items())) == ((3, 0), 7.0)
    assert len(found) == 4


def test_near_pairs_are_among_them_and_no_point_is_paired_with_itself():
    found = pairs()
    assert {(0, 1), (1, 0)} & set(found)
    assert all(a != b for a, b in found)


def test_a_channel_ranks_pairs_by_what_draws_can_show():
    """Points 2 and 3 differ without bound in an output that no thousand draws see, 0 and 1 in one that they do see."""
    channel = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.5, 0.5 - 1e-9, 1e-9], [0.5, 0.5, 0.0]])
    assert next(iter(pairs(channel))) in {(0, 1), (1, 0)}


def test_few_points_with_a_channel_give_no_pair_of_a_point_with_itself():
    found = pairs(np.full((4, 4), 0.25), wanted=40)
    assert len(found) == 6
    assert all(a != b and 0 < distance < np.inf for (a, b), distance in found.items())

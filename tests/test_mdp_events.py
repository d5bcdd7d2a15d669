"""Events that may show a violation between two points: chosen, counted and described as the definitions say.

Pairs that are searched: hints first, near ones, and with a channel those of which draws can show most.
"""

import math
from itertools import combinations

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.bounds import clopper_pearson_lower
from oddshift.evidence.witness.mdp_events import (
    FEATURES,
    CandidatePair,
    PairEvent,
    PairTerms,
    candidate_pairs,
    channel_event,
    drawn_events,
    promise,
    scores,
)
from oddshift.model.space import Space

SPACE = Space([[0.0, 0.0], [3.0, 4.0]])
PAIR = CandidatePair(0, 1, 5.0)


def test_a_pair_turned_twice_is_itself():
    pair = CandidatePair(2, 7, 1.5, 0.01)
    assert pair.turned == CandidatePair(7, 2, 1.5, 0.01)
    assert pair.turned.turned == pair


def test_hits_of_discrete_outputs_are_counted_one_by_one():
    event = PairEvent(PAIR, 1.0, outputs=frozenset({"red", "blue"}))
    assert event.hits(np.array(["red", "green", "red", "blue"]), SPACE) == 3
    assert event.hits(np.array(["green"]), SPACE) == 0
    assert event.text == "points 0 and 1, event: 2 outputs"


@pytest.mark.parametrize(
    ("feature", "expected"),
    [("closeness to the first point", [-0.0, -5.0]), ("nearness to the first point against the second", [5.0, -5.0])],
)
def test_scores_are_distances_to_the_two_points(feature, expected):
    np.testing.assert_allclose(scores(feature, SPACE.points, SPACE, PAIR), expected, atol=1e-12)


def test_scores_that_differ_in_their_last_bits_alone_are_alike_on_a_grain():
    close = np.array([[1.0, 0.0], [1.0 + 1e-13, 0.0]])
    for feature in FEATURES:
        bare = scores(feature, close, SPACE, PAIR)
        grained = scores(feature, close, SPACE, CandidatePair(0, 1, 5.0, grain=1e-6))
        assert bare[0] != bare[1]
        assert grained[0] == grained[1]


def test_hits_of_vectors_include_the_threshold_itself():
    event = PairEvent(PAIR, 1.0, feature="closeness to the first point", threshold=-5.0)
    assert event.hits(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]), SPACE) == 2
    assert "closeness to the first point of the output" in event.text


@pytest.mark.parametrize("confirm", [500, 5_000])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_set_of_outputs_promises_more_than_that_of_a_known_channel(seed, confirm):
    """The lemma of Neyman and Pearson, against all sets of outputs."""
    rng = np.random.default_rng(seed)
    rows = tuple(np.log(row) for row in rng.dirichlet(np.ones(6), size=2))
    found = channel_event(PAIR, rows, confirm)

    def worth(outputs):
        a, b = (np.exp(row)[list(outputs)].sum() for row in rows)
        low = a - 1.645 * math.sqrt(a / confirm) - 1.5 / confirm
        high = b + 1.645 * math.sqrt(b / confirm) + 3.0 / confirm
        return math.log(low / high) / PAIR.distance if low > 0 else -math.inf

    every = [worth(chosen) for size in range(1, 7) for chosen in combinations(range(6), size)]
    assert found.promise == pytest.approx(worth(sorted(found.outputs)))
    assert found.promise >= max(every) - 0.02


def test_an_output_that_only_one_point_gives_comes_first():
    with np.errstate(divide="ignore"):
        rows = (np.log([0.5, 0.5, 0.0]), np.log([0.0, 0.5, 0.5]))
    assert channel_event(PAIR, rows, 1_000).outputs == frozenset({0})


def test_a_promise_is_a_cautious_log_ratio():
    low = clopper_pearson_lower(300, 1_000, 0.05)
    high = (100 + 0.7 * math.sqrt(100)) / 1_000
    assert promise(300, 100, 1_000, 10_000) == pytest.approx(math.log(low / high))
    assert promise(300, 100, 1_000, 10_000) < math.log(3.0)
    assert promise(0, 0, 1_000, 10_000) == -math.inf


def test_an_event_that_the_other_point_never_showed_promises_no_more_than_confirming_draws_can_show():
    few, many = (promise(500, 0, 1_000, confirm) for confirm in (100, 100_000))
    assert few < many < math.inf
    assert few == pytest.approx(math.log(clopper_pearson_lower(500, 1_000, 0.05) / 0.04))


def test_the_event_of_discrete_draws_is_made_of_outputs_that_favour_the_first_point():
    rng = np.random.default_rng(0)
    arms = tuple(rng.choice(["x", "y", "z"], size=4_000, p=p) for p in ([0.7, 0.2, 0.1], [0.1, 0.2, 0.7]))
    (event,) = drawn_events(PAIR, arms, SPACE, 4_000)
    assert event.outputs == frozenset({"x"})
    assert 0.0 < event.promise * PAIR.distance < math.log(7.0)


def test_vectors_have_an_event_for_every_score_and_it_separates_the_arms():
    rng = np.random.default_rng(1)
    arms = tuple(point + rng.normal(size=(2_000, 2)) for point in SPACE.points)
    events = drawn_events(PAIR, arms, SPACE, 2_000)
    assert [event.feature for event in events] == list(FEATURES)
    for event in events:
        assert event.hits(arms[0], SPACE) > 10 * max(1, event.hits(arms[1], SPACE))
        assert event.promise > 0.0


def test_the_same_noise_at_both_points_promises_nothing():
    rng = np.random.default_rng(2)
    arms = tuple(rng.integers(0, 5, 4_000) for _ in range(2))
    (event,) = drawn_events(PAIR, arms, SPACE, 4_000)
    assert event.promise <= 0.02


def test_vectors_must_be_like_the_points():
    arms = (np.zeros((10, 3)), np.zeros((10, 3)))
    with pytest.raises(InvalidInput, match=r"outputs of shape \(3,\), expected vectors like the points"):
        drawn_events(PAIR, arms, SPACE, 100)


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

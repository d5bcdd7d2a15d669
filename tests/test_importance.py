"""Importance draws: rare violations are shown, correct mechanisms left alone, weights that cannot be right refused."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness import SearchSettings, plan_mdp, recheck, witness_mdp
from oddshift.evidence.witness.importance import (
    WeightedEvent,
    check_weights,
    weighted_counts,
    weighted_draws,
    weighted_event,
)
from oddshift.evidence.witness.mdp_events import CandidatePair
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.model.space import Space

POINTS, RARE = 12, 12
SPACE = Space.from_distances(1.0 - np.eye(POINTS))
TERMS = {"explore": 300, "confirm": 3000, "pairs": 6}


def channel(rare_from_three, rare_elsewhere):
    """Randomised response whose last output is rare, and rarer from all points but the third."""
    table = np.full((POINTS, POINTS + 1), 1.0) + np.eye(POINTS, POINTS + 1)
    table[:, RARE] = 0.0
    table /= table.sum(axis=1, keepdims=True)
    rare = np.where(np.arange(POINTS) == 3, rare_from_three, rare_elsewhere)
    table *= 1.0 - rare[:, None]
    table[:, RARE] = rare
    return table


def plain(table):
    sums = np.cumsum(table, axis=1)
    return lambda points, rng: np.minimum(np.searchsorted(sums[points[0]], rng.random(len(points))), RARE)


def tilted(table, share=0.5, spread=4.0):
    """Half of the draws favour the rare output, whose weight hangs on hidden noise too, as that of tilted noise does.

    The hidden part is 1/2 or `spread`, with mean 1, so the largest weight is known for each output.
    """

    def draw(points, rng):
        x, n = int(points[0]), len(points)
        law = (1 - share) * table[x]
        law[RARE] += share
        outputs = rng.choice(RARE + 1, size=n, p=law)
        hidden = np.where(rng.random(n) < 0.5 / (spread - 0.5), spread, 0.5)
        weight = np.log(table[x] / law)[outputs]
        hidden_on = np.where(outputs == RARE, np.log(hidden), 0.0)
        return outputs, weight + hidden_on, weight + np.where(outputs == RARE, np.log(spread), 0.0)

    return draw


def hunt(table, epsilon=1.0, seed=0, importance=None, **changes):
    rng = np.random.default_rng(seed)
    return witness_mdp(plain(table), SPACE, epsilon, importance=importance, rng=rng, **{**TERMS, **changes})


def test_hidden_weights_have_the_mean_of_the_mechanism():
    table = channel(1e-7, 1e-9)
    drawn = weighted_draws(tilted(table), 3, 200_000, np.random.default_rng(0))
    assert np.exp(drawn.log_weights[drawn.outputs == RARE]).sum() / 200_000 == pytest.approx(1e-7, rel=0.02)
    assert np.exp(drawn.log_weights).mean() == pytest.approx(1.0, abs=0.02)


def test_a_breaking_output_of_probability_one_in_ten_million_is_shown_by_importance_draws_alone():
    table = channel(1e-7, 1e-9)
    truth = true_epsilon(np.log(table), SPACE.distances)
    assert truth == pytest.approx(np.log(100))
    assert not hunt(table, hints=[(3, 5)], confirm=50_000).shown
    found = hunt(table, hints=[(3, 5)], importance=tilted(table))
    assert found.shown
    assert 0.8 * truth < found.lower_bound < truth
    assert found.event == "points 3 and 5, event: 1 outputs, by importance draws"
    recheck(found)


def test_the_sentence_says_what_the_weights_rest_on():
    found = hunt(channel(1e-7, 1e-9), hints=[(3, 5)], importance=tilted(channel(1e-7, 1e-9)))
    assert "importance draws in the event, distance 1)" in found.sentence
    assert found.sentence.endswith(
        "provided that importance weights and their largest values are right, for which the caller vouches."
    )
    assert "vouches" not in hunt(channel(1e-3, 1e-3)).sentence


def test_the_bound_exceeds_the_truth_in_few_runs_and_correct_mechanisms_are_never_accused():
    """Two hundred searches at a claim that is the truth, reached in the rare output alone."""
    table = channel(4e-7, 1e-7)
    truth = true_epsilon(np.log(table), SPACE.distances)
    terms = {"explore": 60, "confirm": 600, "pairs": 1, "hints": [(3, 5)]}
    found = [hunt(table, truth, seed, tilted(table), **terms) for seed in range(200)]
    assert sum(witness.lower_bound > truth for witness in found) <= 10
    assert not any(witness.shown for witness in found)
    assert np.median([witness.lower_bound for witness in found]) > 0.5  # they see the rare output: alone it shows


def test_the_largest_weight_must_be_known_given_the_second_point_only():
    """Given a a heavy weight may be clipped; given b half of the mass sits in weights that are hardly ever drawn."""
    pair = CandidatePair(0, 1, 1.0)
    event = WeightedEvent(pair, 1.0, frozenset([7]), np.log(1e-3), np.log(1e-2))
    outputs = np.array([7, 7, 0])
    draws = weighted_draws(
        lambda points, rng: (outputs, np.log([1e-2, 1e-4, 1.0]), np.log([1e-2, 1e-2, 1.0])), 0, 3, None
    )
    given_a, given_b = (weighted_counts(draws, event, is_first=first) for first in (True, False))
    assert given_a.sum() == given_b.sum() == 3
    assert given_a[:2].tolist() == [1, 1]  # the weight 1e-2 is clipped to 1e-3
    assert given_b[:2].tolist() == [1, 1]  # the weight 1e-2 is the largest declared
    with pytest.raises(InvalidInput, match=r"log_most is -4.60517 for an output of an event where it was at most -6.9"):
        weighted_counts(draws, replace(event, log_most=np.log(1e-3)), is_first=False)


def test_an_output_without_a_declared_largest_weight_given_b_is_left_out():
    rng = np.random.default_rng(0)

    def arm(values):
        return weighted_draws(lambda points, _: (rng.choice(values, 400), np.zeros(400), np.zeros(400)), 0, 400, rng)

    pair = CandidatePair(0, 1, 1.0)
    assert weighted_event(pair, (arm([1, 1, 1, 2, 3]), arm([1, 2, 2, 2])), 1000).outputs == {1}
    assert weighted_event(pair, (arm([3]), arm([1])), 1000).promise == -np.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o, w, m: (o, w), "expected .outputs, log_weights, log_most."),
        (lambda o, w, m: [o, w, m], "expected .outputs, log_weights, log_most."),
        (lambda o, w, m: (o, w * np.nan, m), "log_weights has NaN"),
        (lambda o, w, m: (o, np.where(o == RARE, -np.inf, w), m), "log_weights has -inf"),
        (lambda o, w, m: (o, w, m + np.inf), "log_most has inf"),
        (lambda o, w, m: (o, w[:-1], m), "299 log_weights for 300 draws"),
        (lambda o, w, m: (o, w[:, None], m), r"log_weights has shape \(300, 1\)"),
        (lambda o, w, m: (o, w, m[:5]), "5 log_most for 300 draws"),
        (lambda o, w, m: (o, w, w - 0.1), r"log_weights\[0\] = .*, expected at most log_most\[0\]"),
        (lambda o, w, m: (o, w, m + 900), "log_most has 9.*, expected logarithms between -700 and 700"),
        (lambda o, w, m: (o[:-1], w, m), r"importance outputs of shape \(299,\)"),
        (lambda o, w, m: (o * 1.0, w, m), "type float64 for 300 points, expected a whole number or a word"),
        (lambda o, w, m: (o, w - 3.0, m - 3.0), "give an output a probability of at most .*, plain draws at least"),
        (lambda o, w, m: (o, w + 3.0, m + 3.0), "the importance weights have a mean of at least .*, expected 1"),
    ],
)
def test_weights_that_cannot_be_right_are_refused(change, message):
    table = channel(1e-7, 1e-9)
    draw = tilted(table)
    with pytest.raises(InvalidInput, match=message):
        hunt(table, importance=lambda points, rng: change(*draw(points, rng)))


def test_right_weights_pass_the_check_and_words_are_outputs_too():
    table = channel(1e-7, 1e-9)
    draw = tilted(table)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        check_weights(plain(table)(np.full(300, 3), rng), weighted_draws(draw, 3, 300, rng))

    def words(points, rng):
        outputs, weights, most = draw(points, rng)
        return np.array([f"w{y}" for y in outputs]), weights, most

    rng = np.random.default_rng(0)
    by_words = witness_mdp(
        lambda points, rng: np.array([f"w{y}" for y in plain(table)(points, rng)]),
        SPACE,
        1.0,
        hints=[(3, 5)],
        importance=words,
        rng=rng,
        **TERMS,
    )
    assert by_words.shown


def test_what_was_wrong_in_the_weights_alone_cannot_be_seen_so_the_caller_vouches():
    """Weights of the rare output that are ten times too small given b accuse a correct mechanism."""
    table = channel(1e-7, 1e-7)
    wrong = tilted(table)

    def draw(points, rng):
        outputs, weights, most = wrong(points, rng)
        less = np.where((outputs == RARE) & (points[0] != 3), np.log(0.1), 0.0)
        return outputs, weights + less, most + less

    assert not hunt(table, hints=[(3, 5)], importance=wrong).shown
    assert hunt(table, hints=[(3, 5)], importance=draw).shown


def test_a_channel_and_importance_draws_exclude_each_other():
    table = channel(1e-7, 1e-9)
    with pytest.raises(InvalidInput, match="both log_matrix and importance"):
        hunt(table, importance=tilted(table), log_matrix=np.log(table))


def test_a_plan_counts_importance_draws_and_those_that_check_them():
    table, asked = channel(1e-7, 1e-9), []

    def draw(points, rng):
        asked.append(len(points))
        return tilted(table)(points, rng)

    def sample(points, rng):
        asked.append(len(points))
        return plain(table)(points, rng)

    rng, settings = np.random.default_rng(0), SearchSettings(explore=60, confirm=100, pairs=5)
    planned = plan_mdp(sample, SPACE, settings, importance=draw, rng=rng)
    assert planned.draws == 2 * 60 * 5 + 2 * 100 * 3 + 4 * 60 * 3
    asked.clear()
    witness_mdp(sample, SPACE, 1.0, explore=60, confirm=100, pairs=5, importance=draw, rng=rng)
    assert 0 < sum(asked) <= planned.draws


def test_weights_of_one_output_that_are_too_high_are_seen():
    outputs = np.arange(2000) % 4
    weights = np.where(outputs == 0, np.log(0.4), np.where(outputs == 1, np.log(1.6), 0.0))  # their mean is 1
    drawn = weighted_draws(lambda points, rng: (outputs, weights, weights), 0, 2000, None)
    with pytest.raises(InvalidInput, match=r"a probability of at (most|least) .*, plain draws at (least|most)"):
        check_weights(outputs, drawn)

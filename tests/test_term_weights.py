"""Optimism: slopes and curvature by differences, and what weights gain on their own positions and on others.

Weights near a start: few positions move them little, so that relations which say nothing get none.
"""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.candidate_sampling import sides
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.term_weights import (
    Bend,
    ContextTerms,
    NearWeights,
    best_weights,
    best_weights_of_sides,
    likeliest_weights,
    optimism,
)
from oddshift.attackers.word_prior import fit_word_prior
from oddshift.mechanisms import Exponential
from oddshift.model.records import Context, Records
from oddshift.model.release import one_tier
from oddshift.model.space import Space


def drawn(law, rng):
    """One value from each row of unnormalised probabilities."""
    total = np.cumsum(law, axis=1)
    return (total < rng.random((len(law), 1)) * total[:, -1:]).sum(axis=1)


def noise(rng, units, repeats=1, terms=12):
    """The first term is the truth's law, the others say nothing; positions of a unit hold the same."""
    logits = [np.repeat(0.7 * rng.normal(size=(units, 4)), repeats, axis=0) for _ in range(terms)]
    truth = np.repeat(drawn(np.exp(logits[0][::repeats]), rng), repeats)
    number = np.arange(units * repeats) // repeats
    return ContextTerms(np.zeros((units * repeats, 4)), tuple(logits), truth, Units(number, units))


def test_the_bend_is_that_of_the_score():
    rng = np.random.default_rng(0)
    held = ContextTerms(
        rng.normal(size=(30, 5)),
        tuple(rng.normal(size=(30, 5)) for _ in range(3)),
        rng.integers(5, size=30),
        Units(np.arange(30) // 3, 10),
    )
    at, step = np.array([0.3, 0.0, 0.7]), 1e-5
    bend = held.bend(at)
    for column, k in enumerate((0, 2)):
        ahead, behind = at.copy(), at.copy()
        ahead[k], behind[k] = at[k] + step, at[k] - step
        slope = (held.scores(ahead) - held.scores(behind)) / (2 * step)
        np.testing.assert_allclose(bend.slopes[:, column], slope, atol=1e-7)
        change = (held.loss(ahead)[1] - held.loss(behind)[1]) / (2 * step) * len(held.truth)
        np.testing.assert_allclose(bend.curvature[:, column], change[[0, 2]], atol=1e-4)


def test_two_weights_that_are_one_add_up():
    bend = Bend(np.array([[1.0, 2.0, 3.0, 4.0]]), np.arange(16.0).reshape(4, 4)).in_pairs()
    np.testing.assert_array_equal(bend.slopes, [[3.0, 7.0]])
    np.testing.assert_array_equal(
        bend.curvature, [[0 + 1 + 4 + 5, 2 + 3 + 6 + 7], [8 + 9 + 12 + 13, 10 + 11 + 14 + 15]]
    )


@pytest.mark.parametrize("repeats", [1, 4])
def test_it_is_what_the_fit_gains_on_its_own_positions(repeats):
    """Over many sets: score elsewhere less score here, for positions that are independent and that come four times."""
    rng, gaps, expected = np.random.default_rng(3), [], []
    fresh = noise(rng, 20_000)
    for _ in range(40):
        held = noise(rng, 300, repeats)
        weights = likeliest_weights(NearWeights(held, np.zeros(12), len(held.truth)), np.eye(12)[0])
        gaps.append(fresh.loss(weights)[0] - held.loss(weights)[0])
        expected.append(optimism(held.bend(weights), held.units))
    assert np.mean(expected) == pytest.approx(np.mean(gaps), abs=2.5 * np.std(gaps) / np.sqrt(40))
    assert np.mean(expected) > 0.01


def test_terms_that_say_nothing_stay_out():
    """Without the optimism 12 weights beat the right one alone by a standard error in most sets."""
    alone = [np.count_nonzero(best_weights(noise(np.random.default_rng(k), 400))) == 1 for k in range(20)]
    assert sum(alone) >= 17


def test_sides_that_say_nothing_stay_one():
    common = []
    for k in range(20):
        rng = np.random.default_rng(k)
        held = noise(rng, 300)
        both = ContextTerms(held.base, tuple(sides(held.terms)), held.truth, held.units)
        weights = best_weights_of_sides(both)
        common.append(bool((weights[:, 0] == weights[:, 1]).all()))
    assert all(common)


def test_no_weights_at_all_beat_a_part_that_misleads():
    rng = np.random.default_rng(0)
    term = 3.0 * rng.normal(size=(400, 4))
    held = ContextTerms(np.zeros((400, 4)), tuple(sides([term])), drawn(np.exp(-term), rng), Units(np.arange(400), 400))
    assert not best_weights_of_sides(held).any()


def test_words_that_say_nothing_get_no_weight_from_a_handful_of_secrets():
    rng = np.random.default_rng(6)
    space = Space(np.arange(40.0)[:, None])
    records = Records.from_documents(space, list(rng.integers(40, size=(60, 3))))
    tokens = np.stack([np.full(180, -1), rng.integers(20, size=180)], axis=1).ravel()
    breaks = np.zeros(360, dtype=np.bool_)
    symbols = tuple(map(str, range(20)))
    context = Context(tokens=tokens, offsets=np.arange(0, 361, 6), symbols=symbols, breaks=breaks)
    known = knowledge(Exponential(space, 1.0), one_tier(space), replace(records, context=context))
    found = fit_word_prior(known, np.random.default_rng(0))
    assert np.concatenate(found.weights).max() < 2.0


def test_weights_stay_near_where_they_start_with_few_positions():
    class Slope:
        def loss(self, weights):
            return float(-weights.sum()), -np.ones(len(weights))

    for positions in (1, 10):
        found = likeliest_weights(NearWeights(Slope(), np.array([1.0]), positions), np.array([1.0]))
        assert found[0] == pytest.approx(1.0 + positions)

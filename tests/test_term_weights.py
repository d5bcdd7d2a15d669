"""Weights near a start: few positions move them little, so that relations which say nothing get none."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.term_weights import NearWeights, likeliest_weights
from oddshift.attackers.word_prior import fit_word_prior
from oddshift.mechanisms import Exponential
from oddshift.model.records import Context, Records
from oddshift.model.release import one_tier
from oddshift.model.space import Space


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

"""What W said about documents is taken back as far as other outputs say it again, and never counts as a joint gain."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.attackers.candidate_sampling import parts_without_outputs
from oddshift.attackers.controls import Own
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.term_weights import ContextTerms, best_weights
from oddshift.attackers.word_prior import TakenBack, fit_word_prior
from worlds import ring, with_words


@pytest.fixture(scope="module")
def world():
    return with_words(ring(documents=300, length=0, strength=0.9))


def told(world):
    law = fit_word_prior(world.known, np.random.default_rng(0))
    weights = tuple(np.append(each[:-2], [0.5, 0.5]) for each in law.weights)  # documents say something
    return replace(law, weights=weights)


def test_it_is_the_share_of_the_document_with_the_sign_turned(world):
    law = told(world)
    lone = np.repeat(world.release.lengths == 1, world.release.lengths)
    assert lone.any()
    for given, taken in zip(
        law.laws(world.known, world.release), TakenBack(law).terms(world.known, world.release), strict=True
    ):
        expected = np.where(lone[given.positions, None], 0.0, -given.by_document)
        np.testing.assert_array_equal(taken.context, expected)


def test_parts_that_read_no_output_are_known(world):
    law = told(world)
    parts = [
        Own(world.known),
        LawAttacker(world.known, law, "words", with_context=True),
        LawAttacker(world.known, TakenBack(law), "taken back", with_context=True),
    ]
    assert parts_without_outputs(parts) == (1, 2)


def gain_without_outputs(without):
    """A first term that corrects a wrong prior, and a second one that says nothing."""
    rng = np.random.default_rng(0)
    truth = (rng.random(2_000) < 0.8).astype(np.int64)
    correction = np.tile([0.0, 1.0], (2_000, 1))
    noise = rng.normal(size=(2_000, 2))
    return ContextTerms(np.zeros((2_000, 2)), (correction, noise), truth, Units(np.arange(2_000), 2_000), without)


def test_a_better_prior_alone_is_no_joint_gain():
    assert best_weights(gain_without_outputs(()))[0] > 0.5  # a term that reads outputs would count
    assert not best_weights(gain_without_outputs((0,))).any()


def test_a_joint_gain_keeps_the_correction():
    held = gain_without_outputs((0,))
    telling = np.stack([1.0 - held.truth, held.truth], axis=1) * 1.0
    weights = best_weights(replace(held, terms=(held.terms[0], telling)))
    assert weights[1] > 0

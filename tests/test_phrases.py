"""Phrases: keys by hand, laws that sum to one, the mixture over guesses by loops, and phrases that tell."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from oddshift.attackers import phrases as module
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.backoff import fit_backoff, observations
from oddshift.attackers.controls import Own
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.phrases import fit_phrases
from oddshift.attackers.word_prior import weighed_prior, word_trial
from oddshift.attackers.word_relations import WINDOWS
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import perturb
from worlds import World, context_of, log_score, ring

POINTS = 8


def in_a_row(records):
    """Documents "the SLOT SLOT … end": secrets stand next to each other."""
    tokens, offsets = [], [0]
    for length in records.lengths:
        tokens += [0, *[-1] * length, 1]
        offsets.append(len(tokens))
    return replace(records, context=context_of(tokens, offsets, ("the", "end")))


@pytest.fixture(scope="module")
def world():
    made = ring(words=POINTS, documents=400, length=3, strength=0.9, epsilon=2.0)
    known = knowledge(made.known.mechanism, made.known.tiers, in_a_row(made.known.fit))
    secrets = in_a_row(made.secrets)
    return World(known, secrets, replace(made.release, context=secrets.context))


@pytest.fixture(scope="module")
def fitted(world):
    trial = word_trial(world.known, np.random.default_rng(0))
    return fit_phrases(world.known, weighed_prior(world.known, trial), trial)


def test_the_law_of_every_key_sums_to_one(world, fitted):
    """Next to a single secret nothing but its tier is public, so all keys of such a window back off to one law."""
    fit, law = world.known.fit, np.exp(world.known.log_prior)
    for window, keys, counted in zip(WINDOWS, module._clean_keys(fit, POINTS), fitted.counts[0], strict=True):
        if len(window) > 1:
            continue
        inside = fit.points[keys >= 0]
        seen = observations(np.zeros(len(inside), dtype=int), inside, 1, POINTS)
        broader = fit_backoff(seen, law[seen.value]).rows(seen.table(1, POINTS), law[None])[0]
        assert broader.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(1.0 + counted.unseen + counted.ratio @ broader, 1.0, atol=1e-12)


def test_keys_by_hand(world):
    """In "the 5 2 end" the second secret has 5 before it, and "the 5" as the two tokens before it."""
    records = in_a_row(Records.from_documents(world.known.fit.space, [[5, 2]]))
    base, width = 4 + POINTS, 4  # mask, slot, the, end; then the points
    keys = dict(zip(WINDOWS, module._clean_keys(records, POINTS), strict=True))
    assert keys[-1,].tolist() == [-1, width + 5]  # "the" is no secret: words alone are for the prior
    assert keys[1,].tolist() == [width + 2, -1]
    assert keys[-2, -1].tolist() == [-1, 2 * base + width + 5]
    assert keys[-1, 1].tolist() == [2 * base + width + 2, (width + 5) * base + 3]
    assert keys[1, 2].tolist() == [(width + 2) * base + 3, -1]


def by_loops(world, fitted, position, log_matrix):
    """log Σ_k p(k)·ratio at one position, every combination of values of the other secrets tried."""
    known, context = world.known, world.release.context
    given = np.empty((len(world.release.outputs), POINTS))
    for block in fitted.words.laws(known, world.release):
        given[block.positions] = block.log_prior
    slot = int(context.slots[position])
    document = int(np.searchsorted(context.offsets, slot, side="right"))
    inside = range(int(context.offsets[document - 1]), int(context.offsets[document]))
    total = np.zeros(POINTS)
    for window, weight, counted in zip(WINDOWS, fitted.weights[0], fitted.counts[0], strict=True):
        at = [slot + offset for offset in window]
        if not all(token in inside for token in at) or not any(context.tokens[token] == -1 for token in at):
            continue
        choices = []
        for token in at:
            if context.tokens[token] >= 0:
                choices.append([(int(context.tokens[token]) + 2, 1.0)])
                continue
            other = int(np.searchsorted(context.slots, token))
            posterior = np.exp(given[other] + log_matrix[:, world.release.outputs[other]])
            choices.append([(4 + b, p) for b, p in enumerate(posterior / posterior.sum())])
        ratio = np.ones(POINTS)
        for way in product(*choices):
            key, mass = 0, 1.0
            for word, share in way:
                key, mass = key * (4 + POINTS) + word, mass * share
            place = np.flatnonzero(counted.keys == key)
            if len(place):
                ratio += mass * (counted.ratio[place].toarray()[0] + counted.unseen[place[0]])
        total += weight * np.log(ratio)
    return total


def test_terms_are_those_of_all_combinations(world, fitted, monkeypatch):
    monkeypatch.setattr(module, "GUESSES", {1: POINTS, 2: POINTS, 3: POINTS})
    found = np.empty((len(world.release.outputs), POINTS))
    for block in fitted.terms(world.known, world.release):
        found[block.positions] = block.context
    log_matrix = world.known.mechanism.log_matrix
    for position in range(9):
        told = by_loops(world, fitted, position, log_matrix) - by_loops(world, fitted, position, 0.0 * log_matrix)
        np.testing.assert_allclose(found[position], told, atol=1e-10)


def test_outputs_that_say_nothing_give_nothing(world, fitted):
    """What words tell by themselves is no leak, however few guesses are tried."""
    silent = Exponential(world.known.fit.space, 1e-12)
    known = knowledge(silent, world.known.tiers, world.known.fit)
    for block in fitted.terms(known, world.release):
        np.testing.assert_allclose(block.context, 0.0, atol=1e-9)


def test_with_one_guess_each_terms_stay_finite(world, fitted, monkeypatch):
    monkeypatch.setattr(module, "GUESSES", {1: 1, 2: 1, 3: 1})
    for block in fitted.terms(world.known, world.release):
        assert np.isfinite(block.context).all()


def test_neighbours_tell_and_a_lone_secret_learns_nothing(world, fitted):
    attacker = LawAttacker(world.known, fitted, "phrases", with_context=True)
    assert log_score(attacker, world) < log_score(Own(world.known), world) - 0.1
    lone = in_a_row(Records.from_documents(world.known.fit.space, [[3]]))
    release = perturb(lone, world.known.mechanism, world.known.tiers, np.random.default_rng(0))
    (block,) = fitted.terms(world.known, release)
    assert not block.context.any()


def test_words_are_needed(world, fitted):
    with pytest.raises(InvalidInput, match="no context W"):
        list(fitted.terms(world.known, world.release.without_context()))

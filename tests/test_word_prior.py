"""The prior given W: relations by hand, symbols by name, and words that tell.

Documents alike: the formulas written out.


What W said about documents is taken back as far as other outputs say it again, and never counts as a joint gain.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from oddshift.attackers import word_prior
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.candidate_sampling import parts_without_outputs
from oddshift.attackers.controls import Own
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.term_weights import ContextTerms, best_weights
from oddshift.attackers.word_prior import TakenBack, fit_word_prior
from oddshift.attackers.word_relations import (
    COMMON,
    MOST_TIERS,
    POWER,
    STRENGTH,
    fit_alike_documents,
    rare_words,
    relations,
    scaled,
)
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import perturb
from oddshift.model.space import Space
from worlds import context_of, gather, log_score, ring, with_words


def test_relations_by_hand():
    """Documents "a SLOT b" and "SLOT a SLOT": numbers are mask 0, slot 1, a 2, b 3; slots of tiers follow from 4 on."""
    made = context_of([0, -1, 1, -1, 0, -1], [0, 3, 6], ("a", "b"))
    counted = (np.arange(4), np.ones(4, dtype=bool))
    before, after, both_before, around, both_after, three_before, three_after, bag = relations(
        made, np.array([1, 2]), np.array([0, 1, 0]), counted
    )
    base = 4 + MOST_TIERS
    assert before.tolist() == [2, -1, 2]  # what stands before a document is not its own
    assert after.tolist() == [3, 2, -1]
    assert both_before.tolist() == [-1, -1, (4 + 1) * base + 2]  # a slot counts by its tier
    assert around.tolist() == [2 * base + 3, -1, -1]
    assert both_after.tolist() == [-1, 2 * base + 4, -1]
    assert three_before.tolist() == three_after.tolist() == [-1, -1, -1]  # no document has three more tokens
    assert bag.toarray().tolist() == [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 1, 0]]
    secret = relations(made, np.array([1, 2]), None, counted)
    assert secret[2].tolist() == [-1, -1, 4 * base + 2]  # without public tiers all slots are alike


def test_a_pair_of_words_tells_what_neither_tells_alone():
    """The secret is the exclusive or of the words on both sides: each of them alone says nothing."""
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 2, (2, 400))
    world = ring(documents=400, length=1, strength=0.0)
    tokens = np.column_stack([left, np.full(400, -1), right]).ravel()
    fit = Records.from_documents(world.known.fit.space, [[int(k)] for k in left ^ right])
    fit = replace(fit, context=context_of(tokens, np.arange(0, 1201, 3), ("a", "b")))
    known = knowledge(world.known.mechanism, world.known.tiers, fit)
    prior = fit_word_prior(known, np.random.default_rng(1))
    release = perturb(fit, known.mechanism, known.tiers, rng)
    (found,) = prior.terms(known, release)
    log_prior = found.log_prior - np.logaddexp.reduce(found.log_prior, axis=1)[:, None]
    assert np.exp(log_prior[np.arange(400), left ^ right]).mean() > 0.9


def test_common_words_are_not_in_the_bag():
    """Of 20 documents, all hold "a" and ten hold "b": the limit here is ten."""
    tokens = [token for k in range(20) for token in ([0, -1, 1] if k < 10 else [0, -1])]
    lengths = [3] * 10 + [2] * 10
    made = context_of(tokens, np.cumsum([0, *lengths]), ("a", "b", "c"))
    records = replace(ring(documents=20, length=1).known.fit, context=made)
    assert rare_words(records).tolist() == [True, False, False, True, True]  # mask, slot, a, b, c
    bag = relations(made, np.ones(20, dtype=int), None, (np.arange(5), rare_words(records)))[-1].toarray()
    assert bag[:, 2].sum() == 0
    assert bag[:, 3].tolist() == [1] * 10 + [0] * 10


@pytest.fixture(scope="module")
def world():
    return with_words(ring(documents=300, length=3, strength=0.0))


def attacker_of(world):
    return LawAttacker(world.known, fit_word_prior(world.known, np.random.default_rng(0)), "words", with_context=True)


def test_words_that_hint_raise_what_they_hint_at(world):
    """The word behind a secret has its parity three times in four, and otherwise any: 7/8 in all."""
    words = attacker_of(world)
    assert log_score(words, world) < log_score(Own(world.known), world) - 0.05
    shift, prior = gather(words, world.release)
    np.testing.assert_array_equal(shift, gather(Own(world.known), world.release)[0])  # a prior, nothing joint
    odd = world.release.context.tokens[world.release.context.slots + 1] == 1
    mass = np.exp(prior - np.logaddexp.reduce(prior, axis=1)[:, None])[:, 1::2].sum(axis=1)
    assert mass[odd].mean() == pytest.approx(0.875, abs=0.08)
    assert mass[~odd].mean() == pytest.approx(0.125, abs=0.08)


def test_symbols_count_by_name(world):
    """The same words under other numbers, with a word that was never counted among them."""
    words, context = attacker_of(world), world.release.context
    renumbered = np.where(context.tokens >= 0, 2 - context.tokens, context.tokens)
    other = replace(context, tokens=renumbered, symbols=("new", "odd", "even"))
    np.testing.assert_allclose(
        gather(words, replace(world.release, context=other))[1], gather(words, world.release)[1], atol=1e-12
    )


def test_words_are_needed(world):
    bare = knowledge(world.known.mechanism, world.known.tiers, replace(world.known.fit, context=None))
    with pytest.raises(InvalidInput, match="no context W"):
        fit_word_prior(bare, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="no context W"):
        gather(attacker_of(world), world.release.without_context())


def test_priors_are_computed_once_for_all_mechanisms(monkeypatch):
    world = with_words(ring(documents=60, length=3, strength=0.0))
    law = fit_word_prior(world.known, np.random.default_rng(0))
    computed, first = [], type(law)._by_place
    monkeypatch.setattr(type(law), "_by_place", lambda *args: computed.append(1) or first(*args))
    noisier = replace(world.known, mechanism=Exponential(world.known.mechanism.space, 0.1))
    found = [[b.log_prior for b in law.terms(known, world.release)] for known in (world.known, noisier, world.known)]
    assert len(computed) == len(found[0])
    for again in found[1:]:
        for one, two in zip(found[0], again, strict=True):
            np.testing.assert_array_equal(one, two)
    some = world.release.take(np.arange(5))
    assert sum(len(block.positions) for block in law.terms(world.known, some)) == len(some.outputs)
    assert len(computed) > len(found[0])  # other documents have other words


def test_no_more_priors_are_kept_than_allowed_and_none_are_sent(monkeypatch):
    monkeypatch.setattr(word_prior, "KEPT_ENTRIES", 1)
    world = with_words(ring(documents=60, length=3, strength=0.0))
    law = fit_word_prior(world.known, np.random.default_rng(0))
    list(law.terms(world.known, world.release))
    assert not law._kept
    monkeypatch.setattr(word_prior, "KEPT_ENTRIES", 10_000)
    list(law.terms(world.known, world.release))
    assert law._kept
    assert not pickle.loads(pickle.dumps(law))._kept


def test_the_share_of_whole_documents_is_part_of_the_prior(world):
    """Place and document together are the prior; without a word about the document its share is 0."""
    law = fit_word_prior(world.known, np.random.default_rng(0))
    for block in law.laws(world.known, world.release):
        of_bag, of_alike = law.weights[0][-2:]
        assert (block.by_document == 0).all() == (of_bag == 0 and of_alike == 0)
        assert block.by_document.shape == block.log_prior.shape
    mute = replace(law, weights=tuple(np.append(each[:-2], [0.0, 0.0]) for each in law.weights))
    assert all((block.by_document == 0).all() for block in mute.laws(world.known, world.release))


def test_a_held_out_secret_that_no_other_record_holds_weighs_nothing():
    """Every document ends in a name of its own: words before it are common, and say that no known name follows."""
    world = ring(documents=40, length=1, strength=0.0)
    trial = word_prior.word_trial(
        knowledge(world.known.mechanism, world.known.tiers, with_words(world).known.fit), np.random.default_rng(0)
    )
    held = trial.held.points[trial.rows(0)]
    assert (trial.known.fit.counts()[held] > 0).all()


SPACE = Space(np.eye(3))
LAW = np.array([0.5, 0.3, 0.2])


def remembered(rows, documents):
    """Fit documents with these words, padded by ten others without words, so that one in ten is not common."""
    filler = [[0]] * 20
    words = csr_array(np.vstack([np.array(rows, dtype=float), np.zeros((20, len(rows[0])))]))
    return fit_alike_documents(Records.from_documents(SPACE, [*documents, *filler]), words)


def test_the_same_words_lend_their_secrets():
    """One fit document has the same single word, cosine 1, and holds point 1 twice."""
    alike = remembered([[1, 0], [0, 1]], [[1, 1], [2]])
    found = alike.log_ratio(csr_array(np.array([[1.0, 0.0]])), np.arange(3), LAW).toarray()
    np.testing.assert_allclose(found, [[0.0, np.log1p(2 / (STRENGTH * 0.3)), 0.0]])


def test_half_of_the_words_count_by_the_power_of_the_cosine():
    alike = remembered([[1, 0]], [[2]])
    found = alike.log_ratio(csr_array(np.array([[1.0, 1.0]])), np.arange(3), LAW).toarray()
    assert found[0, 2] == pytest.approx(np.log1p(1.0 / (STRENGTH * 0.2)))  # the other word was never seen
    both = remembered([[1, 0], [0, 1]], [[2], [1]])
    found = both.log_ratio(csr_array(np.array([[1.0, 1.0]])), np.arange(3), LAW).toarray()
    np.testing.assert_allclose(found[0, 1:], np.log1p(0.5 ** (POWER / 2) / (STRENGTH * LAW[1:])))


def test_common_words_do_not_count():
    documents = 20
    words = csr_array(np.ones((documents, 1)))
    alike = fit_alike_documents(Records.from_documents(SPACE, [[1]] * documents), words)
    assert COMMON < 1.0
    assert alike.log_ratio(csr_array(np.ones((1, 1))), np.arange(3), LAW).nnz == 0


def test_rows_have_length_one_or_none():
    found = scaled(csr_array(np.array([[3.0, 4.0], [0.0, 0.0]])), np.ones(2)).toarray()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1.0, 0.0])


@pytest.fixture(scope="module")
def short():
    return with_words(ring(documents=300, length=0, strength=0.9))


def told(short):
    law = fit_word_prior(short.known, np.random.default_rng(0))
    weights = tuple(np.append(each[:-2], [0.5, 0.5]) for each in law.weights)  # documents say something
    return replace(law, weights=weights)


def test_it_is_the_share_of_the_document_with_the_sign_turned(short):
    law = told(short)
    lone = np.repeat(short.release.lengths == 1, short.release.lengths)
    assert lone.any()
    for given, taken in zip(
        law.laws(short.known, short.release), TakenBack(law).terms(short.known, short.release), strict=True
    ):
        expected = np.where(lone[given.positions, None], 0.0, -given.by_document)
        np.testing.assert_array_equal(taken.context, expected)


def test_parts_that_read_no_output_are_known(short):
    law = told(short)
    parts = [
        Own(short.known),
        LawAttacker(short.known, law, "words", with_context=True),
        LawAttacker(short.known, TakenBack(law), "taken back", with_context=True),
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

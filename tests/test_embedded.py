import hashlib

import numpy as np
import pytest
from studies.embedded_vectors import public_words
from studies.known_laws import chain, topics

from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import KINDS, LENGTHS, PHRASES, draw_sequences, invert, law, people
from oddshift.leakage.exact import log_posterior
from oddshift.mechanisms.exponential import Exponential
from oddshift.model.prior import Joint

PEOPLE = people(400)


def test_the_corpus_is_the_same_every_time():
    again = people(400)
    assert again.texts == PEOPLE.texts
    digest = hashlib.sha256("\n".join(people(200).texts).encode()).hexdigest()
    assert digest[:12] == "9f7440966750"
    assert people(400, seed=1).texts != PEOPLE.texts


def test_texts_read_like_sentences():
    whole = [text for text in PEOPLE.texts if text.count(".") >= 3]
    assert len(whole) == len(PEOPLE.texts)
    assert all(text.endswith(".") for text in PEOPLE.texts)
    assert all(text[0].isupper() for text in PEOPLE.texts)


def test_records_hold_what_the_texts_say():
    words = PEOPLE.encoded.lexicon.words
    for text, document in zip(PEOPLE.texts[:50], PEOPLE.records.documents[:50], strict=True):
        at = 0
        for point in document:
            at = text.lower().index(words[point], at) + 1
    assert set(PEOPLE.records.lengths.tolist()) == set(LENGTHS)
    assert len(PEOPLE.encoded.masked) == 0


def test_nothing_perturbed_gives_back_every_byte():
    assert PEOPLE.encoded.texts(PEOPLE.records.points) == PEOPLE.texts


def test_tiers_and_labels():
    assert PEOPLE.tiers.names == ("PERSON", "ORG", "GPE", "OCCUPATION", "HABIT")
    assert PEOPLE.tiers.levels == (0, 0, 0, 1, 1)
    assert np.bincount(PEOPLE.tiers.labels).tolist() == [len(kind) for kind in KINDS]
    paper = people(10, by_kind=False).tiers
    assert paper.names == people(10, is_public=False).tiers.names == ("PII", "PoII")
    assert (paper.labels == 0).sum() == sum(map(len, KINDS[:3]))
    assert set(PEOPLE.labels) == {"care", "craft", "office", "science", "stage", "other"}
    assert not people(10, is_public=False).tiers.is_public
    assert repr(PEOPLE).startswith("People(400 texts, Records(400 documents")


def test_words_are_distinct_and_have_vectors():
    secret = [word for kind in KINDS for word in kind]
    assert len(set(secret)) == len(secret) == len(PEOPLE.space)
    assert not set(secret) & public_words()
    assert all("{}" in phrase for row in PHRASES for phrase in row)
    known = PEOPLE.vectors.rows_of(sorted(public_words())) >= 0
    assert known.mean() > 0.9


def test_the_stated_prior_is_the_law_of_the_records():
    corpus = people(20_000, seed=3)
    prior = corpus.prior
    first = np.array([document[0] for document in corpus.records.documents])
    np.testing.assert_allclose(np.bincount(first, minlength=315) / 20_000, prior.initial, atol=0.006)
    pairs = np.array([document[1:3] for document in corpus.records.documents])
    follows = prior.transitions[0].argmax(axis=1)
    assert (follows[pairs[:, 0]] == pairs[:, 1]).mean() == pytest.approx(
        float((prior.marginals[1] * prior.transitions[0].max(axis=1)).sum()), abs=0.01
    )


def test_no_secret_is_impossible_anywhere():
    prior = law(0.8, 0.01)
    assert min(marginal.min() for marginal in prior.marginals) > 0
    assert len(PEOPLE.prior_of(4).sizes) == 4
    with pytest.raises(InvalidInput, match="length=9"):
        PEOPLE.prior_of(9)
    with pytest.raises(InvalidInput, match="strength=2"):
        people(10, strength=2)


def test_releases_together_tell_much_more_than_one():
    em = Exponential(PEOPLE.space, epsilon=2.0)
    rng = np.random.default_rng(0)
    alone, together = [], []
    for document in PEOPLE.records.documents[:60]:
        outputs = em.sample(document, rng)
        prior = PEOPLE.prior_of(len(document))
        joint = log_posterior(prior, [em.log_matrix] * len(document), outputs.tolist())
        for t, secret in enumerate(document):
            own = np.log(prior.marginals[t]) + em.log_matrix[:, outputs[t]]
            alone.append(own[secret] - np.logaddexp.reduce(own))
            together.append(joint[t][secret])
    assert -np.mean(together) < -np.mean(alone) - 0.7  # nats of log score


def test_a_chain_is_uniform_and_follows_its_permutation():
    rng = np.random.default_rng(0)
    made = chain(words=30, length=4, strength=0.9, rng=rng)
    np.testing.assert_allclose(made.prior.marginals[3], 1 / 30)
    values = draw_sequences(made.prior, 4000, rng)
    follows = made.prior.transitions[0].argmax(axis=1)
    assert (follows[values[:, 0]] == values[:, 1]).mean() == pytest.approx(0.9 + 0.1 / 30, abs=0.02)
    records = made.draw(5, rng)
    assert records.lengths.tolist() == [4] * 5


def test_a_chain_without_dependence_gives_the_context_nothing():
    rng = np.random.default_rng(0)
    made = chain(words=12, length=3, strength=0.0, rng=rng)
    em = Exponential(made.space, epsilon=1.0).log_matrix
    joint = log_posterior(made.prior, [em] * 3, (0, 5, 7))
    own = em[:, 5] - np.logaddexp.reduce(em[:, 5])
    np.testing.assert_allclose(joint[1], own, atol=1e-12)


def test_a_chain_of_strength_one_still_has_every_word():
    made = chain(words=12, length=3, strength=1.0, rng=np.random.default_rng(0))
    assert (made.prior.transitions.max(axis=2) == 1).all()


def test_the_reference_chain_scores_as_stated():
    rng = np.random.default_rng(0)
    made = chain(rng=rng)
    matrix = Exponential(made.space, epsilon=1.2).log_matrix
    posterior = matrix - np.logaddexp.reduce(matrix, axis=0)
    own = -(np.exp(matrix) * posterior).sum() / 200
    assert own == pytest.approx(4.19, abs=0.15)


def test_topics_agree_with_enumeration():
    rng = np.random.default_rng(0)
    made = topics(words=6, topics=2, strength=0.7, rng=rng)
    matrix = Exponential(made.space, epsilon=1.0).log_matrix
    table = np.einsum("k,ka,kb,kc->abc", made.weights, made.words, made.words, made.words)
    outputs = (0, 3, 5)
    expected = log_posterior(Joint(table), [matrix] * 3, outputs)
    for mine, theirs in zip(made.log_posterior([matrix] * 3, outputs), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)
    np.testing.assert_allclose(made.log_prior, np.log(table.sum(axis=(1, 2))), atol=1e-12)


def test_far_words_of_a_topic_tell_as_much_as_near_ones():
    made = topics(words=40, topics=4, strength=1.0, rng=np.random.default_rng(0))
    values = np.array(made.draw(3000, 10, np.random.default_rng(1)).documents)
    owner = made.words.argmax(axis=0)
    assert (owner[values[:, 0]] == owner[values[:, 9]]).all()
    loose = topics(words=40, topics=4, strength=0.0, rng=np.random.default_rng(0))
    np.testing.assert_allclose(loose.words, 1 / 40)


def test_bad_models_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="words=1"):
        chain(words=1, rng=rng)
    with pytest.raises(InvalidInput, match="strength=-1"):
        chain(strength=-1, rng=rng)
    with pytest.raises(InvalidInput, match="topics=50"):
        topics(words=10, topics=50, rng=rng)
    made = topics(words=10, topics=2, rng=rng)
    with pytest.raises(InvalidInput, match="0 matrices and 1 outputs"):
        made.log_posterior([], [0])
    with pytest.raises(InvalidInput, match="expected 10 rows"):
        made.log_posterior([np.zeros((3, 3))], [0])


def test_inverting_never_gives_an_impossible_value():
    rows = np.array([[0.0, 0.5, 0.0, 0.5]] * 3)
    assert invert(rows, np.array([0.0, 0.5, 1 - 2**-53])).tolist() == [1, 3, 3]

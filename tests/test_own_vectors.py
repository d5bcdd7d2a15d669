"""Vectors made from the texts: words in like company lie close, and what should have none has none."""

import numpy as np
import pytest

import encoding
from oddshift.data.codecs import TextSettings, tokenise, vectors_from_text
from oddshift.data.detectors import Gazetteer, WordList

DRINKS, TOOLS = ("tea", "coffee", "cocoa"), ("hammer", "saw", "drill")


def sentences(n, rng):
    for k in range(n):
        word = (DRINKS if k % 2 else TOOLS)[rng.integers(3)]
        yield f"we pour hot {word} into a cup" if k % 2 else f"they swing the {word} at wood"


@pytest.fixture(scope="module")
def texts():
    return [*sentences(120, np.random.default_rng(0)), "mail ann@example.com or 555-0101 once", "and twice a rarity"]


def test_words_in_like_company_lie_close(texts):
    vectors = vectors_from_text(tokenise(texts, "plain").occurrences)
    table, known = vectors.look_up([*DRINKS, *TOOLS])
    assert known.all()
    np.testing.assert_allclose(np.linalg.norm(vectors.vectors, axis=1), 1.0, atol=1e-6)
    apart = np.linalg.norm(table[:, None] - table[None], axis=2)
    inside = max(apart[:3, :3].max(), apart[3:, 3:].max())
    assert inside < 0.5 * apart[:3, 3:].min()


def test_words_of_one_document_and_numbers_have_none(texts):
    words = set(vectors_from_text(tokenise([*texts, *texts[-2:-1]], "plain").occurrences).words)
    assert not words & {"rarity", "twice", "0101", "555", "."}


def test_the_same_texts_give_the_same_vectors_dense_or_not(texts, monkeypatch):
    occurrences = tokenise(texts, "plain").occurrences
    first, second = vectors_from_text(occurrences, 5), vectors_from_text(occurrences, 5)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    monkeypatch.setattr("oddshift.data.codecs.text.own_vectors._DENSE", 0)
    sparse = vectors_from_text(occurrences, 5)
    assert sparse.words == first.words
    np.testing.assert_allclose(sparse.vectors @ sparse.vectors.T, first.vectors @ first.vectors.T, atol=1e-4)


def test_a_name_of_several_words_has_its_own_vector():
    texts = ("we met New York today", "they left New York today", "we met them here") * 2
    settings = TextSettings(is_public=True, similar_percent=0.0, tokeniser="plain")
    made = encoding.text(texts, None, [Gazetteer(["New York"])], settings)
    assert made.encoded.lexicon.words == ("new york",)


def test_too_little_text_gives_no_word_a_vector():
    assert len(vectors_from_text(tokenise(["one text", "another thing"], "plain").occurrences)) == 0


def test_only_fit_documents_decide(texts):
    settings = TextSettings(is_public=True, similar_percent=0.0, tokeniser="plain")
    drinks = WordList(dict.fromkeys(DRINKS, "DRINK"))
    fit = np.arange(60)
    whole = encoding.text(texts, None, [drinks], settings, fit).encoded.lexicon
    alone = encoding.text(texts[:60], None, [drinks], settings).encoded.lexicon
    np.testing.assert_array_equal(whole.space.points, alone.space.points)

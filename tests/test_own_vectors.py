"""Vectors made from the texts: words in like company lie close, and what should have none has none.

Vectors of a spaCy pipeline made here from the trained entity finder and rows of GloVe, saved and loaded by path.
"""

import numpy as np
import pytest

import encoding
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import (
    TextSettings,
    pipeline_with_vectors,
    read_vectors,
    tokenise,
    vectors_from_text,
    vectors_of_pipeline,
)
from oddshift.data.detectors import Capitals, Gazetteer, Pipeline

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
    drinks = Gazetteer(dict.fromkeys(DRINKS, "DRINK"))
    fit = np.arange(60)
    whole = encoding.text(texts, None, [drinks], settings, fit).encoded.lexicon
    alone = encoding.text(texts[:60], None, [drinks], settings).encoded.lexicon
    np.testing.assert_array_equal(whole.space.points, alone.space.points)


WORDS = ["the", "london", "paris", "smith", "john", "nurse"]


@pytest.fixture(scope="module")
def glove(data):
    return read_vectors(data / "glove.6B.100d.npz", WORDS)


@pytest.fixture(scope="module")
def made(data, glove, tmp_path_factory):
    """The trained pipeline with vectors: some words with a capital only, one of zeros."""
    import spacy

    nlp = spacy.load(data / "ner" / "en_core_web_sm_ner")
    nlp.vocab.reset_vectors(width=glove.vectors.shape[1])
    for word, row in zip(glove.words, glove.vectors, strict=True):
        nlp.vocab.set_vector(word.title() if word in ("smith", "john") else word, row)
    nlp.vocab.set_vector("NASA", glove.vectors[0] + 1)
    nlp.vocab.set_vector("nothing", np.zeros(100, dtype=np.float32))
    folder = tmp_path_factory.mktemp("pipeline") / "en_names_and_vectors"
    nlp.to_disk(folder)
    return folder


def test_the_vectors_are_those_that_were_put_in(made, glove):
    vectors = vectors_of_pipeline(made, [*WORDS, "unheard"])
    assert set(vectors.words) == set(WORDS)
    for word in WORDS:
        np.testing.assert_array_equal(vectors.vectors[vectors.row[word]], glove.vectors[glove.row[word]])


def test_capitals_stand_for_types_in_small_letters(made, glove):
    vectors = vectors_of_pipeline(made, ["nasa", "john", "nothing"])
    assert vectors.words == ("nasa", "john")  # a row of zeros is no vector
    np.testing.assert_array_equal(vectors.vectors[0], glove.vectors[0] + 1)


def test_every_listed_word_when_none_are_named(made):
    vectors = vectors_of_pipeline(made)
    assert set(vectors.words) == {*WORDS, "nasa"}
    assert repr(vectors) == "WordVectors(7 words, 100 dimensions)"


def test_one_pipeline_finds_the_names_and_has_their_vectors(made, empty_cache):
    texts = ["John Smith lives in London.", "In Paris a nurse met John Smith."]
    found = Pipeline(made).detect(texts)
    names = {texts[d][a:b] for d, a, b in zip(found.document, found.start, found.end, strict=True)}
    assert {"John Smith", "London"} <= names
    types = tokenise(texts).occurrences.types
    _, known = vectors_of_pipeline(made, types).look_up(["john smith", "london"])
    assert known.all()


def test_a_pipeline_without_vectors_says_which_one_has_them(data):
    with pytest.raises(InvalidInput, match=r"has no word vectors.*spacy download en_core_web_md") as refusal:
        vectors_of_pipeline(data / "ner" / "en_core_web_sm_ner", ["london"])
    assert "\n" not in str(refusal.value)


def test_folders_that_are_no_pipeline(tmp_path):
    with pytest.raises(InvalidInput, match="not found"):
        vectors_of_pipeline(tmp_path)
    (tmp_path / "config.cfg").write_text("nothing")
    with pytest.raises(InvalidInput, match="cannot be read"):
        vectors_of_pipeline(tmp_path)


def test_vectors_made_of_pieces_need_words(tmp_path):
    import spacy

    nlp = spacy.blank("en")
    rows = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    nlp.vocab.vectors = spacy.vectors.Vectors(
        data=rows, mode="floret", strings=nlp.vocab.strings, minn=2, maxn=3, hash_count=1
    )
    nlp.to_disk(tmp_path / "floret")
    assert vectors_of_pipeline(tmp_path / "floret", ["kamali"]).vectors.shape == (1, 4)
    with pytest.raises(InvalidInput, match="expected words="):
        vectors_of_pipeline(tmp_path / "floret")


CONFIG = """
[data]
kind = "text"
near_duplicates = false
path = "{path}"
vectors = "pipeline"
is_public = true
similar_percent = 0
detectors = [{detector}]

[mechanism]
epsilon = 2.0
"""


def test_a_configuration_names_the_pipeline_once(made, tmp_path, empty_cache):
    lines = ["John Smith lives in London.", "In Paris a nurse met John Smith."] * 10
    (tmp_path / "t.csv").write_text("text\n" + "".join(f'"{line}"\n' for line in lines))
    detector = f'{{kind = "pipeline", path = "{made}"}}'
    loaded = prepare_configured(parse_config(CONFIG.format(path=tmp_path / "t.csv", detector=detector), "here"))
    assert {"john", "smith", "london"} <= set(loaded.names)
    assert loaded.split.fit.space.points.shape[1] == 100


def test_without_a_pipeline_there_are_no_vectors_of_one(made, tmp_path):
    (tmp_path / "t.csv").write_text("text\n" + "Ann met Bob there.\n" * 9)
    config = parse_config(CONFIG.format(path=tmp_path / "t.csv", detector='{kind = "capitals"}'), "here")
    with pytest.raises(InvalidInput, match="without a detector of kind 'pipeline'"):
        prepare_configured(config)
    assert pipeline_with_vectors([Capitals(), Pipeline(made)]) == made

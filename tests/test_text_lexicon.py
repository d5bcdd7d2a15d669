import numpy as np
import pytest
from studies.downstream import features_of_part

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.encoded import encode_tokens
from oddshift.data.codecs.text.lexicon import WITHOUT_POINT, Lexicon, Similar, add_similar, build_lexicon
from oddshift.data.codecs.text.passages import text_features
from oddshift.data.codecs.text.span_detection import found_tokens
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.codecs.text.vectors import WordVectors
from oddshift.data.detectors import Gazetteer, TierRule, tag_types
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

TEXTS = ("Ann saw Zed and the cat.", "Bob saw Ann.")
VECTORS = WordVectors(
    ("ann", "bob", "cat", "saw", "and", "the"),
    np.array([[1, 0], [0.9, 0.1], [0.8, 0.3], [-1, 0], [0.95, 0], [0, -1]], dtype=np.float32),
)
STOP = frozenset(["and", "the"])


def _tagged(words):
    tokens = tokenise(TEXTS, "plain")
    found = Gazetteer(dict.fromkeys(words, "PERSON")).detect(TEXTS)
    return tokens, found_tokens(tokens, [found], STOP), tag_types(tokens.occurrences, [found], TierRule(), STOP)


def _built(words=("ann", "bob", "zed"), **options):
    tokens, found, tags = _tagged(words)
    options = {"is_public": True, "stop_words": STOP, **options}
    return tokens, build_lexicon(tokens, found, tags, VECTORS, **options)


def test_every_found_type_has_a_point_or_none():
    _, lexicon = _built()
    assert lexicon.points_of(["ann", "bob", "zed", "saw"]).tolist() == [0, 1, WITHOUT_POINT, WITHOUT_POINT]
    assert lexicon.words == ("ann", "bob")
    assert lexicon.forms == ("Ann", "Bob")
    assert lexicon.masked == ("zed",)
    assert lexicon.everywhere == dict.fromkeys(("ann", "bob", "zed"), "PERSON")
    assert len(lexicon) == 2


def test_a_listed_stop_word_has_a_point():
    _, lexicon = _built(("ann", "and"))
    assert lexicon.points_of(["and"]).tolist() == [0]
    assert "and" in lexicon.everywhere


def test_the_metric_reaches_the_space():
    _, lexicon = _built(metric="angular", is_public=False)
    assert lexicon.space.metric.name == "angular"
    assert not lexicon.tiers.is_public


def test_similar_words_by_hand():
    tokens, _, tags = _tagged(["ann"])
    more = add_similar(tags, tokens.occurrences, VECTORS, Similar(percent=40.0), STOP)
    chosen = {tokens.occurrences.types[t] for t in np.flatnonzero(more.labels == 1)}
    assert chosen == {"bob", "cat"}  # 40 % of the five others; "and" is closer, but a stop word
    assert more.names == ("PII", "PoII")
    few = add_similar(tags, tokens.occurrences, VECTORS, Similar(percent=20.0, variant="mean"), STOP)
    assert (few.labels == 1).sum() == 1


def test_similar_words_need_a_tagged_vector():
    tokens, _, tags = _tagged(["zed"])
    with pytest.raises(InvalidInput, match="no PII word has a vector"):
        add_similar(tags, tokens.occurrences, VECTORS, Similar(), STOP)


def test_parts_must_be_as_many():
    tiers = Tiers([0], names=("PII",), scales=(1.0,), is_public=True)
    with pytest.raises(InvalidInput, match="2 words, 1 points, 1 tier labels and 2 forms"):
        Lexicon(("a", "b"), Space([[0.0]]), tiers, {"a": 0})


def test_features_read_the_released_words():
    tokens, lexicon = _built()
    encoded = encode_tokens(tokens, lexicon)
    before = text_features(encoded, VECTORS)
    after = text_features(encoded, VECTORS, [1, 0, 1])
    np.testing.assert_allclose(before[1], np.mean([[0.9, 0.1], [-1, 0], [1, 0]], axis=0), atol=1e-6)
    np.testing.assert_allclose(after[1], np.mean([[1, 0], [-1, 0], [0.9, 0.1]], axis=0), atol=1e-6)
    gone = text_features(encoded, VECTORS, [0, 0, 0], [None])
    np.testing.assert_allclose(gone[1], [-1, 0], atol=1e-6)
    dropped, alone = (features_of_part(encoded, VECTORS, sensitive=kept) for kept in (False, True))
    np.testing.assert_allclose(dropped[1], [-1, 0], atol=1e-6)
    np.testing.assert_allclose(alone[1], np.mean([[0.9, 0.1], [1, 0]], axis=0), atol=1e-6)


def test_names_of_several_words_have_similar_words_too():
    tokens = tokenise(("Ann Bob saw the cat.", "Ann Bob and the cat."), "plain")
    found = Gazetteer(["Ann Bob"]).detect(tokens.texts())
    occurrences = tokens.merged(found).occurrences
    tags = tag_types(occurrences, [found], TierRule(), STOP)
    tags = add_similar(tags, occurrences, VECTORS, Similar(percent=25), STOP)
    inside = {occurrences.types[t]: tags.names[tags.labels[t]] for t in np.flatnonzero(tags.labels >= 0)}
    assert inside == {"ann bob": "PII", "cat": "PoII"}

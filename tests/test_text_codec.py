import numpy as np
import pytest
from studies.published import read_published

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TextCodec, TextSettings, WordVectors, read_vectors
from oddshift.data.codecs.text.lexicon import WITHOUT_POINT
from oddshift.data.codecs.text.settings import tier_rule
from oddshift.data.detectors import Gazetteer, Patterns, Pipeline
from oddshift.mechanisms.exponential import Exponential
from oddshift.model.records import SLOT

WORDS = ("ann", "bob", "carol", "nurse", "doctor", "met", "paris", "oslo", "new", "york")
VECTORS = WordVectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32))
TEXTS = ("Ann met the nurse. Bob left Zed.", "The doctor met ANN  in Paris, twice.", "Nobody came.")
LISTED = Gazetteer({"ann": "PERSON", "bob": "PERSON", "zed": "PERSON", "nurse": "JOB", "doctor": "JOB"})
TIERS = {"tier_names": ("PII", "PoII"), "tier_of": {"PERSON": "PII", "JOB": "PoII"}}


def _settings(**changes):
    return TextSettings(**{"is_public": True, "tokeniser": "plain", **TIERS, **changes})


def _prepared(texts=TEXTS, detectors=(LISTED,), fit=None, users=None, **changes):
    who = {} if users is None else {"who": list(users)}
    changes |= {"user": "who"} if who else {}
    return encoding.text(texts, VECTORS, detectors, _settings(**changes), fit, **who)


def test_secrets_are_the_sensitive_words_in_order():
    encoded = _prepared().encoded
    words = encoded.lexicon.words
    assert [[words[p] for p in document] for document in encoded.records.documents] == [
        ["ann", "nurse", "bob"],
        ["doctor", "ann"],
        [],
    ]
    assert encoded.tiers.names == ("PII", "PoII")
    assert encoded.records.tier_of_position(encoded.tiers).tolist() == [0, 1, 0, 1, 0]


def test_the_context_shows_slots_and_marks_but_no_secret():
    context = _prepared().encoded.records.context
    first = context.tokens[: context.offsets[1]]
    shown = ["_" if t == SLOT else context.symbols[t] for t in first]
    assert shown == ["_", "met", "the", "_", ".", "_", "left", "[PERSON]", "."]
    assert not {"ann", "bob", "zed", "nurse"} & set(context.symbols)


def test_release_replaces_in_place_and_keeps_the_rest():
    encoded = _prepared().encoded
    number = encoded.lexicon.words.index
    outputs = [number(word) for word in ("bob", "doctor", "nurse", "ann", "bob")]
    assert encoded.texts(outputs) == (
        "Bob met the doctor. Nurse left [PERSON].",  # a job is capitalised only where a sentence opens
        "The Ann met Bob  in Paris, twice.",
        "Nobody came.",
    )


def test_casing_follows_the_tier_and_not_the_secret():
    encoded = _prepared(casing=("upper", "lower")).encoded
    texts = encoded.texts(encoded.records.points)
    assert texts[0].startswith("ANN met the nurse. BOB")
    with pytest.raises(InvalidInput, match="expected some of written, lower, upper, title, sentence"):
        _prepared(casing=("camel", "lower"))


def test_unperturbed_text_comes_back_but_for_casing_and_marks():
    encoded = _prepared().encoded
    released = encoded.texts(encoded.records.points)
    assert [text.lower() for text in released] == [text.lower().replace("zed", "[person]") for text in TEXTS]


def test_names_of_several_words_are_one_secret_when_listed():
    texts = ("New York met Ann.", "In new york.")
    encoded = _prepared(texts, [Gazetteer(["New York"], label="PERSON"), LISTED]).encoded
    assert encoded.lexicon.words == ("ann", "new york")
    swapped = [1 - p for p in encoded.records.points]
    assert encoded.texts(swapped) == ("Ann met New York.", "In Ann.")


def test_numbers_of_a_fixed_form_are_masked_whole():
    texts = ("Ann: 192.168.0.1 or jo@example.com.", "Ann 192 168")
    encoded = _prepared(texts, [Patterns(), LISTED]).encoded
    assert encoded.texts(encoded.records.points) == ("Ann: [IP_ADDRESS] or [EMAIL_ADDRESS].", "Ann 192 168")


def test_found_words_without_a_point_are_marked_or_refused_and_counted():
    encoded = _prepared(fit=[0, 2]).encoded
    assert encoded.counts.unseen == 1  # the doctor; Zed was seen, and has no vector
    released = encoded.texts(encoded.records.points)
    assert released[1] == "The [JOB] met Ann  in Paris, twice."  # nobody found Paris, so it stays
    with pytest.raises(InvalidInput, match=r"expected none \(unknown='refuse'\)") as refusal:
        _prepared(unknown="refuse")
    assert "zed" not in str(refusal.value).lower()


def test_the_lexicon_of_a_fit_split_never_sees_the_rest():
    lexicon = _prepared(fit=[0]).lexicon
    assert lexicon.words == ("ann", "bob", "nurse")
    assert lexicon.points_of(["ann", "zed", "left", "doctor"]).tolist() == [0, *[WITHOUT_POINT] * 3]
    assert lexicon.everywhere == {"ann": "PERSON", "bob": "PERSON", "nurse": "JOB", "zed": "PERSON"}
    assert lexicon.masked == ("zed",)


def test_similar_words_become_the_last_tier():
    table = np.array([[1, 0], [0.9, 0.1], [-1, 0], [0, 1], [0, -1]], dtype=np.float32)
    vectors = WordVectors(("ann", "anna", "oslo", "met", "left"), table)
    settings = _settings(tier_names=("PII",), tier_of={"PERSON": "PII"}, similar_percent=25.0)
    prepared = encoding.text(("Ann met Anna", "Ann left Oslo"), vectors, [Gazetteer({"ann": "PERSON"})], settings)
    lexicon = prepared.encoded.lexicon
    assert lexicon.words == ("ann", "anna")
    assert lexicon.tiers.labels.tolist() == [0, 1]
    assert lexicon.tiers.names == ("PII", "PoII")


def test_equal_vectors_share_a_point():
    vectors = WordVectors(("ann", "anne", "bob"), np.array([[1.0], [1.0], [2.0]], dtype=np.float32))
    found = Gazetteer({"ann": "JOB", "anne": "PERSON", "bob": "JOB"})
    encoded = encoding.text(("Ann Anne Bob", "x"), vectors, [found], _settings()).encoded
    assert encoded.records.points.tolist() == [0, 0, 1]
    assert encoded.tiers.labels.tolist() == [0, 1]  # the more sensitive tier holds for both


def test_without_a_vector_every_sensitive_word_becomes_a_mark():
    encoded = _prepared(("Zed", "x")).encoded
    assert [len(document) for document in encoded.records.documents] == [0, 0]
    assert encoded.texts([]) == ("[PERSON]", "x")


def test_recall_on_planted_names_is_reported():
    assert _prepared().report.recall is None
    measured = _prepared(trials=2).report.recall
    assert measured is None or measured.planted <= 2


def test_users_and_sentences_reach_the_records():
    records = _prepared(users=("u", "v", "u")).encoded.records
    assert [d.tolist() for d in records.joined("user").documents] == [[0, 3, 1], [2, 0]]
    assert len(records.joined("sentence")) == 4


def test_nothing_shows_a_word():
    prepared = _prepared()
    for value in (prepared.codec, prepared.encoded, prepared.lexicon, prepared.tags, prepared.encoded.tokens):
        assert not any(word in repr(value).lower() for word in ("ann", "bob", "zed", "nurse"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ag_news", "imdb", "amazon"])
def test_the_corpora_come_back_byte_for_byte(data, name):
    texts = read_published(name, data).texts[::16]
    words = dict.fromkeys(
        ("london", "microsoft", "john", "mary", "america", "french", "book", "film", "music"), "LISTED"
    )
    vectors = read_vectors(data / "glove.6B.100d.npz", words)
    settings = TextSettings(is_public=True)
    encoded = encoding.text(texts, vectors, [Gazetteer(words)], settings).encoded
    assert len(encoded.records.points) > 30
    assert len(encoded.masked) < 25  # tokens such as "film.The", which hold a listed word and have no vector
    assert [a.encode() for a in encoded.restored()] == [b.encode() for b in texts]
    released = encoded.texts(encoded.records.points)  # the same words, in the casing of their tier
    same = sum(a.lower() == b.lower() for a, b in zip(released, texts, strict=True))
    assert same > len(texts) - 50  # the others hold a mark, or a possessive that is written anew


@pytest.mark.slow
def test_real_news_end_to_end(data, empty_cache):
    texts = read_published("ag_news", data).texts[:300]
    detector = Pipeline(data / "ner" / "en_core_web_sm_ner")
    vectors = read_vectors(data / "glove.6B.100d.npz")
    fit = np.arange(180)
    prepared = encoding.text(texts, vectors, [detector], TextSettings(is_public=True), fit)
    encoded = prepared.encoded
    assert len(encoded.records) == 300
    assert encoded.counts.unseen > 0
    assert [tier.name for tier in prepared.report.tiers] == ["PERSON", "ORG", "GPE"]
    outputs = Exponential(encoded.records.space, epsilon=2.0).sample(encoded.records.points, np.random.default_rng(0))
    released = encoded.texts(outputs)
    assert len(released) == 300
    hidden = set(encoded.slots.tolist()) | set(encoded.masked.tolist())
    assert encoded.tokens.texts() == texts
    assert len(hidden) == len(encoded.slots) + len(encoded.masked)


def test_a_selected_label_without_a_tier_leads_to_the_first():
    """What was asked for by name is never released in the clear because nobody gave it a tier."""
    rule = tier_rule(_settings(), ["PERSON", "DATE"])
    assert rule.tier_of == {"PERSON": "PII", "ORG": "PII", "GPE": "PII", "DATE": "PII", "JOB": "PoII"}


def test_someone_has_to_look():
    with pytest.raises(InvalidInput, match="no detector was named"):
        _prepared(detectors=())


ROWS = {"title": ["Ann met", "", None, "Bob"], "body": ["the nurse. Bob", "Ann left", None, "\nmet Zed "]}


def test_the_columns_of_a_row_are_one_document_and_come_back_as_columns():
    codec = TextCodec.fit(ROWS, _settings(text=("title", "body")), detectors=[LISTED], vectors=VECTORS)
    encoded = codec.encode(ROWS)
    assert encoded.restored() == ("Ann met\nthe nurse. Bob", "Ann left", "", "Bob\n\nmet Zed ")
    assert encoded.records.lengths.tolist() == [3, 1, 0, 1]
    back = encoded.decode(encoded.records.points)
    assert back == {
        "title": ["Ann met", "", None, "Bob"],
        "body": ["the nurse. Bob", "Ann left", None, "\nmet [PERSON] "],
    }
    assert encoded.decode(np.zeros(5, dtype=int), masked=True)["title"] == ["[PERSON] met", "", None, "[PERSON]"]


def test_a_name_that_reaches_into_the_next_cell_is_protected_in_both():
    rows = {"title": ["I saw New", "x"], "body": ["York twice", "New York"]}
    settings = _settings(text=("title", "body"), unknown="mark")
    found = Gazetteer(["New York", "new", "york"], label="PERSON")
    codec = TextCodec.fit(rows, settings, detectors=[found], vectors=VECTORS)
    encoded = codec.encode(rows)
    assert codec.lexicon.words == ("new", "new york", "york")
    assert encoded.decode(encoded.records.points) == {"title": ["I saw New", "x"], "body": ["York twice", "New York"]}
    assert len(encoded.records.points) == 3


def test_counts_say_what_becomes_of_everything():
    counts = _prepared(fit=[0, 2]).encoded.counts
    assert (counts.found, counts.perturbed, counts.masked, counts.unseen) == (6, 4, 2, 1)

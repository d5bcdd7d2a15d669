"""Nothing that was found is released: spans over tokens, marks of their kind, and what stays."""

from dataclasses import replace

import numpy as np
import pytest

import encoding
from oddshift.data.codecs import TextSettings, WordVectors
from oddshift.data.codecs.text.span_detection import all_found, found_tokens, nothing_found
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.detectors import Gazetteer, Handles, Spans
from oddshift.model.records import SLOT

STOP = frozenset(["of", "the", "will", "us", "may"])
WORDS = ("kamali", "smith", "jones", "omaha", "boston", "acme", "bank", "nurse", "norma")
VECTORS = WordVectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(np.float32))


class Guess:
    """A detector that guesses listed stretches, each under a label."""

    name = "guesses"

    def __init__(self, labels):
        self.labels = labels

    def detect(self, texts):
        rows = [
            (d, at, at + len(name), label)
            for d, text in enumerate(texts)
            for name, label in self.labels.items()
            for at in _places(text, name)
        ]
        return Spans.of(sorted(rows), is_exact=False)


def _places(text, name):
    at = text.find(name)
    while at >= 0:
        yield at
        at = text.find(name, at + 1)


FIT = (
    "Norma Kamali met Smith in Omaha.",
    "Jones of Acme left Boston for Omaha.",
    "Smith and Kamali met Jones in Boston.",
    "Acme met Omaha; a nurse left.",
)
FOUND = {
    "Norma Kamali": "PERSON",
    "Kamali": "PERSON",
    "Smith": "PERSON",
    "Jones": "PERSON",
    "Zed Quux": "PERSON",
    "Omaha": "GPE",
    "Boston": "GPE",
    "Acme": "ORG",
    "Bank of Omaha": "ORG",
}


def codec_of(fit=FIT, labels=FOUND, **changes):
    settings = TextSettings(**{"is_public": True, "fewest": 2, "tokeniser": "spacy", **changes})
    return encoding.text(fit, VECTORS, [Guess(labels)], settings).codec


def released(text, change=lambda codec, points: points, **changes):
    codec = codec_of(**changes)
    encoded = codec.encode({"text": [text]})
    return encoded.texts(change(codec, encoded.records.points))[0]


def test_an_exact_span_wins_over_a_guess_and_the_first_over_the_second():
    tokens = tokenise(["Will Smith of Omaha"], "plain")
    guess = Spans.of([(0, 0, 10, "PERSON"), (0, 5, 19, "ORG")], is_exact=False)
    exact = Spans.of([(0, 14, 19, "CITY")], is_exact=True)
    found = found_tokens(tokens, [guess, exact], STOP)
    kinds = [found.kinds[k] if k >= 0 else None for k in found.kind.tolist()]
    assert kinds == ["PERSON", "PERSON", "ORG", "CITY"]
    assert found.stays.tolist() == [False, False, True, False]
    assert found.is_found.tolist() == [True, True, False, True]
    assert repr(found) == "FoundTokens(3 of 4 tokens, 3 kinds)"


def test_stop_words_stay_in_small_letters_only():
    words = "the US and us OF THE may May"
    tokens = tokenise([words], "plain")
    found = found_tokens(tokens, [Spans.of([(0, 0, 28, "GPE")], is_exact=False)], STOP)
    shown = [word for word, stays in zip(words.split(), found.stays, strict=True) if stays]
    assert shown == ["the", "and", "us", "OF", "THE", "may"]


def test_a_listed_stop_word_does_not_stay():
    tokens = tokenise(["may the"], "plain")
    found = found_tokens(tokens, [Spans.of([(0, 0, 3, "NAME")], is_exact=True)], STOP)
    assert found.is_found.tolist() == [True, False]


def test_nothing_and_everything_found():
    tokens = tokenise(["Ann, the Bob."], "plain")
    assert not nothing_found(5).is_found.any()
    assert all_found(tokens, "PERSON").is_found.tolist() == [True, False, True, True, False]


def test_a_name_seen_nowhere_becomes_one_mark_of_its_kind():
    assert released("So Zed Quux left.") == "So [PERSON] left."
    assert released("So Zed Quux's aunt left (Zed Quux).") == "So [PERSON]'s aunt left ([PERSON])."


def test_a_name_found_once_in_the_fit_texts_is_perturbed_and_not_released():
    codec = codec_of(fit=(*FIT, "Norma left."), labels={**FOUND, "Norma": "PERSON"})
    encoded = codec.encode({"text": ["Norma Kamali left."]})
    assert [codec.lexicon.words[p] for p in encoded.records.points] == ["norma", "kamali"]
    number = codec.lexicon.words.index
    assert encoded.texts([number("smith"), number("jones")]) == ("Smith Jones left.",)


def test_an_ordinary_word_that_nobody_found_stays():
    text = "A gargantuan zeppelin landed, said quux."
    assert released(text) == text


def test_undetected_occurrences_follow_the_half_and_two_rule():
    fit = ("Smith met.", "Smith left.", "Kamali met.", "kamali left, kamali stayed.", "Jones met.")
    codec = codec_of(fit=fit)
    assert set(codec.lexicon.everywhere) == {"smith"}  # found twice; Kamali at a third of three, Jones once
    encoded = codec.encode({"text": ["smith met kamali and jones."]})
    assert [codec.lexicon.words[p] for p in encoded.records.points] == ["smith"]


def test_a_later_part_of_a_whole_name_is_linked():
    labels = {"Norma Kamali": "PERSON", "Smith": "PERSON", "Jones": "PERSON"}
    codec = codec_of(labels=labels)
    assert codec.finders.known.surnames == {"kamali": "PERSON"}
    encoded = codec.encode({"text": ["Then Kamali's friend left.", "Zed Kamali met. Kamali left."]})
    assert encoded.counts.kinds["PERSON"].found == 3
    assert "Kamali" not in " ".join(encoded.texts(np.full(len(encoded.slots), codec.lexicon.words.index("smith"))))


def test_possessives_stay_and_casing_is_the_lexicons():
    text = "Kamali's aunt and KAMALI met the bank."
    shown = released(text, lambda codec, points: np.full(len(points), codec.lexicon.words.index("smith")))
    assert shown == "Smith's aunt and Smith met the bank."


def test_casing_follows_the_lists_and_headings_and_never_the_secret():
    fit = ("McAdam met PAC.", "So PAC left McAdam.", "And McAdam met PAC.", "mcadam left")
    vectors = WordVectors(("mcadam", "pac"), np.eye(2, dtype=np.float32))
    settings = TextSettings(is_public=True, tier_names=("PII",))
    codec = encoding.text(fit, vectors, [Gazetteer({"mcadam": "PERSON", "pac": "ORG"})], settings).codec
    encoded = codec.encode({"text": ["Then mcadam met pac.", "THE STORY OF MCADAM AND HIS AUNT\nPac left."]})
    assert encoded.texts(encoded.records.points) == (
        "Then McAdam met PAC.",
        "THE STORY OF MCADAM AND HIS AUNT\nPAC left.",
    )
    assert encoded.texts(1 - encoded.records.points)[0] == "Then PAC met McAdam."


def test_function_words_inside_a_name_stay_and_are_counted():
    codec = codec_of()
    encoded = codec.encode({"text": ["The Bank of Omaha left."]})
    counts = encoded.counts.kinds["ORG"]
    assert (counts.found, counts.left) == (3, 1)
    assert encoded.texts(encoded.records.points)[0] == "The [ORG] of Omaha left."


def test_marks_are_symbols_of_the_context_and_say_no_kind_where_tiers_are_secret():
    codec = codec_of()
    encoded = codec.encode({"text": ["So Zed Quux met Smith."]})
    context = encoded.records.context
    assert [context.symbols[t] if t != SLOT else "_" for t in context.tokens] == ["so", "[PERSON]", "met", "_", "."]
    secret = codec_of(is_public=False).encode({"text": ["So Zed Quux met Smith."]})
    assert secret.texts(secret.records.points)[0] == "So [MASKED] met Smith."


def test_kinds_are_tiers_and_small_kinds_have_none():
    codec = codec_of()
    assert codec.tiers.names == ("PERSON", "GPE")  # the one firm is too few
    assert codec.tiers.levels == (0, 0)
    assert codec.encode({"text": ["Acme left."]}).texts([])[0] == "[ORG] left."
    labels = {**FOUND, "nurse": "OCCUPATION"}
    assert codec_of(labels=labels, fewest=1).tiers.levels == (0, 0, 0, 1)


def test_substitutes_are_public_names_drawn_without_regard_to_the_secret():
    codec = codec_of(marks="substitute")
    encoded = codec.encode({"text": ["Zed Quux met Zed Quux and Acme."] * 8})
    shown = encoded.decode(encoded.records.points)["text"]
    assert all("Zed" not in text and "Acme" not in text and "[" not in text for text in shown)
    pairs = [text.split(" met ") for text in shown]
    assert all(second.startswith(first) for first, second in pairs)
    assert len(set(shown)) > 3


def test_handles_are_marked_whole():
    codec = codec_of()
    more = replace(codec, extra_detector=Handles())
    assert more.encode({"text": ["Ask @zed.quux now, #SaveZed"]}).texts([]) == ("Ask [HANDLE] now, [HASHTAG]",)
    assert codec.encode({"text": ["Ask @zed.quux"]}).texts([]) == ("Ask @zed.quux",)


def test_listed_names_are_one_secret_and_their_surname_is_covered():
    fit = ("Norma Kamali met Smith.", "Smith Jones left.")
    listed = Gazetteer(["Norma Kamali", "Smith Jones", "Smith"], label="CLIENT")
    codec = encoding.text(fit, VECTORS, [listed], TextSettings(is_public=True)).codec
    encoded = codec.encode({"text": ["Norma Kamali left, Kamali stayed."]})
    assert [codec.lexicon.words[p] for p in encoded.records.points] == ["norma kamali"]
    assert encoded.texts(encoded.records.points) == ("Norma Kamali left, [CLIENT] stayed.",)


@pytest.mark.parametrize("text", ["", " ", "\n", "Zed Quux", "Zed\nQuux", "Zed Quux Zed Quux."])
def test_texts_at_the_edge_come_back_and_hide_what_was_found(text):
    encoded = codec_of().encode({"text": [text, "Smith"]})
    assert encoded.restored() == (text, "Smith")
    assert "Quux" not in encoded.texts(encoded.records.points)[0] or "\n" in text

"""Letters in disguise: read as plain letters, found in the characters as they were written."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.data.codecs.text.tokens import TOKENISERS, tokenise
from oddshift.data.detectors import Capitals, Gazetteer, Spans
from oddshift.data.detectors.normalising import normalised, through_normalised

DISGUISES = {
    "circled": "Ⓜⓘⓒⓗⓔⓛⓛⓔ",
    "mathematical": "𝓜𝓲𝓬𝓱𝓮𝓵𝓵𝓮",
    "full width": "Ｍｉｃｈｅｌｌｅ",
    "struck through": "".join(c + "\u0336" for c in "Michelle"),
    "zero width": "Mi\u200bch\u200del\u2060le",
    "soft hyphens": "Mi\u00adchelle",
    "parenthesised": "M⒤⒞⒣⒠⒧⒧⒠",
    "small capitals": "Mɪᴄʜᴇʟʟᴇ",
    "variation selectors": "Ⓜ\ufe0fichelle",
}
CAPITALS = {"squared": "🄼🄸🄲", "negative squared": "🅼🅸🅲", "negative circled": "🅜🅘🅒", "regional": "🇲🇮🇨"}
ODD = st.text(alphabet="aZ .é\u0301\u0336\u200b\u00ad\u200d\ufe0fⓜ🄼🇺🇸ﬁ™²①Ｍ＠#ᴀ\n'", max_size=25)


@pytest.mark.parametrize("written", DISGUISES.values(), ids=DISGUISES.keys())
def test_a_name_in_disguise_is_found_as_the_name(written):
    texts = [f"We saw {written}, yes.", "We saw Michelle."]
    for detector in (Gazetteer(["Michelle"]), Gazetteer({"michelle": "NAME"}), Capitals()):
        found = detector.detect(texts)
        assert [texts[d][a:b] for d, a, b in zip(found.document, found.start, found.end, strict=True)] == [
            written,
            "Michelle",
        ]


@pytest.mark.parametrize("written", CAPITALS.values(), ids=CAPITALS.keys())
def test_symbols_that_unicode_does_not_map_are_letters_too(written):
    plain = normalised(f"We saw {written}.")
    assert plain.text == "We saw MIC."
    assert plain.original(7, 10) == (7, 10)


@pytest.mark.parametrize("tokeniser", sorted(TOKENISERS))
@pytest.mark.parametrize("written", [*DISGUISES.values(), "🄼🄸🄲🄷🄴🄻🄻🄴"])
def test_a_word_in_disguise_is_one_token_of_its_type(written, tokeniser):
    text = f"We saw {written}, yes."
    tokens = tokenise([text], tokeniser)
    occurrences = tokens.occurrences
    place = occurrences.types.index("michelle")
    (token,) = [t for t, kind in enumerate(occurrences.type) if kind == place]
    assert text[occurrences.start[token] : occurrences.end[token]] == written
    assert occurrences.is_word[place]
    assert tokens.texts() == (text,)


def test_what_is_not_spelled_with_stays():
    for text in ("x² + ½ = ①, Windows™ at 20 ℃", "naïve Élise", "नमस्ते दुनिया", "日本語"):
        assert normalised(text).text == text


def test_marks_are_composed_with_their_letter():
    text = unicodedata.normalize("NFD", "José Müller")
    plain = normalised(text)
    assert plain.text == "José Müller"
    assert text[slice(*plain.original(0, 4))] == text[:5]


def test_a_flag_does_not_hide_the_name_beside_it():
    text = "We met Kamali🇺🇸 and 🇬🇧Norma."
    assert normalised(text).text == "We met Kamali US and GB Norma."
    found = Gazetteer(["Kamali", "Norma"]).detect([text])
    assert [text[a:b] for a, b in zip(found.start, found.end, strict=True)] == ["Kamali", "Norma"]
    assert tokenise([text]).texts() == (text,)


def test_text_as_written_costs_nothing():
    text = "plain text"
    assert normalised(text).text is text
    assert normalised(text).start is None
    assert normalised(text).original(2, 5) == (2, 5) == normalised(text).reading(2, 5)
    assert "plain" not in repr(normalised(text))


@settings(deadline=None, max_examples=300)
@given(ODD)
def test_offsets_rise_and_cover_the_text(text):
    plain = normalised(text)
    if plain.start is None:
        assert plain.text == text
        return
    assert len(plain.start) == len(plain.end) == len(plain.text)
    assert list(plain.start) == sorted(plain.start)
    assert list(plain.end) == sorted(plain.end)
    assert all(0 <= a <= b <= len(text) for a, b in zip(plain.start, plain.end, strict=True))
    covered = {place for a, b in zip(plain.start, plain.end, strict=True) for place in range(a, b)}
    assert covered == set(range(len(text)))


@settings(deadline=None, max_examples=200)
@given(ODD)
def test_there_and_back_covers_what_was_asked(text):
    plain = normalised(text)
    for start in range(len(text)):
        a, b = plain.reading(start, start + 1)
        if b > a:
            first, last = plain.original(a, b)
            assert first <= start < last


@settings(deadline=None, max_examples=150)
@given(st.lists(ODD, min_size=1, max_size=3))
@pytest.mark.parametrize("tokeniser", sorted(TOKENISERS))
def test_tokens_give_back_every_byte(tokeniser, texts):
    tokens = tokenise(texts, tokeniser)
    assert tokens.texts() == tuple(texts)
    assert all(tokens.forms)


@settings(deadline=None, max_examples=150)
@given(ODD)
def test_spans_lie_on_characters_of_the_original(text):
    def every_letter(texts):
        return Spans.of([(0, i, i + 1, "X") for i, c in enumerate(texts[0]) if c.isalnum()], is_exact=True)

    found = through_normalised(every_letter, [text])
    assert ((found.start >= 0) & (found.start < found.end) & (found.end <= len(text))).all()
    assert (found.start[1:] >= found.start[:-1]).all()

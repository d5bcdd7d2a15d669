"""Titles: they end no sentence, are no names, and are followed by one."""

import pytest

from oddshift.data.codecs.text.tokens import TOKENISERS, tokenise
from oddshift.data.detectors import Capitals, Pipeline, Spans
from oddshift.data.detectors.names import (
    NO_SENTENCE_ENDS,
    ends_in_abbreviation,
    is_title,
    titled_names,
    with_titled_names,
    without_possessive,
)


def names(text):
    return [text[a:b] for a, b in titled_names(text)]


def shown(text, spans):
    return [(text[a:b], spans.labels[k]) for a, b, k in zip(spans.start, spans.end, spans.label, strict=True)]


def opening(text, tokeniser):
    tokens = tokenise([text], tokeniser)
    return [tokens.forms[form] for form in tokens.form[tokens.breaks]]


def test_names_after_titles():
    assert names("Mr. Kamali met Mrs Kamali and DR. SMITH.") == ["Kamali", "Kamali", "SMITH"]
    assert names("Gov. Arnold Schwarzenegger's aide, Sen. J. K. Doe") == ["Arnold Schwarzenegger", "J. K. Doe"]
    assert names("Lt. Col. Roe") == ["Roe"]
    assert names("Prof. Ludwig van der Berg spoke") == ["Ludwig van der Berg"]
    assert names("Dr. O'Brien-Smith left. Then he came") == ["O'Brien-Smith"]
    assert names("the rep said gen z; Mr. and Mrs. left") == []
    assert names("Rep Kamali") == []  # without a dot only where that is common


@pytest.mark.parametrize("tokeniser", sorted(TOKENISERS))
@pytest.mark.parametrize("word", sorted(NO_SENTENCE_ENDS))
def test_a_title_ends_no_sentence(word, tokeniser):
    assert opening(f"We saw {word.title()}. Kamali there. Then he left.", tokeniser) == ["We", "Then"]


@pytest.mark.parametrize("tokeniser", sorted(TOKENISERS))
def test_initials_end_no_sentence_but_words_do(tokeniser):
    assert opening("By J. K. Rowling. Then he left.", tokeniser) == ["By", "Then"]
    assert opening("So am I. Then he left.", "plain") == ["So", "Then"]
    assert opening("He left. Mr", "plain") == ["He", "Mr"]


def test_a_dot_after_a_blank_is_a_full_stop():
    assert opening("I asked Dr . Then he left.", "plain") == ["I", "Then"]
    assert ends_in_abbreviation("met Mr. ")
    assert not ends_in_abbreviation("met him. ")
    assert not ends_in_abbreviation("met Mr ")


def test_possessives_belong_to_the_name():
    assert [without_possessive(word) for word in ("Kamali's", "Kamali’s", "Jones'", "Kamali", "'s")] == [
        "Kamali",
        "Kamali",
        "Jones",
        "Kamali",
        "'s",
    ]
    assert is_title("Mr.")
    assert not is_title("Norma")


def test_the_guess_takes_the_name_and_leaves_the_title():
    text = "Yesterday Mr. Kamali's aunt saw Mrs. Doe. Mr. Roe left St. Louis. Then he slept."
    assert shown(text, Capitals().detect([text])) == [
        ("Kamali", "PERSON"),
        ("Doe", "PERSON"),
        ("Roe", "PERSON"),
        ("St", "CAPITALISED"),
        ("Louis", "CAPITALISED"),
    ]


def test_spans_with_titles_by_hand():
    text = "Mr. Kamali met Dr. Who's friend, Mrs. Doe and Ann's Acme's."
    spans = Spans.of(
        [(0, 0, 3, "PERSON"), (0, 15, 24, "PERSON"), (0, 46, 51, "PERSON"), (0, 52, 58, "ORG")], is_exact=False
    )
    assert [text[a:b] for a, b in zip(spans.start, spans.end, strict=True)] == ["Mr.", "Dr. Who's", "Ann's", "Acme's"]
    assert shown(text, with_titled_names(spans, [text])) == [
        ("Kamali", "PERSON"),
        ("Who", "PERSON"),
        ("Doe", "PERSON"),
        ("Ann", "PERSON"),
        ("Acme's", "ORG"),
    ]


def test_a_title_with_no_name_behind_it_is_no_person():
    spans = Spans.of([(0, 0, 3, "PERSON")], is_exact=False)
    assert len(with_titled_names(spans, ["Mr. and so on"])) == 0


def test_a_trained_pipeline_covers_surnames_and_no_title(data, empty_cache):
    texts = ["On Monday Mr. Kamali spoke with Mrs. Okonkwo.", "Dr. Zeleny agreed, but Sen. Brzezicki did not."]
    found = Pipeline(data / "ner" / "en_core_web_sm_ner", labels=("PERSON",)).detect(texts)
    words = [texts[d][a:b] for d, a, b in zip(found.document, found.start, found.end, strict=True)]
    assert words == ["Kamali", "Okonkwo", "Zeleny", "Brzezicki"]

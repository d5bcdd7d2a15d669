"""Long runs: tokens join to the text whatever it is, usual texts are cut as spaCy cuts them, and time stays linear."""

import time

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.detectors import DETECTORS, Pipeline, spacy_pipeline
from oddshift.data.detectors.normalising import LONGEST_RUN, BoundedTokenizer, bounded
from oddshift.data.detectors.spacy_pipeline import LONGEST_SEGMENT, text_segments

HOSTILE = {
    "dots before an at": "a." * 8_000 + "@",
    "brackets": "(" * 16_000,
    "brackets after a letter": "x" + ")" * 16_000,
    "quotes": "'" * 16_000,
    "plus signs": "+" * 16_000 + "1",
    "dollars": "$" * 16_000,
    "addresses": "a@a." * 4_000,
    "links": "http://" * 2_300,
    "capitals": "Ab" * 8_000,
    "capitals and hyphens": "A-" * 8_000,
    "titles": "Mr. Aa " * 2_300,
    "blanks": " " * 16_000 + "x",
    "marks over letters": "\u0301" * 16_000,
    "no width": "\u200b" * 16_000 + "A",
    "flags": "\U0001f1e6" * 16_000,
    "spelled": "a [at " * 2_700,
    "hashes": "#" + "1" * 16_000,
}


@pytest.fixture(scope="module")
def pair():
    """spaCy's own tokenizer and the bounded one."""
    return spacy.blank("en"), bounded(spacy.blank("en"))


RUNS = st.text(st.sampled_from("ab1.,('$é\u4e2d@"), max_size=2 * LONGEST_RUN)
TEXTS = st.lists(st.one_of(RUNS, st.sampled_from([" ", "  ", "\n", "\t "])), max_size=8).map("".join)


@given(text=TEXTS)
@settings(max_examples=60, deadline=None)
def test_tokens_join_to_the_text(pair, text):
    doc = pair[1](text)
    assert "".join(token.text_with_ws for token in doc) == text
    assert all(token.text for token in doc)


@given(text=st.text(st.sampled_from("ab1.,('$@ \n"), max_size=LONGEST_RUN))
@settings(max_examples=60, deadline=None)
def test_usual_words_are_cut_by_spacy(pair, text):
    assert [token.text for token in pair[1](text)] == [token.text for token in pair[0](text)]


def test_only_the_long_run_is_cut_otherwise(pair):
    run = "(" * LONGEST_RUN + "x)."
    found = [token.text for token in pair[1](f"Ann's dog  {run} isn't here.")]
    assert found[:4] == ["Ann", "'s", "dog", " "]
    assert found[4 : 4 + len(run)] == list(run)
    assert found[4 + len(run) :] == ["is", "n't", "here", "."]


def test_a_word_without_marks_is_cut_too(pair):
    assert [len(token.text) for token in pair[1]("a" * (2 * LONGEST_RUN + 5))] == [LONGEST_RUN, LONGEST_RUN, 5]


def test_a_tokenizer_says_nothing_of_its_words(pair):
    assert "object at" in repr(BoundedTokenizer(pair[0].tokenizer, pair[0].vocab))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_linear_time(name):
    """16,000 characters take well under what a square of them would: 9 to 23 s before runs were bounded."""
    text = HOSTILE[name]
    tokenise(["warm"])
    begun = time.process_time()
    assert tokenise([text]).texts() == (text,)
    for kind in ("patterns", "capitals", "handles", "occupations"):
        DETECTORS[kind]().detector().detect([text])
    assert time.process_time() - begun < 4.0


def test_long_texts_are_read_in_pieces():
    text = "Ann met Bob. " * 20_000
    pieces = text_segments(text)
    assert "".join(text[a:b] for a, b in pieces) == text
    assert max(b - a for a, b in pieces) <= LONGEST_SEGMENT
    assert all(text[a:b].endswith(". ") for a, b in pieces)
    assert text_segments("") == [(0, 0)]
    assert text_segments("short") == [(0, 5)]


def test_pieces_end_at_lines_before_sentences_before_blanks():
    assert text_segments("aaaa. bb\ncc. dd ee", longest=14)[0] == (0, 9)
    assert text_segments("aaaaaaa. bb cc dd ee", longest=14)[0] == (0, 9)
    assert text_segments("aaaaaaaa bb cc dd ee", longest=14)[0] == (0, 12)
    assert text_segments("a" * 20, longest=14) == [(0, 14), (14, 20)]


def test_a_pipeline_reads_a_text_over_its_limit(data, monkeypatch):
    monkeypatch.setattr(spacy_pipeline, "LONGEST_SEGMENT", 200)
    text = "nothing here. " * 30 + "Yesterday John Smith met Mary Jones in London."
    found = Pipeline(data / "ner" / "en_core_web_sm_ner", workers=1, is_cached=False).detect([text])
    names = {text[a:b] for a, b in zip(found.start.tolist(), found.end.tolist(), strict=True)}
    assert {"John Smith", "London"} <= names

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text import tokens
from oddshift.data.codecs.text.tokens import TOKENISERS, tokenise
from oddshift.data.detectors import Gazetteer, Spans

ODD = ["", " ", "a  b\t c\n\nd ", "don't  U.S.-led 'quoted' (x)... end", "Zürich — café\u00a0☕", "\r\n", "x "]


@pytest.mark.parametrize("tokeniser", sorted(TOKENISERS))
def test_joining_gives_back_every_byte(tokeniser):
    assert tokenise(ODD, tokeniser).texts() == tuple(ODD)


@pytest.mark.parametrize("tokeniser", sorted(TOKENISERS))
@settings(deadline=None)
@given(texts=st.lists(st.text(alphabet="aB'-.,!? \n\té", max_size=30), min_size=1, max_size=4))
def test_joining_gives_back_any_text(tokeniser, texts):
    assert tokenise(texts, tokeniser).texts() == tuple(texts)


def test_occurrences_point_at_the_words():
    texts = ["Ann met  Bob.", "ann"]
    occurrences = tokenise(texts, "plain").occurrences
    found = [
        texts[d][a:b].lower() == occurrences.types[t]
        for d, a, b, t in zip(occurrences.document, occurrences.start, occurrences.end, occurrences.type, strict=True)
    ]
    assert all(found)
    assert occurrences.totals[occurrences.types.index("ann")] == 2
    assert not occurrences.is_word[occurrences.types.index(".")]


def test_sentences_open_after_stops_and_line_breaks():
    tokens = tokenise(['He said "No." Then left.\nTitle', '"Quote'], "plain")
    opening = [tokens.forms[f] for f in tokens.form[tokens.breaks]]
    assert opening == ["He", "Then", "Title", '"']


def test_merged_makes_one_token_of_a_name():
    texts = ["In New York, Ann.", "New York"]
    tokens = tokenise(texts, "plain")
    merged = tokens.merged(Gazetteer(["New York"]).detect(texts))
    assert merged.texts() == tuple(texts)
    assert len(merged.form) == len(tokens.form) - 2
    assert "new york" in merged.occurrences.types


def test_merged_never_joins_documents_and_first_span_wins():
    tokens = tokenise(["a b", "c d"], "plain")
    same = tokens.merged(Spans.of([], is_exact=True))
    assert same is tokens
    overlap = Spans.of([(0, 0, 3, "X"), (0, 2, 3, "X"), (1, 0, 1, "X")], is_exact=True)
    merged = tokens.merged(overlap)
    assert [merged.forms[f] for f in merged.form] == ["a b", "c", "d"]
    assert merged.texts() == ("a b", "c d")


def test_replacing_and_deleting_keep_the_rest():
    tokens = tokenise(["Ann met Bob, twice."], "plain")
    assert tokens.texts({0: "Eve", 2: None}) == ("Eve met , twice.",)


def test_take_and_repr():
    tokens = tokenise(["secretone two", "three", ""], "plain")
    assert tokens.take(np.array([2, 1])).texts() == ("", "three")
    assert repr(tokens) == "Tokens(3 documents, 3 tokens, 3 forms)"
    with pytest.raises(InvalidInput, match="expected one of plain, spacy"):
        tokenise(["a"], "bytes")
    with pytest.raises(InvalidInput, match="texts is empty"):
        tokenise([])


def test_spacy_forgets_words_before_they_fill_the_memory(monkeypatch):
    expected = tokens.tokenise(["Ann met Bob."]).texts()
    monkeypatch.setattr(tokens, "MOST_WORDS", 5)
    before = tokens._english()
    assert tokens.tokenise(["Ann met Bob."]).texts() == expected
    assert tokens._english() is not before

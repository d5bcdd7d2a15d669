"""Tokens as a value: joined, merged, taken and replaced, they give back the characters that nobody replaced."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text import tokens as tokens_module
from oddshift.data.codecs.text.settings import CASINGS, cased, in_capitals
from oddshift.data.codecs.text.tokens import TOKENISERS, joined_tokens, no_tokens, tokenise
from oddshift.data.detectors.spans import Spans

TEXT = st.text(st.sampled_from("aB é.,!\n\t 1’"), max_size=14)
TEXTS = st.lists(TEXT, min_size=1, max_size=4)


def plain(*texts):
    return tokenise(texts, "plain")


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.data())
def test_any_join_gives_back_every_character(texts, data):
    tokens = plain(*texts)
    joins = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(tokens.form), max_size=len(tokens.form))), dtype=bool
    )
    joins[tokens.offsets[:-1][tokens.offsets[:-1] < len(joins)]] = False
    joined = joined_tokens(tokens, joins)
    assert joined.texts() == tuple(texts)
    assert len(joined.form) == len(tokens.form) - joins.sum()


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 13), st.integers(1, 5)), max_size=4))
def test_any_merge_gives_back_every_character(texts, places):
    rows = sorted((d, a, a + n, "X") for d, a, n in places if d < len(texts))
    assert plain(*texts).merged(Spans.of(rows, is_exact=True)).texts() == tuple(texts)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_every_token_starts_where_it_says(texts):
    tokens, whole = plain(*texts), "".join(texts)
    for start, form in zip(tokens.character_starts.tolist(), tokens.form.tolist(), strict=True):
        assert whole[start : start + len(tokens.forms[form])] == tokens.forms[form]


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.permutations(range(4)))
def test_documents_are_taken_in_any_order(texts, order):
    chosen = [d for d in order if d < len(texts)]
    assert plain(*texts).take(np.array(chosen)).texts() == tuple(texts[d] for d in chosen)


def test_replaced_words_keep_their_blank_and_deleted_ones_lose_it():
    tokens = plain("Ann met Bob.", "Ann")
    assert tokens.texts({0: "Eve", 2: None, 4: "Cy"}) == ("Eve met .", "Cy")
    assert tokens.texts({}) == ("Ann met Bob.", "Ann")


def test_a_merged_name_is_one_token_of_its_own_form():
    tokens = plain("New York, New York").merged(Spans.of([(0, 0, 8, "GPE"), (0, 10, 18, "GPE")], is_exact=True))
    assert [tokens.forms[f] for f in tokens.form] == ["New York", ",", "New York"]
    assert tokens.occurrences.types[tokens.occurrences.type[0]] == "new york"


def test_documents_without_words_have_no_tokens_and_no_text():
    tokens = no_tokens(3)
    assert (len(tokens), tokens.texts(), len(tokens.occurrences.type)) == (3, ("", "", ""), 0)
    assert tokens.breaks.tolist() == []


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        ("One. Two", ["One", "Two"]),
        ("One! “Two” three", ["One", "“"]),
        ("One.) Two", ["One", "Two"]),
        ("One\nTwo", ["One", "Two"]),
        ("Mr. Two", ["Mr"]),
        ("J. Two", ["J"]),
        ("One, two", ["One"]),
    ],
)
def test_which_tokens_open_a_sentence(text, opens):
    tokens = plain(text)
    assert [tokens.forms[f] for f, is_open in zip(tokens.form, tokens.breaks, strict=True) if is_open] == opens


def test_the_first_token_of_every_document_opens_a_sentence():
    tokens = plain("one two", "", "three")
    assert tokens.breaks.tolist() == [True, False, True]


def test_a_tokeniser_that_nobody_knows_and_an_empty_list_are_refused():
    with pytest.raises(InvalidInput, match="tokeniser='words', expected one of plain, spacy"):
        tokenise(["a"], "words")
    with pytest.raises(InvalidInput, match="texts is empty, expected at least one"):
        tokenise([], "plain")


def test_tokens_are_shown_as_counts():
    assert repr(plain("Ann met Ann", "Bob")) == "Tokens(2 documents, 4 tokens, 3 forms)"


@pytest.mark.parametrize("rule", sorted(CASINGS))
@pytest.mark.parametrize("opens", [False, True])
def test_a_casing_changes_letters_to_other_cases_and_nothing_else(rule, opens):
    for word in ("new york", "McCarthy", "o’neil", "élan", "x"):
        assert cased(word, rule, opens).lower() == word.lower()


@pytest.mark.parametrize(
    ("rule", "inside", "opening"),
    [
        ("written", "mcCarthy hall", "McCarthy hall"),
        ("lower", "mcCarthy hall", "mcCarthy hall"),
        ("upper", "MCCARTHY HALL", "MCCARTHY HALL"),
        ("title", "McCarthy Hall", "McCarthy Hall"),
        ("sentence", "mcCarthy hall", "McCarthy hall"),
    ],
)
def test_casings_by_hand(rule, inside, opening):
    assert (cased("mcCarthy hall", rule, False), cased("mcCarthy hall", rule, True)) == (inside, opening)


def headings(text, public):
    tokens = plain(text)
    words = np.array([tokens.forms[f] in public for f in tokens.form])
    found = in_capitals(tokens, words)
    return {tokens.forms[f] for f, is_heading in zip(tokens.form, found, strict=True) if is_heading}


def test_a_heading_has_two_public_words_and_all_in_capitals():
    assert "ANN" in headings("BREAKING NEWS ANN. Then Bob", ["BREAKING", "NEWS", "Then"])
    assert headings("NEWS ANN.", ["NEWS"]) == set()
    assert headings("BREAKING news ANN.", ["BREAKING", "news"]) == set()


def test_the_secret_itself_never_decides_what_is_a_heading():
    public = ["BREAKING", "NEWS"]
    assert "ann" in headings("BREAKING NEWS ann", public)
    assert "ANN" in headings("BREAKING NEWS ANN", public)
    assert headings("ANN BOB", []) == set()


def test_single_letters_and_numbers_say_nothing_about_a_heading():
    assert headings("A B 12", ["A", "B", "12"]) == set()


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


def test_merged_never_joins_documents_and_first_span_wins():
    tokens = tokenise(["a b", "c d"], "plain")
    same = tokens.merged(Spans.of([], is_exact=True))
    assert same is tokens
    overlap = Spans.of([(0, 0, 3, "X"), (0, 2, 3, "X"), (1, 0, 1, "X")], is_exact=True)
    merged = tokens.merged(overlap)
    assert [merged.forms[f] for f in merged.form] == ["a b", "c", "d"]
    assert merged.texts() == ("a b", "c d")


def test_spacy_forgets_words_before_they_fill_the_memory(monkeypatch):
    expected = tokens_module.tokenise(["Ann met Bob."]).texts()
    monkeypatch.setattr(tokens_module, "MOST_WORDS", 5)
    before = tokens_module._english()
    assert tokens_module.tokenise(["Ann met Bob."]).texts() == expected
    assert tokens_module._english() is not before

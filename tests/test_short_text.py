"""One short text word by word: the release is the one that arrays give, whatever stands in the text."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text import short_text
from oddshift.data.codecs.text.encoded import EncodedText
from oddshift.data.codecs.text.short_text import ShortText
from oddshift.data.codecs.text.span_detection import Finders
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Sanitizer, os_uniforms, seeded_uniforms
from oddshift.protect.noise import Draws
from oddshift.protect.policies import make_policy
from policies import corpus, names_policy, people_policy
from test_sanitizer import prepared, text_policy

PIECES = (
    *("namea", "NameB", "NAMEC", "named", "zed", "Ann", "nurse", "Bob Lee", "New York", "will"),
    *("met", "The", "BIG", "NEWS", "I", "K", "Mr", "St", "é", "ﬁle", "\u200b", "７", "x@y.org"),
    *(".", "!", "?", "...", '"', "”", ")", "'s", "\n", "\r\n", "\t", " ", "  ", ",", "-"),
)
pieced = st.lists(st.sampled_from(PIECES), min_size=1, max_size=14)
some_text = st.one_of(st.builds("".join, pieced), st.builds(" ".join, pieced), st.text(min_size=1, max_size=30))


def listed(**changes):
    """The ten words found by the lexicon alone."""
    policy = names_policy()
    settings = replace(policy.codec.settings, user=None, **changes)
    codec = replace(policy.codec, settings=settings, finders=Finders())
    return make_policy(codec, policy.mechanism(), policy.tiers)


POLICIES = {
    "once, plain": listed(tokeniser="plain"),
    "once, spaCy": listed(),
    "each": listed(repeats="each"),
    "by sentence": listed(joint_by="sentence"),
    "written": listed(casing=("written",)),
    "sentence": listed(casing=("sentence",), tokeniser="plain"),
    "with detectors": text_policy(prepared()),
    "as written": text_policy(prepared(casing=("written", "upper"))),
}


def by_arrays(policy, text, seed):
    sanitizer = Sanitizer.seeded_for_experiments(policy, seed)
    encoded = policy.codec.on_columns(["text"]).encode({"text": [text]})
    return sanitizer.released(encoded)["text"]


@pytest.mark.parametrize("name", POLICIES)
@given(text=some_text, seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_short_text_is_released_as_by_arrays(name, text, seed):
    policy = POLICIES[name]
    assert Sanitizer.seeded_for_experiments(policy, seed).texts([text]) == by_arrays(policy, text, seed)


def test_texts_of_the_corpus_take_the_short_way_and_agree():
    policy = people_policy()
    for seed, text in enumerate(corpus().texts):
        assert isinstance(policy.codec.encode_few({"text": [text]}), ShortText)
        assert Sanitizer.seeded_for_experiments(policy, seed).texts([text]) == by_arrays(policy, text, seed)


@pytest.mark.parametrize(
    "cells",
    [[""], [None], ["a", "b"], ["x" * 3000], ["ⓝamea left"]],
    ids=range(5),
)
def test_what_only_arrays_can_encode_is_left_to_them(cells):
    policy = text_policy(prepared())
    assert isinstance(policy.codec.on_columns(["text"]).encode_few({"text": cells}), EncodedText)


def test_what_is_refused_is_refused_in_the_same_words():
    policy = text_policy(prepared())
    with pytest.raises(InvalidInput, match="is an int, expected text"):
        policy.codec.on_columns(["text"]).encode_few({"text": [7]}, first=3)
    codec = listed().codec
    lexicon = replace(codec.lexicon, everywhere={**codec.lexicon.everywhere, "secret": "PII"})
    codec = replace(codec, lexicon=lexicon, settings=replace(codec.settings, unknown="refuse"))
    with pytest.raises(InvalidInput, match="1 sensitive tokens have no point"):
        codec.encode_few({"text": ["A secret place."]})


def test_a_protected_word_without_a_point_becomes_a_mark():
    codec = listed().codec
    lexicon = replace(codec.lexicon, everywhere={**codec.lexicon.everywhere, "secret": "PERSON"})
    codec = replace(codec, lexicon=lexicon)
    encoded = codec.encode_few({"text": ["A secret place."]})
    assert isinstance(encoded, ShortText)
    (said,) = encoded.decode([])["text"]
    assert said == codec.encode({"text": ["A secret place."]}).texts([])[0] != "A secret place."


def test_facts_about_words_are_forgotten_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr(short_text, "MOST_FORMS", 8)
    codec = listed().codec
    for number in range(40):
        codec.encode_few({"text": [f"word{number} namea"]})
    assert len(codec._short._known) <= 8


def test_a_short_text_shows_no_word():
    assert repr(listed().codec.encode_few({"text": ["namea left."]})) == "ShortText(3 words, 1 secrets)"


def test_few_draws_are_those_of_arrays():
    mechanism = Exponential(Space([[0.0], [1.0], [3.0], [4.0]]), 0.7)
    for room in (1000, 64, 0):  # all rows are kept, two of four, none
        few, many = (Draws(mechanism, seeded_uniforms(3), room) for _ in range(2))
        for points in ([0, 1, 1], [3], [], [2, 3, 0, 0]):
            assert few.few(points) == many(np.array(points, dtype=np.int64)).tolist()


def test_production_noise_is_fresh_for_every_short_text():
    policy = people_policy(epsilon=1e-6)
    assert Sanitizer(policy).uniforms is os_uniforms
    text = max(corpus().texts, key=len)
    assert len({Sanitizer(policy).texts([text])[0] for _ in range(5)}) > 1

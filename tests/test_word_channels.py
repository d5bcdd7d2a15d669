"""Text filters against a count of every way in which a word can come out."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import Deletion, InvalidInput, NoiseCharacter, Space, Substitution


def space_of_size(n):
    return Space(np.arange(float(n))[:, None])


def slow_noise(word, probability, alphabet):
    """Pr[string | word] by listing each place and letter, in exact arithmetic."""
    law = Counter({word: 1 - Fraction(probability)})
    places = len(word) + 1
    for place in range(places):
        for letter in alphabet:
            law[word[:place] + letter + word[place:]] += Fraction(probability) / (places * len(alphabet))
    return law


words = st.lists(st.text("abc", max_size=3), min_size=1, max_size=4, unique=True)


@given(words, st.sampled_from([0.25, 0.5, 1.0]), st.sampled_from(["a", "ab", "cba"]))
@settings(max_examples=60, deadline=None)
def test_a_noise_character_is_the_sum_over_places_and_letters(vocabulary, probability, alphabet):
    noise = NoiseCharacter(space_of_size(len(vocabulary)), vocabulary, probability, alphabet)
    laws = [slow_noise(word, probability, alphabet) for word in vocabulary]
    assert noise.strings == tuple(sorted({s for law in laws for s in law}))
    for row, law in zip(np.exp(noise.log_matrix), laws, strict=True):
        assert row == pytest.approx([float(law[s]) for s in noise.strings], abs=1e-15)


def test_the_same_letter_before_and_after_itself_is_one_string_counted_twice():
    noise = NoiseCharacter(space_of_size(1), ["aa"], 1.0, "ab")
    row = dict(zip(noise.strings, np.exp(noise.log_matrix[0]), strict=True))
    assert row == pytest.approx({"aa": 0.0, "aaa": 0.5, "aab": 1 / 6, "aba": 1 / 6, "baa": 1 / 6})


def test_an_empty_word_has_one_place():
    noise = NoiseCharacter(space_of_size(1), [""], 0.5, "ab")
    assert dict(zip(noise.strings, np.exp(noise.log_matrix[0]), strict=True)) == pytest.approx(
        {"": 0.5, "a": 0.25, "b": 0.25}
    )


def test_a_string_that_two_words_share_is_one_output():
    noise = NoiseCharacter(space_of_size(2), ["a", "b"], 1.0, "ab")
    assert noise.strings == ("a", "aa", "ab", "b", "ba", "bb")
    at = noise.strings.index("ab")
    assert np.exp(noise.log_matrix[:, at]).tolist() == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (["a"], "1 distinct words, expected 2, one for each point"),
        (["a", 5], "words has an entry that is not a string"),
        (["a", None], "words has an entry that is not a string"),
        (5, "words is an int, expected a sequence"),
    ],
)
def test_words_are_one_distinct_text_for_each_point(vocabulary, message):
    with pytest.raises(InvalidInput, match=message):
        NoiseCharacter(space_of_size(2), vocabulary, 0.5)


def test_no_word_is_ever_printed():
    noise = NoiseCharacter(space_of_size(2), ["hidden", "secret"], 0.5)
    assert "hidden" not in repr(noise)
    with pytest.raises(InvalidInput) as caught:
        NoiseCharacter(space_of_size(3), ["hidden", "secret", "hidden"], 0.5)
    assert "hidden" not in str(caught.value)


@given(
    st.lists(st.integers(-20, 20), min_size=2, max_size=7, unique=True),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_substitution_takes_the_nearest_others_and_the_lower_row_among_equals(places, probability, data):
    k = data.draw(st.integers(1, len(places) - 1))
    channel = Substitution(Space(np.array(places, dtype=float)[:, None]), probability, k)
    for x, here in enumerate(places):
        others = sorted((abs(there - here), y) for y, there in enumerate(places) if y != x)
        expected = np.zeros(len(places))
        expected[[y for _, y in others[:k]]] = probability / k
        expected[x] = 1 - probability
        assert np.exp(channel.log_matrix[x]) == pytest.approx(expected, abs=1e-15)


def test_deletion_puts_the_gap_last_and_keeps_the_word_at_its_own_number():
    rows = np.exp(Deletion(space_of_size(3), 0.125).log_likelihood(np.array([2, 0])))
    assert rows == pytest.approx(np.array([[0.0, 0.0, 0.875, 0.125], [0.875, 0.0, 0.0, 0.125]]))
    assert Deletion(space_of_size(3), 0.125).outputs is None


def test_one_word_alone_is_told_apart_from_nothing():
    assert Deletion(space_of_size(1), 0.5).exact_epsilon == 0.0
    assert NoiseCharacter(space_of_size(1), ["a"], 0.5, "a").exact_epsilon == 0.0


@pytest.mark.parametrize("probability", ["0.5", None, float("inf"), -0.5])
def test_a_probability_is_a_number_above_zero_and_at_most_one(probability):
    for make in (Deletion, lambda s, p: Substitution(s, p, 1), lambda s, p: NoiseCharacter(s, ["a", "b"], p)):
        with pytest.raises(InvalidInput, match=r"probability=.*expected"):
            make(space_of_size(2), probability)


def test_frequencies_of_noisy_words_follow_their_law():
    """40,000 draws of one word with 5 possible strings; χ² with 4 degrees of freedom exceeds 23.5 with level 1e-4."""
    noise = NoiseCharacter(space_of_size(2), ["ab", "b"], 0.75, "ab")
    draws = noise.sample(np.zeros(40_000, dtype=int), np.random.default_rng(0))
    law = slow_noise("ab", 0.75, "ab")
    expected = np.array([float(law[s]) for s in noise.strings]) * 40_000
    seen = np.bincount(draws, minlength=len(expected))
    possible = expected > 0
    assert not seen[~possible].any()
    statistic = float(((seen - expected)[possible] ** 2 / expected[possible]).sum())
    assert possible.sum() == 5
    assert statistic < 23.5

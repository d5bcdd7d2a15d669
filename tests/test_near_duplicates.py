"""Near-duplicate texts: what shares a unit, against a slow comparison of all pairs."""

import random

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.preparation import near_duplicates

WORDS = [f"word{k}" for k in range(400)]


def triples(text):
    words = text.lower().split()
    return {tuple(words[k : k + 3]) for k in range(len(words) - 2)}


def slow_groups(texts, similarity):
    """Connected components of all pairs that are similar enough."""
    sets = [triples(text) for text in texts]
    group = list(range(len(texts)))
    for a in range(len(texts)):
        for b in range(a):
            if len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= similarity:
                old, new = max(group[a], group[b]), min(group[a], group[b])
                group = [new if g == old else g for g in group]
    return group


def same_partition(one, two):
    return len(set(zip(one, two, strict=True))) == len(set(one)) == len(set(two))


def corpus(seed, documents=60, copies=40):
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(30, 60))) for _ in range(documents)]
    for _ in range(copies):
        words = rng.choice(texts).split()
        if rng.random() < 0.5:
            words[rng.randrange(len(words))] = "changed"
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("seed", range(4))
def test_copies_are_found_as_by_comparing_all_pairs(seed):
    texts = corpus(seed)
    assert same_partition(near_duplicates(texts).tolist(), slow_groups(texts, 0.8))


def test_fifty_copies_of_sixty_texts_are_sixty_units():
    texts = corpus(1, documents=60, copies=0) * 50
    assert len(np.unique(near_duplicates(texts))) == 60


def test_case_and_punctuation_do_not_hide_a_copy():
    assert near_duplicates(["Ann met Bob in Oslo.", "ann met bob, in oslo", "Cid left Rome"]).tolist() == [0, 0, 1]


def test_short_texts_are_compared_as_a_whole():
    assert near_duplicates(["yes", "no", "Yes!", "yes sir"]).tolist() == [0, 1, 0, 2]


def test_texts_without_a_word_stay_apart():
    assert near_duplicates(["", "...", ""]).tolist() == [0, 1, 2]
    assert near_duplicates([]).tolist() == []


def test_the_threshold_counts():
    texts = ["a b c d e f g h i j", "a b c d e f g h i x"]  # 7 of 9 triples
    assert near_duplicates(texts, 0.7).tolist() == [0, 0]
    assert near_duplicates(texts, 0.8).tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="similarity"):
        near_duplicates(texts, 1.5)


def test_it_repeats():
    texts = corpus(9)
    assert near_duplicates(texts).tolist() == near_duplicates(texts).tolist()

"""The tier rule, against a slow reading of its sentence; the refusals of a rule; what its result says about itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.detectors.spans import Spans
from oddshift.data.detectors.tagging import TierRule, TypeTags, tag_types, tier_of_most

WORDS = ("ann", "bob", "the", "!")
STOP = frozenset(["the"])
RULE = TierRule(names=("FIRST", "SECOND"), tier_of={"PERSON": "FIRST", "DATE": "SECOND"})
LABEL = st.sampled_from([None, "PERSON", "DATE", "OTHER"])


def slow_tier(tags, rule, word):
    """The tier of one word from the label and exactness of each of its occurrences, sentence by sentence."""
    tiers = []
    for label, is_exact in tags:
        if label in rule.tier_of:
            tiers.append((rule.names.index(rule.tier_of[label]), is_exact))
        elif label is not None and is_exact:
            tiers.append((0, True))  # asked for, so the most sensitive
    if not tiers or not any(c.isalnum() for c in word):
        return -1
    total = len(tags)
    enters = False
    for upto in range(len(rule.names)):
        inside = [one for one in tiers if one[0] <= upto]
        sure = sum(is_exact for _, is_exact in inside)
        if len(inside) < rule.share * total:
            continue
        by_guess = len(inside) >= rule.count and word not in STOP
        by_match = sure >= 1 and (word not in STOP or sure >= total)
        enters = enters or by_guess or by_match
    if not enters:
        return -1
    for upto in range(len(rule.names)):
        if 2 * sum(tier <= upto for tier, _ in tiers) >= len(tiers):
            return upto
    raise AssertionError("no tier holds half of all")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(WORDS), LABEL, st.booleans()), min_size=1, max_size=12))
def test_the_tier_of_every_word_is_that_of_the_slow_reading(tokens):
    texts = [word for word, _, _ in tokens]
    rows = [(d, 0, len(word), label, is_exact) for d, (word, label, is_exact) in enumerate(tokens) if label]
    spans = [Spans.of([row[:4] for row in rows if row[4] == is_exact], is_exact=is_exact) for is_exact in (False, True)]
    occurrences = tokenise(texts, "plain").occurrences
    found = tag_types(occurrences, spans, RULE, STOP)
    for number, word in enumerate(occurrences.types):
        tags = [(label, is_exact) for text, label, is_exact in tokens if text == word]
        assert found.labels[number] == slow_tier(tags, RULE, word), word
        assert found.totals[number] == len(tags)


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from([(0, 1, 2), (0, 0, 1), (0, 0, 0), (0, 1, 1)]),
)
def test_the_tier_of_most_occurrences(counts, levels):
    found = tier_of_most(np.array(counts), levels)
    for row, tier in zip(counts, found.tolist(), strict=True):
        if not sum(row):
            assert tier == -1
            continue
        level = next(
            k for k in range(3) if 2 * sum(n for n, at in zip(row, levels, strict=True) if at <= k) >= sum(row)
        )
        inside = [n if at == level else -1 for n, at in zip(row, levels, strict=True)]
        assert tier == inside.index(max(inside))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ()}, r"names=\(\), expected at least one tier name, all distinct"),
        ({"names": ("A", "A"), "tier_of": {}}, "expected at least one tier name, all distinct"),
        ({"names": ("A",), "tier_of": {"PERSON": "B"}}, "tier_of names 'B', expected one of A"),
        ({"share": 0.0}, "share=0.0, expected 0 < share <= 1"),
        ({"share": 1.5}, "share=1.5, expected 0 < share <= 1"),
        ({"count": 0}, "count=0, expected a whole number >= 1"),
        ({"count": 1.5}, "count=1.5, expected a whole number >= 1"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(InvalidInput, match=message):
        TierRule(**changes)


def tags(labels, tagged, totals=(4, 4, 4)):
    return TypeTags(np.array(labels), np.array(tagged), np.array(totals), ("FIRST", "SECOND"), (0, 1))


def test_what_the_counts_say():
    found = tags([0, -1, -1], [[3, 1], [0, 1], [0, 0]])
    assert found.mixed.tolist() == [1]
    assert found.refused.tolist() == [1]
    assert found.contested.tolist() == [0]
    assert found.tier_of_tagged.tolist() == [0, 1, -1]


def test_one_more_tier_takes_only_types_without_one():
    found = tags([0, -1, -1], [[3, 1], [0, 1], [0, 0]]).with_tier("NEAR", np.array([0, 2]))
    assert found.labels.tolist() == [0, -1, 2]
    assert found.names == ("FIRST", "SECOND", "NEAR")
    assert found.levels == (0, 1, 2)
    assert found.tagged.tolist() == [[3, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_tags_are_shown_as_counts():
    assert repr(tags([0, -1, 1], [[1, 0], [0, 0], [0, 1]])) == "TypeTags(3 types; FIRST: 1, SECOND: 1)"

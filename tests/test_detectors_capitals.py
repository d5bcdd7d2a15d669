"""Capitalised words: found inside sentences, not where one opens; believed only as a guess is.

Names by what is said around them.
"""

import numpy as np
import pytest

from oddshift.data.codecs import tokenise
from oddshift.data.detectors import Capitals, TierRule, tag_types
from oddshift.data.detectors.capitals import CAPITALISED, in_context, introduced_names, says_nothing
from oddshift.data.detectors.spans import Spans


def found(text):
    spans = Capitals().detect([text])
    return [text[a:b] for a, b in zip(spans.start, spans.end, strict=True)]


def test_inside_a_sentence_and_nowhere_else():
    assert found("Yesterday Ann met Bob-Lee.") == ["Ann", "Bob-Lee"]
    assert found("He left. Then Ann came! Perhaps? \n Élise saw Élise.") == ["Ann", "Élise"]
    assert found('"Well," said Ann. "Not I," said O\'Brien.') == ["Ann", "O'Brien"]
    assert found("From: Ann Smith") == ["Ann", "Smith"]
    assert found("no name, 3M, I") == []
    assert found("") == []


def test_a_type_needs_half_of_its_occurrences_and_two():
    texts = ["We saw Ann and Bob here.", "Then Ann left.", "He has a Plan and a plan and a plan."]
    rule = TierRule(tier_of={CAPITALISED: "PII"})
    occurrences = tokenise(texts, "plain").occurrences
    tags = tag_types(occurrences, [Capitals().detect(texts)], rule, frozenset())
    assert [occurrences.types[t] for t in np.flatnonzero(tags.labels == 0)] == ["ann"]


def _found(text, *known):
    spans = Spans.of(
        [(0, text.index(name), text.index(name) + len(name), label) for name, label in known], is_exact=False
    )
    found = in_context(spans, [text])
    rows = zip(found.start.tolist(), found.end.tolist(), found.label.tolist(), strict=True)
    return [(text[a:b], found.labels[k]) for a, b, k in rows]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("My name is Monika", ["Monika"]),
        ("my name is janice beneventi.", ["janice beneventi"]),
        ("everyone calls me Izaak", ["Izaak"]),
        ("Hi Eliza, I'm writing about a parcel", ["Eliza"]),
        ("Hello World is a program", []),
        ("Oscar, can I please speak to your boss?", ["Oscar"]),
        ('Jill: "Who are you?"', ["Jill"]),
        ("Under my partner's name Donald van der Voet", ["Donald van der Voet"]),
        ("my name is not important to them at all", []),
    ],
)
def test_phrases_that_introduce(text, names):
    assert [text[a:b] for a, b in introduced_names(text)] == names


def test_the_others_of_a_list_of_people_are_people():
    text = "They had four: Malon, Mark, Kaylee and Brandi."
    assert _found(text, ("Mark", "PERSON")) == [(n, "PERSON") for n in ("Malon", "Mark", "Kaylee", "Brandi")]
    assert _found(text, ("Mark", "GPE")) == [("Mark", "GPE")]


@pytest.mark.parametrize(
    ("said", "label", "expected"),
    [
        ("IBAN", "ORG", True),
        ("me", "PERSON", True),
        ("Ibanez", "ORG", False),
        ("the following year", "DATE", True),
        ("two years ago", "DATE", True),
        ("1965", "DATE", False),
        ("Tuesday", "DATE", False),
        ("the 1990s", "DATE", False),
    ],
)
def test_guesses_that_name_nothing(said, label, expected):
    assert says_nothing(said, label) == expected
    text = f"It was {said} then"
    assert (_found(text, (said, label)) == []) == expected


@pytest.mark.parametrize("text", ["A" * 20_000, "Á" * 20_000, "Ann, " * 4_000, "my name is " * 2_000, "a b " * 5_000])
def test_hostile_texts_take_no_longer_than_their_length(text):
    assert isinstance(list(introduced_names(text)), list)
    assert len(in_context(Spans.of([(0, 0, 1, "PERSON")], is_exact=False), [text])) >= 1

"""Capitalised words: found inside sentences, not where one opens; believed only as a guess is."""

import numpy as np

from oddshift.data.codecs import tokenise
from oddshift.data.detectors import Capitals, TierRule, tag_types
from oddshift.data.detectors.capitals import CAPITALISED


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

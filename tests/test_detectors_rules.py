import subprocess
import sys

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.detectors import (
    FIRST_KINDS,
    MARK_ONLY,
    OCCUPATIONS,
    SECOND_KINDS,
    Gazetteer,
    Occupations,
    Occurrences,
    Spans,
    TierRule,
    closest,
    default_rule,
    mark_of,
    similarity_to,
    stop_words,
    tag_types,
)

STOP = frozenset(["the", "of", "will"])


def _occurrences(*texts: str) -> Occurrences:
    return tokenise(texts, "plain").occurrences


def _spans(texts, *words, label="PERSON", is_exact=False):
    """Every occurrence "document:word" as a span."""
    rows = []
    for place in words:
        document, word = place.split(":")
        start = texts[int(document)].index(word)
        rows.append((int(document), start, start + len(word), label))
    return Spans.of(sorted(rows), is_exact=is_exact)


def _tier(occurrences, tags, word):
    return int(tags.labels[occurrences.types.index(word)])


def test_a_type_needs_half_of_its_occurrences_and_two():
    texts = ["Ann saw Bob", "Ann left", "bob sat", "bob ate", "Cid ran"]
    occurrences = _occurrences(*texts)
    found = _spans(texts, "0:Ann", "1:Ann", "0:Bob", "4:Cid")
    tags = tag_types(occurrences, [found], TierRule(), STOP)
    assert _tier(occurrences, tags, "ann") == 0  # 2 of 2
    assert _tier(occurrences, tags, "bob") == -1  # 1 of 3
    assert _tier(occurrences, tags, "cid") == -1  # 1 of 1, below two
    assert len(tags.mixed) == 1
    assert len(tags.refused) == 2


def test_stop_words_and_marks_never_enter():
    texts = ["Will - Will - Will -"]
    occurrences = _occurrences(*texts)
    found = Spans.of([(0, 0, len(texts[0]), "PERSON")], is_exact=False)
    tags = tag_types(occurrences, [found], TierRule(), STOP)
    assert _tier(occurrences, tags, "will") == -1
    assert _tier(occurrences, tags, "-") == -1


def test_a_listed_word_enters_at_one_occurrence_even_as_a_stop_word():
    texts = ["will asthma return"]
    occurrences = _occurrences(*texts)
    found = Gazetteer({"asthma": "HEALTH", "will": "NAME"}).detect(texts)
    tags = tag_types(occurrences, [found], TierRule(), STOP)
    assert _tier(occurrences, tags, "asthma") == 0
    assert _tier(occurrences, tags, "will") == 0


def test_a_listed_phrase_does_not_drag_its_common_words_along():
    texts = ["Bank of Omaha", "the bank", "a bank", "of the"]
    occurrences = _occurrences(*texts)
    tags = tag_types(occurrences, [Gazetteer(["Bank of Omaha"]).detect(texts)], TierRule(), STOP)
    assert _tier(occurrences, tags, "omaha") == 0
    assert _tier(occurrences, tags, "bank") == -1
    assert _tier(occurrences, tags, "of") == -1


def test_three_tiers_count_upwards_from_the_most_sensitive():
    rule = TierRule(names=("name", "employer", "place"), tier_of={"PERSON": "name", "ORG": "employer", "GPE": "place"})
    texts = ["Ford Ford Ford Ford", "Ford Paris Paris"]
    spans = [
        Spans.of([(0, 0, 4, "PERSON"), (0, 5, 9, "ORG"), (0, 10, 14, "ORG")], is_exact=False),
        Spans.of([(1, 5, 10, "GPE"), (1, 11, 16, "GPE")], is_exact=False),
    ]
    occurrences = _occurrences(*texts)
    tags = tag_types(occurrences, spans, rule, STOP)
    assert _tier(occurrences, tags, "ford") == 1  # 1 of 5 as a name, 3 of 5 as a name or an employer
    assert _tier(occurrences, tags, "paris") == 2
    assert len(tags.contested) == 1
    more = tags.with_tier("near", np.arange(len(occurrences.types)))
    assert more.names[-1] == "near"
    assert _tier(occurrences, more, "ford") == 1


def test_similarity_variants_by_hand():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]])
    chosen = np.array([True, True, False, False, False])
    assert similarity_to(vectors, chosen).tolist() == pytest.approx([1, 1, 0.70710678, 0, 0], abs=1e-6)
    assert similarity_to(vectors, chosen, "mean").tolist() == pytest.approx([0.5, 0.5, 0.70710678, -0.5, 0], abs=1e-6)
    with pytest.raises(InvalidInput, match="expected one of max, mean"):
        similarity_to(vectors, chosen, "sum")
    with pytest.raises(InvalidInput, match="no PII word has a vector"):
        similarity_to(vectors, ~np.ones(5, dtype=bool))


def test_closest_takes_a_share_of_the_remaining_vocabulary():
    score = np.array([0.9, 0.1, 0.8, 0.7, 0.8], dtype=np.float32)
    eligible = np.array([False, True, True, True, True])
    assert closest(score, eligible, 4, 50).tolist() == [2, 4]
    assert closest(score, eligible, 4, 25).tolist() == [2]
    with pytest.raises(InvalidInput, match="percent=0"):
        closest(score, eligible, 4, 0)


@pytest.mark.slow
def test_sixty_thousand_words_in_under_thirty_seconds():
    import time

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60_000, 100)).astype(np.float32)
    chosen = np.arange(60_000) < 5_500
    start = time.process_time()
    score = similarity_to(vectors, chosen)
    assert len(closest(score, ~chosen, 54_500)) == 5_450
    assert time.process_time() - start < 30


def test_occupations_by_list():
    text = "The Lawyer's nurses met two policemen, a flight attendant and an actress; she lawyered up."
    found = Occupations().detect([text])
    assert [text[a:b] for a, b in zip(found.start, found.end, strict=True)] == [
        "Lawyer",
        "nurses",
        "policemen",
        "flight attendant",
        "actress",
    ]
    assert found.labels == ("OCCUPATION",)
    assert 150 <= len(OCCUPATIONS) <= 250
    assert len(set(OCCUPATIONS)) == len(OCCUPATIONS)


def test_default_kinds_lead_to_tiers():
    rule = default_rule(["PERSON", "GPE", "DATE", "HANDLE", "CAPITALISED"])
    assert rule.names == ("PERSON", "GPE", "NAME", "PoII")
    assert rule.tier_of["CAPITALISED"] == "NAME"
    assert set(FIRST_KINDS) == {"PERSON", "ORG", "GPE"}
    assert {"NORP", "LOC", "FAC", "EVENT", "PRODUCT", "WORK_OF_ART", "DATE", "OCCUPATION", "HASHTAG"} <= set(
        SECOND_KINDS
    )
    assert set(MARK_ONLY) <= set(SECOND_KINDS)
    assert mark_of("ORG") == "[ORG]"
    with pytest.raises(InvalidInput, match="at least one tier name"):
        default_rule([])


def test_function_words_are_spacys_without_importing_it():
    from spacy.lang.en.stop_words import STOP_WORDS

    assert stop_words() == STOP_WORDS
    look = "import sys; from oddshift.data.detectors import stop_words; stop_words(); print('spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

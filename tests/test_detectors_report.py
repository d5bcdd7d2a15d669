import numpy as np
import pytest

from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.detectors import PlantedRecall, TierRule, WordList, report_on, tag_types

TEXTS = ["Ann met Bob.", "Ann left.", "Zed slept well"]


def _tagged():
    occurrences = tokenise(TEXTS, "plain").occurrences
    detector = WordList({"ann": "PERSON", "bob": "PERSON"})
    return occurrences, tag_types(occurrences, [detector.detect(TEXTS)], TierRule(), frozenset()), detector


def test_counts_by_hand():
    occurrences, tags, detector = _tagged()
    has_vector = np.array([word != "bob" for word in occurrences.types])
    report = report_on(occurrences, tags, has_vector, [detector], PlantedRecall(found=1, planted=2))
    assert (report.documents, report.tokens, report.words, report.types) == (3, 10, 8, 7)
    (pii,) = report.tiers
    assert (pii.types, pii.with_vector, pii.occurrences, pii.masked) == (2, 1, 3, 1)
    assert report.lines()[-1] == PlantedRecall(found=1, planted=2).line()
    assert report.sensitive_share == pytest.approx(3 / 8)
    assert report.vector_coverage == pytest.approx(7 / 8)


def test_lines_say_who_looked_and_show_no_word():
    occurrences, tags, detector = _tagged()
    report = report_on(occurrences, tags, np.ones(len(occurrences.types), dtype=bool), [detector])
    text = "\n".join(report.lines())
    assert "word list; names they miss are released in the clear" in text
    assert "not measured" in text
    for word in ("ann", "Ann", "bob", "Zed"):
        assert word not in text
        assert word not in repr(report)
        assert word not in repr(tags)
        assert word not in repr(occurrences)


def test_types_are_those_of_the_documents_looked_at():
    tokens = tokenise(TEXTS, "plain")
    first = tokens.take(np.array([0])).occurrences
    detector = WordList({"ann": "PERSON"})
    tags = tag_types(first, [detector.detect(TEXTS[:1])], TierRule(), frozenset())
    report = report_on(first, tags, np.ones(len(first.types), dtype=bool), [detector])
    assert report.types == len({first.types[t] for t in first.type if first.is_word[t]})
    assert report.types < int(first.is_word.sum())

"""The Presidio operator: an entity that a real analyzer found is released through the mechanism or masked."""

import re

import numpy as np
import pytest
import spacy

from oddshift.base.errors import InvalidInput
from oddshift.base.spacy_import import leaving_out, sparing_torch
from oddshift.protect import Sanitizer, seeded_uniforms
from policies import FAR, corpus, news_policy, news_texts, people_policy, prepared_news, sensitive_types, table_policy

with sparing_torch(), leaving_out("transformers"):  # which takes seconds and which no recognizer here uses
    from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry, RecognizerResult
    from presidio_analyzer.nlp_engine import SpacyNlpEngine
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer, SpacyRecognizer
    from presidio_anonymizer import AnonymizerEngine, BatchAnonymizerEngine, OperatorConfig

    from oddshift.protect.integrations import OddshiftOperator

MARK = re.compile(r"\[[A-Z_]+\]")


def analyzer(recognizers, nlp=None):
    """A real analyzer over a spaCy pipeline that is already there: nothing is downloaded."""
    engine = SpacyNlpEngine()
    engine.nlp = {"en": nlp or spacy.blank("en")}
    registry = RecognizerRegistry(recognizers=recognizers, supported_languages=["en"])
    return AnalyzerEngine(nlp_engine=engine, registry=registry, supported_languages=["en"])


def listed(words):
    return PatternRecognizer(supported_entity="PERSON", deny_list=sorted(words))


def anonymizer(engine=None):
    engine = engine or AnonymizerEngine()
    engine.add_anonymizer(OddshiftOperator)
    return engine


def by(policy, **settings):
    return {"DEFAULT": OperatorConfig("oddshift", {"sanitizer": Sanitizer(policy, **settings)})}


def released(text, entity, policy):
    """A text in which one entity was found."""
    start = text.index(entity)
    found = [RecognizerResult("PERSON", start, start + len(entity), 1.0)]
    return anonymizer().anonymize(text, found, by(policy)).text


def test_words_of_an_entity_go_through_the_mechanism():
    policy, words = people_policy(2.0), list(corpus().encoded.lexicon.words[:20])
    entity = " ".join(words)
    sanitizer = Sanitizer(policy, uniforms=seeded_uniforms(5))
    shown = OddshiftOperator().operate(entity, {"sanitizer": sanitizer})
    outputs = policy.mechanism().invert(np.arange(20), seeded_uniforms(5)(20))
    assert shown.lower().split() == [corpus().encoded.lexicon.words[y] for y in outputs]
    assert shown.lower() != entity


def test_no_word_of_an_entity_stays_as_it_is_but_by_chance():
    name = corpus().encoded.lexicon.words[0].title()
    text = f"Who is at the {name}, the Zaphod - is?"
    assert released(text, f"the {name}, the Zaphod - is", people_policy(FAR)) == (
        f"Who is at [PERSON] {name}, [PERSON]?"
    )
    assert released(text, name, people_policy(None)) == "Who is at the [PERSON], the Zaphod - is?"


def test_equal_words_of_a_named_document_share_one_draw():
    name = corpus().encoded.lexicon.words[0].title()
    text = f"{name} and {name}"
    found = [RecognizerResult("PERSON", a, a + len(name), 1.0) for a in (0, len(name) + 5)]
    sanitizer = Sanitizer(people_policy(0.1))
    shown = []
    for number in range(20):
        told = {"sanitizer": sanitizer, "document": str(number)}
        operators = {"DEFAULT": OperatorConfig("oddshift", told)}
        shown.append(anonymizer().anonymize(text, found, operators).text.split(" and "))
    assert all(first == second for first, second in shown)
    assert len({first for first, _ in shown}) > 5


def test_noise_comes_from_the_operating_system():
    name = corpus().encoded.lexicon.words[0].title()
    found = [RecognizerResult("PERSON", 0, len(name), 1.0)]
    engine, operators = anonymizer(), by(people_policy(0.1))
    assert len({engine.anonymize(name, found, operators).text for _ in range(40)}) > 10


def test_listed_names_and_numbers_in_real_news_with_a_blank_pipeline(data):
    names = set(prepared_news(data)[0].lexicon.point_of)
    finder, engine, cut = analyzer([listed(names), PhoneRecognizer()]), anonymizer(), spacy.blank("en")
    masked, noisy, seen = by(news_policy(data, None)), by(news_policy(data)), 0
    for text in (f"{line} Call 212-555-0123." for line in news_texts(data)[:25]):
        found = finder.analyze(text, "en")
        seen += len(found)
        hidden = engine.anonymize(text, found, masked)
        assert all(set(MARK.sub("", item.text)) <= set(" -") for item in hidden.items)
        assert names.isdisjoint(token.lower_ for token in cut(hidden.text))
        shown = engine.anonymize(text, found, noisy)
        assert "555" not in shown.text
        for item in shown.items:
            assert names.issuperset(MARK.sub("", item.text).replace("-", " ").lower().split())
    assert seen > 50


def test_entities_of_a_trained_pipeline_in_real_news(data):
    finder = analyzer([SpacyRecognizer()], spacy.load(data / "ner" / "en_core_web_sm_ner"))
    texts = news_texts(data)[:20]
    found = [finder.analyze(text, "en", entities=["PERSON", "LOCATION"]) for text in texts]
    assert sum(map(len, found)) > 10
    engine, operators = anonymizer(), by(news_policy(data, None))
    for text, entities in zip(texts, found, strict=True):
        shown = engine.anonymize(text, entities, operators)
        assert len(shown.items) > 0 or not entities
        assert not any(c.isalnum() for item in shown.items for c in MARK.sub("", item.text))


def test_lists_of_texts_and_a_display_without_words():
    policy = people_policy(FAR)
    finder, texts = analyzer([listed(sensitive_types(policy))]), list(corpus().texts[:5])
    batch = BatchAnonymizerEngine(anonymizer())
    found = [finder.analyze(text, "en") for text in texts]
    assert batch.anonymize_list(texts, found, operators=by(policy)) == texts
    assert repr(by(policy)["DEFAULT"]).endswith("points, exponential, not certified))}")


def test_what_is_no_sanitizer_for_texts_is_refused():
    for params in (None, {}, {"sanitizer": "policy.json"}):
        with pytest.raises(InvalidInput, match="expected a Sanitizer of a policy for texts"):
            OddshiftOperator().validate(params)
    with pytest.raises(InvalidInput, match=r"^sanitizer=Sanitizer\(Policy\(table, .*\)\), expected a Sanitizer"):
        OddshiftOperator().validate({"sanitizer": Sanitizer(table_policy())})
    with pytest.raises(InvalidInput, match="of unseen types, expected none"):
        released("Zaphod!", "Zaphod", people_policy(unknown="refuse"))

"""Surrogates: of the kind and shape of what they stand for, in agreement with the words around, the same in a text."""

from random import Random

import numpy as np
import pytest

from oddshift.data.codecs import TextCodec, TextSettings
from oddshift.data.codecs.text.surrogates import Around, shape_of, surrogate
from oddshift.data.detectors import Gazetteer, Patterns, WordList

WOMEN, MEN = {"Mary", "Ingrid"}, {"James", "Omar"}


@pytest.mark.parametrize(
    ("kind", "text", "shape"),
    [
        ("PERSON", "norma kamali", "2"),
        ("ORG", "a b c d e f", "4"),
        ("CREDIT_CARD", "4012-8888 1881", "0000-0000 0000"),
        ("IBAN_CODE", "GB29 NWBK", "AA00 AAAA"),
        ("DATE", "2021-03-05", "%Y-%m-%d"),
        ("DATE", "the 5th of may", "%B %Y"),
        ("DATE", "5 may 1971", "%d %B %Y"),
        ("DATE", "monday", "%A"),
        ("OCCUPATION", "nurses", "1s"),
        ("OCCUPATION", "actress", "1"),
        ("ADDRESS", "12 Baker Street, London", ""),
    ],
)
def test_shapes(kind, text, shape):
    assert shape_of(kind, text) == shape
    made = surrogate(kind, shape, Around(), Random(0))
    assert shape_of(kind, made) == shape if kind != "DATE" else not made.startswith("[")


def test_an_unknown_kind_keeps_its_mark():
    assert surrogate("CLIENT", "", Around(), Random(0)) == "[CLIENT]"


@pytest.mark.parametrize("seed", range(20))
def test_agreement_with_the_words_around(seed):
    draw = Random(seed)
    assert surrogate("OCCUPATION", "1", Around("an"), draw)[0] in "aeiou"
    assert surrogate("OCCUPATION", "1", Around("a"), draw)[0] not in "aeiou"
    assert not {surrogate("PERSON", "2", Around("mrs"), draw).split()[0]} & MEN
    assert not {surrogate("PERSON", "2", Around("mr"), draw).split()[0]} & WOMEN
    assert surrogate("GPE", "1", Around(is_loud=True), draw).isupper()
    assert surrogate("PERSON", "2", Around(is_small=True), draw).islower()


def _shown(texts):
    detectors = [
        WordList({"kamali": "PERSON", "norma": "PERSON", "acme": "ORG"}),
        Gazetteer(["Omaha"], "GPE"),
        Patterns(),
    ]
    settings = TextSettings(is_public=True, marks="substitute", fewest=1)
    codec = TextCodec.fit({"text": texts}, settings, detectors=detectors)
    encoded = codec.encode({"text": texts})
    return encoded, encoded.decode(np.zeros(len(encoded.slots), dtype=int), masked=True)["text"]


def test_a_document_reads_as_one_and_its_context_has_the_shapes():
    text = "Norma Kamali came. Kamali's number is (212) 555-0101, said Acme of Omaha."
    encoded, (shown, _) = _shown([text, "Nobody came, said Acme."])
    given, family = shown.split()[:2]
    assert shown.startswith(f"{given} {family} came. {family}'s number is (")
    assert not {"Norma", "Kamali", "Acme", "Omaha"} & set(shown.replace("'", " ").split())
    assert "[" not in shown
    assert "555-0101" not in shown
    assert any("(000) 000-0000" in symbol for symbol in encoded.records.context.symbols)


def test_draws_do_not_depend_on_the_secret():
    one, other = (
        surrogate("PERSON", shape_of("PERSON", name), Around("met"), Random(5)) for name in ("Norma Kamali", "Jo Doe")
    )
    assert one == other

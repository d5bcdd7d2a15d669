"""Surrogates: of the kind and shape of what they stand for, in agreement with the words around, the same in a text."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from oddshift.data.codecs import TextCodec, TextSettings, WordVectors
from oddshift.data.codecs.text.surrogates import Around, shape_of, surrogate
from oddshift.data.detectors import Gazetteer, Patterns
from oddshift.data.detectors.gazetteer import FAMILY_NAMES, GIVEN_NAMES, PLACE_NAMES

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
        Gazetteer({"kamali": "PERSON", "norma": "PERSON", "acme": "ORG"}),
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


def _as_secrets(texts, **changes):
    """Texts whose names have points, and the codec; everything is found by lists."""
    people = dict.fromkeys(("kamali", "norma", "doe", "jane", "eve"), "PERSON")
    detectors = [Gazetteer({**people, "acme": "ORG", "omaha": "GPE", "blue": "COLOUR"})]
    settings = TextSettings(is_public=True, fewest=1, tokeniser="plain", **changes)
    words = ("kamali", "norma", "doe", "jane", "acme", "omaha", "blue")
    codec = TextCodec.fit({"text": texts}, settings, detectors=detectors, vectors=WordVectors(words, np.eye(7)))
    return codec, codec.encode({"text": texts})


TEXT = "Norma Kamali met Jane Doe in Omaha. Mrs. Kamali's blue car is ACME'S, said Norma. Omaha!"


@pytest.mark.parametrize("outputs", [0, 3, 6])
def test_surrogates_of_secrets_keep_words_capitals_possessives_and_who_is_who(outputs):
    _, encoded = _as_secrets([TEXT, TEXT.lower().replace("acme's", "acme")])
    made_up = np.array([name != "COLOUR" for name in encoded.tiers.names])[encoded.tiers.labels]
    drawn = np.full(len(encoded.slots), outputs)
    shown, small = encoded.with_surrogates(made_up).decode(drawn)["text"]
    given, family, _, other, other_family = shown.split()[:5]
    assert shown.startswith(f"{given} {family} met {other} {other_family} in ")
    assert {given, other} <= set(GIVEN_NAMES)
    assert {family, other_family} <= set(FAMILY_NAMES)
    city = shown.split()[6].rstrip(".")
    assert city in PLACE_NAMES
    assert shown.endswith(f"said {given}. {city}!")
    assert f"Mrs. {family}'s {encoded.lexicon.forms[outputs]} car is " in shown  # a colour has no names: its draw
    assert small.replace(encoded.lexicon.forms[outputs], "").islower()


def test_where_secrets_are_drawn_one_by_one_which_are_equal_is_not_shown():
    _, encoded = _as_secrets(["Norma met Norma. Norma met Norma. Norma met Norma."] * 2, repeats="each")
    everything = np.ones(len(encoded.lexicon), dtype=bool)
    first, _ = encoded.with_surrogates(everything).decode(np.zeros(len(encoded.slots), dtype=int))["text"]
    assert len({word for word in first.replace(".", "").split() if word != "met"}) > 1


def test_names_without_a_point_read_as_names_where_their_kind_is_made_up():
    _, encoded = _as_secrets(["Mr. Eve met Acme. Norma met Eve."] * 2)
    people = np.array(encoded.tiers.names)[encoded.tiers.labels] == "PERSON"
    marked = np.zeros(len(encoded.slots), dtype=int)
    (shown, _) = encoded.with_surrogates(people).decode(marked)["text"]
    assert encoded.decode(marked)["text"][0].startswith("Mr. [PERSON] met ")
    assert shown.split()[1] in FAMILY_NAMES
    assert {shown.split()[4], shown.split()[6].rstrip(".")} <= set(GIVEN_NAMES)
    none = np.zeros(len(people), dtype=bool)
    assert "[PERSON]" in encoded.with_surrogates(none).decode(marked)["text"][0]


def test_a_mark_stays_a_mark_and_secret_tiers_get_no_names():
    _, encoded = _as_secrets([TEXT] * 2)
    everything, drawn = np.ones(len(encoded.lexicon), dtype=bool), np.zeros(len(encoded.slots), dtype=int)
    (shown, _) = encoded.with_surrogates(everything).decode(drawn, masked=np.ones(len(drawn), dtype=bool))["text"]
    assert shown.startswith("[PERSON] [PERSON] met [PERSON] [PERSON] in [GPE].")
    hidden = replace(encoded, lexicon=replace(encoded.lexicon, tiers=replace(encoded.tiers, is_public=False)))
    assert hidden.with_surrogates(everything).decode(drawn) == hidden.decode(drawn)

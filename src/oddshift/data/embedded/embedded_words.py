"""The words of the embedded corpus: five kinds of secrets about made-up people, and the sentences around them."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = _words(
    """james mary robert patricia john jennifer michael linda david elizabeth william barbara richard susan joseph
    jessica thomas sarah charles karen christopher lisa daniel nancy matthew betty anthony margaret mark sandra donald
    ashley steven kimberly paul emily andrew donna joshua michelle kenneth carol kevin amanda brian melissa george
    deborah edward stephanie ronald rebecca timothy laura jason sharon jeffrey cynthia ryan kathleen jacob amy gary
    shirley nicholas angela eric helen jonathan anna stephen brenda larry pamela justin nicole scott samantha brandon
    katherine benjamin emma samuel ruth gregory christine frank catherine alexander debra raymond rachel patrick carolyn
    jack janet dennis virginia jerry maria tyler heather aaron diane jose julie adam joyce nathan victoria henry kelly
    zachary christina douglas joan peter evelyn"""
)
"""First names."""

EMPLOYERS = _words(
    """microsoft google boeing siemens nokia toyota honda walmart nestle unilever pfizer novartis philips samsung sony
    intel oracle cisco ibm dell motorola vodafone ericsson volvo renault peugeot fiat airbus lufthansa fedex ups
    starbucks heineken lego ikea nike adidas puma disney reuters bloomberg barclays citigroup hsbc allianz shell exxon
    chevron caterpillar xerox kodak canon hitachi toshiba panasonic fujitsu"""
)
"""Employers."""

CITIES = _words(
    """london paris berlin madrid rome vienna prague warsaw budapest lisbon dublin oslo stockholm helsinki copenhagen
    amsterdam brussels zurich geneva athens istanbul moscow cairo nairobi lagos johannesburg mumbai delhi bangkok
    singapore jakarta manila tokyo osaka seoul beijing shanghai sydney melbourne auckland toronto montreal vancouver
    chicago boston houston denver seattle miami atlanta dallas detroit phoenix portland havana lima"""
)
"""Cities."""

PROFESSIONS = {
    "care": _words("nurse doctor dentist surgeon veterinarian teacher librarian gardener farmer"),
    "craft": _words("carpenter electrician baker butcher tailor mechanic painter sculptor chef"),
    "office": _words("lawyer accountant banker broker cashier clerk secretary judge editor"),
    "science": _words("engineer architect chemist physicist biologist mathematician programmer pilot detective"),
    "stage": _words("musician singer dancer actor director photographer journalist waiter sailor"),
}
"""Professions by field; the field is the class of a document."""

HABITS = _words(
    """chess poker tennis golf swimming cycling hiking fishing hunting sailing skiing skating rowing climbing running
    yoga boxing wrestling judo karate knitting sewing pottery cooking baking gardening gambling smoking drinking
    dancing singing reading jogging surfing diving camping photography astronomy archery painting"""
)
"""Habits."""

KINDS: tuple[tuple[str, ...], ...] = (
    NAMES,
    EMPLOYERS,
    CITIES,
    tuple(word for field in PROFESSIONS.values() for word in field),
    HABITS,
)
"""The kinds in the order in which a text tells them."""

KIND_NAMES = ("PERSON", "ORG", "GPE", "OCCUPATION", "HABIT")
"""What the kinds are called, in that order."""

LEVEL_OF_KIND = (0, 0, 0, 1, 1)
"""Names, employers and cities are PII; professions and habits are PoII."""

PHRASES: tuple[tuple[str, ...], ...] = (
    ("{} ", "Our friend {} ", "My neighbour {} ", "The tenant {} "),
    ("works for {}.", "has a contract with {}.", "is employed by {}.", "spends most days at {}."),
    (" Home is {}.", " The family lives in {}.", " The letters go to {}.", " Most weekends are in {}."),
    (" The profession is {}.", " By training this is a {}.", " The card says {}.", " The work is that of a {}."),
    (" Evenings go to {}.", " Most money goes into {}.", " The talk is always of {}.", " Nothing beats {}."),
    (" A colleague is {} and", " The next desk is that of {} who", " A friend is {} who"),
)
"""What is written around the secret of each place; the last row opens a second person."""

CLOSING = " knows."
"""Ends a text that stops at the name of the second person."""


def public_words() -> frozenset[str]:
    """Every word of the sentences, in lower case."""
    text = " ".join(phrase for row in PHRASES for phrase in row) + CLOSING
    return frozenset(word.strip(".").lower() for word in text.split() if word.strip(".{}"))

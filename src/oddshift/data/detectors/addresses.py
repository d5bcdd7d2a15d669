"""Postal addresses as whole stretches: number, street, unit, box, town, region, postcode and country as one span.

An address is recognised by a part of fixed form (a street with its number, a flat, a post-office box, a postcode behind
a state, or what follows "lives at" and starts with a number), and then grows over the parts around it that look like a
town or a postcode, on the same line and on the next few lines.

Every expression has a fixed left border and bounded repeats, so that the time is linear in the length of the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STREETS = (
    "street|road|rd|avenue|ave|drive|lane|ln|boulevard|blvd|court|terrace|highway|hwy|parkway|pkwy|crescent|circle|"
    "trail|quay|mews|square|alley|turnpike|st|dr|ct|sq|way|close|row|walk|place|pl"
)
_COMPOUNDS = (
    "strasse|straße|stra[sß]e|str|gasse|weg|platz|allee|ring|laan|straat|steenweg|plein|gracht|gade|vej|vegen|veien|"
    "vägen|gatan|gata|katu|bakken|utca"
)
_PREFIXES = (
    "rue|quai|cours|chemin|allée|place|avenue|boulevard|via|viale|piazza|corso|calle|c/|plaza|paseo|rua|rúa|travessa|"
    "avenida|praça|largo|estrada|ulica|ul|aleja|strada"
)
_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC PR AA AE AP"
)
_NUMBER = r"(?<![\w.])\d{1,5}[a-z]?"
_WORD = r"[^\W\d_][\w.'’-]*"
_PLAIN = (
    rf"(?!(?:the|a|an|in|on|at|and|or|to|for|from|with|is|was|are|of|years?|days?|months?|hours?|minutes?)\b){_WORD}"
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DOUBLE = (
    rf"(?<![\w.])\d{{1,4}}[ \t]+(?!(?i:{_MONTHS}))[A-Z\xc0-\u1fff][^\s,]*"
    r"(?:[ \t]+[^\W\d_][^\s,]*){0,3}[ \t]+\d{1,4}"
)
_FORMS = (
    rf"\b{_NUMBER},?[ \t]+(?:{_PLAIN}[ \t]+|\d{{1,3}}(?:st|nd|rd|th)[ \t]+){{1,4}}?(?:{_STREETS})\b\.?",
    rf"\b(?:{_NUMBER}[ \t]+)?(?:{_PLAIN}[ \t]+){{0,2}}?[^\W\d_]{{3,30}}(?:{_COMPOUNDS})\b\.?[ \t]+{_NUMBER}\b",
    rf"\b(?:{_NUMBER}[ \t]+)?(?:{_PREFIXES})(?:\.[ \t]*|[ \t]+)(?:{_WORD}[ \t]+){{0,4}}?{_WORD},?[ \t]+{_NUMBER}\b",
    rf"\b{_NUMBER},?[ \t]+(?:{_PREFIXES})(?:\.[ \t]*|[ \t]+)"
    rf"(?:(?:d[eiu]|del|des|la|le|los|das?|dos?)[ \t]+){{0,2}}{_WORD}",
    r"\b(?:apt|apartment|suite|ste|flat|unit)\b\.?[ \t]*(?:no\.?[ \t]*|#[ \t]*)?"
    r"(?:\d{1,5}[a-z]?|[a-z]\d{1,4}|[a-z])\b(?![ \t]+box)",
    rf"(?-i:{_DOUBLE})(?=[ \t]*(?:[,\n]|$|apt\b|suite\b))",
    r"(?<![\w.])\d{1,4}[ \t]+[^\W\d_][^\s,]*(?:[ \t]+[^\W\d_][^\s,]*){0,3}[ \t]+\d{1,4}(?=\s+(?:apt|suite)\b)",
    r"\b(?:us(?:s|ns|nv|cgc)[ \t]+[^\W\d_]+\s+)?(?:fpo|apo|dpo)[ \t]+(?:aa|ae|ap)[ \t]+\d{5}\b",
    rf"(?<=corner of )(?:{_WORD}[ \t]+|\d+[ \t]+){{1,4}}and[ \t]+(?:{_WORD}[ \t]+){{0,3}}?(?:{_STREETS})\b",
    r"(?<=zip code is )\S*\d\S*|(?<=postcode is )\S*\d\S*(?:[ \t]\d\S{2})?",
    r"\bp\.?[ \t]?o\.?[ \t]?box[ \t]+\d{1,6}\b",
    r"\b(?:psc|unit|cmr)[ \t]+\d{1,6},?\s+box[ \t]+\d{1,6}\b",
    rf"\b(?-i:{_STATES.replace(' ', '|')})[ \t]+\d{{5}}(?:-\d{{4}})?\b",
    r"\b(?-i:[A-Z]{1,2}\d[A-Z\d]?[ \t]\d[A-Z]{2})\b",
)
_ANCHOR = re.compile("|".join(f"(?:{form})" for form in _FORMS), re.IGNORECASE)
_ANNOUNCED = re.compile(
    r"\b(?:address(?:es)?(?:[ \t]+(?:is|to|with|to[ \t]+the[ \t]+same|of[ \t]+\S+[ \t]+is))?:?|"
    r"(?:lives?|living|lived|resid\w+|located|office[ \t]+is|headquartered)[ \t]+at|"
    r"(?:ship|deliver|mail|send|move)\w*(?:[ \t]+\w+)?[ \t]+to):?[ \t]+(?=\d)",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_GAP = re.compile(r"[ \t]*(?:[,;][ \t]*|\n(?:[ \t>*•?|-]*\n)?[ \t>*•?|-]*|[ \t])")
_CHUNK = re.compile(r"[^\s,;:!?\\()\"<>|]+(?:[ \t]+[^\s,;:!?\\()\"<>|]+)*")
_PART_WORD = re.compile(r"[^\s,;:!?\\()\"<>|]+")
_POSTCODE = re.compile(r"(?:\d{4,6}(?:-\d{3,4})?|\d{3}[ \t]\d{2}|[A-Z]{1,2}\d[A-Z\d]?[ \t]\d[A-Z]{2})$", re.IGNORECASE)
_PARTICLES_WORDS = "de la le les del der den van von of and am an u di do da dos das the no und et en upon"
_PARTICLES = frozenset(_PARTICLES_WORDS.split())
_NO_PLACE_WORDS = (
    "phone tel telephone fax mobile cell office email e-mail web www http https date name from to subject re dear "
    "hi hello thanks regards sincerely i he she we they it you my your his her our for in last this at please "
    "when where who what why how"
)
_NO_PLACE = frozenset(_NO_PLACE_WORDS.split())
_OPENING = frozenset(["de", "la", "le", "les", "del", "der", "den", "van", "von", "am", "an", "el", "no"])
_STATED = re.compile(rf"(?:{_STATES.replace(' ', '|')})[ \t]+\d{{5}}$", re.IGNORECASE)
_MOST_PARTS = 4  # stretches between commas or line ends that an address may grow by, on either side
_LONGEST_PART = 6  # words
_REACH = 120  # characters within which a part ends


def postal_addresses(text: str) -> list[tuple[int, int]]:
    """[start, end) of every address, none overlapping.

    >>> text = "She lives at 12 Baker Street, Apt. 4, London, and works."
    >>> [text[a:b] for a, b in postal_addresses(text)]
    ['12 Baker Street, Apt. 4, London']
    """
    if not _DIGIT.search(text):
        return []
    found: list[tuple[int, int]] = []
    anchors = sorted({*(m.span() for m in _ANCHOR.finditer(text)), *_announced(text)})
    for start, end in anchors:
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], _grown_right(text, end)))
            continue
        first = _grown_left(text, start, found[-1][1] if found else 0)
        found.append((first, _grown_right(text, end)))
    return _joined(text, found)


def _announced(text: str) -> Iterator[tuple[int, int]]:
    """What starts with a number after "lives at" and the like: up to the end of its first part."""
    for phrase in _ANNOUNCED.finditer(text):
        part = _CHUNK.match(text, phrase.end(), phrase.end() + _REACH)
        if part is not None:
            words = part.group().split()
            length = len(_leading(words, is_caseless=_is_caseless(text)))
            if length > 1:
                yield part.start(), _end_of_words(text, part.start(), length)


def _grown_right(text: str, end: int) -> int:
    """The end after the parts that follow: a town, a region, a postcode, a country."""
    is_caseless = _is_caseless(text)
    if _POSTCODE.search(text[max(0, end - 6) : end]) and _STATED.search(text[max(0, end - 12) : end]):
        return end
    for _ in range(_MOST_PARTS):
        gap = _GAP.match(text, end)
        part = None if gap is None else _CHUNK.match(text, gap.end(), gap.end() + _REACH)
        if gap is None or part is None:
            return end
        words = part.group().split()
        size = len(_leading(words, is_caseless=is_caseless))
        if (
            not size
            or words[0].lower() in _PARTICLES - _OPENING
            or size > _LONGEST_PART
            or (is_caseless and size < len(words))
        ):
            return end
        end = _end_of_words(text, part.start(), size)
        if size < len(words) or _POSTCODE.fullmatch(words[size - 1]):
            return end
    return end


def _grown_left(text: str, start: int, least: int) -> int:
    """The start before a number, or before a street that stands on the line above a flat."""
    near = max(least, start - _REACH)
    before = re.search(r"(?:^|(?<=[\s,>]))\d{1,5}[ \t]+$", text[near:start])
    if before is not None:
        return near + before.start()
    is_unit = re.match(r"(?:apt|apartment|suite|ste|flat|unit)\b", text[start : start + 10], re.IGNORECASE)
    street = re.search(
        r"(?:^|[\n,>?])[ \t>*•?|-]*((?:[^\s,]+[ \t]+){0,6}[^\s,]+)[ \t]*,?\s*[>*•?|-]*[ \t]*$", text[near:start]
    )
    if is_unit and street is not None and _DIGIT.search(street.group(1)):
        words = street.group(1).split()
        first = next((k for k, word in enumerate(words) if word[0].isdigit()), None)
        if first is not None and len(words) - first <= _LONGEST_PART + 1:
            return near + street.start(1) + street.group(1).index(words[first])
    return start


def _leading(words: list[str], *, is_caseless: bool) -> list[str]:
    """The words at the beginning that may belong to the name of a place, without particles at their end."""
    size = 0
    for word in words:
        low = word.lower().rstrip(".")
        if low in _NO_PLACE or not (word[0].isupper() or word[0].isdigit() or low in _PARTICLES or is_caseless):
            break
        size += 1
        if _POSTCODE.fullmatch(word):
            break
        if word.endswith(".") and len(word) > 4:  # the end of a sentence, not of an abbreviation
            break
    while size and words[size - 1].lower() in _PARTICLES:
        size -= 1
    return words[:size]


def _end_of_words(text: str, start: int, count: int) -> int:
    """The end of a number of words, without the full stop of a sentence."""
    found = list(_PART_WORD.finditer(text, start, start + _REACH))[:count]
    end = found[-1].end()
    return end - 1 if text[end - 1] == "." and end - start > 4 else end


def _is_caseless(text: str) -> bool:
    return text.islower()


def _joined(text: str, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches with nothing but a separator between them are one address."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if joined and (start <= joined[-1][1] or _GAP.fullmatch(text, joined[-1][1], start)):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined

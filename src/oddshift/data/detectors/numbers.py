"""Telephone numbers, written dates and ages: forms that Presidio's recognisers leave to a language model, or miss.

A telephone number of any country counts next to a word that announces it ("call", "fax"); without one it needs the form
of a number with an area code. Every expression is linear in the length of the text.
"""

from __future__ import annotations

import re

_PHONE = re.compile(
    r"(?<![\w./:-])(?:\+|00)?\(?\d[\d() ./-]{4,20}\d(?:[ ]?(?:x|ext\.?)[ ]?\d{1,6})?(?![\w/:]|[.-]\d)", re.IGNORECASE
)
_AREA = re.compile(
    r"(?:(?:\+|00)?\d{1,3}[ .-])?(?:\(\d{3}\)[ ]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?:[ ]?(?:x|ext\.?)[ ]?\d{1,6})?",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:phone|telephone|tel|call(?:ed|ing)?|dial|fax|mobile|cell|cellphone|office|reach|ring|text|answering|hotline|"
    r"whatsapp|contact)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(r"[ \t-]{0,3}\(?(?:phone|telephone|tel|fax|mobile|cell|office|home|work)\b", re.IGNORECASE)
_NEAR = 40  # characters before a number in which a word may announce it
_DIGITS = (6, 15)

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"\b\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:,?[ ]'?\d{2,4}\b)"
_DATE = re.compile(
    rf"{_DAY}[ ](?:of[ ])?{_MONTH}{_YEAR}?|\b{_MONTH}[ ]{_DAY}\b{_YEAR}?|\b{_MONTH},?[ ]\d{{4}}\b|"
    r"\b\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2})?|\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b",
    re.IGNORECASE,
)
_AGE = re.compile(
    r"\b\d{1,3}(?:[ -](?:years?|yrs?|months?|weeks?)[ -]olds?\b|[ -]?y/?o\b)|"
    r"(?<=\baged )\d{1,3}\b|(?<=\bage )\d{1,3}\b|(?<=\bage of )\d{1,3}\b|(?<=\bage: )\d{1,3}\b",
    re.IGNORECASE,
)


def phone_numbers(text: str) -> list[tuple[int, int]]:
    """[start, end) of telephone numbers.

    >>> text = "Call 73 448 266 or (212) 555-0101, room 12."
    >>> [text[a:b] for a, b in phone_numbers(text)]
    ['73 448 266', '(212) 555-0101']
    """
    found = []
    for match in _PHONE.finditer(text):
        number = match.group().rstrip(" (./-")
        start, end = match.start(), match.start() + len(number)
        least, most = _DIGITS
        digits = sum(map(str.isdigit, re.split(r"x|ext", number, flags=re.IGNORECASE)[0]))
        if not least <= digits <= most or _DATE.match(number):
            continue
        announced = _BEFORE.search(text, max(0, start - _NEAR), start) or _AFTER.match(text, end)
        if announced or _AREA.fullmatch(number):
            found.append((start, end))
    return found


def written_dates(text: str) -> list[tuple[int, int]]:
    """[start, end) of days and months with a number next to them.

    >>> text = "Born on March 5, 1971; seen 2 May and in June 2020, they may come."
    >>> [text[a:b] for a, b in written_dates(text)]
    ['March 5, 1971', '2 May', 'June 2020']
    """
    return [match.span() for match in _DATE.finditer(text)]


def ages(text: str) -> list[tuple[int, int]]:
    """[start, end) of ages.

    >>> text = "A 50 year old man, aged 51, and a 3-month-old."
    >>> [text[a:b] for a, b in ages(text)]
    ['50 year old', '51', '3-month-old']
    """
    return [match.span() for match in _AGE.finditer(text)]

"""Forms that can be told by their letters and digits: e-mail, phone, card, IBAN, licence, date, age, postal address...

Every recogniser runs that Presidio has on by default, with its context words, each on its own: no language model, no
registry lookup, no network. Ages and postal addresses are found by rules of our own; so are e-mail addresses and links,
because Presidio's expressions for them need cubic time on hostile text; their domains are checked against the
public-suffix list inside the package, which is never fetched.

Telephone numbers, written dates and ages are forms that Presidio leaves to a language model, or misses. A telephone
number of any country counts next to a word that announces it ("call", "fax"); without one it needs the form of a number
with an area code. Every expression is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from oddshift.base.errors import InvalidInput
from oddshift.base.spacy_import import leaving_out
from oddshift.data.detectors import addresses
from oddshift.data.detectors.addresses import postal_addresses
from oddshift.data.detectors.handles import email_like, links
from oddshift.data.detectors.normalising import through_normalised
from oddshift.data.detectors.spans import SpanMemory, Spans, detector_mark

RECOGNISERS = {
    "PHONE_NUMBER": "PhoneRecognizer",
    "CREDIT_CARD": "CreditCardRecognizer",
    "IBAN_CODE": "IbanRecognizer",
    "US_SSN": "UsSsnRecognizer",
    "IP_ADDRESS": "IpRecognizer",
    "MAC_ADDRESS": "MacAddressRecognizer",
    "CRYPTO": "CryptoRecognizer",
    "UUID": "UuidRecognizer",
    "DATE": "DateRecognizer",
    "US_BANK_NUMBER": "UsBankRecognizer",
    "US_DRIVER_LICENSE": "UsLicenseRecognizer",
    "US_ITIN": "UsItinRecognizer",
    "US_PASSPORT": "UsPassportRecognizer",
    "UK_NHS": "NhsRecognizer",
    "MEDICAL_LICENSE": "MedicalLicenseRecognizer",
}
"""The forms that Presidio's own recognisers find, all of those that it has on by default."""

PATTERN_LABELS = ("EMAIL_ADDRESS", "URL", *RECOGNISERS, "AGE", "ADDRESS")
"""The forms that can be asked for."""

_DEFAULT = PATTERN_LABELS
_PACKAGES = ("presidio-analyzer", "phonenumbers", "tldextract")  # their versions decide about a match
_FEWEST_DIGITS = 4  # most forms have at least this many digits
_FEW_DIGITS = {"DATE": 1, "AGE": 1, "ADDRESS": 1}
_DOTTED = re.compile(r"[0-9]\.[0-9]")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{2}[:-][0-9a-fA-F]{2}[:-]|[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.")


@dataclass(frozen=True)
class Patterns:
    """Presidio's pattern recognisers for some forms, offline.

    A match below `threshold` counts only next to a context word. 0.4 keeps phone numbers and drops bare digit strings.
    `is_kept` keeps what is found on disk for later commands.
    """

    labels: tuple[str, ...] = _DEFAULT
    threshold: float = 0.4
    name: str = "presidio patterns"
    is_kept: bool = True

    def __post_init__(self) -> None:
        """Check the labels."""
        unknown = sorted(set(self.labels) - set(PATTERN_LABELS))
        if unknown or not self.labels:
            raise InvalidInput(f"labels={tuple(self.labels)}, expected some of {', '.join(PATTERN_LABELS)}")

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every match at or above the threshold."""
        return through_normalised(self._detect, texts)

    def _detect(self, texts: Sequence[str]) -> Spans:
        _refuse_without_presidio()
        mark = detector_mark("patterns", _rules_read(), self.labels, self.threshold, packages=_PACKAGES)
        return SpanMemory(mark, is_kept=self.is_kept).found(texts, self._read, is_exact=True)

    def _read(self, texts: Sequence[str]) -> Spans:
        found: list[tuple[int, int, int, str]] = []
        for document, text in enumerate(texts):
            digits = sum(map(str.isdigit, text))
            here: list[tuple[int, int, str]] = []
            for label in self.labels:
                if _may_hold(text, label, digits):
                    here += [(start, end, label) for start, end in _finder(label)(text, self.threshold)]
            found += [(document, *span) for span in _longest(here)]
        return Spans.of(found, is_exact=True)


def _longest(found: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Stretches in order; of two that overlap the longer one, and of equal ones the form that is named first."""
    kept: list[tuple[int, int, str]] = []
    for start, end, label in sorted(found, key=lambda span: (span[0] - span[1], PATTERN_LABELS.index(span[2]))):
        if all(end <= a or start >= b for a, b, _ in kept):
            kept.append((start, end, label))
    return sorted(kept)


def _may_hold(text: str, label: str, digits: int) -> bool:
    """A cheap test before the slow one."""
    if label == "EMAIL_ADDRESS":
        return "@" in text
    if label == "URL":
        return "." in text or ":" in text
    if label == "IP_ADDRESS":
        return text.count(":") > 1 or _DOTTED.search(text) is not None
    if label == "MAC_ADDRESS":
        return _HEXADECIMAL.search(text) is not None
    return digits >= _FEW_DIGITS.get(label, _FEWEST_DIGITS)


_Finder = Callable[[str, float], Iterator[tuple[int, int]]]


def _refuse_without_presidio() -> None:
    """Looked for at once; imported, which takes seconds, only when some text may hold what it finds."""
    if find_spec("presidio_analyzer") is None:
        raise InvalidInput("Presidio is not installed; get it with: pip install 'oddshift[text]'")


@lru_cache(maxsize=1)
def _rules_read() -> bytes:
    """What our own rules say: spans that were found by other rules are not used again."""
    return Path(addresses.__file__ or "").read_bytes() + Path(__file__).read_bytes()


@lru_cache(maxsize=len(PATTERN_LABELS))
def _finder(label: str) -> _Finder:
    if label in _OWN:
        return _OWN[label]
    with leaving_out("torch", "transformers"):
        from presidio_analyzer import predefined_recognizers as known
    return _by(getattr(known, RECOGNISERS[label])(), label)


def _by(recognizer: Any, label: str) -> _Finder:
    """A Presidio recogniser, and our own rules for the same form, as a function of the text and the smallest score.

    As in Presidio a weak match counts where one of the recogniser's context words stands shortly before it. An IBAN is
    read in small letters too.
    """
    context = tuple(word.lower() for word in recognizer.context or ())
    rules = _RULES.get(label)

    def find(text: str, threshold: float) -> Iterator[tuple[int, int]]:
        loud = text.upper()
        read = loud if label == "IBAN_CODE" and len(loud) == len(text) else text
        for hit in recognizer.analyze(read, [label if label != "DATE" else "DATE_TIME"]) or ():
            if hit.score >= threshold or (hit.score > 0 and _announced(text[: hit.start], context)):
                yield hit.start, hit.end
        yield from () if rules is None else rules(text)

    return find


_WORDS_BEFORE = 5  # as in Presidio
_WORD = re.compile(r"[^\W_]+")


def _announced(before: str, context: Sequence[str]) -> bool:
    """Whether one of the last words is a context word, or one of several words begins with it (license, licenses)."""
    words = _WORD.findall(before[-80:].lower())[-_WORDS_BEFORE:]
    said = " ".join(words)
    return any(
        c in words or (len(c) > 3 and any(w.startswith(c) for w in words)) or (" " in c and c in said) for c in context
    )


def _emails(text: str, threshold: float) -> Iterator[tuple[int, int]]:
    """Addresses whose domain lies under a public suffix."""
    return ((a, b) for a, b in email_like(text) if _has_domain(text[a:b].partition("@")[2]))


def _links(text: str, threshold: float) -> Iterator[tuple[int, int]]:
    """Links with a scheme, and others whose host lies under a public suffix."""
    return ((a, b) for a, b in links(text) if "://" in text[a : a + 8] or _has_domain(text[a:b].partition("/")[0]))


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


_OWN: dict[str, _Finder] = {
    "EMAIL_ADDRESS": _emails,
    "URL": _links,
    "AGE": lambda text, threshold: iter(ages(text)),
    "ADDRESS": lambda text, threshold: iter(postal_addresses(text)),
}
_RULES: dict[str, Callable[[str], list[tuple[int, int]]]] = {"PHONE_NUMBER": phone_numbers, "DATE": written_dates}


def _has_domain(host: str) -> bool:
    return bool(_suffixes()(host).top_domain_under_public_suffix)


@lru_cache(maxsize=1)
def _suffixes() -> Any:
    import tldextract

    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())


@dataclass(frozen=True, kw_only=True)
class PatternsSettings:
    """Presidio's recognisers of fixed forms (e-mail, phone, card, IBAN, ...), offline."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["patterns"] = "patterns"
    labels: tuple[str, ...] = ()
    """The forms that are looked for; all if none are named."""
    threshold: float = 0.4
    """Matches of a lower score are ignored."""

    def detector(self) -> Patterns:
        """The detector."""
        return Patterns(self.labels or _DEFAULT, self.threshold)

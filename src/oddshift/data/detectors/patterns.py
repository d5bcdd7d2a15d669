"""Numbers and addresses of a fixed form (e-mail, phone, card, IBAN, SSN, IP...), by Presidio's recognisers.

Only the pattern recognisers run, each on its own: no language model, no registry lookup, no network. E-mail addresses
and links are found by expressions of our own, because Presidio's need cubic time on hostile text; their domains are
checked against the public-suffix list inside the package, which is never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from oddshift.base.errors import InvalidInput
from oddshift.base.spacy_import import leaving_out
from oddshift.data.detectors.handles import OWN_FORMS, email_like, links
from oddshift.data.detectors.normalising import through_normalised
from oddshift.data.detectors.spans import SpanMemory, Spans, detector_mark

PATTERN_LABELS = (
    "EMAIL_ADDRESS",
    "PHONE_NUMBER",
    "CREDIT_CARD",
    "IBAN_CODE",
    "US_SSN",
    "IP_ADDRESS",
    "MAC_ADDRESS",
    "CRYPTO",
    "URL",
)
"""The forms that can be asked for; URL is off unless named, because links are often public."""

_DEFAULT = PATTERN_LABELS[:-1]
_PACKAGES = ("presidio-analyzer", "phonenumbers", "tldextract")  # their versions decide about a match
_FEWEST_DIGITS = 4  # every form except e-mail addresses and links has at least this many digits
_DOTTED = re.compile(r"[0-9]\.[0-9]")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{2}[:-][0-9a-fA-F]{2}[:-]|[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.")


@dataclass(frozen=True)
class Patterns:
    """Presidio's pattern recognisers for some forms, offline.

    A match below `threshold` is ignored. 0.4 keeps phone numbers and drops bare digit strings that only context
    words would make a social security number. `is_kept` keeps what is found on disk for later commands.
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
        mark = detector_mark("patterns", OWN_FORMS, self.labels, self.threshold, packages=_PACKAGES)
        return SpanMemory(mark, is_kept=self.is_kept).found(texts, self._read, is_exact=True)

    def _read(self, texts: Sequence[str]) -> Spans:
        found: list[tuple[int, int, int, str]] = []
        for document, text in enumerate(texts):
            has_digits = sum(map(str.isdigit, text)) >= _FEWEST_DIGITS
            for label in self.labels:
                if _may_hold(text, label, has_digits):
                    found += [(document, start, end, label) for start, end in _finder(label)(text, self.threshold)]
        return Spans.of(sorted(set(found)), is_exact=True)


def _may_hold(text: str, label: str, has_digits: bool) -> bool:
    """A cheap test before the slow one."""
    if label == "EMAIL_ADDRESS":
        return "@" in text
    if label == "URL":
        return "." in text or ":" in text
    if label == "IP_ADDRESS":
        return text.count(":") > 1 or _DOTTED.search(text) is not None
    if label == "MAC_ADDRESS":
        return _HEXADECIMAL.search(text) is not None
    return has_digits


_Finder = Callable[[str, float], Iterator[tuple[int, int]]]


def _refuse_without_presidio() -> None:
    """Looked for at once; imported, which takes seconds, only when some text may hold what it finds."""
    if find_spec("presidio_analyzer") is None:
        raise InvalidInput("Presidio is not installed; get it with: pip install 'oddshift[text]'")


@lru_cache(maxsize=len(PATTERN_LABELS))
def _finder(label: str) -> _Finder:
    if label == "EMAIL_ADDRESS":
        return _emails
    if label == "URL":
        return _links
    with leaving_out("torch", "transformers"):
        from presidio_analyzer import predefined_recognizers as known

    recognizers = {
        "PHONE_NUMBER": known.PhoneRecognizer,
        "CREDIT_CARD": known.CreditCardRecognizer,
        "IBAN_CODE": known.IbanRecognizer,
        "US_SSN": known.UsSsnRecognizer,
        "IP_ADDRESS": known.IpRecognizer,
        "MAC_ADDRESS": known.MacAddressRecognizer,
        "CRYPTO": known.CryptoRecognizer,
    }
    return _by(recognizers[label](), label)


def _by(recognizer: Any, label: str) -> _Finder:
    """A Presidio recogniser as a function of the text and the smallest score."""

    def find(text: str, threshold: float) -> Iterator[tuple[int, int]]:
        for hit in recognizer.analyze(text, [label]) or ():
            if hit.score >= threshold:
                yield hit.start, hit.end

    return find


def _emails(text: str, threshold: float) -> Iterator[tuple[int, int]]:
    """Addresses whose domain lies under a public suffix."""
    return ((a, b) for a, b in email_like(text) if _has_domain(text[a:b].partition("@")[2]))


def _links(text: str, threshold: float) -> Iterator[tuple[int, int]]:
    """Links with a scheme, and others whose host lies under a public suffix."""
    return ((a, b) for a, b in links(text) if "://" in text[a : a + 8] or _has_domain(text[a:b].partition("/")[0]))


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
    """The forms that are looked for; if none are named, all but URL."""
    threshold: float = 0.4
    """Matches of a lower score are ignored."""

    def detector(self) -> Patterns:
        """The detector."""
        return Patterns(self.labels or _DEFAULT, self.threshold)

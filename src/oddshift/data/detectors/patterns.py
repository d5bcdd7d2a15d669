"""Numbers and addresses of a fixed form (e-mail, phone, card, IBAN, SSN, IP...), by Presidio's recognisers.

Only the pattern recognisers run, each by itself: no language model, no registry lookup, no network. The e-mail
recogniser asks for a public-suffix list, which is read from the copy inside the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.spans import Spans

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
_FEWEST_DIGITS = 4  # no form but an e-mail address or a link has fewer


@dataclass(frozen=True)
class Patterns:
    """Presidio's pattern recognisers for some forms, offline.

    A match below `threshold` is ignored. 0.4 keeps phone numbers and drops bare digit strings that only context
    words would make a social security number.
    """

    labels: tuple[str, ...] = _DEFAULT
    threshold: float = 0.4
    name: str = "presidio patterns"

    def __post_init__(self) -> None:
        """Check the labels."""
        unknown = sorted(set(self.labels) - set(PATTERN_LABELS))
        if unknown or not self.labels:
            raise InvalidInput(f"labels={tuple(self.labels)}, expected some of {', '.join(PATTERN_LABELS)}")

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every match at or above the threshold."""
        recognizers = _recognizers(self.labels)
        found: list[tuple[int, int, int, str]] = []
        for document, text in enumerate(texts):
            for label, recognizer in recognizers.items():
                if _may_hold(text, label):
                    hits = recognizer.analyze(text, [label])
                    found += [(document, h.start, h.end, label) for h in hits or () if h.score >= self.threshold]
        return Spans.of(sorted(set(found)), is_exact=True)


def _may_hold(text: str, label: str) -> bool:
    """A cheap look before the slow one."""
    if label == "EMAIL_ADDRESS":
        return "@" in text
    if label in ("URL", "MAC_ADDRESS", "IP_ADDRESS"):
        return "." in text or ":" in text or "-" in text
    return sum(c.isdigit() for c in text) >= _FEWEST_DIGITS


@lru_cache(maxsize=8)
def _recognizers(labels: tuple[str, ...]) -> dict[str, Any]:
    try:
        from presidio_analyzer import predefined_recognizers as known
    except ImportError as error:
        raise InvalidInput("Presidio is not installed; get it with: pip install 'oddshift[text]'") from error
    made = {
        "EMAIL_ADDRESS": _offline_email,
        "PHONE_NUMBER": known.PhoneRecognizer,
        "CREDIT_CARD": known.CreditCardRecognizer,
        "IBAN_CODE": known.IbanRecognizer,
        "US_SSN": known.UsSsnRecognizer,
        "IP_ADDRESS": known.IpRecognizer,
        "MAC_ADDRESS": known.MacAddressRecognizer,
        "CRYPTO": known.CryptoRecognizer,
        "URL": known.UrlRecognizer,
    }
    return {label: made[label]() for label in labels}


def _offline_email() -> Any:
    """The e-mail recogniser with a public-suffix list that is never fetched."""
    import tldextract
    from presidio_analyzer.predefined_recognizers import EmailRecognizer

    extract = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())

    class OfflineEmail(EmailRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return bool(extract(pattern_text).fqdn)

    return OfflineEmail()

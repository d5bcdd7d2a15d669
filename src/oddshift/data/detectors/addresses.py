"""Postal addresses as whole stretches: number, street, unit, box, town, region, postcode and country as one span.

An address is recognised by a part of fixed form (a street with its number, a flat, a post-office box, a postcode behind
a state, or what follows "lives at" and starts with a number), and then grows over the parts around it that look like a
town or a postcode, on the same line and on the next few lines.

Handles, profile addresses, e-mail-like addresses and hashtags: names that are written without blanks.

Every expression has a fixed left border and bounded repeats, so that the time is linear in the length of the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.normalising import through_normalised
from oddshift.data.detectors.spans import Spans

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


HANDLE, HASHTAG, EMAIL_LIKE, USER_URL = "HANDLE", "HASHTAG", "EMAIL_ADDRESS", "URL"

HANDLE_LABELS = (HANDLE, HASHTAG, EMAIL_LIKE, USER_URL)
"""The labels that can be asked for; all of them by default. URL means addresses that name a user, not every link."""

_HOSTS = (  # sites whose pages belong to people
    "twitter.com x.com instagram.com facebook.com fb.com fb.me linkedin.com lnkd.in t.co reddit.com redd.it tiktok.com "
    "youtube.com youtu.be github.com gitlab.com medium.com pinterest.com snapchat.com threads.net bsky.app t.me vk.com "
    "flickr.com tumblr.com soundcloud.com twitch.tv discord.gg wa.me patreon.com quora.com venmo.com cash.app "
    "paypal.me myspace.com last.fm goodreads.com keybase.io linktr.ee about.me weibo.com"
)
_PATH = r"[^\s<>\"“”'()\[\]{}|\\^`]"

_AT_HANDLE = re.compile(r"(?<![\w@])@(?=\w)\w(?:[\w.-]{0,60}\w)?(?:@(?=\w)\w[\w-]{0,62}(?:\.[\w-]{1,62}){1,5})?")
_REDDIT = re.compile(r"(?<![\w/])/?[uU]/[A-Za-z0-9_-]{3,20}(?![\w/])")
_PROFILE = re.compile(
    r"(?<![\w@.-])(?:https?://)?(?:[\w-]{1,30}\.){0,3}(?:"
    + "|".join(re.escape(host) for host in sorted(_HOSTS.split(), key=len, reverse=True))
    + rf")/(?=[\w@#~]){_PATH}+",
    re.IGNORECASE,
)
_LINK = re.compile(rf"(?<![\w@])(?:https?://|ftp://|www\.){_PATH}+", re.IGNORECASE)
_USER_PART = re.compile(
    r"//[^/@?#]{1,100}@|/[~@]\w|/(?:users?|people|profiles?|members?|authors?|u|in|by)/[\w.%+-]"
    r"|[?&](?:user|user_?name|user_?id|author|uid|profile|e?mail|handle|screen_name)=[\w.%+-]",
    re.IGNORECASE,
)
_WEB = re.compile(
    rf"(?<![\w@.-])(?:(?:https?|ftp)://[\w.-]{{1,250}}|(?:[\w-]{{1,63}}\.){{1,8}}[^\W\d_]{{2,24}}(?![\w@-]))"
    rf"(?::\d{{1,5}})?(?:[/?#]{_PATH}*)?",
    re.IGNORECASE,
)
_HASHTAG = re.compile(r"(?<![\w&#/])#(?=\d{0,40}[^\W\d])\w{1,140}")
_AT = re.compile(r"(?<=[\w.+%-])@(?=\w)")
_LOCAL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]")
_DOMAIN = re.compile(r"\w[\w-]{0,62}(?:\.\w[\w-]{0,62}){0,8}")
_SPELLED = re.compile(
    r"(?<![\w.+-])\w[\w.+-]{0,62}[ \t]?[\[({][ \t]?at[ \t]?[\])}][ \t]?\w[\w-]{0,62}"
    r"(?:[ \t]?(?:\.|[\[({][ \t]?dot[ \t]?[\])}])[ \t]?\w[\w-]{0,62}){1,4}",
    re.IGNORECASE,
)
_LONGEST_LOCAL = 64
_TRAILING = ".,;:!?…*_~"


@dataclass(frozen=True)
class Handles:
    """Names in addresses: @handles, profile pages, e-mail-like addresses, links that name a user, and hashtags.

    >>> text = ["Ask @norma.kamali or see https://twitter.com/nkamali. #SaveKamali"]
    >>> found = Handles().detect(text)
    >>> [text[0][a:b] for a, b in zip(found.start, found.end, strict=True)]
    ['@norma.kamali', 'https://twitter.com/nkamali', '#SaveKamali']
    """

    labels: tuple[str, ...] = HANDLE_LABELS
    name: str = "handles and addresses"

    def __post_init__(self) -> None:
        """Check the labels."""
        if isinstance(self.labels, str) or not self.labels or set(self.labels) - set(HANDLE_LABELS):
            raise InvalidInput(f"labels={self.labels!r}, expected some of {', '.join(HANDLE_LABELS)}")

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every match; matches that overlap are one, under the label of the first."""
        return through_normalised(self._detect, texts)

    def _detect(self, texts: Sequence[str]) -> Spans:
        found: list[tuple[int, int, int, str]] = []
        for document, text in enumerate(texts):
            asked = [match for match in _matches(text) if match[2] in self.labels]
            for start, end, label in sorted(asked, key=lambda match: (match[0], -match[1])):
                if found and found[-1][0] == document and start < found[-1][2]:
                    found[-1] = (*found[-1][:2], max(end, found[-1][2]), found[-1][3])
                else:
                    found.append((document, start, end, label))
        return Spans.of(found, is_exact=True)


@dataclass(frozen=True, kw_only=True)
class HandlesSettings:
    """Handles, profile addresses, e-mail-like addresses and hashtags."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["handles"] = "handles"
    labels: tuple[str, ...] = HANDLE_LABELS
    """The forms that are looked for."""

    def detector(self) -> Handles:
        """The detector."""
        return Handles(self.labels)


def email_like(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of everything of the form local@domain, in time linear in the length of the text."""
    last = 0
    for at in _AT.finditer(text):
        start = at.start()
        least = max(last, start - _LONGEST_LOCAL)
        while start > least and _LOCAL.match(text[start - 1]):
            start -= 1
        while start < at.start() and not text[start].isalnum() and text[start] != "_":
            start += 1
        domain = _DOMAIN.match(text, at.end())
        if domain is not None and start < at.start():
            last = _trimmed(text, at.end(), domain.end())
            yield start, last


def links(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of web addresses, with or without a scheme; whether a host exists is for the caller to say."""
    return ((match.start(), _trimmed(text, match.start(), match.end())) for match in _WEB.finditer(text))


def _matches(text: str) -> Iterator[tuple[int, int, str]]:
    """Every match of every form, except links that name nobody."""
    if "@" in text:
        yield from ((start, end, EMAIL_LIKE) for start, end in email_like(text))
    for sign, expression, label in _FORMS_handles:
        if sign in text:
            for match in expression.finditer(text):
                if label != USER_URL or _USER_PART.search(match.group()):
                    yield match.start(), _trimmed(text, match.start(), match.end()), label


_FORMS_handles = (
    ("@", _AT_HANDLE, HANDLE),
    ("/", _PROFILE, HANDLE),
    ("/", _REDDIT, HANDLE),
    (".", _LINK, USER_URL),
    ("#", _HASHTAG, HASHTAG),
    ("", _SPELLED, EMAIL_LIKE),
)
"""(a character that every match contains, the form, its label)."""


def _trimmed(text: str, start: int, end: int) -> int:
    """The end without the punctuation of the sentence around it."""
    while end > start + 1 and text[end - 1] in _TRAILING:
        end -= 1
    return end

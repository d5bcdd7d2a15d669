"""Handles, profile addresses, e-mail-like addresses and hashtags: names that are written without blanks.

Every expression has a fixed left border and bounded repeats, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.normalising import through_normalised
from oddshift.data.detectors.spans import Spans

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

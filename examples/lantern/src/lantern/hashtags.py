"""A detector of hashtags."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from oddshift.data.detectors import Spans


@dataclass(frozen=True)
class Hashtags:
    """Words that follow a number sign, or another sign."""

    sign: str = "#"
    name: str = "hashtags"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every tag, without its sign; a match is certain."""
        tag = re.compile(rf"(?<={re.escape(self.sign)})\w+")
        found = [
            (document, match.start(), match.end(), "TAG")
            for document, text in enumerate(texts)
            for match in tag.finditer(text)
        ]
        return Spans.of(found, is_exact=True)

    def to_policy(self) -> "HashtagSettings":
        """The settings that make this detector again: what a policy keeps of it."""
        return HashtagSettings(sign=self.sign)


@dataclass(frozen=True, kw_only=True)
class HashtagSettings:
    """How a configuration asks for hashtags; its fields are the keys of [[data.detectors]]."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["hashtags"] = "hashtags"
    sign: str = "#"

    def detector(self) -> Hashtags:
        """The detector."""
        return Hashtags(self.sign)

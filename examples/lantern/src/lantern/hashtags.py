"""A detector of hashtags."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from oddshift.data.detectors import Spans

TAG = re.compile(r"(?<=#)\w+")


@dataclass(frozen=True)
class Hashtags:
    """Words that follow a number sign."""

    name: str = "hashtags"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every tag, without its sign; a match is certain."""
        found = [
            (document, match.start(), match.end(), "TAG")
            for document, text in enumerate(texts)
            for match in TAG.finditer(text)
        ]
        return Spans.of(found, is_exact=True)


@dataclass(frozen=True, kw_only=True)
class HashtagSettings:
    """How a configuration asks for hashtags; its fields are the keys of [[data.detectors]]."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["hashtags"] = "hashtags"

    def detector(self) -> Hashtags:
        """The detector."""
        return Hashtags()

"""A figure: a picture, the sentence that says what it shows, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oddshift.app.report.markup import Html, items, tag
from oddshift.app.report.markup import table as make_table
from oddshift.app.report.svg import both


@dataclass(frozen=True)
class Figure:
    """`says` is both the finding and the text alternative; `draw` takes a width and that text.

    `key` explains shapes and lines, `head` and `rows` hold the numbers of the picture, where it has any.
    """

    title: str
    says: str
    draw: Callable[[float, str], Html]
    key: tuple[str, ...]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def html(self) -> Html:
        """The figure as it stands in the page."""
        label = f"{self.title}. {self.says}"
        key = [tag("div", {"class": "key"}, items(self.key))] if self.key else []
        numbers = make_table(self.head, self.rows, self.title)
        return tag(
            "figure",
            None,
            tag("h3", None, self.title),
            tag("div", {"class": "picture"}, both(lambda width: self.draw(width, label))),
            tag("figcaption", None, tag("p", {"class": "says"}, self.says), *key),
            tag("details", None, tag("summary", None, "Numbers"), numbers) if self.rows else "",
        )

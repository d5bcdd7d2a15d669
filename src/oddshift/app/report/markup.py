"""Markup: elements of a page from text that is escaped unless it is markup already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Attributes = Mapping[str, object]

VOID = frozenset({"meta", "link", "br", "hr", "col"})
"""Elements without an end."""


class Html(str):
    """Text that is markup already; only `tag` and `join` make it."""

    __slots__ = ()


NOTHING = Html("")


def tag(name: str, attributes: Attributes | None = None, *children: str) -> Html:
    """One element. Children that are not Html are escaped; attributes that are None are left out.

    **Guarantee**: text from a run can end up as text or as the value of an attribute, never as markup.

    >>> tag("p", {"class": "note", "id": None}, "a < b", tag("br"))
    '<p class="note">a &lt; b<br></p>'
    """
    given = "".join(f' {key}="{_value(value)}"' for key, value in (attributes or {}).items() if value is not None)
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Sequence[str], between: str = "") -> Html:
    """Several parts as one; those that are not Html are escaped.

    >>> join(["<i>", tag("b", None, "x")])
    '&lt;i&gt;<b>x</b>'
    """
    return Html(between.join(part if isinstance(part, Html) else escape(part, quote=False) for part in parts))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], label: str, bold: Sequence[int] = ()) -> Html:
    """A table whose first column names the rows; it scrolls on its own where it is wider than the page."""
    top = tag("tr", None, *(tag("th", {"scope": "col"}, name) for name in head))
    body = [
        tag(
            "tr",
            {"class": "strong" if number in bold else None},
            tag("th", {"scope": "row"}, row[0]),
            *(tag("td", None, cell) for cell in row[1:]),
        )
        for number, row in enumerate(rows)
    ]
    made = tag("table", None, tag("thead", None, top), tag("tbody", None, *body))
    return tag("div", {"class": "scroll", "role": "region", "aria-label": label, "tabindex": 0}, made)


def pairs(rows: Sequence[tuple[str, str]]) -> Html:
    """Names and what they stand for; long values wrap."""
    made = (tag("div", None, tag("dt", None, name), tag("dd", None, value)) for name, value in rows)
    return tag("dl", {"class": "pairs"}, *made)


def items(lines: Sequence[str]) -> Html:
    """A list of lines."""
    return tag("ul", None, *(tag("li", None, line) for line in lines))


def _value(value: object) -> str:
    """An attribute's value; numbers are rounded to hundredths, enough for a drawing."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value), quote=True)

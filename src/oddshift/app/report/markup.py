"""Drawings: scales, axes and marks as inline SVG; colours and type come from style.css by class.

Every drawing is made twice, for a wide page and for a telephone, so that its letters keep their size on both.

A figure: a picture, the sentence that says what it shows, and its numbers as a table.

Markup: elements of a page from text that is escaped unless it is markup already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


WIDE = 720.0
NARROW = 340.0

_LETTER = 6.6  # mean width of a letter of a drawing, in its units


@dataclass(frozen=True)
class AxisScale:
    """A straight line from values to places: `low` lies at `start`, `high` at `end`.

    With `by_powers` equal factors are equal lengths, and all values are positive.

    >>> AxisScale(0.0, 2.0, 100.0, 300.0)(0.5)
    150.0
    >>> AxisScale(1.0, 100.0, 100.0, 300.0, by_powers=True)(10.0)
    200.0
    """

    low: float
    high: float
    start: float
    end: float
    by_powers: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value; what lies outside is moved to the nearer end."""
        if self.high <= self.low:  # one value only, such as costs that are all zero
            return self.start
        if self.by_powers:
            return self._straight(math.log10(max(value, self.low)))
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round values inside the scale, about `about` of them.

        >>> AxisScale(0.0, 0.31, 0.0, 1.0).ticks(4)
        [0.0, 0.1, 0.2, 0.3]
        """
        if self.high <= self.low:
            return [self.low]
        if self.by_powers:
            return self._powers(about)
        rough = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]

    @property
    def _straight(self) -> AxisScale:
        """The same scale over the logarithms of its values."""
        return AxisScale(math.log10(self.low), math.log10(self.high), self.start, self.end)

    def _powers(self, about: int) -> list[float]:
        """1, 2 and 5 times powers of ten inside the scale, or the powers alone where those are enough."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for digits in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
            found = [m * 10.0**k for k in range(first, last + 1) for m in digits]
            inside = [v for v in found if self.low * (1 - 1e-9) <= v <= self.high * (1 + 1e-9)]
            if len(inside) <= about:
                return inside
        return inside[:: -(-len(inside) // about)]


@dataclass(frozen=True)
class Frame:
    """The part of a drawing that holds its marks."""

    left: float
    top: float
    right: float
    bottom: float

    def across(self, low: float, high: float, *, by_powers: bool = False) -> AxisScale:
        """A scale from left to right."""
        return AxisScale(low, high, self.left, self.right, by_powers)

    def up(self, low: float, high: float, *, by_powers: bool = False) -> AxisScale:
        """A scale from bottom to top."""
        return AxisScale(low, high, self.bottom, self.top, by_powers)


def both(draw: Callable[[float], Html]) -> Html:
    """A drawing for wide pages and one for narrow ones; style.css shows one of them."""
    return join([tag("div", {"class": name}, draw(width)) for name, width in (("wide", WIDE), ("narrow", NARROW))])


def drawing(size: tuple[float, float], label: str, *marks: str) -> Html:
    """A picture with its text alternative."""
    width, height = size
    return tag("svg", {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": label}, *marks)


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "label") -> Html:
    """Words at a place; `anchor` is start, middle or end."""
    return tag("text", {"x": x, "y": y, "text-anchor": anchor, "class": kind}, words)


def line(start: tuple[float, float], end: tuple[float, float], kind: str) -> Html:
    """A straight line."""
    return tag("line", {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1], "class": kind})


def box(x: float, y: float, width: float, height: float, kind: str) -> Html:
    """A rectangle."""
    return tag("rect", {"x": x, "y": y, "width": max(width, 0.0), "height": max(height, 0.0), "class": kind})


def polyline(points: Sequence[tuple[float, float]], kind: str) -> Html:
    """A line through points."""
    return tag("polyline", {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), "class": kind})


def mark(shape: str, x: float, y: float, size: float, kind: str) -> Html:
    """One mark: circle, square, diamond, cross or star, so that the shape says what the colour says."""
    if shape == "circle":
        return tag("circle", {"cx": x, "cy": y, "r": size, "class": kind})
    if shape == "cross":
        arms = f"M{x - size:.1f} {y - size:.1f}L{x + size:.1f} {y + size:.1f}"
        arms += f"M{x - size:.1f} {y + size:.1f}L{x + size:.1f} {y - size:.1f}"
        return tag("path", {"d": arms, "class": f"{kind} cross"})
    corners = [(x + size * r * math.sin(a), y - size * r * math.cos(a)) for r, a in _corners(shape)]
    return tag("polygon", {"points": " ".join(f"{a:.1f},{b:.1f}" for a, b in corners), "class": kind})


def _corners(shape: str) -> list[tuple[float, float]]:
    """Distances and angles of the corners of a square, diamond or star."""
    if shape == "star":
        return [(1.0 if k % 2 == 0 else 0.45, k * math.pi / 5) for k in range(10)]
    turn = math.pi / 4 if shape == "square" else 0.0
    return [(1.0, turn + k * math.pi / 2) for k in range(4)]


def axis_below(frame: Frame, scale: AxisScale, label: str, show: Callable[[float], str], about: int = 6) -> Html:
    """Ticks and label under a frame; fewer ticks where there is less space."""
    room = max(2, min(about, int((frame.right - frame.left) / 55)))
    marks = [line((frame.left, frame.bottom), (frame.right, frame.bottom), "axis")]
    for value in scale.ticks(room):
        marks.append(line((scale(value), frame.bottom), (scale(value), frame.bottom + 4), "axis"))
        marks.append(text(scale(value), frame.bottom + 17, show(value), "middle", "tick"))
    if label:
        marks.append(text((frame.left + frame.right) / 2, frame.bottom + 35, label, "middle", "title"))
    return join(marks)


def axis_left(frame: Frame, scale: AxisScale, label: str, show: Callable[[float], str], about: int = 4) -> Html:
    """Faint lines across a frame with their values at the left; the label stands above the axis, upright."""
    marks = []
    for value in scale.ticks(about):
        marks.append(line((frame.left, scale(value)), (frame.right, scale(value)), "grid"))
        marks.append(text(frame.left - 6, scale(value) + 4, show(value), "end", "tick"))
    if label:
        marks.append(text(0, frame.top - 10, label, "start", "title"))
    return join(marks)


def fitted(words: str, room: float) -> str:
    """A name, shortened to the space it has.

    >>> fitted("a very long name indeed", 70.0)
    'a very lo…'
    """
    most = max(1, int(room / _LETTER))
    return words if len(words) <= most else words[: most - 1] + "…"


def width_of(words: str) -> float:
    """The approximate width of words in a drawing."""
    return _LETTER * len(words)


@dataclass(frozen=True)
class Figure:
    """`says` is both the finding and the text alternative; `draw` takes a width and that text, None for a table alone.

    `key` explains shapes and lines, `head` and `rows` hold the numbers of the picture, where it has any; those rows of
    a table that are `bold` stand out.
    """

    title: str
    says: str
    draw: Callable[[float, str], Html] | None
    key: tuple[str, ...]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    bold: Sequence[int] = ()

    @property
    def html(self) -> Html:
        """The figure as it stands in the page."""
        label, draw = f"{self.title}. {self.says}", self.draw
        if draw is None:
            shown = table(self.head, self.rows, self.title, self.bold) if self.rows else ""
            said = tag("p", None, self.says) if self.says else ""
            return tag("div", {"class": "tabled"}, tag("h3", None, self.title), said, shown)
        key = [tag("div", {"class": "key"}, items(self.key))] if self.key else []
        numbers = table(self.head, self.rows, self.title)
        return tag(
            "figure",
            None,
            tag("h3", None, self.title),
            tag("div", {"class": "picture"}, both(lambda width: draw(width, label))),
            tag("figcaption", None, tag("p", {"class": "says"}, self.says), *key),
            tag("details", None, tag("summary", None, "Numbers"), numbers) if self.rows else "",
        )

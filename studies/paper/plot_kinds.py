"""The kinds of pictures of the results page: lines over a number, rows of marks on one scale, and grouped bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oddshift.app.report.markup import Html
from oddshift.app.report.svg import (
    AxisScale,
    Figure,
    Frame,
    axis_below,
    axis_left,
    box,
    drawing,
    fitted,
    line,
    mark,
    polyline,
    text,
    width_of,
)

KINDS = ("first", "second", "third", "fourth")
SHAPES = ("circle", "square", "diamond", "star")

CLOSE = 60.0
"""Vertical lines nearer to each other than this have their names behind the last of them, where none crosses a name."""

MOST_MARKS = 25
"""A line of more points has a mark at some of them only."""

Point = tuple[float, float]


@dataclass(frozen=True)
class LinePlot:
    """Series of points over one number; `dots` leaves the lines out, `upright` are named vertical lines.

    `powers` says whether equal factors are equal lengths, across and up.
    """

    title: str
    says: str
    across: str
    up: str
    series: Mapping[str, Sequence[Point]]
    upright: Mapping[str, float] = field(default_factory=dict)
    dots: bool = False
    level: float | None = None
    powers: tuple[bool, bool] = (False, False)

    @property
    def figure(self) -> Figure:
        """The figure with its numbers as a table."""
        rows = [[name, f"{x:g}", f"{y:.4g}"] for name, points in self.series.items() for x, y in points]
        key = tuple(f"{SHAPES[k] if k < 4 else 'dashes'}: {name}" for k, name in enumerate(self.series))
        return Figure(self.title, self.says, self._draw, key, ("series", self.across, self.up), rows)

    def _draw(self, width: float, label: str) -> Html:
        frame = Frame(52, 30, width - 14, 230)
        xs = [x for points in self.series.values() for x, _ in points] + list(self.upright.values())
        ys = [y for points in self.series.values() for _, y in points] + ([self.level] if self.level else [])
        x = frame.across(min(xs), max(xs), by_powers=self.powers[0])
        low = min(ys) if self.powers[1] else min(0.0, *ys)
        y = frame.up(low, max(ys) * 1.05 or 1.0, by_powers=self.powers[1])
        marks: list[str] = []
        for number, (name, at) in enumerate(self.upright.items()):
            marks.append(line((x(at), frame.top), (x(at), frame.bottom), "limit"))
            clear = max(x(other) for other in self.upright.values() if abs(x(other) - x(at)) < CLOSE)
            marks.append(_beside(name, clear, frame.top + 10 + 15 * number, frame))
        if self.level is not None:
            marks.append(line((frame.left, y(self.level)), (frame.right, y(self.level)), "limit"))
        for k, points in enumerate(self.series.values()):
            places = [(x(a), y(b)) for a, b in points]
            if k >= len(KINDS):
                marks.append(polyline(places, "dashed"))
                continue
            if not self.dots:
                marks.append(polyline(places, f"curve {KINDS[k % 4]}"))
            shown = places[:: 1 if self.dots else max(1, len(places) // MOST_MARKS)]
            marks += [mark(SHAPES[k % 4], *place, 3.2, f"dot {KINDS[k % 4]}") for place in shown]
        below = axis_below(frame, x, self.across, lambda v: f"{v:g}")
        left = axis_left(frame, y, self.up, lambda v: f"{v:g}")
        return drawing((width, frame.bottom + 42), label, left, below, *marks)


def _beside(name: str, at: float, height: float, frame: Frame) -> Html:
    """The name of a vertical line at its right; at its left, where it does not fit and that side has more space."""
    left, right = at - frame.left, frame.right - at
    if width_of(name) <= right or right >= left:
        return text(at + 4, height, fitted(name, right), kind="tick")
    return text(at - 4, height, fitted(name, left), "end", "tick")


@dataclass(frozen=True)
class MarkedRow:
    """One row of a picture of marks: its name, and values by kind (`hollow`, `filled`, `tick`).

    Under a `heading` the rows of a group begin; the table of numbers has it before the name of each of them.
    """

    name: str
    hollow: Sequence[float] = ()
    filled: Sequence[float] = ()
    ticks: Sequence[float] = ()
    span: tuple[float, float] | None = None
    heading: str = ""


ROW_STEP, HEADING_STEP = 17.0, 26.0
"""Heights of a row and of a heading."""


@dataclass(frozen=True)
class RowPlot:
    """Rows of marks on one scale: hollow circles, filled circles, grey ticks, and a thick span for an interval.

    With `powers` equal factors are equal lengths.
    """

    title: str
    says: str
    across: str
    rows: Sequence[MarkedRow]
    key: tuple[str, ...]
    powers: bool = False

    @property
    def figure(self) -> Figure:
        """The figure with its numbers as a table."""
        shown = [
            [
                f"{row.heading} {row.name}".strip(),
                *(", ".join(f"{v:.4g}" for v in values) for values in (row.hollow, row.filled, row.ticks)),
            ]
            for row in self.rows
        ]
        return Figure(self.title, self.says, self._draw, self.key, ("row", "hollow", "filled", "ticks"), shown)

    def _draw(self, width: float, label: str) -> Html:
        longest = max(width_of(row.name) for row in self.rows)
        room = min(1.1 * longest + 14.0, width * 0.55)  # the browser's font may be a tenth wider
        headings = [k == 0 or row.heading != self.rows[k - 1].heading for k, row in enumerate(self.rows)]
        begins = [bool(row.heading) and first for row, first in zip(self.rows, headings, strict=True)]
        height = ROW_STEP * len(self.rows) + HEADING_STEP * sum(begins)
        frame = Frame(room, 14, width - 14, 14 + height)
        values = [v for row in self.rows for v in (*row.hollow, *row.filled, *row.ticks, *(row.span or ()))]
        low = min(values) if self.powers else min(0.0, *values)
        x, at, marks = frame.across(low, max(values) * 1.03, by_powers=self.powers), frame.top, list[str]()
        for row, is_first in zip(self.rows, begins, strict=True):
            if is_first:
                at += HEADING_STEP
                marks.append(text(0, at - 5, row.heading, kind="heading"))
            marks += self._row(row, at + ROW_STEP / 2, frame, x)
            at += ROW_STEP
        below = axis_below(frame, x, self.across, lambda v: f"{v:,.0f}" if v >= 1000 else f"{v:g}")
        return drawing((width, frame.bottom + 42), label, below, *marks)

    @staticmethod
    def _row(row: MarkedRow, at: float, frame: Frame, x: AxisScale) -> list[str]:
        marks: list[str] = [text(0, at + 4, fitted(row.name, frame.left - 6))]
        marks.append(line((frame.left, at), (frame.right, at), "grid"))
        if row.span is not None:
            marks.append(line((x(row.span[0]), at), (x(row.span[1]), at), "whisker strong"))
        ends = [*row.hollow[:1], *row.filled[:1]]
        if len(ends) == 2:
            marks.append(line((x(ends[0]), at), (x(ends[1]), at), "whisker"))
        marks += [line((x(v), at - 6), (x(v), at + 6), "tickmark faint") for v in row.ticks]
        marks += [mark("circle", x(v), at, 4, "hollow") for v in row.hollow]
        marks += [mark("circle", x(v), at, 4, "solid") for v in row.filled]
        return marks


@dataclass(frozen=True)
class BarPlot:
    """Grouped bars from 0, with a dashed line at a level that they are compared with.

    `printed` are ranges that the paper states, by group, one for each bar of it; each is a bracket around its bar.
    """

    title: str
    says: str
    up: str
    groups: Mapping[str, Sequence[float]]
    names: tuple[str, ...]
    level: float
    level_name: str
    printed: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)

    @property
    def figure(self) -> Figure:
        """The figure with its numbers as a table."""
        rows = [[group, *(f"{v:.4f}" for v in values)] for group, values in self.groups.items()]
        key = (*self.names, f"dashed: {self.level_name}", *(("bracket: range in the paper",) if self.printed else ()))
        return Figure(self.title, self.says, self._draw, key, ("group", *self.names), rows)

    def _draw(self, width: float, label: str) -> Html:
        frame = Frame(46, 30, width - 8, 220)
        stated = [high for ranges in self.printed.values() for _, high in ranges]
        highest = max(self.level, *stated, *(v for values in self.groups.values() for v in values))
        y, room = frame.up(0.0, highest * 1.08), (frame.right - frame.left) / len(self.groups)
        marks: list[str] = []
        for number, (group, values) in enumerate(self.groups.items()):
            start, each = frame.left + room * number + 0.12 * room, 0.76 * room / len(values)
            for k, value in enumerate(values):
                marks.append(
                    box(start + each * k, y(value), each - 1.5, frame.bottom - y(value), ("quiet", "good")[k % 2])
                )
            for k, (low, high) in enumerate(self.printed.get(group, ())):
                marks += _bracket(start + each * (k + 0.5) - 0.75, 0.22 * each, (y(low), y(high)))
            marks.append(text(start + 0.38 * room, frame.bottom + 16, fitted(group, room), "middle", "tick"))
        marks.append(line((frame.left, y(self.level)), (frame.right, y(self.level)), "limit"))
        return drawing((width, frame.bottom + 26), label, axis_left(frame, y, self.up, lambda v: f"{v:g}"), *marks)


def _bracket(at: float, half: float, ends: tuple[float, float]) -> list[Html]:
    """A range as an upright line with a foot at both ends."""
    upright = line((at, ends[0]), (at, ends[1]), "tickmark")
    return [upright, *(line((at - half, end), (at + half, end), "tickmark") for end in ends)]

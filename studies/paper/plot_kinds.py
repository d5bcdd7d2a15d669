"""The kinds of pictures of the results page beside lines: rows of marks on one scale, and grouped bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oddshift.app.report.markup import (
    AxisScale,
    Figure,
    Frame,
    Html,
    axis_below,
    axis_left,
    box,
    drawing,
    fitted,
    line,
    mark,
    text,
    width_of,
)


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

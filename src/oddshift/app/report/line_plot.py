"""A figure of lines over a number: one for each series, each told by its colour and by the shape of its marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oddshift.app.report.markup import (
    Figure,
    Frame,
    Html,
    axis_below,
    axis_left,
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
    """Series of points over one number; `dots` leaves the lines out, but for the series `joined`.

    `upright` are named vertical lines.

    `powers` says whether equal factors are equal lengths, across and up.
    """

    title: str
    says: str
    across: str
    up: str
    series: Mapping[str, Sequence[Point]]
    upright: Mapping[str, float] = field(default_factory=dict)
    dots: bool = False
    joined: str = ""
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
        for k, (name, points) in enumerate(self.series.items()):
            places = [(x(a), y(b)) for a, b in points]
            if k >= len(KINDS):
                marks.append(polyline(places, "dashed"))
                continue
            if not self.dots or name == self.joined:
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

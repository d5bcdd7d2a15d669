"""Pictures that compare two things side by side: slopes from one to the other, and one distribution above another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oddshift.app.report.markup import (
    AxisScale,
    Figure,
    Frame,
    Html,
    axis_below,
    axis_left,
    box,
    drawing,
    line,
    mark,
    text,
)

Slope = tuple[str, float, float]
"""A name, and the values at both ends."""


@dataclass(frozen=True)
class SlopePlot:
    """One panel for each group: slopes of the paper with hollow ends and ours with filled ends, on one scale."""

    title: str
    says: str
    up: str
    ends: tuple[str, str]
    printed: Mapping[str, Sequence[Slope]]
    ours: Mapping[str, Sequence[Slope]]

    @property
    def figure(self) -> Figure:
        """The figure with its numbers as a table."""
        rows = [
            [group, whose, name, f"{left:.4g}", f"{right:.4g}"]
            for whose, slopes in (("paper", self.printed), ("ours", self.ours))
            for group, mine in slopes.items()
            for name, left, right in mine
        ]
        key = ("hollow ends: the paper", "filled ends: ours, where run")
        return Figure(self.title, self.says, self._draw, key, ("panel", "whose", "slope", *self.ends), rows)

    def _draw(self, width: float, label: str) -> Html:
        groups = list(dict.fromkeys([*self.printed, *self.ours]))
        values = [v for part in (self.printed, self.ours) for mine in part.values() for _, *ends in mine for v in ends]
        whole = Frame(40, 44, width - 8, 260)
        y = whole.up(0.0, max(values, default=1.0) * 1.05)
        room = (whole.right - whole.left) / max(1, len(groups))
        marks: list[str] = [axis_left(whole, y, self.up, lambda v: f"{v:g}")]
        for number, group in enumerate(groups):
            start = whole.left + room * number
            left, right = start + 0.24 * room, start + 0.76 * room
            marks.append(text((left + right) / 2, whole.top - 8, group, "middle", "heading"))
            for x, end in ((left, self.ends[0]), (right, self.ends[1])):
                marks.append(text(x, whole.bottom + 16, end, "middle", "tick"))
            for slopes, kind, joined in ((self.printed, "hollow", "dashed"), (self.ours, "solid", "whisker")):
                for _, first, last in slopes.get(group, ()):
                    marks.append(line((left, y(first)), (right, y(last)), joined))
                    marks += [mark("circle", x, y(v), 3.6, kind) for x, v in ((left, first), (right, last))]
        return drawing((width, whole.bottom + 26), label, *marks)


@dataclass(frozen=True)
class MirrorPlot:
    """Shares in equal bins, one distribution upwards and another downwards; beyond `split` both are striped."""

    title: str
    says: str
    across: str
    above: tuple[str, Sequence[float]]
    below: tuple[str, Sequence[float]]
    span: float
    split: float
    split_name: str

    @property
    def figure(self) -> Figure:
        """The figure with its numbers as a table: middles of the bins, and both shares in percent."""
        rows = [
            [f"{middle:g}", f"{100 * up:.4g}", f"{100 * down:.4g}"]
            for middle, up, down in zip(self._middles, self.above[1], self.below[1], strict=True)
        ]
        key = (
            f"above: {self.above[0]}",
            f"below: {self.below[0]}",
            f"striped: beyond {self.split_name}; the last bar holds the rest",
        )
        return Figure(self.title, self.says, self._draw, key, (self.across, self.above[0], self.below[0]), rows)

    @property
    def _middles(self) -> list[float]:
        bins = len(self.above[1])
        return [(k + 0.5) * self.span / bins for k in range(bins)]

    def _draw(self, width: float, label: str) -> Html:
        frame = Frame(44, 30, width - 8, 270)
        x, middle = frame.across(0.0, self.span), (frame.top + frame.bottom) / 2
        highest = 100 * max(*self.above[1], *self.below[1])
        up = AxisScale(0.0, highest, middle, frame.top)
        down = AxisScale(0.0, highest, middle, frame.bottom)
        marks: list[str] = [axis_left(frame, up, "share of triples, %", lambda v: f"{v:g}", 3)]
        marks.append(axis_left(frame, down, "", lambda v: f"{v:g}" if v else "", 3))
        for (_, shares), scale, kind in ((self.above, up, "good"), (self.below, down, "quiet")):
            marks += self._bars(shares, (x, scale), kind)
        marks.append(line((x(self.split), frame.top), (x(self.split), frame.bottom), "limit"))
        marks.append(text(x(self.split) + 5, frame.top + 10, self.split_name, kind="tick"))
        for name, height in ((self.above[0], frame.top + 26), (self.below[0], frame.bottom - 12)):
            marks.append(text(frame.right, height, name, "end", "heading"))
        return drawing((width, frame.bottom + 42), label, *marks, axis_below(frame, x, self.across, lambda v: f"{v:g}"))

    def _bars(self, shares: Sequence[float], scales: tuple[AxisScale, AxisScale], kind: str) -> list[Html]:
        """A bar for every bin, from the line in the middle outwards."""
        x, y = scales
        each, made = (x(self.span) - x(0.0)) / len(shares), []
        for at, share in zip(self._middles, shares, strict=True):
            ends = sorted((y(0.0), y(100 * share)))
            style = "bad" if at > self.split else kind
            made.append(box(x(at) - each / 2, ends[0], each - 0.8, ends[1] - ends[0], style))
        return made

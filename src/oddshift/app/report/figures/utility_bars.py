"""What the release is still useful for: expected loss before and after remapping, next to a constant output."""

from __future__ import annotations

from oddshift.adapt.adaptation import Adaptation, ScaledOutcome
from oddshift.app.report.figure import Figure
from oddshift.app.report.figures.frontier_plot import NAMES
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import AxisScale, Frame, axis_below, drawing, line, mark, text
from oddshift.app.report.wording import number, scales_in_words

ROW = 50.0


def utility(found: Adaptation) -> Figure:
    """Loss of the named choices; a release that loses as much as a constant is useless."""
    points = _points(found)
    return Figure(
        title="What the release is still useful for",
        says=(
            f"Expected loss ({found.settings.cost}): {'; '.join(_said(found, *point) for point in points)}; "
            f"{found.constant_name} {number(found.constant_loss)}."
        ),
        draw=lambda width, label: _draw(found, points, width, label),
        key=(
            "hollow: before remapping; filled: as released",
            "effective outputs: how many different values the release uses (exp of its entropy); near 1 it says "
            "nothing",
            "a release whose loss is near that of a constant output is useless, however private it is",
        ),
        head=("choice", "scales", "loss before", "loss as released", "effective outputs"),
        rows=[
            [
                NAMES[name],
                scales_in_words(found.tier_names, point.scales),
                number(point.plain_loss),
                number(point.loss),
                number(point.effective_outputs),
            ]
            for name, point in points
        ]
        + [[found.constant_name, "-", "-", number(found.constant_loss), str(found.constant_outputs)]],
    )


def _points(found: Adaptation) -> list[tuple[str, ScaledOutcome]]:
    end = ", remapped" if found.remapped else ""
    named = [(name, found.choice(f"{name}{end}")) for name in ("EM", "uniform", "AmPL")]
    return [(name, point) for name, point in named if point is not None]


def _said(found: Adaptation, name: str, point: ScaledOutcome) -> str:
    before = f", {number(point.plain_loss)} before remapping" if found.remapped else ""
    return f"{NAMES[name]} {number(point.loss)}{before}"


def _draw(found: Adaptation, points: list[tuple[str, ScaledOutcome]], width: float, label: str) -> Html:
    frame = Frame(8, 26, width - 14, 26 + ROW * len(points))
    most = max([found.constant_loss, *(max(p.loss, p.plain_loss) for _, p in points)])
    scale = frame.across(0.0, 1.08 * most)
    at = scale(found.constant_loss)
    marks = [_row(name, point, frame, scale, k) for k, (name, point) in enumerate(points)]
    constant = line((at, frame.top - 8), (at, frame.bottom), "limit")
    named = text(at, frame.top - 13, "constant output", "end" if at > width / 2 else "start", "tick")
    axis = axis_below(frame, scale, "expected loss", number)
    return drawing((width, frame.bottom + 42), label, constant, named, *marks, axis)


def _row(name: str, point: ScaledOutcome, frame: Frame, scale: AxisScale, place: int) -> Html:
    top = frame.top + ROW * place
    y, before, after = top + 32, scale(point.plain_loss), scale(point.loss)
    said = f"{NAMES[name]}: {number(point.effective_outputs)} effective outputs"
    return join(
        [
            text(frame.left, top + 16, said, kind="heading halo" if name == "AmPL" else "label halo"),
            line((before, y), (after, y), "whisker"),
            mark("circle", before, y, 5.5, "hollow"),
            mark("star" if name == "AmPL" else "circle", after, y, 9 if name == "AmPL" else 5.5, "good"),
        ]
    )

"""How much leaks: the histogram of mPL in each tier, split at ε into kept and violated.

Above the axis is what the strongest attacker finds by reading releases together, below it what each gives away alone.

What the release is still useful for: expected loss before and after remapping, next to a constant output.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.adapt.result import Adaptation, ScaledOutcome
from oddshift.app.report.figure import Figure
from oddshift.app.report.figures.frontier_plot import NAMES
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import AxisScale, Frame, axis_below, axis_left, box, drawing, fitted, line, mark, text
from oddshift.app.report.wording import number, percent, scales_in_words
from oddshift.audit import AttackerResult, Audit
from oddshift.audit.scan import BINS, HISTOGRAM_SPAN
from oddshift.base.arrays import FloatArray

ABOVE, BELOW, BETWEEN = 118.0, 44.0, 46.0
"""Heights of the two halves of a panel, and the room between panels."""

_EDGE = round(BINS / HISTOGRAM_SPAN)  # the bin that starts at ε
_REST = 5e-4  # the share of pairs that may be gathered in the last bar


@dataclass(frozen=True)
class Panel:
    """One tier: shares of pairs in bins of ε/20 read together and alone, and the rate beyond ε."""

    tier: str
    together: FloatArray
    alone: FloatArray
    rate: float


def histogram(audit: Audit) -> Figure:
    """mPL of the strongest attacker, next to what each release gives away on its own."""
    law = "uniform" if audit.settings.law == "uniform" else "anchored"
    panels = [_panel(audit, rates.tier, law) for rates in audit.row(audit.strongest).tiers]
    said = ", ".join(f"{percent(p.rate)} in {p.tier}" for p in panels)
    return Figure(
        title="How much leaks",
        says=(
            f"Share of {law} pairs whose mPL exceeds ε = {number(audit.settings.epsilon)}, as attacker "
            f"{audit.strongest} estimates it: {said}."
        ),
        draw=lambda width, label: _draw(panels, audit.settings.epsilon, width, label),
        key=(
            "above the axis: pairs by their mPL when the releases are read together; bars beyond ε are striped",
            "below the axis: the same for each release on its own (own), drawn to a separate scale",
            "the last bar contains everything further out",
            "bars pool all pairs; percentages average over records, as certificates do",
        ),
        head=("mPL", *(f"{p.tier}: {who}" for p in panels for who in (audit.strongest, "own"))),
        rows=_rows(panels, audit.settings.epsilon),
    )


def _panel(audit: Audit, tier: str, law: str) -> Panel:
    row, place = audit.row(audit.strongest), audit.tier_names.index(tier)
    rates = next(rates for rates in row.tiers if rates.tier == tier)
    together, alone = (_shares(found, place, law) for found in (row, audit.row("own")))
    return Panel(tier, together, alone, rates.uniform if law == "uniform" else rates.anchored)


def _shares(row: AttackerResult, tier: int, law: str) -> FloatArray:
    counts = row.histogram[0 if law == "anchored" else 1, tier]
    return counts / max(1.0, counts.sum())


def _rows(panels: list[Panel], epsilon: float) -> list[list[str]]:
    """Quarters of ε, so that the table stays short; the last row holds everything beyond the bins."""
    step = _EDGE // 4
    columns = [half for p in panels for half in (p.together, p.alone)]
    rows = []
    for start in range(0, BINS, step):
        if any(half[start:].sum() > 0 for half in columns):
            low, high = (number(epsilon * k / _EDGE) for k in (start, start + step))
            rows.append([f"{low} to {high}", *(percent(float(half[start : start + step].sum())) for half in columns)])
    return [*rows, [f"beyond {number(HISTOGRAM_SPAN * epsilon)}", *(percent(float(half[-1])) for half in columns)]]


def _draw(panels: list[Panel], epsilon: float, width: float, label: str) -> Html:
    shown = max(2 * _EDGE, *(_reach(p.together) for p in panels))
    cut = [Panel(p.tier, _gathered(p.together, shown), _gathered(p.alone, shown), p.rate) for p in panels]
    tallest = 1.1 * max(float(p.together.max()) for p in cut)
    marks, bottom = [], 0.0
    for panel in cut:
        frame = Frame(40, bottom + BETWEEN, width - 4, bottom + BETWEEN + ABOVE)
        marks.append(_halves(panel, frame, epsilon, tallest))
        bottom = frame.bottom + BELOW
    last = Frame(40, 0, width - 4, bottom + 4)
    axis = axis_below(last, last.across(0, shown / _EDGE * epsilon), "mPL: shift of the odds per distance", number)
    return drawing((width, last.bottom + 42), label, *marks, axis)


def _reach(shares: FloatArray) -> int:
    """The number of bins beyond which almost nothing is left."""
    return int(np.argmax(np.cumsum(shares) >= 1.0 - _REST)) + 1


def _gathered(shares: FloatArray, shown: int) -> FloatArray:
    """The first bins, all others added to the last of them."""
    return np.append(shares[: shown - 1], shares[shown - 1 :].sum())


def _halves(panel: Panel, frame: Frame, epsilon: float, tallest: float) -> Html:
    shown = len(panel.together)
    x, y, step = frame.across(0, shown), frame.up(0, tallest), (frame.right - frame.left) / shown
    down = (BELOW - 8) / max(float(panel.alone.max()), 1e-12)
    name = text(0, frame.top - 16, fitted(panel.tier, x(_EDGE) - 100), kind="heading")
    marks = [name, axis_left(frame, y, "", percent, 2)]
    for k in range(shown):
        kind = "bad" if k >= _EDGE and panel.rate > 0 else "good"
        top, depth = y(float(panel.together[k])), down * float(panel.alone[k])
        marks.append(box(x(k) + 0.5, top, step - 1, frame.bottom - top, kind))
        marks.append(box(x(k) + 0.5, frame.bottom + 1, step - 1, depth, "quiet"))
    middle, beyond = x(_EDGE), f"{percent(panel.rate)} beyond ε"
    beyond += f" = {number(epsilon)}" if middle + 160 < frame.right else ""
    return join(
        [
            *marks,
            line((frame.left, frame.bottom), (frame.right, frame.bottom), "axis"),
            line((middle, frame.top - 24), (middle, frame.bottom + BELOW - 4), "limit"),
            text(middle - 7, frame.top - 14, f"{percent(1 - panel.rate)} within", "end", "good-word halo"),
            text(middle + 7, frame.top - 14, beyond, kind="bad-word halo"),
            text(frame.right, frame.bottom - 8, "together", "end", "tick"),
            text(frame.right, frame.bottom + 17, "alone", "end", "tick"),
        ]
    )


def kept_bar(kept: float) -> Figure:
    """A bar from plain marks to the original, with the release on it."""
    shown = max(0.0, kept)
    said = f"The release keeps {percent(shown)} of the information: plain marks keep 0%, the original has 100%."
    return Figure("What it is good for", said, lambda width, label: _draw_kept(shown, width, label), (), (), ())


def _draw_kept(kept: float, width: float, label: str) -> Html:
    frame = Frame(8, 34, width - 14, 56)
    scale = frame.across(0.0, 1.0)
    at = scale(kept)
    side = "end" if at > width / 2 else "start"
    return drawing(
        (width, frame.bottom + 24),
        label,
        box(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top, "quiet"),
        box(frame.left, frame.top, at - frame.left, frame.bottom - frame.top, "good"),
        line((at, frame.top - 6), (at, frame.bottom + 4), "limit"),
        text(at, frame.top - 12, f"this release {percent(kept)}", side, "heading halo"),
        text(frame.left, frame.bottom + 17, "plain marks", "start", "tick"),
        text(frame.right, frame.bottom + 17, "the original", "end", "tick"),
    )


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
        draw=lambda width, label: _draw_utilities(found, points, width, label),
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


def _draw_utilities(found: Adaptation, points: list[tuple[str, ScaledOutcome]], width: float, label: str) -> Html:
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

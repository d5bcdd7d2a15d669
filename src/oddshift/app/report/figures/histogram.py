"""How much leaks: the histogram of mPL in each tier, split at ε into kept and violated.

Above the axis is what the strongest attacker finds by reading releases together, below it what each gives away alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import Frame, axis_below, axis_left, box, drawing, fitted, line, text
from oddshift.app.report.wording import number, percent
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
            "bars pool all pairs; percentages average over documents, as certificates do",
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

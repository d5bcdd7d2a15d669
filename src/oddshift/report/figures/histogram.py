"""How much leaks: the histogram of mPL in each tier, split at ε into kept and violated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.arrays import FloatArray
from oddshift.audit import AttackerResult, Audit
from oddshift.audit.scan import BINS, HISTOGRAM_SPAN
from oddshift.report.figure import Figure
from oddshift.report.markup import Html, join
from oddshift.report.svg import Frame, axis_below, axis_left, box, drawing, line, polyline, text
from oddshift.report.words import number, percent

PANEL = 170.0
_EDGE = round(BINS / HISTOGRAM_SPAN)  # the bin that starts at ε


@dataclass(frozen=True)
class Panel:
    """One tier: shares of pairs in bins of ε/20 for the strongest attacker and for `own`, and the rate beyond ε."""

    tier: str
    shares: FloatArray
    alone: FloatArray
    rate: float


def histogram(audit: Audit) -> Figure:
    """mPL of the strongest attacker, beside what each release gives away by itself."""
    law = "uniform" if audit.settings.law == "uniform" else "anchored"
    panels = [_panel(audit, tier, law) for tier in range(len(audit.tier_names)) if _has(audit, tier)]
    said = ", ".join(f"{percent(p.rate)} in {p.tier}" for p in panels)
    return Figure(
        title="How much leaks",
        says=f"Beyond ε = {number(audit.settings.epsilon)}: {said}. Attacker {audit.strongest}, {law} pairs.",
        draw=lambda width, label: _draw(panels, audit.settings.epsilon, width, label),
        key=(
            "bars: pairs by their mPL, striped beyond ε",
            "thin line: the same for each release by itself (own)",
            "bars pool all pairs; percentages average over documents, as certificates do",
        ),
        head=("mPL", *(f"{p.tier}: {who}" for p in panels for who in (audit.strongest, "own"))),
        rows=_rows(panels, audit.settings.epsilon),
    )


def _has(audit: Audit, tier: int) -> bool:
    return bool(audit.row(audit.strongest).histogram[0, tier].sum() > 0)


def _panel(audit: Audit, tier: int, law: str) -> Panel:
    name, row = audit.tier_names[tier], audit.row(audit.strongest)
    rates = next(rates for rates in row.tiers if rates.tier == name)
    return Panel(
        name,
        _shares(row, tier, law),
        _shares(audit.row("own"), tier, law),
        rates.uniform if law == "uniform" else rates.anchored,
    )


def _shares(row: AttackerResult, tier: int, law: str) -> FloatArray:
    counts = row.histogram[0 if law == "anchored" else 1, tier]
    return counts / max(1.0, counts.sum())


def _rows(panels: list[Panel], epsilon: float) -> list[list[str]]:
    """Quarters of ε, so that the table stays short; the last row is all that lies beyond the bins."""
    step = _EDGE // 4
    rows = []
    for start in range(0, BINS, step):
        cells = [percent(float(v[start : start + step].sum())) for p in panels for v in (p.shares, p.alone)]
        low, high = (epsilon * k / _EDGE for k in (start, start + step))
        if any(p.shares[start:].sum() > 0 or p.alone[start:].sum() > 0 for p in panels):
            rows.append([f"{number(low)} to {number(high)}", *cells])
    beyond = [percent(float(v[-1])) for p in panels for v in (p.shares, p.alone)]
    return [*rows, [f"beyond {number(HISTOGRAM_SPAN * epsilon)}", *beyond]]


def _draw(panels: list[Panel], epsilon: float, width: float, label: str) -> Html:
    filled = max(int(np.flatnonzero(p.shares + p.alone).max()) for p in panels)
    shown = min(BINS, max(2 * _EDGE, filled + 2))
    tallest = max(float(max(p.shares.max(), p.alone.max())) for p in panels)
    marks = []
    for k, panel in enumerate(panels):
        frame = Frame(46, 34 + k * (PANEL + 20), width - 8, k * (PANEL + 20) + PANEL)
        marks.append(_panel_marks(panel, frame, epsilon, shown, tallest * 1.08))
    last = Frame(46, 0, width - 8, (len(panels) - 1) * (PANEL + 20) + PANEL)
    scale = last.across(0, shown / _EDGE * epsilon)
    axis = axis_below(last, scale, "mPL: shift of the odds per unit of distance", number)
    return drawing((width, last.bottom + 42), label, *marks, axis)


def _panel_marks(panel: Panel, frame: Frame, epsilon: float, shown: int, tallest: float) -> Html:
    x, y = frame.across(0, shown), frame.up(0, tallest)
    step = (frame.right - frame.left) / shown
    marks = [text(0, frame.top - 18, panel.tier, kind="heading"), axis_left(frame, y, "", percent, 3)]
    for k in range(shown):
        share = float(panel.shares[k] if k < shown - 1 or shown < BINS else panel.shares[k:].sum())
        beyond = k >= _EDGE and panel.rate > 0
        if share > 0:
            marks.append(box(x(k) + 0.4, y(share), step - 0.8, frame.bottom - y(share), "bad" if beyond else "good"))
    outline = [(x(k + d), y(float(panel.alone[k]))) for k in range(shown) for d in (0, 1)]
    marks.append(polyline(outline, "outline"))
    middle = x(_EDGE)
    marks.append(line((middle, frame.top - 8), (middle, frame.bottom), "limit"))
    marks.append(text(middle - 6, frame.top - 18, f"{percent(1 - panel.rate)} within", "end", "good-word"))
    marks.append(text(middle + 6, frame.top - 18, f"{percent(panel.rate)} beyond ε", "start", "bad-word"))
    marks.append(text(middle + 6, frame.top + 2, f"ε = {number(epsilon)}", "start", "tick"))
    return join([*marks, line((frame.left, frame.bottom), (frame.right, frame.bottom), "axis")])

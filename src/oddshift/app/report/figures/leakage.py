"""How much leaks: the histogram of mPL in each tier, split at ε into kept and violated.

Above the axis is what the strongest attacker finds by reading releases together, below it what each gives away alone.

How much each attacker finds: its violation rate next to those of the two controls, with intervals.

Which groups are affected most: the rate of the strongest attacker in each subgroup of documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    join,
    line,
    mark,
    text,
    width_of,
)
from oddshift.app.report.wording import interval, number, percent
from oddshift.audit import AttackerResult, Audit, TierRates
from oddshift.audit.notes import CONTROLS
from oddshift.audit.scan import BINS, HISTOGRAM_SPAN
from oddshift.base.arrays import FloatArray
from oddshift.bounds import hoeffding_bentkus_lower, hoeffding_bentkus_upper

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


ROW = 26.0


@dataclass(frozen=True)
class RateRow:
    """One attacker in one tier: what it is, its rate with bounds, first guesses, and the rate across secret tiers.

    Of a recalibrated attacker only the rate is known.
    """

    name: str
    kind: str
    rate: float
    lower: float
    upper: float
    top1: float | None = None
    across: float | None = None


def attacker_rates(audit: Audit) -> Figure:
    """Rates under the pair law of the verdict (anchored for `worst`, which is not measured for everyone)."""
    law = "uniform" if audit.settings.law == "uniform" else "anchored"
    panels = {tier: _rate_rows(audit, tier, law) for tier in audit.tier_names}
    panels = {tier: rows for tier, rows in panels.items() if rows}
    controls = max(row.rate for rows in panels.values() for row in rows if row.name == "own")
    worst = "; ".join(
        f"{tier} {percent(r.rate)} ({interval(r.lower, r.upper)}) by {r.name}"
        for tier, rows in panels.items()
        for r in rows
        if r.kind == WORST
    )
    asked = audit.settings
    return Figure(
        title="How much each attacker finds",
        says=(
            f"The attackers with the worst bounds go beyond ε in these shares of pairs: {worst}. From one "
            f"release alone the share is {percent(controls)}."
        ),
        draw=lambda width, label: _draw_rates(panels, asked.delta, width, label),
        key=(
            "square: a control (null ignores the release, own reads a single position); circle: an attacker; "
            "diamond: the attacker with the worst bound; cross: an attacker that learned nothing",
            f"lines: two one-sided bounds at level {asked.alpha:g}; those of attackers that count use the method "
            f"{asked.method}, the others use Hoeffding-Bentkus on their mean and are not certified",
        ),
        head=("tier and attacker", "beyond ε", "bounds", "first guess right", "beyond ε across tiers"),
        rows=[_cells(tier, row) for tier, rows in panels.items() for row in rows],
    )


WORST = "worst bound"
"""What the attacker with the largest upper bound in a tier is called."""


def _cells(tier: str, row: RateRow) -> list[str]:
    top1, across = ("-" if share is None else percent(share) for share in (row.top1, row.across))
    bounds = interval(row.lower, row.upper)
    return [f"{tier}: {row.name} ({row.kind})", percent(row.rate), bounds, top1, across]


def _rate_rows(audit: Audit, tier: str, law: str) -> list[RateRow]:
    """Every attacker that says something about a tier; recalibrated ones, if they count, come last."""
    found = (made for made in (*audit.counting_rates, *audit.further_rates) if made.claim.tier == tier)
    counting = {made.claim.attacker: made for made in found if made.claim.pair_law == law}
    worst = max(counting.values(), key=lambda made: (made.upper, made.mean), default=None)
    named = "" if worst is None else worst.claim.attacker
    rows = []
    for each in audit.attackers:
        rates = next((r for r in each.tiers if r.tier == tier), None)
        if rates is None:
            continue
        rate, made = (rates.uniform if law == "uniform" else rates.anchored), counting.pop(each.name, None)
        about = (rate, rates.documents, audit.settings.alpha)
        bounds = (hoeffding_bentkus_lower(*about), hoeffding_bentkus_upper(*about))
        low, high = bounds if made is None else (made.lower, made.upper)
        rows.append(RateRow(each.name, _kind(each, named), rate, low, high, rates.top1, _across(rates, law)))
    for name, made in counting.items():
        rows.append(RateRow(name, WORST if name == named else "attacker", made.mean, made.lower, made.upper))
    return rows


def _across(rates: TierRates, law: str) -> float | None:
    """The rate of pairs across two tiers, where tiers are secret."""
    if rates.pair_split is None:
        return None
    return rates.pair_split.uniform_across if law == "uniform" else rates.pair_split.anchored_across


def _kind(found: AttackerResult, worst: str) -> str:
    if found.name == worst:
        return WORST
    if found.name in CONTROLS:
        return "control"
    return "attacker" if found.learned else "learned nothing"


def _draw_rates(panels: dict[str, list[RateRow]], delta: float | None, width: float, label: str) -> Html:
    names = [row.name for rows in panels.values() for row in rows]
    left = min(0.34 * width, max(width_of(name) for name in names) + 14)
    most = max([delta or 0.0, *(row.upper for rows in panels.values() for row in rows)])
    scale = Frame(left, 0, width - 54, 0).across(0.0, min(1.0, most * 1.06) or 1.0)
    marks, top = [], 0.0
    for tier, rows in panels.items():
        frame = Frame(left, top + 28, width - 54, top + 28 + ROW * len(rows))
        marks.append(text(0, top + 18, fitted(tier, scale(delta or 0.0)), kind="heading"))
        marks.extend(_rate_row(row, frame, scale, k) for k, row in enumerate(rows))
        if delta is not None:
            marks.append(line((scale(delta), frame.top - 6), (scale(delta), frame.bottom), "limit"))
            marks.append(text(scale(delta) + 5, frame.top - 4, f"δ = {percent(delta)}", kind="tick"))
        top = frame.bottom + 6
    axis = axis_below(Frame(left, 0, width - 54, top), scale, "share of pairs beyond ε", percent)
    return drawing((width, top + 42), label, *marks, axis)


def _rate_row(row: RateRow, frame: Frame, scale: AxisScale, place: int) -> Html:
    shapes = {"control": "square", WORST: "diamond", "attacker": "circle", "learned nothing": "cross"}
    y, kind = frame.top + ROW * (place + 0.5), "hollow" if row.kind == "control" else "solid"
    is_worst = row.kind == WORST
    return join(
        [
            text(frame.left - 10, y + 4, fitted(row.name, frame.left - 12), "end", "heading" if is_worst else "label"),
            line((scale(row.lower), y), (scale(row.upper), y), "whisker strong" if is_worst else "whisker"),
            mark(shapes[row.kind], scale(row.rate), y, 7 if is_worst else 5, "bad" if is_worst else kind),
            text(frame.right + 8, y + 4, percent(row.rate), "start", "tick"),
        ]
    )


def subgroup_rates(audit: Audit) -> Figure:
    """All bounds hold together at the stated level."""
    worst = max(audit.subgroups, key=lambda row: row.mean)
    return Figure(
        title="Which groups are affected most",
        says=(
            f"The most affected subgroup is {worst.subgroup} in tier {worst.tier}, with a rate of "
            f"{percent(worst.mean)} ({interval(worst.lower, worst.upper)})."
        ),
        draw=lambda width, label: _draw_rates(_subgroup_rows(audit), audit.settings.delta, width, label),
        key=(f"lines: bounds that hold together at level {audit.settings.alpha:g}",),
        head=("tier and subgroup", "beyond ε", "bounds", "records"),
        rows=[
            [f"{r.tier}: {r.subgroup}", percent(r.mean), interval(r.lower, r.upper), str(r.documents)]
            for r in audit.subgroups
        ],
    )


def _subgroup_rows(audit: Audit) -> dict[str, list[RateRow]]:
    """The subgroups of each tier, as rows of rates."""
    rows: dict[str, list[RateRow]] = {}
    for each in audit.subgroups:
        rows.setdefault(each.tier, []).append(RateRow(each.subgroup, "attacker", each.mean, each.lower, each.upper))
    return rows

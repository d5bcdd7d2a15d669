"""How much each attacker finds: its violation rate next to those of the two controls, with intervals.

Which groups are affected most: the rate of the strongest attacker in each subgroup of documents.
"""

from __future__ import annotations

from dataclasses import dataclass

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import AxisScale, Frame, axis_below, drawing, fitted, line, mark, text, width_of
from oddshift.app.report.wording import interval, percent
from oddshift.audit import AttackerResult, Audit, TierRates
from oddshift.audit.notes import CONTROLS
from oddshift.audit.result import SubgroupRate
from oddshift.bounds import hoeffding_bentkus_lower, hoeffding_bentkus_upper

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
    panels = {tier: _panel(audit, tier, law) for tier in audit.tier_names}
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
        draw=lambda width, label: _draw(panels, asked.delta, width, label),
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


def _panel(audit: Audit, tier: str, law: str) -> list[RateRow]:
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


def _draw(panels: dict[str, list[RateRow]], delta: float | None, width: float, label: str) -> Html:
    names = [row.name for rows in panels.values() for row in rows]
    left = min(0.34 * width, max(width_of(name) for name in names) + 14)
    most = max([delta or 0.0, *(row.upper for rows in panels.values() for row in rows)])
    scale = Frame(left, 0, width - 54, 0).across(0.0, min(1.0, most * 1.06) or 1.0)
    marks, top = [], 0.0
    for tier, rows in panels.items():
        frame = Frame(left, top + 28, width - 54, top + 28 + ROW * len(rows))
        marks.append(text(0, top + 18, fitted(tier, scale(delta or 0.0)), kind="heading"))
        marks.extend(_row(row, frame, scale, k) for k, row in enumerate(rows))
        if delta is not None:
            marks.append(line((scale(delta), frame.top - 6), (scale(delta), frame.bottom), "limit"))
            marks.append(text(scale(delta) + 5, frame.top - 4, f"δ = {percent(delta)}", kind="tick"))
        top = frame.bottom + 6
    axis = axis_below(Frame(left, 0, width - 54, top), scale, "share of pairs beyond ε", percent)
    return drawing((width, top + 42), label, *marks, axis)


def _row(row: RateRow, frame: Frame, scale: AxisScale, place: int) -> Html:
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


SUBGROUP_ROW = 26.0


def subgroup_rates(audit: Audit) -> Figure:
    """All bounds hold together at the stated level."""
    worst = max(audit.subgroups, key=lambda row: row.mean)
    return Figure(
        title="Which groups are affected most",
        says=(
            f"The most affected subgroup is {worst.subgroup} in tier {worst.tier}, with a rate of "
            f"{percent(worst.mean)} ({interval(worst.lower, worst.upper)})."
        ),
        draw=lambda width, label: _draw_subgroups(audit, width, label),
        key=(f"lines: bounds that hold together at level {audit.settings.alpha:g}",),
        head=("tier and subgroup", "beyond ε", "bounds", "records"),
        rows=[
            [f"{r.tier}: {r.subgroup}", percent(r.mean), interval(r.lower, r.upper), str(r.documents)]
            for r in audit.subgroups
        ],
    )


def _draw_subgroups(audit: Audit, width: float, label: str) -> Html:
    left = 0.34 * width
    frame = Frame(left, 20, width - 54, 20 + SUBGROUP_ROW * len(audit.subgroups))
    delta = audit.settings.delta
    most = max([delta or 0.0, *(row.upper for row in audit.subgroups)])
    scale = frame.across(0.0, min(1.0, 1.06 * most) or 1.0)
    marks = [_subgroup_row(row, frame, scale, k) for k, row in enumerate(audit.subgroups)]
    if delta is not None:
        marks.append(line((scale(delta), frame.top - 6), (scale(delta), frame.bottom), "limit"))
        marks.append(text(scale(delta) + 5, frame.top - 6, f"δ = {percent(delta)}", kind="tick"))
    axis = axis_below(frame, scale, "share of pairs beyond ε", percent)
    return drawing((width, frame.bottom + 42), label, *marks, axis)


def _subgroup_row(row: SubgroupRate, frame: Frame, scale: AxisScale, place: int) -> Html:
    y = frame.top + SUBGROUP_ROW * (place + 0.5)
    return join(
        [
            text(frame.left - 10, y + 4, fitted(f"{row.tier}: {row.subgroup}", frame.left - 12), "end"),
            line((scale(row.lower), y), (scale(row.upper), y), "whisker"),
            mark("circle", scale(row.mean), y, 5, "solid"),
            text(frame.right + 8, y + 4, percent(row.mean), kind="tick"),
        ]
    )

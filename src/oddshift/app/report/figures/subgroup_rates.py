"""Which groups are affected most: the rate of the strongest attacker in each subgroup of documents."""

from __future__ import annotations

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import AxisScale, Frame, axis_below, drawing, fitted, line, mark, text
from oddshift.app.report.wording import interval, percent
from oddshift.audit import Audit
from oddshift.audit.audit_result import SubgroupRate

ROW = 26.0


def subgroup_rates(audit: Audit) -> Figure:
    """All bounds hold together at the stated level."""
    worst = max(audit.subgroups, key=lambda row: row.mean)
    return Figure(
        title="Which groups are affected most",
        says=(
            f"The most affected subgroup is {worst.subgroup} in tier {worst.tier}, with a rate of "
            f"{percent(worst.mean)} ({interval(worst.lower, worst.upper)})."
        ),
        draw=lambda width, label: _draw(audit, width, label),
        key=(f"lines: bounds that hold together at level {audit.settings.alpha:g}",),
        head=("tier and subgroup", "beyond ε", "bounds", "documents"),
        rows=[
            [f"{r.tier}: {r.subgroup}", percent(r.mean), interval(r.lower, r.upper), str(r.documents)]
            for r in audit.subgroups
        ],
    )


def _draw(audit: Audit, width: float, label: str) -> Html:
    left = 0.34 * width
    frame = Frame(left, 20, width - 54, 20 + ROW * len(audit.subgroups))
    delta = audit.settings.delta
    most = max([delta or 0.0, *(row.upper for row in audit.subgroups)])
    scale = frame.across(0.0, min(1.0, 1.06 * most) or 1.0)
    marks = [_row(row, frame, scale, k) for k, row in enumerate(audit.subgroups)]
    if delta is not None:
        marks.append(line((scale(delta), frame.top - 6), (scale(delta), frame.bottom), "limit"))
        marks.append(text(scale(delta) + 5, frame.top - 6, f"δ = {percent(delta)}", kind="tick"))
    axis = axis_below(frame, scale, "share of pairs beyond ε", percent)
    return drawing((width, frame.bottom + 42), label, *marks, axis)


def _row(row: SubgroupRate, frame: Frame, scale: AxisScale, place: int) -> Html:
    y = frame.top + ROW * (place + 0.5)
    return join(
        [
            text(frame.left - 10, y + 4, fitted(f"{row.tier}: {row.subgroup}", frame.left - 12), "end"),
            line((scale(row.lower), y), (scale(row.upper), y), "whisker"),
            mark("circle", scale(row.mean), y, 5, "solid"),
            text(frame.right + 8, y + 4, percent(row.mean), kind="tick"),
        ]
    )

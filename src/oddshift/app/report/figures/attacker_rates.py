"""How much each attacker finds: its violation rate next to those of the two controls, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import AxisScale, Frame, axis_below, drawing, fitted, line, mark, text, width_of
from oddshift.app.report.wording import interval, percent
from oddshift.audit import AttackerResult, Audit, TierRates
from oddshift.audit.audit_notes import CONTROLS
from oddshift.bounds import hoeffding_bentkus_lower, hoeffding_bentkus_upper

ROW = 26.0


@dataclass(frozen=True)
class RateRow:
    """One attacker in one tier: what it is, its rate with bounds, first guesses, and the rate across secret tiers."""

    name: str
    kind: str
    rate: float
    lower: float
    upper: float
    top1: float
    across: float | None


def attacker_rates(audit: Audit) -> Figure:
    """Rates under the pair law of the verdict (anchored for `worst`, which is measured for the strongest only)."""
    law = "uniform" if audit.settings.law == "uniform" else "anchored"
    panels = {tier: _panel(audit, tier, law) for tier in audit.tier_names}
    panels = {tier: rows for tier, rows in panels.items() if rows}
    controls = max(row.rate for rows in panels.values() for row in rows if row.name == "own")
    strongest = "; ".join(
        f"{tier} {percent(r.rate)} ({interval(r.lower, r.upper)})"
        for tier, rows in panels.items()
        for r in rows
        if r.kind == "strongest"
    )
    asked = audit.settings
    return Figure(
        title="How much each attacker finds",
        says=(
            f"The strongest attacker, {audit.strongest}, goes beyond ε in this share of pairs: {strongest}. From one "
            f"release alone the share is {percent(controls)}."
        ),
        draw=lambda width, label: _draw(panels, asked.delta, width, label),
        key=(
            "square: a control (null ignores the release, own reads a single position); circle: an attacker; "
            "diamond: the strongest attacker; cross: an attacker that learned nothing",
            f"lines: two one-sided bounds at level {asked.alpha:g}; those of the strongest attacker use the method "
            f"{asked.method}, the others use Hoeffding-Bentkus on their mean and are not certified",
        ),
        head=("tier and attacker", "beyond ε", "bounds", "first guess right", "beyond ε across tiers"),
        rows=[_cells(tier, row) for tier, rows in panels.items() for row in rows],
    )


def _cells(tier: str, row: RateRow) -> list[str]:
    across = "-" if row.across is None else percent(row.across)
    bounds = interval(row.lower, row.upper)
    return [f"{tier}: {row.name} ({row.kind})", percent(row.rate), bounds, percent(row.top1), across]


def _panel(audit: Audit, tier: str, law: str) -> list[RateRow]:
    certified = {c.claim.tier: (c.lower, c.upper) for c in audit.certificates if c.claim.pair_law == law}
    rows = []
    for found in audit.attackers:
        rates = next((r for r in found.tiers if r.tier == tier), None)
        if rates is None:
            continue
        rate, kind = (rates.uniform if law == "uniform" else rates.anchored), _kind(audit, found)
        bounds = certified.get(tier) if kind == "strongest" else None
        about = (rate, rates.documents, audit.settings.alpha)
        low, high = bounds or (hoeffding_bentkus_lower(*about), hoeffding_bentkus_upper(*about))
        rows.append(RateRow(found.name, kind, rate, low, high, rates.top1, _across(rates, law)))
    return rows


def _across(rates: TierRates, law: str) -> float | None:
    """The rate of pairs across two tiers, where tiers are secret."""
    if rates.pair_split is None:
        return None
    return rates.pair_split.uniform_across if law == "uniform" else rates.pair_split.anchored_across


def _kind(audit: Audit, found: AttackerResult) -> str:
    if found.name == audit.strongest:
        return "strongest"
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
    shapes = {"control": "square", "strongest": "diamond", "attacker": "circle", "learned nothing": "cross"}
    y, kind = frame.top + ROW * (place + 0.5), "hollow" if row.kind == "control" else "solid"
    is_strongest = row.kind == "strongest"
    return join(
        [
            text(
                frame.left - 10, y + 4, fitted(row.name, frame.left - 12), "end", "heading" if is_strongest else "label"
            ),
            line((scale(row.lower), y), (scale(row.upper), y), "whisker strong" if is_strongest else "whisker"),
            mark(shapes[row.kind], scale(row.rate), y, 7 if is_strongest else 5, "bad" if is_strongest else kind),
            text(frame.right + 8, y + 4, percent(row.rate), "start", "tick"),
        ]
    )

"""Bars and intervals: rates with their bounds, right guesses by what a reader sees, what is kept, and one belief."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oddshift.app.report.markup import (
    AxisScale,
    Figure,
    Frame,
    Html,
    axis_below,
    box,
    drawing,
    fitted,
    join,
    line,
    mark,
    text,
    width_of,
)
from oddshift.app.report.wording import interval, level, number, percent
from oddshift.audit import AttackerResult, Audit, TierRates
from oddshift.audit.beliefs import Belief
from oddshift.audit.notes import CONTROLS
from oddshift.bounds import hoeffding_bentkus_lower, hoeffding_bentkus_upper

ROW = 26.0
"""Height of a row."""


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
            f"lines: two one-sided bounds at level {level(asked.alpha)}; those of attackers that count use the method "
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
        key=(f"lines: bounds that hold together at level {level(audit.settings.alpha)}",),
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


def guess_steps(steps: Sequence[tuple[str, float]], sentence: str) -> Figure:
    """Right first guesses by what a reader sees, a bar for each."""
    rows = [[name, percent(share)] for name, share in steps]
    return Figure(
        "Right first guesses",
        sentence,
        lambda width, label: _draw_steps(steps, width, label),
        (),
        ("seen", "right"),
        rows,
    )


def _draw_steps(steps: Sequence[tuple[str, float]], width: float, label: str) -> Html:
    left = max(width_of(name) for name, _ in steps) + 8.0
    frame = Frame(left, 4, width - 52, 4 + 26.0 * len(steps))
    scale, marks = frame.across(0.0, 1.0), []
    for place, (name, share) in enumerate(steps):
        top, end = frame.top + 26.0 * place, scale(share)
        kind = "bad" if place == len(steps) - 1 else "quiet"
        marks += [
            text(left - 8.0, top + 15, name, "end", "tick"),
            box(left, top, max(1.0, end - left), 20.0, kind),
            text(end + 6.0, top + 15, percent(share), "start", "heading"),
        ]
    return drawing((width, frame.bottom), label, *marks)


def kept_bar(kept: float, sentence: str) -> Figure:
    """A bar from plain marks to the original, with the release on it."""
    shown = max(0.0, kept)
    return Figure("What is kept", sentence, lambda width, label: _draw_kept(shown, width, label), (), (), ())


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


_BELIEF_ROW = 30.0


def belief_update(found: Belief, epsilon: float) -> Figure:
    """The position that leaks most among a few documents."""
    truth, other = found.candidates[found.truth], found.candidates[found.other]
    return Figure(
        title="What the attacker comes to believe",
        says=(
            f"The attacker's belief in the true value, {truth.name}, is {percent(truth.prior)} before any release, "
            f"{percent(truth.alone)} after its own release, and {percent(truth.together)} after all releases of the "
            f"record. The worst pair is {truth.name} and {other.name}: its mPL is {number(found.leakage)} at "
            "distance "
            f"{number(found.distance)}, which is {'beyond' if found.leakage > epsilon else 'within'} "
            f"ε = {number(epsilon)}."
        ),
        draw=lambda width, label: _draw_belief(found, width, label),
        key=(
            "before: prior; alone: after its own release; together: after all releases of the record",
            f"the worst of {found.positions} positions in {found.documents} random records; tier {found.tier}",
            f"{found.remaining} less likely candidates are not shown",
        ),
        head=("candidate", "prior", "own release", "all releases"),
        rows=[
            [_candidate_name(found, k), percent(c.prior), percent(c.alone), percent(c.together)]
            for k, c in enumerate(found.candidates)
        ],
    )


def _candidate_name(found: Belief, row: int) -> str:
    return found.candidates[row].name + (" (the truth)" if row == found.truth else "")


def _draw_belief(found: Belief, width: float, label: str) -> Html:
    left = 130.0 if width > 500 else 112.0
    frame = Frame(left, 30, width - 66, 30 + _BELIEF_ROW * len(found.candidates))
    scale = frame.across(0.0, 1.0)
    marks = [_legend(frame), *(_belief_row(found, k, frame, scale) for k in range(len(found.candidates)))]
    axis = axis_below(frame, scale, "probability", percent, 5)
    return drawing((width, frame.bottom + 42), label, *marks, axis)


def _belief_row(found: Belief, row: int, frame: Frame, scale: AxisScale) -> Html:
    candidate, is_truth = found.candidates[row], row == found.truth
    middle = frame.top + _BELIEF_ROW * (row + 0.5)
    name = fitted(candidate.name, frame.left - (66 if is_truth else 10)) + (", truth" if is_truth else "")
    return join(
        [
            text(frame.left - 8, middle + 4, name, "end", "heading" if is_truth else "label"),
            box(frame.left, middle - 8, scale(candidate.together) - frame.left, 16, "bad" if is_truth else "quiet"),
            line((scale(candidate.prior), middle - 12), (scale(candidate.prior), middle + 12), "tickmark"),
            mark("diamond", scale(candidate.alone), middle, 5.5, "hollow"),
            text(frame.right + 62, middle + 4, percent(candidate.together), "end", "heading" if is_truth else "tick"),
        ]
    )


def _legend(frame: Frame) -> Html:
    """What the tick, the diamond and the bar stand for, in the order in which belief moves."""
    x, y = frame.left, frame.top - 16
    return join(
        [
            line((x + 2, y - 8), (x + 2, y + 8), "tickmark"),
            text(x + 10, y + 4, "before", kind="tick"),
            mark("diamond", x + 72, y, 5.5, "hollow"),
            text(x + 82, y + 4, "alone", kind="tick"),
            box(x + 130, y - 5, 22, 10, "bad"),
            text(x + 158, y + 4, "together", kind="tick"),
        ]
    )

"""What the attacker comes to believe: prior, own release alone, and all releases together, for one secret."""

from __future__ import annotations

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import AxisScale, Frame, axis_below, box, drawing, fitted, line, mark, text
from oddshift.app.report.wording import number, percent
from oddshift.audit.belief import Belief

ROW = 30.0


def belief_update(found: Belief, epsilon: float) -> Figure:
    """The position that leaks most among a few documents."""
    truth, other = found.candidates[found.truth], found.candidates[found.other]
    return Figure(
        title="What the attacker comes to believe",
        says=(
            f"The attacker's belief in the true value, {truth.name}, is {percent(truth.prior)} before any release, "
            f"{percent(truth.alone)} after its own release, and {percent(truth.together)} after all releases of the "
            f"document. The worst pair is {truth.name} and {other.name}: its mPL is {number(found.leakage)} at "
            "distance "
            f"{number(found.distance)}, which is {'beyond' if found.leakage > epsilon else 'within'} "
            f"ε = {number(epsilon)}."
        ),
        draw=lambda width, label: _draw(found, width, label),
        key=(
            "before: prior; alone: after its own release; together: after all releases of the document",
            f"the worst of {found.positions} positions in {found.documents} random documents; tier {found.tier}",
            f"{found.remaining} less likely candidates are not shown",
        ),
        head=("candidate", "prior", "own release", "all releases"),
        rows=[
            [_name(found, k), percent(c.prior), percent(c.alone), percent(c.together)]
            for k, c in enumerate(found.candidates)
        ],
    )


def _name(found: Belief, row: int) -> str:
    return found.candidates[row].name + (" (the truth)" if row == found.truth else "")


def _draw(found: Belief, width: float, label: str) -> Html:
    left = 130.0 if width > 500 else 112.0
    frame = Frame(left, 30, width - 66, 30 + ROW * len(found.candidates))
    scale = frame.across(0.0, 1.0)
    marks = [_legend(frame), *(_row(found, k, frame, scale) for k in range(len(found.candidates)))]
    axis = axis_below(frame, scale, "probability", percent, 5)
    return drawing((width, frame.bottom + 42), label, *marks, axis)


def _row(found: Belief, row: int, frame: Frame, scale: AxisScale) -> Html:
    candidate, is_truth = found.candidates[row], row == found.truth
    middle = frame.top + ROW * (row + 0.5)
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

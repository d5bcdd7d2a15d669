"""Whether the attacker is calibrated: how sure it is, against how often it is right."""

from __future__ import annotations

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import Frame, axis_below, axis_left, drawing, line, mark, polyline, text
from oddshift.app.report.wording import number, percent
from oddshift.attackers.calibration import Calibration


def reliability(found: Calibration) -> Figure:
    """A calibrated attacker lies on the diagonal; the verdict is only as good as its beliefs."""
    lean = "about as sure as it should be"
    if abs(found.temperature - 1.0) > 0.05:
        lean = "surer than it should be" if found.temperature > 1 else "less sure than it could be"
    return Figure(
        title="Is the attacker calibrated?",
        says=(
            f"Attacker {found.attacker} is {lean}: the stated and the true share of correct first guesses differ by "
            f"{percent(found.calibration_error)} on average. The best temperature is {number(found.temperature)} "
            "(1 means "
            f"calibrated). The log score is {number(found.log_score)} nats (prior {number(found.prior_score)}, own "
            f"{number(found.own_score)})."
        ),
        draw=lambda width, label: _draw(found, width, label),
        key=("dots: first guesses, larger where there are more of them", "dashed line: perfect calibration"),
        head=("stated", "right", "positions"),
        rows=[[percent(b.confidence), percent(b.accuracy), str(b.positions)] for b in found.reliability],
    )


def _draw(found: Calibration, width: float, label: str) -> Html:
    side = min(width - 60, 300.0)
    frame = Frame(46, 30, 46 + side, 30 + side)
    x, y = frame.across(0.0, 1.0), frame.up(0.0, 1.0)
    most = max(b.positions for b in found.reliability)
    places = [(x(b.confidence), y(b.accuracy)) for b in found.reliability]
    sizes = [3.0 + 5.0 * (b.positions / most) ** 0.5 for b in found.reliability]
    marks = [mark("circle", *place, size, "good") for place, size in zip(places, sizes, strict=True)]
    table = join([])
    if width > 500:
        table = join(
            [
                text(frame.right + 30, frame.top + 40, "above the line: could be surer", kind="tick"),
                text(frame.right + 30, frame.bottom - 30, "below the line: too sure", kind="tick"),
            ]
        )
    return drawing(
        (width, frame.bottom + 42),
        label,
        axis_left(frame, y, "how often right", percent),
        axis_below(frame, x, "how sure of its first guess", percent),
        line((x(0.0), y(0.0)), (x(1.0), y(1.0)), "dashed"),
        polyline(places, "front"),
        *marks,
        table,
    )

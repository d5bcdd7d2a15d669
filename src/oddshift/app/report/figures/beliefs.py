"""What the attacker comes to believe: prior, own release alone, and all releases together, for one secret.

How a network learned: loss by epoch, on training data and on held-out data.

Whether the attacker is calibrated: how sure it is, against how often it is right.
"""

from __future__ import annotations

from oddshift.app.report.line_plot import LinePlot
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
    polyline,
    text,
)
from oddshift.app.report.wording import number, percent
from oddshift.audit import AttackerResult
from oddshift.audit.beliefs import Belief
from oddshift.audit.calibration import Calibration

ROW = 30.0


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
        draw=lambda width, label: _draw(found, width, label),
        key=(
            "before: prior; alone: after its own release; together: after all releases of the record",
            f"the worst of {found.positions} positions in {found.documents} random records; tier {found.tier}",
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


def learning_curve(row: AttackerResult) -> Figure:
    """One network; the state after the best epoch is the one that was used."""
    validation, best = row.curve.validation, row.curve.best_epoch
    return LinePlot(
        title=f"How {row.name} learned",
        says=(
            f"{len(row.curve.train)} epochs; validation loss from {number(validation[0])} untrained to "
            f"{number(validation[best])} after epoch {best}, whose state was used."
        ),
        across="epoch",
        up="loss",
        series={"validation": list(enumerate(validation)), "training": list(enumerate(row.curve.train, 1))},
        upright={"best": best},
    ).figure


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
        draw=lambda width, label: _draw_reliability(found, width, label),
        key=("dots: first guesses, larger where there are more of them", "dashed line: perfect calibration"),
        head=("stated", "right", "positions"),
        rows=[[percent(b.confidence), percent(b.accuracy), str(b.positions)] for b in found.reliability],
    )


def _draw_reliability(found: Calibration, width: float, label: str) -> Html:
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

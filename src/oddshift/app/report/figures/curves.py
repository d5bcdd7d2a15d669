"""How a network learned: loss by epoch, on training data and on held-out data.

Whether the attacker is calibrated: how sure it is, against how often it is right.

How the scales moved: the scale of every tier, round by round.
"""

from __future__ import annotations

from oddshift.adapt.result import Adaptation
from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join
from oddshift.app.report.svg import Frame, axis_below, axis_left, drawing, fitted, line, mark, polyline, text
from oddshift.app.report.wording import number, percent
from oddshift.attackers.calibration import Calibration
from oddshift.audit import AttackerResult


def learning_curve(row: AttackerResult) -> Figure:
    """One network; the state after the best epoch is the one that was used."""
    curve = row.curve
    best = curve.best_epoch
    return Figure(
        title=f"How {row.name} learned",
        says=(
            f"{len(curve.train)} epochs; validation loss from {number(curve.validation[0])} untrained to "
            f"{number(curve.validation[best])} after epoch {best}, whose state was used."
        ),
        draw=lambda width, label: _draw(row, width, label),
        key=("solid line: validation; dashed line: training; diamond: best epoch",),
        head=("epoch", "training", "validation"),
        rows=[
            [str(k), number(curve.train[k - 1], 4) if 0 < k <= len(curve.train) else "-", number(loss, 4)]
            for k, loss in enumerate(curve.validation)
        ],
    )


def _draw(row: AttackerResult, width: float, label: str) -> Html:
    curve = row.curve
    frame = Frame(52, 30, width - 14, 200)
    values = [*curve.train, *curve.validation]
    room = 0.08 * (max(values) - min(values)) or 1.0
    x = frame.across(0.0, max(1.0, len(curve.validation) - 1.0))
    y = frame.up(min(values) - room, max(values) + room)
    best = curve.best_epoch
    at = x(best), y(curve.validation[best])
    return drawing(
        (width, frame.bottom + 42),
        label,
        axis_left(frame, y, "loss", number),
        axis_below(frame, x, "epoch", lambda value: f"{value:g}"),
        polyline([(x(k + 1), y(v)) for k, v in enumerate(curve.train)], "dashed"),
        polyline([(x(k), y(v)) for k, v in enumerate(curve.validation)], "front"),
        line((at[0], at[1]), (at[0], frame.bottom), "grid"),
        mark("diamond", *at, 6.0, "good"),
        text(
            at[0] + (9 if at[0] < width - 60 else -9),
            at[1] - 8,
            "best",
            "start" if at[0] < width - 60 else "end",
            "tick halo",
        ),
    )


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


KINDS = ("first", "second", "third", "fourth")
SHAPES = ("circle", "square", "diamond", "star")


def loop_rounds(found: Adaptation) -> Figure:
    """Attack, audit, adapt, repeated; the path that the paper's loop took."""
    first, last = found.rounds[0], found.rounds[-1]
    moves = ", ".join(
        f"{name} {number(a)} to {number(b)}"
        for name, a, b in zip(found.tier_names, first.outcome.scales, last.outcome.scales, strict=True)
    )
    return Figure(
        title="How the scales moved",
        says=(
            f"{len(found.rounds)} rounds moved the scales: {moves}. The objective went from "
            f"{number(first.objective)} to "
            f"{number(last.objective)}."
        ),
        draw=lambda width, label: _draw_rounds(found, width, label),
        key=("one line for each tier; a smaller scale means more noise",),
        head=("round", *(f"scale {name}" for name in found.tier_names), "beyond ε", "loss", "objective"),
        rows=[
            [
                str(r.number),
                *(number(s) for s in r.outcome.scales),
                percent(r.outcome.rate),
                number(r.outcome.loss),
                number(r.objective),
            ]
            for r in found.rounds
        ],
    )


def _draw_rounds(found: Adaptation, width: float, label: str) -> Html:
    frame = Frame(40, 30, width - 78, 190)
    x = frame.across(found.rounds[0].number, max(found.rounds[-1].number, found.rounds[0].number + 1))
    highest = max(1.0, *(max(r.outcome.scales) for r in found.rounds))
    y = frame.up(0.0, highest)
    marks: list[str] = []
    ends: dict[str, float] = {}
    for tier, name in enumerate(found.tier_names):
        places = [(x(r.number), y(r.outcome.scales[tier])) for r in found.rounds]
        kind, shape = KINDS[tier % len(KINDS)], SHAPES[tier % len(SHAPES)]
        marks.append(polyline(places, f"curve {kind}"))
        marks.extend(mark(shape, *place, 3.5, f"dot {kind}") for place in places)
        ends[name] = places[-1][1]
    marks.extend(text(frame.right + 8, at + 4, fitted(name, 68)) for name, at in _apart(ends).items())
    return drawing(
        (width, frame.bottom + 42),
        label,
        axis_left(frame, y, "scale", number),
        axis_below(frame, x, "round", lambda value: f"{value:g}"),
        *marks,
    )


def _apart(ends: dict[str, float]) -> dict[str, float]:
    """The same heights, moved so that no two names overlap."""
    placed: dict[str, float] = {}
    lowest = -1e9
    for name, at in sorted(ends.items(), key=lambda item: item[1]):
        lowest = max(at, lowest + 16)
        placed[name] = lowest
    return placed

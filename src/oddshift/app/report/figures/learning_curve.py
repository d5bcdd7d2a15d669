"""How a network learned: loss by epoch, on training data and on held-out data."""

from __future__ import annotations

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html
from oddshift.app.report.svg import Frame, axis_below, axis_left, drawing, line, mark, polyline, text
from oddshift.app.report.wording import number
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

"""How the scales moved: the scale of every tier, round by round."""

from __future__ import annotations

from oddshift.adapt.adaptation import Adaptation
from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html
from oddshift.app.report.svg import Frame, axis_below, axis_left, drawing, fitted, mark, polyline, text
from oddshift.app.report.wording import number, percent

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
        draw=lambda width, label: _draw(found, width, label),
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


def _draw(found: Adaptation, width: float, label: str) -> Html:
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

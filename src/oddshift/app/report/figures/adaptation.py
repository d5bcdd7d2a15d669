"""The frontier: how often ε is exceeded against what the release loses, for every choice of scales.

What the release keeps, on a bar from marks to the original, and how the scales of the paper's loop moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oddshift.adapt import front
from oddshift.adapt.result import Adaptation, ScaledOutcome
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
    join,
    line,
    mark,
    polyline,
    tag,
    text,
    width_of,
)
from oddshift.app.report.wording import number, percent, scales_in_words

SHAPES = {"AmPL": "star", "uniform": "diamond", "EM": "square"}
"""How the named choices are drawn."""

NAMES = {"AmPL": "chosen", "uniform": "one scale, equal loss", "EM": "no scales (EM)"}
"""What they are called in the picture."""


@dataclass(frozen=True)
class Spot:
    """One mark that can be reached by keyboard: its place, shape and class, and its description."""

    outcome: ScaledOutcome
    shape: str
    size: float
    kind: str
    tip: str


def frontier(found: Adaptation) -> Figure:
    """The measured points with the scales that were chosen and one scale of equal loss."""
    return Figure(
        title="The frontier",
        says=_says(found),
        draw=lambda width, label: _draw(found, width, label),
        key=(
            "to see values, point at a mark, or press Tab to reach the picture and use the arrow keys",
            "filled dots: at most δ in every tier; hollow dots: more than δ; crosses: the less sensitive tier "
            "gets more "
            "noise, which is never chosen",
            "solid line: the best choices; dashed line: one scale for all tiers",
            "dots are measured on the records to choose with; the star, diamond and square on those to certify on",
        ),
        head=("scales", "loss", "beyond ε", *(f"{name} {what}" for name in found.tier_names for what in _WHAT)),
        rows=[_cells(found, name, point) for name, point in _named(found)]
        + [_cells(found, scales_in_words(found.tier_names, p.scales), p) for p in front(found.grid)],
    )


_WHAT = ("beyond ε", "first guess right")


def _says(found: Adaptation) -> str:
    points = dict(_chosen(found))
    said = [f"Without scales (EM), ε is exceeded for {_cost(points['EM'])}"] if "EM" in points else []
    if "AmPL" in points:
        said.append(
            f"with the chosen scales, {scales_in_words(found.tier_names, points['AmPL'].scales)}, for "
            f"{_cost(points['AmPL'])}"
        )
    if "uniform" in points:
        said.append(
            f"with one scale of equal loss, {number(points['uniform'].scales[0])}, for {_cost(points['uniform'])}"
        )
    return "; ".join(said) + f". The share must stay below δ = {percent(found.settings.delta)}."


def _cost(point: ScaledOutcome) -> str:
    return f"{percent(point.rate)} of pairs at a loss of {number(point.loss)}"


def _named(found: Adaptation) -> list[tuple[str, ScaledOutcome]]:
    return [(row.name, row.outcome) for row in found.compared]


def _chosen(found: Adaptation) -> list[tuple[str, ScaledOutcome]]:
    """The named choices as they are released: remapped where that was asked for."""
    end = ", remapped" if found.remapped else ""
    points = {name: found.choice(f"{name}{end}") for name in NAMES}
    return [(name, point) for name, point in points.items() if point is not None]


def _cells(found: Adaptation, name: str, point: ScaledOutcome) -> list[str]:
    tiers = {tier.tier: tier for tier in point.tiers}
    cells = [name, number(point.loss), percent(point.rate)]
    for tier in found.tier_names:
        cells += [percent(tiers[tier].rate), percent(tiers[tier].top1)] if tier in tiers else ["-", "-"]
    return cells


def _draw(found: Adaptation, width: float, label: str) -> Html:
    everyone = [*found.grid, *(point for _, point in _named(found))]
    frame = Frame(48, 34, width - 14, 330)
    span = max(p.loss for p in everyone) - min(p.loss for p in everyone) or 1.0
    x = frame.across(max(0.0, min(p.loss for p in everyone) - 0.05 * span), max(p.loss for p in everyone) + 0.05 * span)
    y = frame.up(0.0, min(1.0, 1.08 * max(found.settings.delta, *(p.rate for p in everyone))))
    ends = [(x(p.loss), y(p.rate)) for p in front(found.grid)]
    alike = [(x(p.loss), y(p.rate)) for p in found.uniform]
    limit, spots = y(found.settings.delta), _spots(found)
    return drawing(
        (width, frame.bottom + 42),
        label,
        axis_left(frame, y, "largest share of pairs beyond ε in a tier", percent, 5),
        axis_below(frame, x, "expected loss of what is released", number),
        line((frame.left, limit), (frame.right, limit), "limit"),
        text(frame.right, limit - 6, f"δ = {percent(found.settings.delta)}", "end", "tick halo"),
        polyline(alike, "dashed"),
        polyline(ends, "front"),
        *(_spot(spot, x, y, is_last=spot is spots[-1]) for spot in spots),
        *(_name(name, point, x, y, frame) for name, point in _chosen(found)),
        is_interactive=True,
    )


def _spots(found: Adaptation) -> list[Spot]:
    """The grid from small loss to large, then the named choices, which are drawn over it; the chosen one last."""
    named = [
        Spot(
            p,
            SHAPES[name],
            10 if name == "AmPL" else 7,
            "chosen" if name == "AmPL" else "named",
            _tip(found, p, NAMES[name]),
        )
        for name, p in _chosen(found)
    ]
    grid = [_grid_spot(found, p) for p in sorted(found.grid, key=lambda p: p.loss)]
    return [*grid, *reversed(named)]


def _grid_spot(found: Adaptation, point: ScaledOutcome) -> Spot:
    if not point.admissible:
        return Spot(point, "cross", 3, "faint", _tip(found, point, "not admissible"))
    kept = point.rate <= found.settings.delta
    return Spot(point, "circle", 4.5, "good" if kept else "bad-hollow", _tip(found, point, "measured"))


def _tip(found: Adaptation, point: ScaledOutcome, name: str) -> str:
    tiers = "; ".join(f"{t.tier}: {percent(t.rate)} beyond ε, {percent(t.top1)} guessed right" for t in point.tiers)
    scales = scales_in_words(found.tier_names, point.scales)
    return f"{name}: {scales}; loss {number(point.loss)}; {tiers}"


def _spot(spot: Spot, x: AxisScale, y: AxisScale, *, is_last: bool) -> Html:
    """A mark with a larger, invisible circle around it, easier to hit; the last one is reached by Tab."""
    at = x(spot.outcome.loss), y(spot.outcome.rate)
    reach = tag("circle", {"cx": at[0], "cy": at[1], "r": 8.0, "class": "reach"})
    about = {"class": "spot", "role": "img", "tabindex": 0 if is_last else -1, "aria-label": spot.tip}
    return tag("g", about, reach, mark(spot.shape, *at, spot.size, spot.kind))


def _name(name: str, point: ScaledOutcome, x: AxisScale, y: AxisScale, frame: Frame) -> Html:
    """The name of a choice next to its mark, on the side that has space."""
    at, wide = x(point.loss), width_of(NAMES[name])
    side = "start" if at + 14 + wide < frame.right else "end"
    shift = 13 if side == "start" else -13
    return join(
        [text(at + shift, y(point.rate) + (14 if name == "uniform" else -7), NAMES[name], side, "heading halo")]
    )


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


def loop_rounds(found: Adaptation) -> Figure:
    """Attack, audit, adapt, repeated; the path that the paper's loop took."""
    first, last = found.rounds[0], found.rounds[-1]
    paths = {
        name: [(r.number, r.outcome.scales[tier]) for r in found.rounds] for tier, name in enumerate(found.tier_names)
    }
    moves = ", ".join(f"{name} {number(path[0][1])} to {number(path[-1][1])}" for name, path in paths.items())
    said = (
        f"{len(found.rounds)} rounds moved the scales: {moves}. A smaller scale means more noise. The objective went "
        f"from {number(first.objective)} to {number(last.objective)}."
    )
    return LinePlot("How the scales moved", said, "round", "scale", paths).figure

"""The threat model and the loop, drawn once: perturb, attack, audit, adapt."""

from __future__ import annotations

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join, tag
from oddshift.app.report.svg import drawing, text

STEPS = (
    ("Perturb", ("each secret on its own,", "with noise of its own")),
    ("Attack", ("knows noise and prior,", "reads all of y and W")),
    ("Audit", ("mPL: shift of the odds", "per distance, against ε")),
    ("Adapt", ("less or more noise", "for each tier")),
)
"""The four steps, each in two short lines."""

SECRET = "secrets stay inside"
PUBLIC = "releases y and context W are public"


def threat_model() -> Figure:
    """Who knows what, and how the four steps lead back to the first."""
    return Figure(
        title="Threat model and loop",
        says=(
            "Each secret is perturbed with noise of its own; the attacker knows the mechanism and the prior and reads "
            "all releases of a record together with its public context; the audit compares the shift of its odds "
            "with ε; adaptation changes the noise of each tier, and the loop starts again."
        ),
        draw=_draw,
        key=(),
        head=(),
        rows=(),
    )


def _draw(width: float, label: str) -> Html:
    return _in_a_row(width, label) if width > 500 else _in_a_column(width, label)


def _in_a_row(width: float, label: str) -> Html:
    wide, high, gap = 156.0, 84.0, (width - 4 * 156.0) / 3
    places = [(k * (wide + gap), 44.0) for k in range(4)]
    boxes = [_step(k, place, wide, high) for k, place in enumerate(places)]
    arrows = [_arrow([(x + wide, 86.0), (x + wide + gap, 86.0)]) for x, _ in places[:3]]
    back = [(places[3][0] + wide / 2, 128.0), (places[3][0] + wide / 2, 164.0), (wide / 2, 164.0), (wide / 2, 128.0)]
    wall = wide + gap / 2
    return drawing(
        (width, 196),
        label,
        tag("line", {"x1": wall, "y1": 4, "x2": wall, "y2": 150, "class": "wall"}),
        text(wall - 10, 18, SECRET, "end", "tick"),
        text(wall + 10, 18, PUBLIC, "start", "tick"),
        *boxes,
        *arrows,
        _arrow(back),
        text(width / 2, 184, "until the leakage is certified to stay in budget", "middle", "tick"),
    )


def _in_a_column(width: float, label: str) -> Html:
    wide, high, gap = 240.0, 78.0, 34.0
    places = [(0.0, 30.0 + k * (high + gap)) for k in range(4)]
    boxes = [_step(k, place, wide, high) for k, place in enumerate(places)]
    arrows = [_arrow([(wide / 2, y + high), (wide / 2, y + high + gap)]) for _, y in places[:3]]
    right, last = wide + 46, places[3][1] + high / 2
    back = [(wide, last), (right, last), (right, places[0][1] + high / 2), (wide, places[0][1] + high / 2)]
    wall = places[0][1] + high + gap / 2
    return drawing(
        (width, places[3][1] + high + 26),
        label,
        text(0, 18, SECRET, kind="tick"),
        tag("line", {"x1": 0, "y1": wall, "x2": width, "y2": wall, "class": "wall"}),
        text(width, wall + 14, "public from here", "end", "tick halo"),
        *boxes,
        *arrows,
        _arrow(back),
        text(wide / 2, places[3][1] + high + 20, "until certified to stay in budget", "middle", "tick"),
    )


def _step(number: int, place: tuple[float, float], wide: float, high: float) -> Html:
    (x, y), (name, lines) = place, STEPS[number]
    frame = tag("rect", {"x": x + 1, "y": y, "width": wide - 2, "height": high, "rx": 8, "class": "step"})
    words = [text(x + wide / 2, y + 48 + 18 * k, said, "middle", "tick") for k, said in enumerate(lines)]
    return join([frame, text(x + wide / 2, y + 25, f"{number + 1}  {name}", "middle", "heading"), *words])


def _arrow(points: list[tuple[float, float]]) -> Html:
    """A line through points with a head at its end, which is drawn along its last stretch."""
    (ax, ay), (bx, by) = points[-2], points[-1]
    length = max(abs(bx - ax), abs(by - ay))
    ux, uy = (bx - ax) / length, (by - ay) / length
    head = [(bx - 8 * ux - 4 * uy, by - 8 * uy - 4 * ux), (bx, by), (bx - 8 * ux + 4 * uy, by - 8 * uy + 4 * ux)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    tip = " ".join(f"{x:.1f},{y:.1f}" for x, y in head)
    return join(
        [tag("polyline", {"points": path, "class": "arrow"}), tag("polyline", {"points": tip, "class": "arrow"})]
    )

"""The page of a watch: every series over the windows, and the evidence for a change, in the style of the report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, items, tag
from oddshift.app.report.page import page_frame
from oddshift.app.report.svg import Frame, axis_below, axis_left, drawing, line, mark, polyline, text
from oddshift.app.report.wording import number
from oddshift.app.watch.series import SeriesLine, Watch, series_sentence

PAGE = "watch.html"
"""Name of the page in a run folder."""

_APART = 14  # pixels between two names


def watch_page(found: Watch, name: str) -> str:
    """The whole page as one string that needs no other file.

    **Guarantee**: it holds means and counts only, no value of the data; it makes no network request.
    """
    return page_frame(
        [
            ("state", "What was found", _state(found)),
            ("evidence", "Evidence for a change", _evidence(found).html),
            ("series", "Window after window", tag("div", None, *(_means(found, one).html for one in found.series))),
        ],
        name=name,
        foot="Made by oddshift watch from the run folder and the windows.",
    )


def _state(found: Watch) -> Html:
    lines = [
        *(alarm.sentence for alarm in found.alarms),
        f"Without a change, the chance that there is ever an alarm is at most {found.alpha:g}.",
        "The units of all windows are taken as independent, and none as being in two of them.",
        *found.notes,
    ]
    return tag("div", None, tag("p", {"class": "says"}, found.sentence), items(lines))


def _evidence(found: Watch) -> Figure:
    highest = max(found.series, key=lambda one: max(one.log_e, default=0.0))
    reached = max(highest.log_e, default=0.0)
    return Figure(
        title="ln E of every series",
        says=(
            f"The largest evidence is {reached:.1f}, of {highest.name}; an alarm needs {found.threshold:.1f}, "
            f"ln({len(found.series)} series / {found.alpha:g})."
        ),
        draw=partial(_draw_evidence, found),
        key=("a line for each series; dashed: where an alarm is raised",),
        head=("series", *(f"{k}" for k in range(1, len(found.windows) + 1))),
        rows=[[one.name, *(f"{value:.1f}" for value in one.log_e)] for one in found.series],
    )


def _draw_evidence(found: Watch, width: float, label: str) -> Html:
    frame = Frame(52, 30, width - 14, 220)
    values = [value for one in found.series for value in one.log_e]
    x = frame.across(0.0, max(1.0, len(found.windows)))
    y = frame.up(min([*values, 0.0]) - 1.0, max([*values, found.threshold]) + 1.0)
    paths = ([(x(0), y(0.0)), *((x(k), y(v)) for k, v in enumerate(one.log_e, 1))] for one in found.series)
    level = y(found.threshold)
    return drawing(
        (width, frame.bottom + 42),
        label,
        axis_left(frame, y, "ln E", number),
        axis_below(frame, x, "window", lambda value: f"{value:g}"),
        line((frame.left, level), (frame.right, level), "dashed"),
        text(frame.right, level - 6, "alarm", "end", "tick halo"),
        *(polyline(path, "front") for path in paths),
        *_named_lines(found, frame.right, y),
    )


def _named_lines(found: Watch, right: float, y: Callable[[float], float]) -> list[Html]:
    """The name of every series with an alarm at the end of its line; names that would overlap are left out."""
    placed: list[float] = [y(found.threshold)]
    names = []
    for one in found.series:
        at = y(one.log_e[-1]) if one.log_e else placed[0]
        if max(one.log_e, default=0.0) >= found.threshold and all(abs(at - other) > _APART for other in placed):
            placed.append(at)
            names.append(text(right, at - 6, one.name, "end", "tick halo"))
    return names


def _means(found: Watch, one: SeriesLine) -> Figure:
    shown = [f"{mean:.4f}" if mean is not None else "-" for mean in one.means]
    return Figure(
        title=one.name,
        says=f"{series_sentence(one)}.",
        draw=partial(_draw_means, one),
        key=("circle: mean of a window", "dashed: " + ("the audit" if one.delta is None else f"delta = {one.delta:g}")),
        head=("window", "units", "mean", "ln E"),
        rows=[
            [name, f"{units:,}", mean, f"{log_e:.1f}"]
            for name, units, mean, log_e in zip(found.windows, found.units, shown, one.log_e, strict=True)
        ],
    )


def _draw_means(one: SeriesLine, width: float, label: str) -> Html:
    frame = Frame(60, 30, width - 14, 180)
    limit = one.reference if one.delta is None else one.delta
    points = [(k, mean) for k, mean in enumerate(one.means, 1) if mean is not None]
    values = [mean for _, mean in points] + ([] if limit is None else [limit])
    room = 0.1 * (max(values, default=1.0) - min(values, default=0.0)) or 0.05
    x = frame.across(0.0, max(1.0, len(one.means)))
    y = frame.up(min(values, default=0.0) - room, max(values, default=1.0) + room)
    places = [(x(k), y(mean)) for k, mean in points]
    marks = [mark("circle", *place, 3.0, "good") for place in places]
    level = [] if limit is None else [line((frame.left, y(limit)), (frame.right, y(limit)), "dashed")]
    return drawing(
        (width, frame.bottom + 42),
        label,
        axis_left(frame, y, "mean", lambda value: f"{value:g}"),
        axis_below(frame, x, "window", lambda value: f"{value:g}"),
        *level,
        polyline(places, "front"),
        *marks,
    )

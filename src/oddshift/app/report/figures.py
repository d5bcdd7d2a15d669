"""Figures of the report: values in, a picture with its sentence and its numbers out; every one is a pure function.

Whatever depends on one number is drawn by one figure of lines: the frontier, how much leaks, how sure an attacker is
against how often it is right, how a network learned, how the scales of the paper's loop moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from oddshift.adapt import front
from oddshift.adapt.result import Adaptation, ScaledOutcome
from oddshift.app.report.markup import (
    Figure,
    Frame,
    Html,
    axis_below,
    axis_left,
    drawing,
    fitted,
    line,
    mark,
    polyline,
    text,
    width_of,
)
from oddshift.app.report.wording import number, percent, scales_in_words
from oddshift.audit import AttackerResult, Audit
from oddshift.audit.calibration import Calibration
from oddshift.audit.scan import BINS, HISTOGRAM_SPAN
from oddshift.base.arrays import FloatArray

KINDS = ("first", "second", "third", "fourth")
SHAPES = ("circle", "square", "diamond", "star")

CLOSE = 60.0
"""Vertical lines nearer to each other than this have their names behind the last of them, where none crosses a name."""

MOST_MARKS = 25
"""A line of more points has a mark at some of them only."""

Point = tuple[float, float]


@dataclass(frozen=True)
class LinePlot:
    """Series of points over one number; `dots` leaves the lines out, but for the series `joined`.

    `upright` are named vertical lines.

    `powers` says whether equal factors are equal lengths, across and up.
    """

    title: str
    says: str
    across: str
    up: str
    series: Mapping[str, Sequence[Point]]
    upright: Mapping[str, float] = field(default_factory=dict)
    dots: bool = False
    joined: str = ""
    level: float | None = None
    powers: tuple[bool, bool] = (False, False)

    @property
    def figure(self) -> Figure:
        """The figure with its numbers as a table."""
        rows = [[name, f"{x:g}", f"{y:.4g}"] for name, points in self.series.items() for x, y in points]
        key = tuple(f"{SHAPES[k] if k < 4 else 'dashes'}: {name}" for k, name in enumerate(self.series))
        return Figure(self.title, self.says, self._draw, key, ("series", self.across, self.up), rows)

    def _draw(self, width: float, label: str) -> Html:
        frame = Frame(52, 30, width - 14, 230)
        xs = [x for points in self.series.values() for x, _ in points] + list(self.upright.values())
        ys = [y for points in self.series.values() for _, y in points] + ([self.level] if self.level else [])
        x = frame.across(min(xs), max(xs), by_powers=self.powers[0])
        low = min(ys) if self.powers[1] else min(0.0, *ys)
        y = frame.up(low, max(ys) * 1.05 or 1.0, by_powers=self.powers[1])
        marks: list[str] = []
        for place, (name, at) in enumerate(self.upright.items()):
            marks.append(line((x(at), frame.top), (x(at), frame.bottom), "limit"))
            clear = max(x(other) for other in self.upright.values() if abs(x(other) - x(at)) < CLOSE)
            marks.append(_beside(name, clear, frame.top + 10 + 15 * place, frame))
        if self.level is not None:
            marks.append(line((frame.left, y(self.level)), (frame.right, y(self.level)), "limit"))
        for k, (name, points) in enumerate(self.series.items()):
            places = [(x(a), y(b)) for a, b in points]
            if k >= len(KINDS):
                marks.append(polyline(places, "dashed"))
                continue
            if not self.dots or name == self.joined:
                marks.append(polyline(places, f"curve {KINDS[k % 4]}"))
            shown = places[:: 1 if self.dots else max(1, len(places) // MOST_MARKS)]
            marks += [mark(SHAPES[k % 4], *place, 3.2, f"dot {KINDS[k % 4]}") for place in shown]
        below = axis_below(frame, x, self.across, lambda v: f"{v:g}")
        left = axis_left(frame, y, self.up, lambda v: f"{v:g}")
        return drawing((width, frame.bottom + 42), label, left, below, *marks)


def _beside(name: str, at: float, height: float, frame: Frame) -> Html:
    """The name of a vertical line at its right; at its left, where it does not fit and that side has more space."""
    left, right = at - frame.left, frame.right - at
    if width_of(name) <= right or right >= left:
        return text(at + 4, height, fitted(name, right), kind="tick")
    return text(at - 4, height, fitted(name, left), "end", "tick")


NAMES = {"AmPL": "chosen", "uniform": "one scale, equal loss", "EM": "no scales (EM)"}
"""What the named choices are called in the picture."""


def frontier(found: Adaptation) -> Figure:
    """How often ε is exceeded against what the release loses: measured scales, the best of them, and the choices."""
    chosen, measured = dict(_chosen(found)), [point for point in found.grid if point.admissible]
    others = [_place(point) for name, point in chosen.items() if name != "AmPL"]
    series = {
        "measured": [_place(point) for point in measured],
        "one scale of equal loss, and no scales": others,
        "the best choices": [_place(point) for point in front(found.grid)],
        "chosen": [_place(chosen["AmPL"])] if "AmPL" in chosen else [],
    }
    plot = LinePlot(
        "The frontier",
        _frontier_says(found, chosen),
        "expected loss of what is released",
        "largest share of pairs beyond ε in a tier",
        {name: points for name, points in series.items() if points},
        dots=True,
        joined="the best choices",
        level=found.settings.delta,
    )
    named = [(row.name, row.outcome) for row in found.compared]
    named += [(scales_in_words(found.tier_names, point.scales), point) for point in front(found.grid)]
    return replace(
        plot.figure,
        key=(
            *plot.figure.key,
            "horizontal line: δ; choices are measured on the records to certify on, dots on those to choose with",
        ),
        head=("scales", "loss", "beyond ε", *(f"{name} {what}" for name in found.tier_names for what in _WHAT)),
        rows=[_cells(found, name, point) for name, point in named],
    )


_WHAT = ("beyond ε", "first guess right")


def _place(point: ScaledOutcome) -> tuple[float, float]:
    return point.loss, point.rate


def _frontier_says(found: Adaptation, points: Mapping[str, ScaledOutcome]) -> str:
    said = [f"Without scales (EM), ε is exceeded for {_price(points['EM'])}"] if "EM" in points else []
    if "AmPL" in points:
        scales = scales_in_words(found.tier_names, points["AmPL"].scales)
        said.append(f"with the chosen scales, {scales}, for {_price(points['AmPL'])}")
    if "uniform" in points:
        scale = number(points["uniform"].scales[0])
        said.append(f"with one scale of equal loss, {scale}, for {_price(points['uniform'])}")
    return "; ".join(said) + f". The share must stay below δ = {percent(found.settings.delta)}."


def _price(point: ScaledOutcome) -> str:
    return f"{percent(point.rate)} of pairs at a loss of {number(point.loss)}"


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


_EDGE = round(BINS / HISTOGRAM_SPAN)  # the bin that starts at ε
_REST = 5e-4  # the share of pairs that may lie beyond the picture


def histogram(audit: Audit) -> Figure:
    """mPL in the tier with the largest rate, read together and from each release alone; the table has every tier."""
    law = "uniform" if audit.settings.law == "uniform" else "anchored"
    tiers, epsilon = audit.row(audit.strongest).tiers, audit.settings.epsilon
    rates = {row.tier: row.uniform if law == "uniform" else row.anchored for row in tiers}
    shares = {tier: [_shares(audit, name, tier, law) for name in (audit.strongest, "own")] for tier in rates}
    worst = max(rates, key=lambda tier: rates[tier])
    shown = max(2 * _EDGE, *(int(np.argmax(np.cumsum(half) >= 1.0 - _REST)) + 1 for half in shares[worst]))
    bins = [epsilon * (k + 0.5) / _EDGE for k in range(shown)]
    names = ("read together", "each release alone")
    said = ", ".join(f"{percent(rate)} in {tier}" for tier, rate in rates.items())
    plot = LinePlot(
        "How much leaks",
        f"Share of {law} pairs whose mPL exceeds ε = {number(epsilon)}, as attacker {audit.strongest} estimates it: "
        f"{said}. The picture shows {worst}.",
        "mPL: shift of the odds per distance",
        f"share of pairs in each step of {number(epsilon / _EDGE)}",
        {
            name: list(zip(bins, half[:shown].tolist(), strict=True))
            for name, half in zip(names, shares[worst], strict=True)
        },
        upright={"ε": epsilon},
    )
    return replace(
        plot.figure,
        key=(*plot.figure.key, "shares pool all pairs; percentages average over records, as certificates do"),
        head=("mPL", *(f"{tier}: {who}" for tier in shares for who in (audit.strongest, "own"))),
        rows=_bins([half for both in shares.values() for half in both], epsilon),
    )


def _shares(audit: Audit, attacker: str, tier: str, law: str) -> FloatArray:
    counts = audit.row(attacker).histogram[0 if law == "anchored" else 1, audit.tier_names.index(tier)]
    return counts / max(1.0, counts.sum())


def _bins(columns: list[FloatArray], epsilon: float) -> list[list[str]]:
    """Quarters of ε, so that the table stays short; the last row holds everything beyond the bins."""
    step = _EDGE // 4
    rows = []
    for start in range(0, BINS, step):
        if any(half[start:].sum() > 0 for half in columns):
            low, high = (number(epsilon * k / _EDGE) for k in (start, start + step))
            rows.append([f"{low} to {high}", *(percent(float(half[start : start + step].sum())) for half in columns)])
    return [*rows, [f"beyond {number(HISTOGRAM_SPAN * epsilon)}", *(percent(float(half[-1])) for half in columns)]]


def reliability(found: Calibration) -> Figure:
    """A calibrated attacker lies on the diagonal; the verdict is only as good as its beliefs."""
    lean = "about as sure as it should be"
    if abs(found.temperature - 1.0) > 0.05:
        lean = "surer than it should be" if found.temperature > 1 else "less sure than it could be"
    points = [(each.confidence, each.accuracy) for each in found.reliability]
    plot = LinePlot(
        "Is the attacker calibrated?",
        f"Attacker {found.attacker} is {lean}: the stated and the true share of correct first guesses differ by "
        f"{percent(found.calibration_error)} on average. The best temperature is {number(found.temperature)} (1 means "
        f"calibrated). The log score is {number(found.log_score)} nats (prior {number(found.prior_score)}, own "
        f"{number(found.own_score)}).",
        "how sure of its first guess",
        "how often right",
        {"first guesses": points, "perfect calibration: above it an attacker could be surer": [(0.0, 0.0), (1.0, 1.0)]},
    )
    rows = [[percent(b.confidence), percent(b.accuracy), str(b.positions)] for b in found.reliability]
    return replace(plot.figure, head=("stated", "right", "positions"), rows=rows)


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

"""What a sweep leaves: its rows as CSV and Parquet, the front as a picture, and one page with the paired tests."""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from oddshift.app.report.figures import LinePlot
from oddshift.app.report.markup import WIDE, Html, table, tag
from oddshift.app.report.page import page_frame
from oddshift.app.sweep import EXPLORATORY, PairedTest, Row, front, paired_tests
from oddshift.app.sweep_settings import SweepSettings
from oddshift.base.storage import write_atomic

CSV, PARQUET, PAGE, PICTURE = "sweep.csv", "sweep.parquet", "sweep.html", "front.svg"
"""What is written besides the cells."""

TEST_HEAD = ("compared", "in", "pairs", "difference", "standard error", "sign test")


def write_sweep(folder: Path, rows: Sequence[Row], asked: SweepSettings) -> list[Path]:
    """Write every row, the picture and the page; Parquet where pyarrow is installed."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    flat = [{name: _flat(row.get(name)) for name in columns} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    made = {CSV: text.getvalue(), PICTURE: picture(rows, asked), PAGE: sweep_page(folder.name, rows, asked)}
    for name, content in made.items():
        write_atomic(folder / name, content.encode())
    written = [folder / name for name in made]
    if importlib.util.find_spec("pyarrow") is None:
        return written
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(flat), folder / PARQUET)
    return [*written, folder / PARQUET]


def sweep_page(name: str, rows: Sequence[Row], asked: SweepSettings) -> str:
    """The picture, the tests and the rows on one self-contained page."""
    columns = [*asked.axes, "ends_at", "loss", "uniform", "anchored", "top1", "gain", "exact_epsilon"]
    cells = [[_shown(row.get(column)) for column in columns] for row in rows]
    tests = [test_row(test) for test in paired_tests(rows, asked)]
    sections = [("front", "The front", front_plot(rows, asked).figure.html)]
    if tests:
        sections.append(("tests", "Compared, pair by pair", _tabled(TEST_HEAD, tests, "Paired tests")))
    sections.append(("rows", "Every cell", _tabled(columns, cells, "Cells")))
    return page_frame(sections, name=name, foot=EXPLORATORY, opening=tag("p", {"class": "prose"}, EXPLORATORY))


def test_row(test: PairedTest) -> list[str]:
    """A paired test in words and numbers."""
    compared = f"{test.value} against {test.against}"
    error = "-" if test.error is None else f"{test.error:.4f}"
    return [compared, test.what, str(test.pairs), f"{test.difference:+.4f}", error, f"{test.p:.3g}"]


def front_plot(rows: Sequence[Row], asked: SweepSettings) -> LinePlot:
    """Rate against loss: a mark for each cell, by the value of what is compared, and a line through the front."""
    name = asked.compare or next(iter(sorted(asked.axes, key=lambda axis: axis in {"seed", "documents"})))
    best = front(rows)
    series = {"the front": [(row["loss"], row["anchored"]) for row in best]} | {
        f"{name} {_flat(value)}": [(row["loss"], row["anchored"]) for row in rows if _flat(row[name]) == _flat(value)]
        for value in asked.axes[name][:3]
    }
    return LinePlot(
        "Rate against loss",
        f"{len(rows)} cells, of which {len(best)} are beaten by no other in both loss and rate. {EXPLORATORY}",
        "expected loss",
        "share of pairs with the truth beyond epsilon",
        series,
        dots=True,
        joined="the front",
    )


def picture(rows: Sequence[Row], asked: SweepSettings) -> str:
    """The front as a picture of its own, with the style of the report inside."""
    figure = front_plot(rows, asked).figure
    style = resources.files("oddshift.app.report").joinpath("style.css").read_text(encoding="utf-8")
    assert figure.draw is not None
    drawn = str(figure.draw(WIDE, f"{figure.title}. {figure.says}"))
    opening, rest = drawn.split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg" width="{WIDE:g}"><style>{style}</style>{rest}\n'


def _tabled(head: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> Html:
    return tag("div", {"class": "tabled numbers"}, table(head, rows, label))


def _flat(value: Any) -> Any:
    """A list as the text of one entry."""
    return " ".join(f"{each:g}" for each in value) if isinstance(value, list | tuple) else value


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(_flat(value))

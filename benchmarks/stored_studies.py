"""What studies measured that take too long for one run: the figures of their pages, each beside its limit.

A figure is quoted from the page that a study wrote. One that a page does not state counts as a limit that is not kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Line

PAGES = Path(__file__).resolve().parent.parent / "docs" / "studies"


@dataclass(frozen=True)
class Figure:
    """A figure of a page: `value` in the pattern is the number, `series` and `case` say which of several it is.

    Figures without a limit are quoted as they are written.
    """

    what: str
    page: str
    pattern: str
    unit: str = ""
    limit: float | None = None

    def lines(self, text: str) -> list[Line]:
        """One line for each place where the text states the figure, and one that says so if there is none."""
        limit = "" if self.limit is None else f"<= {self.limit:g}{self.unit}"
        found = [*re.finditer(self.pattern, text, re.MULTILINE)]
        if not found:
            return [Line(self.what, "not stated yet", self.source, limit=limit, holds=False)]
        return [self._line(match.groupdict(), limit) for match in found]

    @property
    def source(self) -> str:
        """The command whose page is quoted."""
        return f"stored by studies.{self.page}"

    def _line(self, said: dict[str, str], limit: str) -> Line:
        what = ": ".join([self.what, *(said[name] for name in ("series", "case") if name in said)])
        holds = None if self.limit is None else float(said["value"].replace(",", "")) <= self.limit
        return Line(what, f"{said['value'].strip()}{self.unit}", self.source, limit=limit, holds=holds)


NUMBER = r"(?P<value>\d[\d,]*(?:\.\d+)?)"

FIGURES = (
    Figure(
        "adaptation on AG News, CPU time",
        "ag_news_adapt",
        rf"^CPU seconds: (?!.*measured before).*\btogether {NUMBER}",
        " s",
        240.0,
    ),
    Figure(
        "its choice above the least loss of a full grid",
        "ag_news_adapt",
        rf"\bthe search is {NUMBER} ?% above",
        " %",
        1.0,
    ),
    Figure(
        "default attackers on all documents of AG News, CPU time",
        "ag_news_attackers",
        rf"^\| all \| [\d,.]+ \| {NUMBER} \|",
        " s",
        900.0,
    ),
    Figure("the same, peak memory", "ag_news_attackers", rf"\bPeak memory {NUMBER} GB", " GB", 3.0),
    Figure(
        "watches with a false alarm within 200 windows",
        "watch",
        rf"^\| (?P<case>[^|]+) \| \d+ \| {NUMBER} % \|$",
        " %",
        5.0,
    ),
    Figure(
        "documents until a doubled rate is found, median",
        "watch",
        r"^\| (?P<case>[^|]+) \| (?P<series>rate|any) \| (?P<value>\d[^|]*) \|",
    ),
)


def run() -> list[Line]:
    """Every figure, from the pages as they are."""
    return [line for figure in FIGURES for line in figure.lines(_text(figure.page))]


def _text(page: str) -> str:
    path = PAGES / f"{page}.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""

"""Time and memory of tables from end to end: how audits and adaptations grow with the rows, and a million rows.

The commands run on made cohorts of ten columns, and then a first configuration and a release on a million rows of
fifteen columns, which takes minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.made_table import FIFTEEN, write_cohort
from benchmarks.protect import LAUNCH
from benchmarks.table import Line

SIZES = (1_000, 2_000, 4_000, 8_000)
COHORT, MILLION = 7_874, 1_000_000
MOST_EXPONENT = 1.2


def used(*arguments: object) -> tuple[float, float]:
    """CPU seconds and peak memory (MB) of one command, which may end without a certificate."""
    command = [sys.executable, "-m", "oddshift", *map(str, arguments)]
    tolerant = LAUNCH.replace("check=True", "check=False")
    said = subprocess.run([sys.executable, "-c", tolerant, *command], capture_output=True, text=True, check=True).stdout
    most, seconds = (float(number) for number in said.split())
    return seconds, most


def configured(folder: Path, rows: int) -> Path:
    """A first configuration of a made cohort."""
    data, made = folder / f"cohort{rows}.csv", folder / f"cohort{rows}.toml"
    write_cohort(data, rows)
    used("init", data, "--out", made)
    return made


def exponent(rows: tuple[int, ...], seconds: list[float]) -> float:
    """The slope of log time over log rows."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def growth(folder: Path, verb: str) -> Line:
    """How a command grows with the rows."""
    seconds = [used(verb, configured(folder, rows), "--out", folder / f"{verb}{rows}")[0] for rows in SIZES]
    slope, shown = exponent(SIZES, seconds), ", ".join(f"{s:.0f}" for s in seconds)
    sizes = ", ".join(f"{rows:,}" for rows in SIZES)
    limit = f"exponent <= {MOST_EXPONENT}"
    return Line(
        f"{verb} of {sizes} rows of 10 columns", f"{shown} s", "", f"{slope:.2f}", limit, slope <= MOST_EXPONENT
    )


def cohort(folder: Path) -> Line:
    """An adaptation of as many rows and columns as the study of free light chains has."""
    seconds, most = used("adapt", configured(folder, COHORT), "--out", folder / "cohort")
    holds = seconds <= 120 and most <= 1000
    return Line(f"adapt of {COHORT:,} rows", f"{seconds:.0f} s, {most:,.0f} MB", "", "", "120 s, 1,000 MB", holds)


def million(folder: Path) -> list[Line]:
    """A first configuration of a long table, and its release under the policy of an adaptation of a sample."""
    data, made, out = folder / "million.csv", folder / "million.toml", folder / "released.csv"
    write_cohort(data, MILLION, FIFTEEN)
    first, room = used("init", data, "--out", made)
    used("adapt", made, "--out", folder / "run")
    seconds, most = used("protect", data, out, "--policy", folder / "run", "--allow-uncertified")
    what = f"of {MILLION:,} rows of 15 columns"
    return [
        Line(f"init {what}", f"{first:.0f} s, {room:,.0f} MB", "", "", "60 s, 2,000 MB", first <= 60 and room <= 2000),
        Line(f"protect {what}", f"{seconds:.0f} s, {most:,.0f} MB", "", "", "60 s", out.exists() and seconds <= 60),
    ]


def run() -> list[Line]:
    """All lines."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [growth(folder, "audit"), growth(folder, "adapt"), cohort(folder), *million(folder)]

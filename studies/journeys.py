"""The four commands on files that nobody here wrote, and on small made ones: does each end in a release?

Files are the data sets inside scikit-learn and statsmodels, as pandas writes them, texts about made-up people, fixes of
GeoLife and film reviews where the data folder has them, and made ones that are small or odd in one way each. Each
journey begins with `init` in an empty folder and does what every command advises. It is a process of its own with a
limit of CPU seconds, and is kept with what was printed, so that a run that was stopped continues.

    python -m studies.journeys FOLDER          # writes docs/studies/journeys.md
    python -m studies.journeys FOLDER NAME...  # only these
    python -m studies.journeys FOLDER --page   # the page of those that are kept, and which are not
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import sklearn.datasets
import statsmodels.datasets

from oddshift.adapt import Adaptation
from oddshift.app import cli
from oddshift.app.report.wording import percent
from oddshift.app.run_folder import read_adaptation
from oddshift.data import embedded
from oddshift.data.codecs import data_folder

PAGE = Path(__file__).parents[1] / "docs" / "studies" / "journeys.md"

SECONDS = 900
"""CPU seconds of one journey, at most."""

MANY = 500
"""Records from which on a certificate can be expected."""

ROWS = 2_000
"""Rows that are kept of a larger data set, drawn at random and left in their order."""

COMMANDS = ("init", "audit", "adapt", "protect")


@dataclass(frozen=True)
class Journey:
    """A file as text, and what a user changes in the first configuration: pairs of a line's start and its successor.

    `has_models` says that word vectors and a name model of the data folder are at hand.
    """

    content: Callable[[], str]
    changes: tuple[tuple[str, str], ...] = ()
    has_models: bool = False


@dataclass(frozen=True)
class Ended:
    """How a journey ended: rows, exit codes by command, and of the policy its guarantee, forms and losses."""

    name: str
    rows: int
    codes: dict[str, int] = field(default_factory=dict)
    guarantee: str = "none"
    forms: tuple[str, ...] = ()
    loss: float = 0.0
    constant: float = 0.0
    seconds: float = 0.0
    said: str = ""

    @property
    def draws(self) -> bool:
        """Whether what is released depends on the secrets."""
        return "noise" in self.forms

    @property
    def arrives(self) -> bool:
        """Whether a release was written by commands that all did what was asked; an audit may say no."""
        return [self.codes.get(name) for name in ("init", "adapt", "protect")] == [0, 0, 0]


def shipped() -> dict[str, Journey]:
    """The data sets that lie inside the two packages; none is downloaded."""
    found = {}
    for name in ("iris", "wine", "diabetes", "breast_cancer", "linnerud", "digits"):
        found[f"sklearn {name}"] = Journey(partial(_of_sklearn, getattr(sklearn.datasets, f"load_{name}")))
    for place in sorted(Path(statsmodels.datasets.__file__).parent.glob("*/data.py")):
        found[f"statsmodels {place.parent.name}"] = Journey(partial(_of_statsmodels, place.parent.name))
    return found


def _of_sklearn(load: Callable[..., Any]) -> str:
    return str(_some(load(as_frame=True).frame).to_csv(index=False))


def _some(frame: Any) -> Any:
    return frame if len(frame) <= ROWS else frame.sample(ROWS, random_state=0).sort_index()


def _of_statsmodels(name: str) -> str:
    frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    is_numbered = list(frame.index[:2]) == [0, 1]
    return str(_some(frame).to_csv(index=not is_numbered))


def people(count: int, *names: str, seed: int = 0) -> str:
    """A table of some of the columns age, sex, town and income, the last two of which go together."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, count)
    made = {
        "age": rng.integers(18, 90, count).tolist(),
        "sex": rng.choice(["f", "m"], count).tolist(),
        "town": np.array(["oslo", "rome", "bern"])[town].tolist(),
        "income": np.round(2000 + 1500 * town + rng.normal(0, 300, count), 1).tolist(),
    }
    lines = [",".join(str(made[name][row]) for name in names) for row in range(count)]
    return "\n".join([",".join(names), *lines, ""])


def letters(count: int, writers: int = 0) -> str:
    """Short texts with names and addresses, by some writers."""
    names = ("Ann", "Bob", "Eve", "Kim", "Lee")
    said = (f'"Dear {names[k % 5]}, write to {names[(k + 2) % 5].lower()}@mail.org today."' for k in range(count))
    if not writers:
        return "\n".join(["text", *said, ""])
    return "\n".join(["user,text", *(f"w{k % writers},{text}" for k, text in enumerate(said)), ""])


def corpus(count: int, authors: int = 0) -> str:
    """Texts about made-up people; with `authors`, each by one of them."""
    texts = embedded.people(count).texts
    if not authors:
        return "\n".join(["text", *map(json.dumps, texts), ""])
    return "\n".join(["user,text", *(f"a{k % authors},{json.dumps(text)}" for k, text in enumerate(texts)), ""])


def reviews(count: int = 1_500) -> str:
    """The first film reviews."""
    with (data_folder() / "imdb.csv").open(encoding="utf-8", newline="") as stream:
        texts = [row["text"] for row in islice(csv.DictReader(stream), count)]
    return "\n".join(["text", *(f'"{text.replace(chr(34), chr(34) * 2)}"' for text in texts), ""])


def geolife(count: int = 1_500) -> str:
    """The first fixes of each user of GeoLife."""
    head, *lines = (data_folder() / "trajectories.csv").read_text(encoding="utf-8").splitlines()
    by_user = groupby(lines, key=lambda line: line.partition(",")[0])
    return "\n".join([head, *(line for _, own in by_user for line in islice(own, count)), ""])


def fixes(users: int, count: int) -> str:
    """Hourly positions of some users."""
    lines = (
        f"u{k % users},{59.9 + 0.01 * (k % 7)},{10.7 + 0.01 * (k % 5)},2024-01-{1 + k // 24:02d}T{k % 24:02d}:00:00"
        for k in range(count)
    )
    return "\n".join(["user,lat,lon,timestamp", *lines, ""])


def gaps() -> str:
    """A table in which every third cell is missing in one of three ways."""
    lines = people(700, "age", "town", "income").splitlines()
    cells = [line.split(",") for line in lines[1:]]
    for row, line in enumerate(cells):
        line[row % 3] = ("", "NA", "NaN")[row // 3 % 3] if row % 2 else line[row % 3]
    return "\n".join([lines[0], *map(",".join, cells), ""])


MASKED = (('name = "exponential"', 'name = "mask"'),)
BY_TIER = (("[adapt]", '[adapt]\nforms = {"PII" = "mark"}'),)

MADE: dict[str, Journey] = {
    "one row": Journey(partial(people, 1, "age", "sex", "town")),
    "two rows": Journey(partial(people, 2, "age", "sex")),
    "three rows": Journey(partial(people, 3, "age", "sex")),
    "twelve rows": Journey(partial(people, 12, "age", "sex", "town")),
    "one column": Journey(partial(people, 40, "age")),
    "one category": Journey(partial(people, 40, "town")),
    "sixty rows": Journey(partial(people, 60, "age", "sex")),
    "one value": Journey(lambda: "age,sex\n" + "31,f\n" * 20),
    "one text": Journey(partial(letters, 1)),
    "five texts": Journey(partial(letters, 5)),
    "two users": Journey(partial(fixes, 2, 60)),
    "one trip": Journey(partial(fixes, 1, 12)),
    "six users": Journey(partial(fixes, 6, 480)),
    "duplicate points": Journey(lambda: "age,sex\n" + "31,f\n44,m\n" * 300),
    "missing cells": Journey(gaps),
    "one long column": Journey(partial(people, 900, "age")),
    "900 people": Journey(partial(people, 900, "age", "sex", "town", "income")),
    "1,500 texts": Journey(partial(corpus, 1_500)),
    "comments of 300 authors": Journey(partial(corpus, 900, 300)),
    "letters of writers": Journey(partial(letters, 120, 12)),
    "marks for all": Journey(partial(letters, 60), MASKED),
    "marks for a table": Journey(partial(people, 60, "age", "sex"), MASKED),
    "marks for a tier": Journey(partial(letters, 60), BY_TIER),
}
"""Files that are small or odd in one way each."""


def travel(name: str, journey: Journey, home: Path) -> Iterator[Ended]:
    """Run `init` in a folder and then what each command advises, and say after each how far it is."""
    os.chdir(home)
    data, start = "data.csv", process_time()
    Path(data).write_text(journey.content(), encoding="utf-8")
    if not journey.has_models:
        os.environ["ODDSHIFT_DATA"] = str(home)
    rows, codes = _rows(Path(data)), dict[str, int]()
    policy: dict[str, Any] = {}
    words = ["init", data, "--out", "data.toml"]
    while words:
        codes[words[0]], said, refused = call(*words)
        if words[0] == "init" and Path("data.toml").is_file():
            text = Path("data.toml").read_text(encoding="utf-8")
            for before, after in journey.changes:
                text = text.replace(before, after, 1)
            Path("data.toml").write_text(text, encoding="utf-8")
        if words[0] == "adapt" and codes["adapt"] in (0, 2):
            policy = outcome(read_adaptation(Path(words[words.index("--out") + 1])))
        print(f"$ oddshift {shlex.join(words)}\n{said}{refused}exit code {codes[words[0]]}\n", flush=True)
        line = next((line for line in refused.splitlines() if line.startswith("error:")), "")
        yield Ended(name, rows, dict(codes), seconds=round(process_time() - start, 1), said=line, **policy)
        words = following(said)


def _rows(path: Path) -> int:
    with path.open(encoding="utf-8", newline="") as stream:
        return sum(1 for _ in csv.reader(stream)) - 1


def outcome(found: Adaptation) -> dict[str, Any]:
    """What is kept of an adaptation."""
    shares = {"loss": found.loss or 0.0, "constant": found.constant_loss}
    return {"guarantee": found.guarantee, "forms": tuple(dict.fromkeys(found.forms)), **shares}


def following(said: str) -> list[str]:
    """The words of the next of the four commands that was advised, without the name of the program; none at the end."""
    advised = (shlex.split(line.partition("oddshift ")[2]) for line in said.splitlines() if line.startswith("next: "))
    return next((words for words in advised if words and words[0] in COMMANDS), [])


def call(*words: str) -> tuple[int, str, str]:
    """Run one command in this process: its exit code and what it printed on both streams."""
    before, sys.argv = sys.argv, ["oddshift", *words]
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            cli.main()
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue(), err.getvalue()


def journeys() -> dict[str, Journey]:
    """All of them."""
    real = {
        "trajectories.csv": {"GeoLife": Journey(geolife)},
        "imdb.csv": {"1,500 film reviews, with models": Journey(reviews, has_models=True)},
        "glove.6B.100d.npz": {"1,500 texts, with models": Journey(partial(corpus, 1_500), has_models=True)},
    }
    there = {
        name: each for file, rows in real.items() if (data_folder() / file).is_file() for name, each in rows.items()
    }
    return {**shipped(), **there, **MADE}


def main() -> None:
    """Run the journeys that are not kept in FOLDER yet, then write the page."""
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    if wanted[:1] == ["--alone"]:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        folder, os.environ["ODDSHIFT_DATA"] = folder.resolve(), str(data_folder().resolve())
        with TemporaryDirectory() as home:
            for ended in travel(wanted[1], journeys()[wanted[1]], Path(home)):
                _file(folder, wanted[1]).write_text(json.dumps(asdict(ended)), encoding="utf-8")
        return
    folder.mkdir(parents=True, exist_ok=True)
    is_page = wanted == ["--page"]
    for name in () if is_page else wanted or journeys():
        if wanted or not _file(folder, name).is_file():
            command = [sys.executable, "-m", "studies.journeys", str(folder), "--alone", name]
            with _file(folder, name).with_suffix(".txt").open("w", encoding="utf-8") as printed:
                done = subprocess.run(command, check=False, stdout=printed, stderr=subprocess.STDOUT)
            if done.returncode and _file(folder, name).is_file():
                kept = json.loads(_file(folder, name).read_text(encoding="utf-8"))
                kept["said"] = kept["said"] or f"stopped after {SECONDS} CPU s"
                _file(folder, name).write_text(json.dumps(kept), encoding="utf-8")
            print(_row(_kept(folder, name)), flush=True)
    if is_page or not wanted:
        there = [name for name in journeys() if not is_page or _file(folder, name).is_file()]
        missing = [name for name in journeys() if name not in there]
        PAGE.write_text(page([_kept(folder, name) for name in there], missing), encoding="utf-8")


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace(' ', '-')}.json"


def _kept(folder: Path, name: str) -> Ended:
    if not _file(folder, name).is_file():
        return Ended(name, 0, said="the process ended before its first command did")
    return Ended(**json.loads(_file(folder, name).read_text(encoding="utf-8")))


def _row(found: Ended) -> str:
    codes = " ".join(str(found.codes.get(name, "-")) for name in COMMANDS)
    has_policy = found.codes.get("adapt") in (0, 2)
    losses = f"{found.loss:.3f} / {found.constant:.3f}" if has_policy else "-"
    kept = (
        percent(max(0.0, 1.0 - found.loss / found.constant)) if has_policy and found.constant and found.draws else "-"
    )
    cells = (found.name, f"{found.rows:,}", codes, found.guarantee, ", ".join(found.forms), losses, kept)
    return f"| {' | '.join(cells)} | {found.seconds:.0f} | {found.said.removeprefix('error: ').replace('|', '/')} |"


def page(found: list[Ended], missing: list[str]) -> str:
    """The page: a row for each journey, and the sums; `missing` ones were not run."""
    many = [one for one in found if one.rows >= MANY]
    certified = sum(one.guarantee == "certified" for one in many)
    proved = sum(one.guarantee == "proved" for one in many)
    cheaper = sum(one.draws and one.loss < one.constant for one in found)
    marks, made_up = (
        sum(not one.draws and ("surrogate" in one.forms) is said for one in found) for said in (False, True)
    )
    head = ("data", "rows", "exit codes", "guarantee", "forms", "loss / of marks", "kept", "CPU s", "said")
    return "\n".join(
        [
            "# Every journey ends in a release",
            "",
            "`oddshift init data.csv`, and then what every command advises (`audit`, `adapt`, `protect`), on every",
            f"data set inside scikit-learn and statsmodels (at most {ROWS:,} rows) and on made files. Exit codes in",
            "that order; `init` advises no audit where there are too few units to count, and an audit that does not",
            "certify the first budget ends with 2: adapt goes on from there. Loss is that of the release, next to that",
            "of one constant output of each kind, which is what marks keep. A surrogate is made up: it costs more in",
            "this sense, and keeps frequencies and what many rows share. Kept is the share of information between",
            "marks and the original. Made by `python -m studies.journeys FOLDER`; GeoLife, film reviews, word vectors",
            "and the name model are read from the data folder.",
            *([f"Not run this time: {', '.join(missing)}."] if missing else []),
            "",
            f"{sum(one.arrives for one in found)} of {len(found)} end in a release: init, adapt and protect exit 0.",
            f"Of {len(many)} with {MANY} rows or more {certified} are certified and {proved} are proved. What depends",
            f"on the secrets costs less than marks in {cheaper}; {marks} are marks alone, {made_up} are made up.",
            "",
            f"| {' | '.join(head)} |",
            f"|{' --- |' * len(head)}",
            *map(_row, found),
            "",
        ]
    )


if __name__ == "__main__":
    main()

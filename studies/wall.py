"""The wall: mechanisms for text and places that can be installed, what they claim and what drawing from them shows.

`python -m studies.wall [FOLDER]` makes an environment for every package under FOLDER (a temporary one by default),
because some of them need an older numpy than oddshift's, and draws from it through a pipe.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import oddshift as od
from oddshift.evidence.witness import ACCUSING, Witness, witness_mdp
from studies.tables import table, write
from studies.wall_channels import tem_channel, truncated_gumbel_channel
from studies.wall_points import BEIJING, GRID, LINE, SINGAPORE, WORDS

WORKER = Path(__file__).with_name("wall_worker.py")
PACKAGES = {
    "mldp-text": ["mldp-text"],
    "diffprivlib": ["diffprivlib", "scikit-learn<1.6"],
    "opendp": ["opendp", "numpy"],
    "qif": ["qif", "numpy"],
    "privkit": [
        "--no-deps",
        "privkit",
        "numpy",
        "pandas",
        "scipy",
        "pyproj",
        "python-dateutil",
        "pytz",
        "six",
        "certifi",
    ],
}
"""What is installed for each package; privkit without the packages for faces and maps, which this page does not use."""

EPSILON = 4.0
TERMS = {"explore": 250, "confirm": 6_000, "pairs": 16}
MORE = {"explore": 1_000, "confirm": 50_000, "pairs": 16}
"""How much is drawn, how much from a mechanism that draws fast and breaks by little."""

Ask = Callable[[int, int], list[Any]]
"""A point and a number of draws → draws."""


@dataclass(frozen=True)
class Brick:
    """One mechanism: package, its name there, points, metric, claimed ε, how its own parameter follows from it.

    `exact` computes its ε (None: not known), `terms` says how much is drawn; `note` is a remark. `channel` computes its
    channel, which gives ε and what is searched before plain draws count.
    """

    package: str
    name: str
    points: np.ndarray
    epsilon: float
    metric: str = "euclidean"
    parameter: float = 1.0
    exact: Callable[[od.Space, Any], float] | None = None
    note: str = ""
    channel: Callable[[od.Space, float], np.ndarray] | None = None
    terms: Mapping[str, int] = field(default_factory=lambda: TERMS)


def stated(space: od.Space, ask: Any) -> float:
    """ε of the channel that the package itself states; its rows are made to sum to 1, which they do to about 1e-5."""
    rows = np.array(ask(0, -1))
    with np.errstate(divide="ignore"):
        return od.true_epsilon(np.log(rows / rows.sum(axis=1, keepdims=True)), space.distances)


def tem(space: od.Space, _ask: Any) -> float:
    """ε of TEM, from its definition."""
    return od.true_epsilon(tem_channel(space, EPSILON), space.distances)


def nominal(space: od.Space, _ask: Any) -> float:
    """ε in real numbers, by its definition."""
    return 1.0


def tilted(space: od.Space, _ask: Any) -> float:
    """ε of privkit's planar noise, by its construction: it lies in the plane of the equator.

    On the ground a step from south to north is that step times the sine of the latitude, so noise there is too small.
    """
    return 1.0 / math.sin(math.radians(float(space.points[:, 0].min())))


BRICKS = (
    Brick("mldp-text", "mldp.TEM", WORDS, EPSILON, exact=tem, note="breaks in rare outputs, which draws hardly see"),
    Brick("mldp-text", "mldp.MultivariateCalibrated", WORDS, EPSILON, note="holds: noise, then the nearest word"),
    Brick("mldp-text", "mldp.VickreyMechanism", WORDS, EPSILON, note="the word itself is left out where it is nearest"),
    Brick("mldp-text", "mldp.Mahalanobis", WORDS, EPSILON, note="claims its own norm; judged in the euclidean one"),
    Brick(
        "mldp-text",
        "mldp.TruncatedGumbel",
        WORDS,
        EPSILON,
        channel=truncated_gumbel_channel,
        note="the farthest word never comes out, at any parameter; its formula needs ε above 49 on these words",
        terms={**TERMS, "confirm": 20_000},
    ),
    Brick("diffprivlib", "diffprivlib.Laplace", LINE, 1.0, exact=nominal),
    Brick("diffprivlib", "diffprivlib.Geometric", LINE, 1.0, exact=nominal),
    Brick("opendp", "opendp.integers", LINE, 1.0, exact=nominal, note="Laplace noise on integers"),
    Brick("opendp", "opendp.floats", LINE, 1.0, exact=nominal, note="Laplace noise on floats"),
    Brick("qif", "qif.exponential", LINE, 1.0, exact=stated),
    Brick("qif", "qif.planar_laplace_grid", GRID, 1.0, exact=stated, note="6 x 6 cells of 1 km"),
    *(
        Brick(
            "privkit",
            "privkit.PlanarLaplace",
            points,
            1.0,
            "haversine",
            0.001,
            tilted,
            f"per km, at {city}: too little noise from south to north",
            MORE,
        )
        for city, points in (("Beijing", BEIJING), ("Singapore", SINGAPORE))
    ),
)


@contextmanager
def pipe(python: Path, brick: Brick) -> Iterator[Ask]:
    """Ask a worker in the package's environment for draws."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "points.npz"
        np.savez(data, words=np.array([f"w{k}" for k in range(len(brick.points))]), vectors=brick.points)
        asked = [str(python), "-I", str(WORKER), brick.name, str(brick.epsilon * brick.parameter), str(data)]
        said = (Path(folder) / "said.txt").open("w+", encoding="utf-8")
        worker = subprocess.Popen(asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
        assert worker.stdin is not None
        assert worker.stdout is not None

        def ask(point: int, n: int) -> list[Any]:
            print(point, n, file=worker.stdin, flush=True)
            line = worker.stdout.readline()
            if not line:
                said.seek(0)
                last = (said.read().strip().splitlines() or ["without a word"])[-1]
                raise RuntimeError(f"the worker ended: {last}")
            found: list[Any] = json.loads(line)
            return found

        try:
            yield ask
        finally:
            with suppress(BrokenPipeError):
                worker.stdin.close()
            worker.wait(60)
            worker.stdout.close()
            said.close()


def judged(brick: Brick, ask: Ask) -> tuple[Witness, float | None, int]:
    """The witness of a mechanism, its exact ε where the channel is known, and the draws made."""
    space, draws = od.Space(brick.points, metric=brick.metric), 0
    logs = None if brick.channel is None else brick.channel(space, brick.epsilon)

    def sample(index: np.ndarray, _rng: np.random.Generator) -> np.ndarray:
        nonlocal draws
        draws += len(index)
        found = ask(int(index[0]), len(index))
        return np.array(found if logs is None else [int(word[1:]) for word in found])

    found = witness_mdp(
        sample,
        space,
        brick.epsilon,
        log_matrix=logs,
        rng=np.random.default_rng(0),
        **brick.terms,
    )
    if logs is not None:
        return found, od.true_epsilon(logs, space.distances), draws
    return found, None if brick.exact is None else brick.exact(space, ask), draws


def ours() -> list[list[object]]:
    """Our own mechanisms, drawn from and judged in the same way."""
    space, line = od.Space(WORDS), od.Space(LINE)
    tiers = od.Tiers(np.arange(150) % 2, names=("a", "b"), scales=(0.4, 1.0), is_public=False)
    made = [
        ("exponential", od.Exponential(space, EPSILON), EPSILON, ""),
        ("exponential on the line", od.Exponential(line, 1.0), 1.0, ""),
        (
            "two secret tiers, each with its own scale",
            od.Tiered(space, tiers, EPSILON),
            EPSILON,
            "what must not be done",
        ),
        ("the same on the path metric", od.PathExponential(space, tiers, EPSILON), EPSILON, "the cure"),
    ]
    rows = []
    for name, mechanism, claimed, note in made:
        start = time.process_time()
        sampler, points = mechanism.sampler(), mechanism.space
        logs = mechanism.log_matrix
        found = witness_mdp(
            sampler.sample, points, claimed, rng=np.random.default_rng(0), **{**TERMS, "confirm": 50_000}
        )
        exact = od.true_epsilon(logs, points.distances)
        draws = 2 * TERMS["explore"] * TERMS["pairs"] + 6 * 50_000
        rows.append(_row("oddshift", name, claimed, found, exact, draws, time.process_time() - start, note))
    return rows


def _row(
    package: str,
    name: str,
    claimed: float,
    found: Witness,
    exact: float | None,
    draws: int,
    seconds: float,
    note: str,
) -> list[object]:
    is_broken = found.shown or (exact is not None and exact > claimed * (1 + 1e-9))
    verdict = "**broken**" if is_broken else "doubtful" if found.lower_bound > claimed else "not shown"
    known = "not known" if exact is None else f"{exact:.3g}"
    bound = f"{found.lower_bound:.3g}"
    return [package, name, f"{claimed:g}", bound, known, verdict, f"{draws:,}", f"{seconds:.0f}", note]


def environment(folder: Path, package: str) -> Path:
    """The Python of an environment that holds the package, made if it is not there."""
    home = folder / package
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        asked = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[package]]
        subprocess.run(asked, check=True, capture_output=True, timeout=1800)
    return python


def kept(number: int, brick: Brick, folder: Path) -> list[object]:
    """The row of one mechanism, drawn once and kept next to its environment, so that an interrupted study continues."""
    file = folder / f"row-{number:02d}.json"
    if not file.is_file():
        python = environment(folder, brick.package)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with pipe(python, brick) as ask:
            found, exact, draws = judged(brick, ask)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        name = brick.name.partition(".")[2]
        made = _row(brick.package, name, brick.epsilon, found, exact, draws, spent, brick.note)
        file.write_text(json.dumps(made), encoding="utf-8")
    row: list[object] = json.loads(file.read_text(encoding="utf-8"))
    return row


def theirs(folder: Path) -> tuple[list[list[object]], list[str]]:
    """A row for each mechanism, and what could not be had."""
    rows: list[list[object]] = []
    missing: list[str] = []
    for number, brick in enumerate(BRICKS):
        try:
            rows.append(kept(number, brick, folder))
            print(rows[-1], flush=True)
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            missing.append(f"{brick.package}, {brick.name}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
            print(missing[-1], flush=True)
    return rows, missing


def main() -> None:
    """Draw from everything and write the page."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        rows, missing = theirs(folder)
    rows = [*ours(), *rows]
    head = ["package", "mechanism", "claimed", "witnessed", "exact", "verdict", "draws", "CPU s", "note"]
    absent = "\n".join(f"- {line}" for line in missing) or "- nothing: all were installed and drawn from."
    text = (
        "Claimed is ε per unit of distance; witnessed a lower bound on the true ε that is too high with probability at "
        "most 5 %, whatever the mechanism; exact is computed where the channel is known (Laplace noise: by its "
        "definition, in real numbers). A mechanism is **broken** where exact exceeds claimed or draws show it, which "
        f"they do wrongly with probability at most {ACCUSING:g}; doubtful where witnessed exceeds claimed at the level "
        "of 5 % alone; not shown is not a pass. Words are 150 made-up ones in 15 clusters in five dimensions; the line "
        "has 20 whole numbers.\n\n"
        f"{table(head, rows)}\n\nNot to be had:\n\n{absent}\n\n"
        "TEM breaks where an output lies just within the radius of one word and just beyond that of another, and such "
        "outputs come once in a million draws: its exact ε shows it, draws do not. For TruncatedGumbel pairs and "
        "events are searched in the channel that its definition gives, and counted in plain draws: its definition "
        "breaks every ε, and draws show that it breaks 4.\n\n"
        "privkit is installed without what it needs for faces and maps (tensorflow, open3d, osmnx), which are "
        "gigabytes and play no part in its planar Laplace noise. mldp-text needs numpy below 2, diffprivlib an older "
        "scikit-learn than ours: both run in environments of their own."
    )
    write("wall", "The wall: claimed, witnessed, exact", text)


if __name__ == "__main__":
    main()

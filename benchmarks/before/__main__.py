"""CPU time and memory now beside the state before the twelve rooms: `python -m benchmarks.before PACKAGES [PART…]`.

PACKAGES is a folder with the earlier state (commit ee3bb60) and its solver, made by `pip install --no-deps --target
PACKAGES git+file://$PWD@ee3bb60 highspy`. Every task runs in new processes, of one state and the other in turn; the
least time of each counts. A line that seems slower is measured more often. PART chooses tasks by a part of their
names; a run of all of them is kept in docs/benchmarks.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import oddshift
from benchmarks import page
from benchmarks.before.core_tasks import CERTIFIED, CORE, OPTIMAL
from benchmarks.before.data_tasks import PROTECT, RUNS, TEXT
from benchmarks.before.task import Task
from benchmarks.table import Line, markdown
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import data_folder

SECTION = "before"
TASKS = (*CORE, *CERTIFIED, *OPTIMAL, *TEXT, *RUNS, *PROTECT)
ROUNDS, MOST = 2, 1.1
NOW = Path(oddshift.__file__).resolve().parent.parent
NOTE = """The baseline is the state before the twelve rooms (commit ee3bb60), measured in the same run by
`python -m benchmarks.before PACKAGES`, which is not part of `make bench`. Attackers, tiers and rules are the same on
both sides. Not compared is what a release does in addition today: a policy whose names a pipeline found lets that
pipeline read what is released, and links further mentions of a name; before, it only looked for the words it knew. Such
a release takes more time and memory than before."""


def measured(task: Task, packages: Path, home: str) -> tuple[float, float]:
    """CPU seconds and megabytes of one process."""
    is_earlier = packages != NOW
    left_out = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
    path = str(packages) if is_earlier else f"{NOW}{os.pathsep}{NOW.parent}"
    own = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if task.is_news:
        own["ODDSHIFT_DATA"] = str(data_folder().resolve())
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | own
    program = [sys.executable, "-c", task.program(home, is_earlier=is_earlier)]
    done = subprocess.run(program, capture_output=True, text=True, cwd=home, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{task.what}, {'before' if is_earlier else 'now'}:\n{done.stderr}")
    seconds, megabytes = (float(word) for word in done.stdout.split()[-2:])
    return seconds, megabytes


def least(task: Task, before: Path) -> tuple[tuple[float, float], tuple[float, float]]:
    """The least (seconds, megabytes) now and before."""
    found: dict[Path, list[tuple[float, float]]] = {NOW: [], before: []}
    with tempfile.TemporaryDirectory() as home:
        for turn in range(4 * ROUNDS):
            if turn >= ROUNDS and _best(found[NOW])[0] <= MOST * _best(found[before])[0]:
                break
            for packages, runs in found.items():
                runs.append(measured(task, packages, home))
    return _best(found[NOW]), _best(found[before])


def _best(runs: list[tuple[float, float]]) -> tuple[float, float]:
    seconds, megabytes = zip(*runs, strict=True)
    return min(seconds), min(megabytes)


def lines(task: Task, before: Path) -> list[Line]:
    """The time of a task, and its memory where that is compared."""
    now, then = least(task, before)
    places = 3 if now[0] < 0.1 else 2
    found = [_line(task.what, f"{now[0]:.{places}f} s", f"{then[0]:.{places}f} s", now[0] / then[0])]
    if task.has_memory:
        found.append(_line(f"{task.what}, peak memory", f"{now[1]:,.0f} MB", f"{then[1]:,.0f} MB", now[1] / then[1]))
    return found


def _line(what: str, now: str, before: str, ratio: float) -> Line:
    return Line(what, now, before, f"{ratio:.2f}x", f"<= {MOST}x", ratio <= MOST)


def has_news() -> bool:
    """Whether there is real data."""
    try:
        return bool(data_folder())
    except InvalidInput:
        return False


def main(before: Path, parts: list[str]) -> int:
    """Measure, print as it goes, and keep the table of a whole run."""
    chosen = [task for task in TASKS if not parts or any(part in task.what for part in parts)]
    found: list[Line] = []
    for task in chosen:
        if task.is_news and not has_news():
            found.append(Line(task.what, "left out: no real data here"))
            continue
        measured_now = lines(task, before)
        found += measured_now
        print(*(" | ".join(line.cells) for line in measured_now), sep="\n", flush=True)
    print(f"\n{markdown(found)}")
    if len(chosen) == len(TASKS) and has_news():
        page.keep({SECTION: f"{markdown(found)}\n\n{NOTE}"})
    return 0 if all(line.holds is not False for line in found) else 2


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "oddshift").is_dir():
        raise SystemExit("expected a folder into which the earlier oddshift was installed: see the text of this file")
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))

"""Two processes against one: a data set released serially and by two workers, by elapsed time and by CPU time.

`python -m benchmarks processes`, on a machine with two free cores: elapsed time is what was asked for. CPU time shows
what limits it even on a busy machine: the work that two processes do in addition, and the work of the leading process,
during which the workers wait. One and two processes run in turn, and the fastest of several runs of each counts: on
shared machines single ones scatter by a tenth. Every run reads texts that nothing has read: no cache outlives it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.published import read_published

from benchmarks.data_set import small_policy, write_files
from benchmarks.protect import ag_policy
from benchmarks.table import Line
from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import people
from oddshift.protect.policies import Policy, save_policy

FILES, ROWS = 32, 25_000
NEWS_FILES, NEWS_ROWS = 8, 1500
WANTED, WANTED_WITH_NAMES = 1.7, 1.8
TURNS = 3


@dataclass(frozen=True)
class Spent:
    """Seconds of a release: elapsed, CPU of the leading process, CPU of its workers."""

    elapsed: float
    leading: float
    workers: float

    @property
    def total(self) -> float:
        return self.leading + self.workers


@dataclass(frozen=True)
class Folder:
    """A data set to be made, and the policy that releases it."""

    policy: Policy
    texts: Sequence[str]
    files: int
    rows: int
    what: str


LAUNCH = """
import resource, sys
from oddshift.app.cli import main
workers = int(sys.argv.pop(1))
try:
    main()
finally:
    if workers > 1:
        from joblib.externals.loky import get_reusable_executor
        get_reusable_executor().shutdown(wait=True)  # so that the time of workers is counted
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print()
    print(*(one.ru_utime + one.ru_stime for one in used))
"""


def released(workers: int, asked: Folder) -> Spent:
    """Release a data set by the command with some workers, in a process of its own that has read nothing before."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_files(home / "in", asked.texts, asked.files, asked.rows)
        save_policy(home / "policy", asked.policy)
        command = ["protect", home / "in", home / "out", "--policy", home / "policy", "--workers", workers]
        words = [sys.executable, "-c", LAUNCH, str(workers), *map(str, command), "--allow-uncertified", "--json"]
        environment = {**os.environ, "XDG_CACHE_HOME": str(home / "cache")}
        start = time.perf_counter()
        said = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout
        elapsed = time.perf_counter() - start
    leading, others = (float(word) for word in said.splitlines()[-1].split())
    return Spent(elapsed, leading, others)


def compared(asked: Folder, wanted: float) -> list[Line]:
    """One and two processes in turn."""
    turns = [(released(1, asked), released(2, asked)) for _ in range(TURNS)]
    one, two = (min(each, key=lambda spent: spent.elapsed) for each in zip(*turns, strict=True))
    count, free = asked.files * asked.rows, (os.cpu_count() or 1) - os.getloadavg()[0]
    ratio = one.elapsed / two.elapsed
    least = [min(spent.total for spent in each) for each in zip(*turns, strict=True)]
    leading = min(spent.leading for _, spent in turns)
    possible = least[0] / (leading + (least[1] - leading) / 2.0)
    return [
        Line(
            f"{count:,} {asked.what} in {asked.files} files: two processes against one, elapsed",
            f"{two.elapsed:.1f} s, {count / two.elapsed:,.0f}/s",
            f"one: {one.elapsed:.1f} s, {count / one.elapsed:,.0f}/s",
            f"{ratio:.2f}x",
            f">= {wanted}x",
            ratio >= wanted if ratio >= wanted or free >= 0.0 else None,
        ),
        Line(
            "the same by CPU time, if both cores are free",
            f"{leading:.1f} s leading, {least[1] - leading:.1f} s in workers",
            f"one: {least[0]:.1f} s",
            f"{possible:.2f}x",
            f">= {wanted}x",
            possible >= wanted,
        ),
    ]


def run(files: int = FILES, rows: int = ROWS, news_rows: int = NEWS_ROWS) -> list[Line]:
    plain = Folder(small_policy(), people(2000).texts, files, rows, "texts")
    lines = compared(plain, WANTED)
    try:
        texts, policy = read_published("ag_news").texts, ag_policy(("text",))
    except InvalidInput:
        return [*lines, Line("AG News", "left out: no real data here")]
    some = texts[-NEWS_FILES * news_rows :]
    named = Folder(policy, some, NEWS_FILES, news_rows, "new texts of AG News, names found by NER,")
    return [*lines, *compared(named, WANTED_WITH_NAMES)]

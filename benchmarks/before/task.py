"""A task: a program of today, and how it was written before the twelve rooms.

A program is written once, with the names of today; `WAS` turns them into the earlier ones. Where more than names
changed, a task has two ways to prepare the same objects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WAS = {
    r"oddshift\.data\.(detectors|embedded)": r"oddshift.\1",
    r"oddshift\.data\.codecs|studies\.published": "oddshift.modalities",
    r"oddshift\.evidence\.certificates": "oddshift.certificate",
    r"oddshift\.mechanisms\.(epsilon|remap)": r"oddshift.\1",
    r"oddshift\.mechanisms\.closure": "oddshift.mechanisms",
    r"oddshift\.model\.(space|tiers)": r"oddshift.\1",
    r"import AuditSettings": "import Settings as AuditSettings",
    r"import AdaptTask": "import Task as AdaptTask",
    r", by_kind=False": "",
}
"""Patterns of today's names, and what they were before."""

PROGRAM = """
import os, resource, subprocess, sys, tempfile
from pathlib import Path
import numpy as np
from oddshift.model.space import Space
def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
rng, home = np.random.default_rng(0), Path(tempfile.mkdtemp(dir={home!r}))
{prepare}
times = []
for turn in range({times}):
    start = spent()
    {work}
    times.append(spent() - start)
try:  # the peak since this program began; ru_maxrss would also count the process that started it
    kilobytes = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
except OSError:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(min(times), max(kilobytes, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024)
"""


@dataclass(frozen=True)
class Task:
    """What is measured, `times` in one process of which the least counts, and what is prepared for it.

    `earlier` is how the earlier state prepares the same, where that differs; `has_memory` compares the peak as well;
    `is_news` needs the real data.
    """

    what: str
    work: str
    prepare: str = ""
    earlier: str = ""
    times: int = 1
    has_memory: bool = False
    is_news: bool = False

    def program(self, home: str, *, is_earlier: bool) -> str:
        """The text that a process of one state runs; it prints CPU seconds and megabytes. Files go to `home`."""
        prepare = self.earlier if is_earlier and self.earlier else self.prepare
        text = PROGRAM.format(prepare=prepare, work=self.work, times=self.times, home=home)
        for pattern, was in WAS.items() if is_earlier else ():
            text = re.sub(pattern, was, text)
        return text


def command(*arguments: str) -> str:
    """The statement that runs Python in a process of its own."""
    words = ", ".join(arguments)
    return f"subprocess.run([sys.executable, {words}], check=True, stdout=subprocess.DEVNULL)"

"""The means of an answer: workers, a folder for unfinished work, a limit of CPU seconds, and fits that exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from oddshift.attackers.attacker import Attacker
from oddshift.audit.cpu_limit import CpuLimit
from oddshift.base.execution import SERIAL, Execution
from oddshift.base.progress import Progress, silent


@dataclass(frozen=True, kw_only=True)
class Means:
    """What an answer may cost and where unfinished work is kept; this never changes the question.

    `folder` keeps unfinished work, so that the same question continues. `limit` bounds the CPU seconds of an audit, by
    fewer documents. `fits` holds attackers by everything that determines their fit: those in it are not fitted again,
    and newly fitted ones are added.
    """

    execution: Execution = SERIAL
    folder: Path | None = None
    limit: CpuLimit | None = None
    progress: Progress = silent
    fits: dict[str, Attacker] = field(default_factory=dict, repr=False)

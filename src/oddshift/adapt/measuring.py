"""Measuring many scales: each once, spread over workers, and kept so that interrupted work continues."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from oddshift.adapt.adaptation import ScaledOutcome, Scales
from oddshift.adapt.experiment import Experiment, Reader
from oddshift.base.execution import SERIAL, Execution, run
from oddshift.base.identity import fingerprint
from oddshift.base.progress import Progress, silent
from oddshift.base.storage import load, save

DIGITS = 2
"""Scales are rounded to this many decimals, so that the same scales are not measured twice."""

MOST_NAMED = 20
"""Scales that are written into the name of a file, at most; more of them are named by a hash."""


@dataclass(frozen=True, eq=False, repr=False)
class Measuring:
    """Outcomes by scales, measured when they are first asked for; `folder` keeps them between runs.

    A kept outcome is read again only in the same experiment with the same attacker, named by its fingerprint.
    """

    experiment: Experiment
    read: Reader
    attacker: str = ""
    execution: Execution = SERIAL
    folder: Path | None = None
    progress: Progress = silent
    known: dict[Scales, ScaledOutcome] = field(default_factory=dict)

    def outcomes(self, wanted: Iterable[Scales], what: str = "measuring scales") -> list[ScaledOutcome]:
        """The outcomes of some scales, those not yet known measured in parallel."""
        rounded = [rounded_scales(scales) for scales in wanted]
        missing = [scales for scales in dict.fromkeys(rounded) if scales not in self.known and not self._read(scales)]
        size = max(1, self.execution.workers if self.execution.kind != "serial" else 1)
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            for outcome in run(self._measure, part, self.execution):
                self._keep(outcome)
            self.progress(what, min(start + size, len(missing)), len(missing))
        return [self.known[scales] for scales in rounded]

    def outcome(self, scales: Scales) -> ScaledOutcome:
        """The outcome of one choice of scales."""
        return self.outcomes([scales])[0]

    def _measure(self, scales: Scales) -> ScaledOutcome:
        return self.experiment.outcome(scales, self.read)

    def _file(self, scales: Scales) -> Path | None:
        name = "-".join(f"{scale:.{DIGITS}f}" for scale in scales)
        if len(scales) > MOST_NAMED:  # the name of a file may not be that long
            name = fingerprint(scales)[:32]
        return None if self.folder is None else self.folder / f"outcome-{self._key}-{name}.json"

    @cached_property
    def _key(self) -> str:
        made = self.experiment
        return fingerprint((self.attacker, made.settings, made.known, made.records, made.uniforms))[:16]

    def _read(self, scales: Scales) -> bool:
        file = self._file(scales)
        if file is None or not file.is_file():
            return False
        self.known[scales] = load(file, ScaledOutcome)
        return True

    def _keep(self, outcome: ScaledOutcome) -> None:
        file = self._file(outcome.scales)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            save(file, outcome)
        self.known[outcome.scales] = outcome


def rounded_scales(scales: Iterable[float]) -> Scales:
    """Scales as they are measured and compared."""
    return tuple(round(float(scale), DIGITS) for scale in scales)

"""One attacker on the select and the certify split: a task that any worker can do, and whose result is kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.audit.scan import Budget, Scan, Scores, scan, scores
from oddshift.audit.settings import AuditSettings
from oddshift.base.arrays import FloatArray
from oddshift.base.identity import fingerprint
from oddshift.base.storage import load, save
from oddshift.model.records import Records
from oddshift.model.release import Release


def part_streams(seed: int) -> list[np.random.Generator]:
    """Where the noise of the select and of the certify documents of an audit comes from."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)]


def certify_uniforms(seed: int, certify: Records) -> FloatArray:
    """One uniform for each position of the certify documents, as an audit of the same seed draws them."""
    return part_streams(seed)[1].random(len(certify.points))


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """One attacker: its log scores on the select split, and its scan of the certify split."""

    select: Scores
    certify: Scan


@dataclass(frozen=True, eq=False, repr=False)
class AuditReleases:
    """What every attacker is run on: a release of the select records to choose by, one of the certify records."""

    select_release: Release
    select: Records
    certify_release: Release
    certify: Records
    budget: Budget
    settings: AuditSettings
    folder: Path | None

    def measure(self, task: tuple[int, Attacker], select: Scores | None = None) -> Measurement:
        """Run one attacker, or read the result that an interrupted audit kept.

        With `select` only the certify documents are read, and these scores stand for the others.
        """
        number, attacker = task
        kept = None if self.folder is None else self.folder / f"{number:02d}-{self._key(attacker)[:16]}.npz"
        if kept is not None and kept.exists():
            found: Measurement = load(kept, Measurement)
            return found
        made = Measurement(
            scores(attacker, self.select_release, self.select, self.budget) if select is None else select,
            scan(attacker, self.certify_release, self.certify, self.budget, self.stream(number)),
        )
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            save(kept, made)
        return made

    def stream(self, *key: int) -> np.random.Generator:
        """Random numbers of one task, the same in every worker."""
        return np.random.default_rng([self.settings.seed, 11, *key])

    @cached_property
    def _shared(self) -> str:
        """What every attacker is run on; a kept scan of anything else is not read."""
        read = (self.select_release, self.select, self.certify_release, self.certify)
        return fingerprint((*read, self.budget, self.settings))

    def _key(self, attacker: Attacker) -> str:
        return fingerprint((self._shared, attacker))

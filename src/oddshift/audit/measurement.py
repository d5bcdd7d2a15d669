"""One attacker on the select and the certify split: a task that any worker can do, and an interrupted audit keeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import OwnWithPrior
from oddshift.audit.audit_result import AuditSettings
from oddshift.audit.scan import Budget, Scan, log_scores, scan
from oddshift.base.arrays import FloatArray
from oddshift.base.identity import fingerprint
from oddshift.base.storage import load, save
from oddshift.model.records import Records
from oddshift.model.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class Look:
    """One attacker: its log scores on the select split, and its scan of the certify split.

    `given` are the log scores on both of the single release under its prior, None unless it reads W.
    """

    select: FloatArray
    scan: Scan
    given: tuple[FloatArray, FloatArray] | None


@dataclass(frozen=True, eq=False, repr=False)
class Setup:
    """What every attacker is run on: one release to choose by, one to certify on. A task for any worker."""

    chosen_by: Release
    select: Records
    release: Release
    certify: Records
    budget: Budget
    known: Knowledge
    settings: AuditSettings
    parts: Path | None

    def look(self, task: tuple[int, Attacker]) -> Look:
        """Run one attacker, or read what an interrupted audit kept of it."""
        number, attacker = task
        kept = None if self.parts is None else self.parts / f"{number:02d}-{self._key(attacker)[:16]}.npz"
        if kept is not None and kept.exists():
            found: Look = load(kept, Look)
            return found
        look = Look(
            log_scores(attacker, self.chosen_by, self.select, self.budget.tiers),
            scan(attacker, self.release, self.certify, self.budget, self.stream(number)),
            self._given(attacker) if attacker.with_context else None,
        )
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            save(kept, look)
        return look

    def _given(self, attacker: Attacker) -> tuple[FloatArray, FloatArray]:
        control, tiers = OwnWithPrior(self.known, attacker), self.budget.tiers
        return (
            log_scores(control, self.chosen_by, self.select, tiers),
            log_scores(control, self.release, self.certify, tiers),
        )

    def stream(self, *key: int) -> np.random.Generator:
        """Random numbers of one task, the same whoever runs it."""
        return np.random.default_rng([self.settings.seed, 11, *key])

    @cached_property
    def _shared(self) -> str:
        """What every attacker is run on; a kept scan of anything else is not read."""
        read = (self.chosen_by, self.select, self.release, self.certify)
        return fingerprint((*read, self.budget.tiers, self.budget.epsilon, self.known, self.settings))

    def _key(self, attacker: Attacker) -> str:
        return fingerprint((self._shared, attacker))

"""An audit of a corpus, measured on the way: attackers fitted one after another, their gains, and the cost of a stage.

Tiers come from the shared NER (PII) and from similarity (PoII); vocabulary and tiers are built from the fit documents
only. The joint gain of an attacker that reads W leaves out what W alone tells.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from oddshift.app.attacker_choice import fit_attackers
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.report.wording import worst_in_words
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.completeness import IMPOSSIBLE, completeness
from oddshift.attackers.learning_size import Refittable
from oddshift.audit import AttackerResult, Audit, AuditSettings, audit
from oddshift.evidence.certificates import AnyClaim
from oddshift.mechanisms import build_mechanism
from oddshift.model.records import Split
from oddshift.model.release import perturb
from studies.ag_news import ag_news
from studies.tables import table

EPOCHS = 6

ASKED = """\
[audit]
delta = 0.05
epochs = {epochs}
attackers = {attackers}
"""


@dataclass
class Clock:
    """Wall and CPU seconds of each stage, in order."""

    rows: list[tuple[str, float, float]] = field(default_factory=list)
    _last: tuple[float, float] = field(default_factory=lambda: (time.time(), time.process_time()))

    def tick(self, stage: str) -> None:
        """The stage that ends now."""
        now = (time.time(), time.process_time())
        self.rows.append((stage, now[0] - self._last[0], now[1] - self._last[1]))
        self._last = now

    @property
    def page(self) -> str:
        """A table, its last row the sum, and the peak of memory."""
        total = ("all", sum(row[1] for row in self.rows), sum(row[2] for row in self.rows))
        rows = [[name, f"{wall:.0f}", f"{cpu:.0f}"] for name, wall, cpu in (*self.rows, total)]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        return f"{table(['stage', 'elapsed s', 'CPU s'], rows)}\n\nPeak memory {peak:.1f} GB; entity spans were cached."


def audited(
    names: Sequence[str],
    clock: Clock,
    documents: int | None = None,
    folder: Path | None = None,
    configured: Callable[[str], str] = ag_news,
) -> Audit:
    """Load, fit each attacker, audit them all next to their controls, and fit them on fewer documents too.

    `documents` limits the select and the certify documents, drawn at random; `folder` keeps finished scans.
    """
    config = parse_config(configured(ASKED.format(attackers=list(names), epochs=EPOCHS)), "this study")
    loaded = prepare_configured(config)
    mechanism = build_mechanism(config.mechanism, loaded.split.fit.space, loaded.tiers, config.audit.epsilon)
    known = knowledge(mechanism, loaded.tiers, loaded.split.fit)
    clock.tick("reading, detecting, tiers")

    def fit(name: str, some: Knowledge) -> Attacker:
        return fit_attackers([name], some, loaded, config.audit, FitOptions(epochs=EPOCHS))[0]

    attackers = []
    for name in names:
        attackers.append(Refittable(fit(name, known), partial(fit, name)))
        clock.tick(f"fitting {name}")
    settings = AuditSettings(epsilon=2.5, delta=config.audit.delta)
    split = loaded.split if documents is None else _some(loaded.split, documents)
    found = audit(split, known, attackers, settings, detector=loaded.detector, folder=folder)
    clock.tick("auditing all of them, certificates, witness")
    release = perturb(split.select, mechanism, loaded.tiers, np.random.default_rng(1))
    test = completeness([each.attacker for each in attackers], known, release, split.select)
    clock.tick("the test of completeness, once more by itself")
    said = IMPOSSIBLE if test is None else test.sentence
    return replace(found, warnings=(said, *found.warnings, *loaded.notes))


def _some(split: Split, documents: int) -> Split:
    """All fit documents, and some of the others."""
    rng = np.random.default_rng(0)
    parts = (part.take(np.sort(rng.permutation(len(part))[:documents])) for part in (split.select, split.certify))
    select, certify = parts
    return replace(split, select=select, certify=certify)


def row(result: AttackerResult) -> list[str]:
    """One line of the table."""
    gain = f"{result.gain:+.3f} ± {1.96 * result.gain_error:.3f}"
    rates = [c for t in result.tiers for c in (f"{t.top1:.1%}", f"{t.anchored:.2%}", f"{t.uniform:.3%}")]
    joint = f"{result.joint_gain:+.3f} ± {1.96 * result.joint_gain_error:.3f}"
    return [result.name, "yes" if result.with_context else "no", f"{result.log_score:.3f}", gain, joint, *rates]


def _further(found: Audit) -> list[tuple[AnyClaim, str]]:
    """Claims that decide nothing, and their bounds; without a state, which would be read as a verdict."""
    rows = found.further_rates
    return [(made.claim, f"{made.mean:.4f} in [{made.lower:.4f}, {made.upper:.4f}]") for made in rows]


def page(found: Audit, clock: Clock) -> str:
    """The table, the certificates, the notes and the cost."""
    header = ["attacker", "reads W", "log score", "gain over own (95 %)", "joint gain (95 %)"]
    header += [f"{tier} {name}" for tier in found.tier_names for name in ("top-1", "anchored", "uniform")]
    curves = [
        f"- {r.name} learned: validation {', '.join(f'{v:.3f}' for v in r.curve.validation)}"
        for r in found.attackers
        if r.curve.train
    ]
    sure = found.calibration
    lines = [
        f"Documents: {found.documents}. One release alone: exact epsilon {found.exact_epsilon:.4f}.",
        table(header, [row(result) for result in found.attackers]),
        "Log scores and gains in nats, means over the certify documents; the interval is by document. The joint gain "
        "is over the single release under the attacker's own prior: given W, for one that reads W.",
        f"Verdict: {found.state_in_words}, by {', '.join(found.counted)}. The worst that an attacker finds: "
        f"{worst_in_words(found)}.",
        f"Strongest by log score on the select documents: {found.strongest}. Its calibration on "
        f"{sure.documents} documents: error {sure.calibration_error:.3f}, temperature {sure.temperature:.3f}.",
        clock.page,
        *curves,
        "What decides, of each claim (a tier, without W or given W) the attacker with the worst bound:",
        *(f"- {certificate.sentence}" for certificate in found.deciding_rates),
        f"For information, not part of the verdict, other pairs as {found.strongest} estimates them:",
        *(f"- {claim.tier}, {claim.pair_law} pairs: {bounds}" for claim, bounds in _further(found)),
        f"- {found.witness.sentence}" if found.witness else "",
        f"- Witness {found.witness_needs}." if found.witness_needs else "",
        *(f"- note: {note}" for note in found.warnings),
    ]
    return "\n\n".join(line for line in lines if line)

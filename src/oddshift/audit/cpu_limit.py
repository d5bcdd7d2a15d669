"""A bound on the work of an audit: fewer documents, drawn at random, and never a shortcut in what is computed from
them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import positive
from oddshift.model.records import Split
from oddshift.model.release import perturb

TRIAL = 16
"""Documents on which the cost of one document is measured."""

SHARE = 0.7
"""Share of the seconds given to the scans; the rest is for certificates and the witness."""


def within_cpu(
    split: Split, known: Knowledge, attackers: Sequence[Attacker], seconds: float, seed: int
) -> tuple[Split, str]:
    """The split with as many select and certify documents as the CPU seconds allow, and a line that says so.

    How many that is depends on the machine: an audit under a limit is not repeated bit for bit elsewhere.
    """
    rng = np.random.default_rng([seed, 5])
    some = split.certify.take(rng.permutation(len(split.certify))[:TRIAL])
    release = perturb(some, known.mechanism, known.tiers, rng)
    budget = Budget(known.mechanism, known.tiers, 1.0)
    start = time.process_time()
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *attackers)
    for attacker in everyone:
        scan(attacker, release, some, budget, rng)
    each = (time.process_time() - start) / len(some)
    affordable = SHARE * positive(seconds, "max_cpu") / max(each, 1e-9)
    wanted = len(split.select) + len(split.certify)
    if affordable >= wanted:
        return split, ""
    keep = affordable / wanted
    select, certify = (
        part.take(np.sort(rng.permutation(len(part))[: max(TRIAL, round(keep * len(part)))]))
        for part in (split.select, split.certify)
    )
    left = len(select) + len(certify)
    note = f"limited to {seconds:g} CPU s: {left} of {wanted} select and certify documents, drawn at random"
    return replace(split, select=select, certify=certify), note

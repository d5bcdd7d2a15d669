"""Attackers: each turns a release into beliefs about every secret; one file each, one line in the dictionary each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, knowledge

Fit = Callable[[Knowledge, np.random.Generator], Attacker]
"""From what is known beforehand to an attacker; its random numbers come from the generator."""


def _plugin(known: Knowledge, rng: np.random.Generator) -> Attacker:
    from oddshift.attackers.plugin import fit_plugin

    return fit_plugin(known, rng=rng)


def _topics(known: Knowledge, rng: np.random.Generator) -> Attacker:
    from oddshift.attackers.plugin import fit_plugin

    return fit_plugin(known, 8, rng=rng)


def _cooccurrence(known: Knowledge, rng: np.random.Generator) -> Attacker:
    from oddshift.attackers.cooccurrence import fit_cooccurrence

    return fit_cooccurrence(known)


ATTACKERS: dict[str, Fit] = {
    "plugin": _plugin,
    "topics": _topics,
    "cooccurrence": _cooccurrence,
}
"""Every attacker by the name a configuration uses; what is heavy is imported when it is fitted."""

__all__ = ["ATTACKERS", "Attacker", "Beliefs", "Fit", "Knowledge", "knowledge"]

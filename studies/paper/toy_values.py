"""The paper's toy of two correlated binary secrets: exact values, proven bounds, and what is learned from records.

Paper, section on joint observations: one release 0.944, two together 1.846, at a budget of 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.base.arrays import FloatArray
from oddshift.leakage.exact import exact_leakage, log_posterior
from oddshift.leakage.upper import METHODS, upper_bound
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.word_channels import Mask
from oddshift.model.prior import Joint
from oddshift.model.records import Records
from oddshift.model.release import Release, one_tier
from oddshift.model.space import Space
from studies.paper.paper_numbers import paper_text

PAIRS = (100, 300, 1_000, 3_000, 10_000)
"""Numbers of training pairs of the learned attacker."""


def toy_prior() -> Joint:
    """The joint law of the two secrets, as printed."""
    return Joint(paper_text("toy")["prior"])


def toy_channel() -> FloatArray:
    """log Pr[y | x] of each release, as printed."""
    return np.log(np.asarray(paper_text("toy")["channel"], dtype=np.float64))


def exact_values() -> dict[str, Any]:
    """Single and joint leakage, how often the budget is exceeded, every proven bound, and masking the target."""
    prior, channel, space = toy_prior(), toy_channel(), Space([[0.0], [1.0]])
    budget = float(paper_text("toy")["epsilon"])
    found = exact_leakage(prior, [channel, channel], space.distances)
    masked = exact_leakage(prior, [Mask(space).log_matrix, channel], space.distances)
    belief = np.exp(log_posterior(prior, [channel, channel], (0, 1))[0])
    return {
        "budget": budget,
        "single": found.single,
        "joint": found.joint,
        "rate": found.rate(budget),
        "belief_before": float(prior.marginals[0][0]),
        "belief_after": float(belief[0]),
        "upper": {
            method: upper_bound(prior, [channel, channel], space.distances, method=method)
            for method in METHODS
            if method != "hmm"
        },
        "masked_target": masked.joint,
    }


def learned_values(seed: int) -> dict[str, Any]:
    """mPL at y = (y1, y2) by counts of training pairs, its mean error over releases, and the proposition's bound."""
    rows = []
    for pairs in PAIRS:
        estimated = learned_shifts(pairs, seed)
        rows.append({"pairs": pairs, "joint": float(abs(estimated[0, 1])), **faithfulness(estimated)})
    return {"rows": rows}


def learned_shifts(pairs: int, seed: int) -> FloatArray:
    """Estimated ln of the odds of the first secret for each pair of outputs, (2, 2), after that many training pairs."""
    space, table = Space([[0.0], [1.0]]), toy_prior().table
    cells = np.random.default_rng([seed, pairs]).choice(4, size=pairs, p=np.asarray(table).ravel())
    fit = Records.from_documents(space, list(np.stack([cells // 2, cells % 2], axis=1)))
    known = knowledge(Channel(space, toy_channel()), one_tier(space), fit)
    attacker = fit_plugin(known)
    outputs = np.array([0, 0, 0, 1, 1, 0, 1, 1])
    release = Release(outputs=outputs, offsets=np.arange(0, 9, 2), position_tiers=np.zeros(8, int), context=None)
    shift = np.empty((8, 2))
    for block in attacker.beliefs(release):
        shift[block.positions] = block.shift
    return np.asarray((shift[::2, 0] - shift[::2, 1]).reshape(2, 2))


def faithfulness(estimated: FloatArray) -> dict[str, float]:
    """E|mPL − estimate|, E KL(p‖q), and the right side 2√2/(γ·d)·√(E KL) of the faithfulness proposition; d = 1."""
    channel = np.exp(toy_channel())
    law = np.einsum("ab,ay,bz->ayz", np.asarray(toy_prior().table), channel, channel)  # Pr[x1, y1, y2]
    seen = law.sum(axis=0)
    true = law[0] / seen
    odds = np.log(true / (1 - true))
    learned = 1 / (1 + np.exp(-estimated))  # both priors are even
    divergence = true * np.log(true / learned) + (1 - true) * np.log((1 - true) / (1 - learned))
    gamma = float(min(np.minimum(p, 1 - p).min() for p in (true, learned)))
    kl = float((seen * divergence).sum())
    return {
        "mean_error": float((seen * np.abs(np.abs(odds) - np.abs(estimated))).sum()),
        "mean_kl": kl,
        "bound": float(2 * np.sqrt(2) / gamma * np.sqrt(max(kl, 0.0))),
    }

"""Importance weights against plain draws: where outputs are common both must say the same.

The weights of rare outputs rest on the caller's word; those of common ones can be seen to be wrong.
"""

from __future__ import annotations

import math

import numpy as np

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting_lower, betting_upper, clopper_pearson_lower, clopper_pearson_upper
from oddshift.evidence.witness.importance import WeightedDraws
from oddshift.evidence.witness.mdp_events import Drawn

REFUSING = 1e-6
"""Level of a check: right weights are refused with at most this probability."""

_COMMON = 4  # outputs that are compared, the most common ones of the plain draws


def check_weights(drawn: Drawn, weighted: WeightedDraws) -> None:
    """Refuse weights that give an output another probability than plain draws from the same point do.

    Half of the draws choose the most common outputs and a clip, the other half compares them; nothing is said about
    outputs that plain draws do not see. Weights whose mean exceeds 1 are refused too.

    **Guarantee**: right weights are refused with probability at most REFUSING. Wrong ones may stay unseen.

    >>> outputs = np.arange(1000) % 2
    >>> check_weights(outputs, WeightedDraws(outputs, np.zeros(1000), np.zeros(1000)))
    >>> check_weights(outputs, WeightedDraws(outputs, np.full(1000, -2.0), np.zeros(1000)))
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: the importance weights give an output a probability of at most 0.1..., plain ...
    """
    half = len(drawn) // 2
    values, counts = np.unique(drawn[:half], return_counts=True)
    common = values[np.argsort(-counts, kind="stable")[:_COMMON]]
    level = REFUSING / (4 * len(common) + 1)
    total, _ = _probability(weighted, np.ones(len(weighted.outputs), dtype=bool), level)
    if total > 1.0:
        raise InvalidInput(f"the importance weights have a mean of at least {total:.4g}, expected 1")
    for value in common:
        hits, n = int((drawn[half:] == value).sum()), len(drawn) - half
        low, high = _probability(weighted, weighted.outputs == value, level)
        plain_low, plain_high = clopper_pearson_lower(hits, n, level), clopper_pearson_upper(hits, n, level)
        if low > plain_high:
            _refuse(f"at least {low:.4g}", f"at most {plain_high:.4g}")
        if high < plain_low:
            _refuse(f"at most {high:.4g}", f"at least {plain_low:.4g}")


def _probability(weighted: WeightedDraws, inside: BoolArray, level: float) -> tuple[float, float]:
    """A lower and an upper bound on the probability of an output, by its weights; (0, 1) where it was not drawn."""
    half = len(inside) // 2
    if not inside[:half].any():
        return 0.0, 1.0
    clip, most = float(weighted.log_weights[:half][inside[:half]].max()), float(weighted.log_most[inside].max())
    shares = [
        np.where(inside, np.exp(np.minimum(weighted.log_weights - scale, 0.0)), 0.0)[half:] for scale in (clip, most)
    ]
    return math.exp(clip) * betting_lower(shares[0], level), math.exp(most) * betting_upper(shares[1], level)


def _refuse(found: str, plain: str) -> None:
    raise InvalidInput(
        f"the importance weights give an output a probability of {found}, plain draws {plain}, expected the same"
    )

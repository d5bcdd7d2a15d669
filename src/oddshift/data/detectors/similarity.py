"""PoII by similarity: words that are not PII themselves but lie close to PII words.

The paper's second tier (after Hassan et al. 2023): the top q % of the remaining vocabulary by cosine similarity.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks, one_of
from oddshift.base.errors import InvalidInput

VARIANTS = ("max", "mean")
"""How similarities to many PII words become one score: the closest one, or the average."""


def similarity_to(
    vectors: npt.NDArray[np.float32] | FloatArray, chosen: BoolArray, variant: str = "max"
) -> npt.NDArray[np.float32]:
    """Return the cosine similarity of every vector (n, k) to the chosen ones: the largest, or the mean.

    >>> similarity_to(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]), np.array([True, False, False])).round(3)
    array([1.   , 0.   , 0.707], dtype=float32)
    """
    one_of(variant, "variant", VARIANTS)
    if not chosen.any():
        raise InvalidInput("no PII word has a vector, expected at least one to compare with")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = (vectors / np.where(norms > 0, norms, 1.0)).astype(np.float32)
    targets = unit[chosen]
    if variant == "mean":  # the mean of cosines is the cosine with the mean direction, unnormalised
        return np.asarray(unit @ targets.mean(axis=0), dtype=np.float32)
    score = np.empty(len(unit), dtype=np.float32)
    for part in blocks(len(unit), len(targets)):
        score[part] = (unit[part] @ targets.T).max(axis=1)
    return score


def closest(score: npt.NDArray[np.float32], eligible: BoolArray, remaining: int, percent: float = 10.0) -> IntArray:
    """Return the eligible rows of highest score, `percent` of the `remaining` vocabulary; ties are broken by row."""
    if not 0 < percent <= 100:
        raise InvalidInput(f"percent={percent}, expected 0 < percent <= 100")
    rows = np.flatnonzero(eligible)
    wanted = min(len(rows), round(percent / 100.0 * remaining))
    best = np.argsort(-score[rows], kind="stable")[:wanted]
    return np.sort(rows[best]).astype(np.int64)

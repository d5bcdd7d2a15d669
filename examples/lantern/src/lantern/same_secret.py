"""An attacker who believes that a document repeats one secret."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge
from oddshift.base.identity import content
from oddshift.model.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class SameSecret:
    """Believes that all positions of a document hold one secret: shift(x) = Σ_t ln M(y_t | x)."""

    known: Knowledge
    name: str = "same-secret"
    with_context: bool = False

    fingerprint = cached_property(content)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """One block for each document."""
        for start, end in zip(release.offsets[:-1], release.offsets[1:], strict=True):
            positions = np.arange(start, end)
            columns = self.known.mechanism.log_columns(release.outputs[positions])
            shift = np.tile(columns.sum(axis=0), (len(positions), 1))
            yield Beliefs(positions, shift, self.known.log_prior)

    def against(self, known: Knowledge) -> "SameSecret":
        """The same attacker of other noise: an adaptation asks at all the scales that it tries."""
        return SameSecret(known)


def fit_same_secret(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
    """There is nothing to learn; an attacker that trains keeps within the options."""
    return SameSecret(known)

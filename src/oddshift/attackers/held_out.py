"""Held-out secrets: fit records that were left out of an estimate and now weigh what it says, perturbed like any other.

What they tell must hold for a release. A vocabulary made from the fit records has no point that they never hold, so no
release has one; among held-out secrets, however, some occur nowhere else, and on those every count is silent.
"""

from __future__ import annotations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.model.records import Records
from oddshift.model.release import Release, perturb

FIT_POSITIONS = 6_000
"""Largest number of positions on which weights are fitted."""

FIT_ENTRIES = 12_000_000
"""Entries (positions x points) of a term that is held over all points, for fewer positions."""

NOISES = 4
"""Largest number of releases of each held-out document for fitting weights: fresh noise makes up for few ones."""


def foreseeable(known: Knowledge, held_out: Records) -> BoolArray:
    """Whether a held-out secret with this point counts, for every point: those that the other records hold.

    All count where some candidate is in no record at all, because then a release may hold such a one too.
    """
    seen = known.fit.counts() > 0
    is_from_records = bool((seen | (held_out.counts() > 0))[known.tiers.sensitive].all())
    return seen if is_from_records else np.ones_like(seen)


def positions_over_all_points(points: int) -> int:
    """How many positions weights are fitted on where terms are held over all points."""
    return min(FIT_POSITIONS, FIT_ENTRIES // points)


def held_out_release(
    known: Knowledge, held_out: Records, size: int, rng: np.random.Generator
) -> tuple[Records, Release]:
    """Held-out documents, about `size` positions of them and few ones several times, and their release."""
    useful = np.flatnonzero(held_out.lengths > 0)
    if not len(useful):
        raise InvalidInput("held-out documents hold no secret, expected at least one")
    noises = min(NOISES, max(1, size // int(held_out.lengths.sum())))
    order = np.concatenate([rng.permutation(useful) for _ in range(noises)])
    documents = order[: max(1, int(np.searchsorted(np.cumsum(held_out.lengths[order]), size, side="right")))]
    chosen = held_out.take(np.sort(documents))
    return chosen, perturb(chosen, known.mechanism, known.tiers, rng)

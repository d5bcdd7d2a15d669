"""A third party's mechanism, known only by its samples: does it keep the ε that it claims?

ε-mDP says Pr[M(a) ∈ E] ≤ e^{ε·d(a,b)} Pr[M(b) ∈ E] for every pair and event; one pair and one event that break it are
enough, and every choice is frozen on draws that are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, floats, generator, positive, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness.games import Witness, witness_of
from oddshift.evidence.witness.mdp_events import (
    CandidatePair,
    Drawn,
    PairEvent,
    PairTerms,
    candidate_pairs,
    channel_event,
    drawn_events,
)
from oddshift.model.space import Space, space_of

Sample = Callable[[IntArray, np.random.Generator], npt.ArrayLike]
"""Point numbers (n,) and a generator → n outputs: numbers, words, or vectors (n, k)."""

GRAIN = 1e-9
"""Step in which float outputs are compared, as a share of the distance of a pair."""

COUNTED = 3
"""Number of events that are counted on fresh draws, each at its share of the level."""

ACCUSING = 1e-4
"""Level at which a search says that a mechanism is broken; its bound has the level alpha, which is larger. Among two
hundred searches of correct mechanisms one accuses with probability at most 2 %."""

_BLOCK = 100_000  # draws requested from the sampler at once


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How much is drawn: `explore` from each end of `pairs` pairs to choose, `confirm` from each end to count."""

    alpha: float = 0.05
    explore: int = 2_000
    confirm: int = 50_000
    pairs: int = 48

    def __post_init__(self) -> None:
        """Refuse levels and sizes that cannot show anything."""
        unit_open(self.alpha, "alpha")
        whole(self.explore, "explore", 50), whole(self.confirm, "confirm", 50), whole(self.pairs, "pairs", 1)


def witness_mdp(  # noqa: PLR0913 (a public name, whose options are all asked for by name)
    sample: Sample,
    space: Space,
    epsilon: float,
    *,
    alpha: float = 0.05,
    explore: int = 2_000,
    confirm: int = 50_000,
    pairs: int = 48,
    log_matrix: npt.ArrayLike | None = None,
    hints: Sequence[tuple[int, int]] = (),
    rng: np.random.Generator,
) -> Witness:
    """Find and certify an ε-mDP violation of a mechanism given only by `sample`, or say undecided.

    `explore` draws from each end of up to `pairs` pairs choose three events; `confirm` fresh draws from each end count
    them, each at level alpha / 3; a violation is `shown` where the bound at level ACCUSING / 3 exceeds ε too. Pairs in
    `hints` are searched first, then the nearest ones. Outputs may be numbers or words (counted as they are) or float
    vectors, which are compared in steps of 1e-9 of the distance: the last bits are examined by `witness_bits`. With the
    channel's `log_matrix` (points, outputs; outputs are then whole numbers) pairs and events are searched exactly and
    nothing is drawn to explore; rare outputs are then not missed by the search, but they still have to occur among the
    counted draws. `true_epsilon` finds what no draw can show.

    **Guarantee**: the returned lower bound on the true ε is too high with probability at most `alpha`, and a correct
    mechanism is accused with probability at most ACCUSING, for any sampler with independent draws. Undecided says
    nothing: no violation was found with these draws.

    >>> space = Space([[0.0], [1.0], [2.0]])
    >>> flips = lambda x, rng: np.where(rng.random(len(x)) < 0.97, x, rng.integers(0, 3, len(x)))
    >>> w = witness_mdp(flips, space, epsilon=1.0, explore=500, confirm=5000, rng=np.random.default_rng(0))
    >>> w.shown, bool(w.lower_bound < np.log(0.98 / 0.01))
    (True, True)
    """
    settings = SearchSettings(alpha=alpha, explore=explore, confirm=confirm, pairs=pairs)
    rows = None if log_matrix is None else floats(log_matrix, "log_matrix", 2)
    if rows is not None and len(rows) != len(space_of(space)):
        raise InvalidInput(f"log_matrix has {len(rows)} rows, expected {len(space)}, one for each point")
    search = _Search(sample, space, positive(epsilon, "epsilon"), settings, GRAIN, rows)
    return _searched(search, hints, generator(rng))


def witness_bits(
    sample: Sample,
    space: Space,
    epsilon: float,
    *,
    alpha: float = 0.05,
    explore: int = 2_000,
    confirm: int = 50_000,
    pairs: int = 48,
    rng: np.random.Generator,
) -> Witness:
    """Do as `witness_mdp` with floats compared by every bit: most samplers leak through the last bits.

    **Guarantee**: that of `witness_mdp`. A violation found here and not there is one of floating point: publish
    rounded outputs.
    """
    settings = SearchSettings(alpha=alpha, explore=explore, confirm=confirm, pairs=pairs)
    search = _Search(sample, space, positive(epsilon, "epsilon"), settings, 0.0, None)
    return _searched(search, (), generator(rng))


@dataclass(frozen=True, eq=False)
class _Search:
    """What is searched, and how."""

    sample: Sample
    space: Space
    epsilon: float
    settings: SearchSettings
    grain: float
    rows: FloatArray | None


def _searched(search: _Search, hints: Sequence[tuple[int, int]], rng: np.random.Generator) -> Witness:
    space = search.space
    if len(space_of(space)) < 2:
        raise InvalidInput(f"a space of {len(space)} point, expected at least 2")
    terms = PairTerms(search.epsilon, search.settings.pairs, search.settings.confirm, search.rows)
    tried = [
        CandidatePair(a, b, distance, search.grain * distance)
        for (a, b), distance in candidate_pairs(space, hints, terms, rng).items()
    ]
    found = [event for pair in tried for event in _explored(search, pair, rng)]
    best = sorted((event for event in found if event.promise > -np.inf), key=lambda event: -event.promise)[:COUNTED]
    if not best:
        raise InvalidInput("the sampler gave no event worth counting, expected outputs that vary or repeat")
    results = [_confirm(search, event, len(best), rng) for event in best]
    return max(results, key=lambda witness: (witness.shown, witness.lower_bound))


def _explored(search: _Search, pair: CandidatePair, rng: np.random.Generator) -> Sequence[PairEvent]:
    confirm, explore = search.settings.confirm, search.settings.explore
    if search.rows is not None:
        rows = search.rows[pair.a], search.rows[pair.b]
        return [channel_event(pair, rows, confirm), channel_event(pair.turned, rows[::-1], confirm)]
    arms = _draw(search.sample, pair.a, explore, rng), _draw(search.sample, pair.b, explore, rng)
    return [
        *drawn_events(pair, arms, search.space, confirm),
        *drawn_events(pair.turned, arms[::-1], search.space, confirm),
    ]


def _confirm(search: _Search, event: PairEvent, tried: int, rng: np.random.Generator) -> Witness:
    found = witness_of(
        "two_arm",
        _counted(search, event, rng),
        (event.pair.distance,),
        alpha=search.settings.alpha,
        epsilon=search.epsilon,
        tried=tried,
        event=event.text,
    )
    return replace(found, accusing=min(ACCUSING, search.settings.alpha))


def _counted(search: _Search, event: PairEvent, rng: np.random.Generator) -> tuple[int, ...]:
    confirm, hits = search.settings.confirm, [0, 0]
    for side, point in enumerate((event.pair.a, event.pair.b)):
        for n in (min(_BLOCK, confirm - done) for done in range(0, confirm, _BLOCK)):
            hits[side] += event.hits(_draw(search.sample, point, n, rng), search.space)
    return hits[0], confirm, hits[1], confirm


def _draw(sample: Sample, point: int, n: int, rng: np.random.Generator) -> Drawn:
    drawn = np.asarray(sample(np.full(n, point, dtype=np.int64), rng))
    if drawn.shape[:1] != (n,):
        raise InvalidInput(f"the sampler gave outputs of shape {drawn.shape} for {n} points, expected one for each")
    if drawn.dtype.kind == "f" and drawn.ndim == 1:
        return np.asarray(drawn[:, None])
    return drawn if drawn.ndim == 1 or drawn.dtype.kind == "f" else np.array([str(row.tolist()) for row in drawn])

"""Tiers: a function from points to sensitivity levels, with the noise scale of each level.

The paper's two-level perturbation (PII and PoII) for any number of tiers. A tier belongs to the point (the
word type), never to an occurrence. Whether the attacker knows each secret's tier is a required statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, axes, float_of, frozen, listed
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.base.identity import content

NOT_SENSITIVE = -1
"""Label of a point that is in no tier: it may be an output, never a secret."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Tiers:
    """Labels of points (−1 for none), tier names from most to least sensitive, and one scale for each.

    A mechanism spends scale·ε in a tier, so scales lie above 0 and do not decrease from the most sensitive
    tier to the least. `is_public` says whether the attacker is told the tier of each released position. `levels` says
    which tiers are equally sensitive (people, firms and places, say) and therefore share one scale; without it every
    tier is a level of its own.

    >>> Tiers([0, 0, 1], names=("PII", "PoII"), scales=(0.4, 0.9), is_public=False).scale_of_points
    array([0.4, 0.4, 0.9])
    """

    labels: IntArray
    names: tuple[str, ...]
    scales: tuple[float, ...]
    is_public: bool
    levels: tuple[int, ...]

    def __init__(
        self,
        labels: npt.ArrayLike,
        *,
        names: Sequence[str],
        scales: Sequence[float],
        is_public: bool,
        levels: Sequence[int] | None = None,
        ordered: bool = True,
    ) -> None:
        """Check labels against names, and the order of the scales; `ordered=False` is for comparisons only."""
        axes(labels, "labels")
        array = np.asarray(labels)
        names, scales = listed(names, "names"), listed(scales, "scales")
        if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
            raise InvalidInput(f"labels has shape {array.shape} and dtype {array.dtype}, expected 1 axis of integers")
        if array.min() < NOT_SENSITIVE or array.max() >= len(names):
            raise InvalidInput(f"labels span [{array.min()}, {array.max()}], expected [-1, {len(names)})")
        if len(scales) != len(names) or len(set(names)) != len(names):
            raise InvalidInput(f"{len(names)} names and {len(scales)} scales, expected as many, names distinct")
        _check_scales(scales, ordered)
        levels = tuple(range(len(names))) if levels is None else _check_levels(levels, scales)
        if not isinstance(is_public, bool | np.bool_):
            raise InvalidInput(f"{is_public=}, expected True or False")
        object.__setattr__(self, "labels", array.astype(np.int64))
        self.labels.setflags(write=False)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "scales", tuple(float(s) for s in scales))
        object.__setattr__(self, "is_public", bool(is_public))
        object.__setattr__(self, "levels", levels)

    def __len__(self) -> int:
        """Number of tiers."""
        return len(self.names)

    def __repr__(self) -> str:
        """Names, sizes and scales; never which point is where."""
        sizes = [int((self.labels == t).sum()) for t in range(len(self))]
        known = "public" if self.is_public else "secret"
        parts = ", ".join(f"{n}: {k} x{s:g}" for n, k, s in zip(self.names, sizes, self.scales, strict=True))
        return f"Tiers({parts}; {known})"

    @cached_property
    def fingerprint(self) -> str:
        """Labels, names, scales and whether they are public; levels only say which scales may be tried."""
        return content(self, without=("levels",))

    @property
    def scale_of_points(self) -> FloatArray:
        """The scale of every point; points in no tier take the largest."""
        scales = np.array([*self.scales, max(self.scales)])  # label −1 reads the last entry
        return frozen(scales[self.labels])

    @property
    def sensitive(self) -> BoolArray:
        """Which points are in some tier."""
        return self.labels != NOT_SENSITIVE

    def comparable(self, left: IntArray, right: IntArray) -> BoolArray:
        """Which pairs of points the attacker must not tell apart: all, or those of one tier when it is public."""
        if not self.is_public:
            return np.ones((len(left), len(right)), dtype=np.bool_)
        return self.labels[left][:, None] == self.labels[right][None, :]

    def with_scales(self, scales: Sequence[float], *, ordered: bool = True) -> Tiers:
        """The same tiers under other scales; unordered ones are for comparisons, never for a release."""
        return Tiers(
            self.labels,
            names=self.names,
            scales=scales,
            is_public=self.is_public,
            levels=self.levels,
            ordered=ordered,
        )

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return max(self.levels) + 1

    def scales_of_levels(self, scales: Sequence[float]) -> tuple[float, ...]:
        """The scale of every tier from one scale for each level."""
        if len(scales) != self.n_levels:
            raise InvalidInput(f"{len(scales)} scales, expected {self.n_levels}, one for each level")
        return tuple(float(scales[level]) for level in self.levels)


def tiers_of(value: object) -> Tiers:
    """The argument when it is Tiers; otherwise a refusal."""
    if not isinstance(value, Tiers):
        raise InvalidInput(f"tiers is {a_kind(value)}, expected Tiers")
    return value


def _check_levels(levels: Sequence[int], scales: Sequence[float]) -> tuple[int, ...]:
    found = tuple(int(level) for level in listed(levels, "levels"))
    if len(found) != len(scales) or found[0] != 0 or any(b - a not in {0, 1} for a, b in pairwise(found)):
        raise InvalidInput(
            f"levels={found}, expected one for each of {len(scales)} tiers, from 0 on in steps of 0 or 1"
        )
    if any(a == b and s != t for (a, s), (b, t) in pairwise(zip(found, scales, strict=True))):
        raise InvalidInput(
            f"scales={tuple(scales)} differ within a level, expected one scale for each level of {found}"
        )
    return found


def _check_scales(scales: Sequence[float], ordered: bool) -> None:
    if not scales or any(not 0 < float_of(s, "a scale") < np.inf for s in scales):
        raise InvalidInput(f"scales={tuple(scales)}, expected finite numbers > 0")
    if ordered and any(a > b for a, b in pairwise(scales)):
        raise InvalidInput(f"scales={tuple(scales)}, expected no decrease from the most sensitive tier on")

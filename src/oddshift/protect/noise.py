"""Noise for production: uniforms from the operating system, and rows of the mechanism that are built once and kept.

A release needs randomness that nobody can repeat, so uniforms come from `os.urandom`, 53 bits each, a fresh one for
every position. `seeded_uniforms` is for experiments.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b
from threading import Lock

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.mechanisms.mechanism import Mechanism, inverted
from oddshift.mechanisms.remap import Remap

Uniforms = Callable[[int], FloatArray]
"""A function that takes a number and returns that many uniforms in [0, 1)."""

_KEY_UNIFORMS = 8  # 53 random bits each

ROW_BYTES = 1_000_000_000
"""Memory for rows that are kept between calls; a performance setting that never changes what is released."""


def os_uniforms(count: int) -> FloatArray:
    """Draw uniforms on the multiples of 2⁻⁵³ in [0, 1) from the operating system's entropy.

    **Guarantee**: unpredictable as `os.urandom` is; the resolution is that of `Mechanism.resolution`.

    >>> bool((os_uniforms(1000) < 1.0).all())
    True
    """
    words = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def seeded_uniforms(seed: int) -> Uniforms:
    """Draw uniforms from a seed: for experiments, never for a release."""
    return np.random.default_rng(seed).random


class Draws:
    """Outputs for points, from rows that are built when a point first occurs and kept as long as memory allows.

    Points beyond `row_bytes` are drawn by the mechanism itself, which builds their rows again for every call.
    """

    def __init__(self, mechanism: Mechanism, uniforms: Uniforms, row_bytes: int = ROW_BYTES, key: bytes = b"") -> None:
        """The mechanism, where uniforms come from, how much memory rows may take, and the key where it is shared."""
        self._inner = mechanism.inner if isinstance(mechanism, Remap) else mechanism
        self._destination = mechanism.destination if isinstance(mechanism, Remap) else None
        self._uniforms = uniforms
        self._room = min(len(mechanism.space), row_bytes // (8 * self._inner.n_outputs))
        self._row = np.full(len(mechanism.space), -1, dtype=np.int64)
        self._rows = np.empty((self._room, self._inner.n_outputs))  # pages are taken when they are written
        self._filled = 0
        self._lock = Lock()
        self._key = key

    def __call__(self, points: IntArray, z: FloatArray | None = None) -> IntArray:
        """One output for each point, each with a uniform of its own unless `z` gives them; threads may call it."""
        with self._lock:  # rows that are filled never change, so drawing from them needs no lock
            z = self._uniforms(len(points)) if z is None else z
            row = self._row[points]
            if row.min(initial=0) < 0:
                self._fill(np.unique(points[row < 0]))
                row = self._row[points]
        outputs = np.empty(len(points), dtype=np.int64)
        kept = np.flatnonzero(row >= 0)
        outputs[kept] = inverted(self._rows, row[kept], z[kept])
        rest = np.flatnonzero(row < 0)
        if len(rest):
            outputs[rest] = self._inner.invert(points[rest], z[rest])
        return outputs if self._destination is None else self._destination[outputs]

    def few(self, points: list[int]) -> list[int]:
        """The same for a few points, without arrays; uniforms are used in the same order."""
        with self._lock:
            z = self._uniforms(len(points))
            rows = self._row[points].tolist() if points else []
        if min(rows, default=0) < 0:
            return self(np.array(points, dtype=np.int64), z).tolist()
        found = [int(self._rows[row].searchsorted(u, "right")) for row, u in zip(rows, z, strict=True)]
        return found if self._destination is None else self._destination[found].tolist()

    def key(self) -> bytes:
        """A key of 64 bytes that is drawn when it is first needed, and kept as long as this object lives."""
        with self._lock:
            self._key = self._key or blake2b(self._uniforms(_KEY_UNIFORMS).tobytes()).digest()
        return self._key

    def _fill(self, points: IntArray) -> None:
        """Rows for new points, as many as fit."""
        new = points[: self._room - self._filled]
        for part in blocks(len(new), self._inner.n_outputs):
            few = new[part]
            self._rows[self._filled : self._filled + len(few)] = self._inner.sampler(few).cumulative
            self._row[few] = np.arange(self._filled, self._filled + len(few))
            self._filled += len(few)

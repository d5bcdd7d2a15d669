"""Noise for production: uniforms from the operating system, and rows of the mechanism that are built once and kept.

A release needs randomness that nobody can repeat, so uniforms come from `os.urandom`, 53 bits each, a fresh one for
every position. `seeded_uniforms` is for experiments.

Repeated draws: within what is read together a secret is drawn once, and its other occurrences repeat the output.

What is read together is a sentence, a document, a trip, everything of a user, or the rows of a group in the columns
that belong to it. The texts of a user may be anywhere in a file, so the uniform of (user, secret) is a keyed hash of
the two: no table of users is needed. The key comes from the operating system, is new for every release, and is never
written anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.data.codecs import Codec, Encoded
from oddshift.mechanisms.mechanism import Mechanism, inverted
from oddshift.mechanisms.remap import Remap
from oddshift.model.records import Records
from oddshift.model.release import draw_once

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


def keyed_uniforms(key: bytes, units: Sequence[bytes], points: IntArray) -> FloatArray:
    """The uniform of each pair (unit, point): 53 bits of BLAKE2b under the key.

    **Guarantee**: pairs that differ get uniforms that look independent to anyone without the key; equal
    pairs get equal ones.

    >>> z = keyed_uniforms(b"key", [b"ann", b"bob", b"ann"], np.array([3, 3, 3]))
    >>> bool(z[0] == z[2] != z[1])
    True
    """
    words = b"".join(
        blake2b(int(point).to_bytes(8, "little") + unit, digest_size=8, key=key).digest()
        for unit, point in zip(units, points.tolist(), strict=True)
    )
    return (np.frombuffer(words, dtype="<u8") >> np.uint64(11)).astype(np.float64) * 2.0**-53


def outputs_once(encoded: Encoded, joint_by: str, draws: Draws) -> IntArray:
    """An output for each secret, the same for equal secrets within what is read together."""
    records = encoded.records
    units = encoded.units(joint_by)
    if units:
        return _by_unit(records, units, draws)
    by = "sentence" if joint_by == "sentence" and records.context is not None else "document"
    once = draw_once(records.joined(by))
    return draws(once.records.points)[once.position]


def outputs_of_groups(encoded: Encoded, codec: Codec, draws: Draws) -> IntArray:
    """An output for each cell; rows of a group that agree in a column of the group share a draw, wherever they are."""
    records, drawn_once = encoded.records, codec.drawn_once
    once = np.zeros(len(records.points), dtype=np.bool_) if drawn_once is None else drawn_once[records.points]
    found = draws(records.points)
    names = [encoded.groups[document] for document in records.document_of_position[once].tolist()]
    found[once] = draws(records.points[once], keyed_uniforms(draws.key(), names, records.points[once]))
    return found


def _by_unit(records: Records, units: Sequence[bytes], draws: Draws) -> IntArray:
    """An output for each secret; `units` has a name for each document, and equal names share draws."""
    who = [units[document] for document in records.document_of_position.tolist()]
    return draws(records.points, keyed_uniforms(draws.key(), who, records.points))

"""Repeated draws: within what is read together a secret is drawn once, and its other occurrences repeat the output.

What is read together is a sentence, a document, a trip, everything of a user, or the rows of a group in the columns
that belong to it. The texts of a user may be anywhere in a file, so the uniform of (user, secret) is a keyed hash of
the two: no table of users is needed. The key comes from the operating system, is new for every release, and is never
written anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.data.codecs import Encoded, EncodedPlaces, EncodedTable, EncodedText
from oddshift.model.records import Records
from oddshift.model.repeats import draw_once
from oddshift.protect.noise import Draws


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
    if isinstance(encoded, EncodedPlaces):
        return _by_unit(records, encoded.units, draws) if encoded.units else draws(records.points)
    users = encoded.users if isinstance(encoded, EncodedText) else None
    if joint_by == "user" and users is not None:
        return _by_unit(records, [user.encode("utf-8", "surrogatepass") for user in users], draws)
    by = "sentence" if joint_by == "sentence" and records.context is not None else "document"
    once = draw_once(records.joined(by))
    return draws(once.records.points)[once.position]


def outputs_of_groups(encoded: EncodedTable, draws: Draws) -> IntArray:
    """An output for each cell; rows of a group that agree in a column of the group share a draw, wherever they are."""
    records, once = encoded.records, encoded.is_once
    found = draws(records.points)
    names = [encoded.groups[document] for document in records.document_of_position[once].tolist()]
    found[once] = draws(records.points[once], keyed_uniforms(draws.key(), names, records.points[once]))
    return found


def _by_unit(records: Records, units: Sequence[bytes], draws: Draws) -> IntArray:
    """An output for each secret; `units` has a name for each document, and equal names share draws."""
    who = [units[document] for document in records.document_of_position.tolist()]
    return draws(records.points, keyed_uniforms(draws.key(), who, records.points))

"""Noise of a release: uniforms of 53 bits from the operating system, and draws that do not depend on memory."""

import threading

import numpy as np
import pytest

from oddshift.mechanisms import Exponential, Mask
from oddshift.mechanisms.remap import Remap
from oddshift.model.space import Space
from oddshift.protect import noise
from oddshift.protect.noise import Draws, keyed_uniforms, os_uniforms, seeded_uniforms

SPACE = Space(np.random.default_rng(1).normal(size=(9, 2)))
PLAIN = Exponential(SPACE, 1.5)
REMAPPED = Remap(PLAIN, np.full(9, 1 / 9), "euclidean")
ROW = 8 * 9
POINTS = np.random.default_rng(2).integers(0, 9, 300)

mechanisms = pytest.mark.parametrize("mechanism", [PLAIN, REMAPPED, Mask(SPACE)], ids=["plain", "remapped", "mask"])


@mechanisms
@pytest.mark.parametrize("row_bytes", [0, ROW, 4 * ROW, 10**9])
def test_the_memory_for_rows_never_changes_what_is_drawn(mechanism, row_bytes):
    z = np.random.default_rng(3).random(len(POINTS))
    draws = Draws(mechanism, seeded_uniforms(0), row_bytes)
    assert draws(POINTS, z).tolist() == mechanism.invert(POINTS, z).tolist()


@mechanisms
def test_calls_in_pieces_draw_what_one_call_draws(mechanism):
    whole, pieces = Draws(mechanism, seeded_uniforms(5)), Draws(mechanism, seeded_uniforms(5), 3 * ROW)
    found = [pieces(part) for part in np.array_split(POINTS, 7)]
    assert np.concatenate(found).tolist() == whole(POINTS).tolist()


def test_nothing_in_nothing_out():
    assert Draws(PLAIN, seeded_uniforms(0))(np.zeros(0, dtype=np.int64)).tolist() == []


def test_every_position_takes_one_uniform_unless_they_are_given():
    asked = []

    def uniforms(count):
        asked.append(count)
        return np.full(count, 0.5)

    draws = Draws(PLAIN, uniforms)
    draws(POINTS[:4])
    draws(POINTS[:4], np.full(4, 0.25))
    draws(POINTS[:2])
    assert asked == [4, 2]


def test_the_key_is_drawn_once_when_it_is_needed_and_follows_the_seed():
    draws, same, other = (Draws(PLAIN, seeded_uniforms(seed)) for seed in (1, 1, 2))
    assert len(draws.key()) == 64
    assert draws.key() == draws.key() == same.key() != other.key()


def test_the_key_of_a_release_cannot_be_repeated():
    assert len({Draws(PLAIN, os_uniforms).key() for _ in range(20)}) == 20


def test_threads_that_share_the_rows_draw_what_each_would_alone():
    draws = Draws(PLAIN, seeded_uniforms(0))
    z = np.random.default_rng(4).random((8, len(POINTS)))
    found = {}

    def work(k):
        found[k] = draws(POINTS, z[k]).tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(8)] == [PLAIN.invert(POINTS, z[k]).tolist() for k in range(8)]


@pytest.mark.parametrize(("byte", "expected"), [(b"\x00", 0.0), (b"\xff", 1 - 2.0**-53)], ids=["all zeros", "all ones"])
def test_uniforms_span_zero_to_the_last_step_below_one(monkeypatch, byte, expected):
    monkeypatch.setattr(noise.os, "urandom", lambda count: byte * count)
    assert os_uniforms(3).tolist() == [expected] * 3


def test_uniforms_are_multiples_of_their_step_and_fill_every_eighth():
    found = os_uniforms(4000)
    assert ((found * 2.0**53) % 1 == 0).all()
    eighths = np.bincount((found * 8).astype(int), minlength=8)
    assert eighths.sum() == 4000
    assert eighths.min() > 300  # 500 expected: below 300 with a chance of 1e-21


def test_uniforms_of_two_calls_differ_and_those_of_a_seed_repeat():
    assert os_uniforms(4).tolist() != os_uniforms(4).tolist()
    assert seeded_uniforms(7)(5).tolist() == seeded_uniforms(7)(5).tolist() != seeded_uniforms(8)(5).tolist()


def test_a_keyed_uniform_depends_on_key_unit_and_point_and_on_nothing_else():
    units, points = [b"ann", b"bob", b"ann", b""], np.array([0, 0, 1, 0])
    found = keyed_uniforms(b"key", units, points)
    assert len(set(found.tolist())) == 4
    assert keyed_uniforms(b"key", units[::-1], points[::-1]).tolist() == found[::-1].tolist()
    assert not set(keyed_uniforms(b"other", units, points).tolist()) & set(found.tolist())
    assert ((found >= 0) & (found < 1)).all()


def test_a_unit_and_a_point_do_not_run_together():
    left = keyed_uniforms(b"key", [b"\x01a"], np.array([0]))
    right = keyed_uniforms(b"key", [b"a"], np.array([256]))
    assert left[0] != right[0]

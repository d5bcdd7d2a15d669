"""Every registered attacker keeps the same promises."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from oddshift.attackers import ATTACKERS, FitOptions
from oddshift.attackers.controls import Own
from worlds import gather, ring, two_tiers, with_words

SMALL = FitOptions(epochs=1, width=8)
NETWORKS = ("rnn", "lstm", "transformer", "combination", "paper")
PAPER = tuple(name for name in ATTACKERS if name.startswith("paper"))

TIERS = {"one tier": None, "public tiers": two_tiers(is_public=True), "secret tiers": two_tiers(is_public=False)}


@pytest.fixture(scope="module", params=sorted(TIERS))
def world(request):
    return with_words(ring(length=None, documents=40, tiers=TIERS[request.param]))


@cache
def fit(name, known):
    return fresh(name, known)


def fresh(name, known, seed=0):
    if name.startswith(NETWORKS):
        pytest.importorskip("torch").set_num_threads(1)
    return ATTACKERS[name](known, np.random.default_rng(seed), SMALL)


@pytest.mark.parametrize("name", ATTACKERS)
def test_it_covers_every_position_once_with_finite_shifts(name, world):
    attacker = fit(name, world.known)
    seen = []
    for block in attacker.beliefs(world.release):
        seen.extend(block.positions)
        assert block.shift.shape == (len(block.positions), 8)
        assert block.shift.dtype == np.float64
        assert np.isfinite(block.shift).all()
        assert block.log_prior.shape in {(8,), block.shift.shape}
        assert not np.isnan(block.log_prior).any()
    assert sorted(seen) == list(range(len(world.release.outputs)))
    assert attacker.name
    assert attacker.with_context == name.endswith("+W")


@pytest.mark.parametrize("name", [name for name in ATTACKERS if name not in PAPER and name != "null"])
def test_a_position_without_others_is_its_own_release(name, world):
    attacker = fit(name, world.known)
    shift, own = gather(attacker, world.release)[0], gather(Own(world.known), world.release)[0]
    alone = np.repeat(world.release.lengths == 1, world.release.lengths)
    assert alone.any()
    gap = (shift - own)[alone]
    assert np.abs(gap - gap[:, :1]).max() <= 1e-9


@pytest.mark.parametrize("name", ATTACKERS)
def test_it_repeats(name, world):
    first, again = (gather(fresh(name, world.known, seed=4), world.release) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


@pytest.mark.parametrize("name", ATTACKERS)
def test_documents_do_not_tell_about_each_other(name, world):
    attacker = fit(name, world.known)
    whole = gather(attacker, world.release)[0]
    some = np.arange(0, len(world.release), 3)
    part = gather(attacker, world.release.take(some))[0]
    chosen = np.isin(np.repeat(np.arange(len(world.release)), world.release.lengths), some)
    np.testing.assert_allclose(part, whole[chosen], atol=2e-4)


@pytest.mark.parametrize("name", ATTACKERS)
def test_it_never_sees_the_audited_secrets(name, world):
    """Only what the release holds counts: no field of an attacker leads to records other than the fit records."""
    attacker = fit(name, world.known)
    before = gather(attacker, world.release)[0]
    other = replace(world.secrets, points=(world.secrets.points + 1) % 8)  # the truth changes, the release does not
    assert not np.array_equal(other.points, world.secrets.points)
    np.testing.assert_array_equal(gather(attacker, world.release)[0], before)
    assert repr(world.secrets.points) not in repr(attacker)


@pytest.mark.parametrize("name", [name for name in ATTACKERS if not name.endswith("+W")])
def test_without_words_the_context_is_not_read(name, world):
    attacker = fit(name, world.known)
    bare = gather(attacker, world.release.without_context())[0]
    np.testing.assert_array_equal(bare, gather(attacker, world.release)[0])


def test_an_empty_release_gives_nothing_wrong(world):
    empty = world.release.take(np.flatnonzero(world.release.lengths == 0))
    for name in ATTACKERS:
        assert [b for b in fit(name, world.known).beliefs(empty) if len(b.positions)] == []

"""The example of a report: the worst position of a few documents, told in pseudonyms unless words are asked for."""

import numpy as np
import pytest

from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.controls import Own
from oddshift.audit.beliefs import SHOWN, belief
from worlds import ring

WORDS = [f"zorb{k}" for k in range(12)]


@pytest.fixture(scope="module")
def world():
    return ring(words=12, length=4)


@pytest.fixture(scope="module")
def plugin(world):
    return fit_plugin(world.known)


def test_it_is_the_worst_position_and_its_numbers_give_the_leakage(world, plugin):
    found = belief(plugin, world.secrets, world.release, world.known)
    truth, other = found.candidates[found.truth], found.candidates[found.other]
    odds = np.log(truth.together / other.together) - np.log(truth.prior / other.prior)
    assert abs(odds) / found.distance == pytest.approx(found.leakage)
    few = np.arange(5)
    fewer = belief(plugin, world.secrets.take(few), world.release.take(few), world.known)
    assert fewer.leakage <= found.leakage
    assert (fewer.documents, fewer.positions) == (5, 20)


def test_the_own_release_alone_stays_within_the_exact_epsilon(world, plugin):
    found = belief(plugin, world.secrets, world.release, world.known)
    truth, other = found.candidates[found.truth], found.candidates[found.other]
    alone = abs(np.log(truth.alone / other.alone) - np.log(truth.prior / other.prior)) / found.distance
    assert alone <= world.known.mechanism.exact_epsilon + 1e-9 < found.leakage
    own = belief(Own(world.known), world.secrets, world.release, world.known)
    assert all(c.alone == pytest.approx(c.together) for c in own.candidates)


def test_names_are_pseudonyms_unless_words_are_given(world, plugin):
    found = belief(plugin, world.secrets, world.release, world.known)
    assert [c.name for c in found.candidates] == [f"w{k + 1}" for k in range(SHOWN)]
    assert found.remaining == 12 - SHOWN
    together = [c.together for c in found.candidates]
    assert together == sorted(together, reverse=True)
    named = belief(plugin, world.secrets, world.release, world.known, WORDS)
    assert {c.name for c in named.candidates} <= set(WORDS)
    assert "zorb" not in repr(named)

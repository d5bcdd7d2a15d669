"""Every registered attacker keeps the same promises."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType

import numpy as np
import pytest

from identities import chain_of
from oddshift.attackers import ATTACKERS, FitOptions
from oddshift.attackers.attacker import Beliefs
from oddshift.attackers.controls import Own
from oddshift.base.errors import InvalidInput
from oddshift.model.records import Records
from worlds import gather, ring, two_tiers, with_words

SMALL = FitOptions(epochs=1, width=8, prior_of=chain_of(0.9))
NETWORKS = "paper-"
PAPER = tuple(name for name in ATTACKERS if name.startswith("paper"))

TIERS = {"one tier": None, "public tiers": two_tiers(is_public=True), "secret tiers": two_tiers(is_public=False)}


@pytest.fixture(scope="module", params=sorted(TIERS))
def world(request):
    return with_words(ring(length=None, documents=40, tiers=TIERS[request.param]))


@cache
def fit(name, known):
    return fresh(name, known)


def fresh(name, known):
    if name.startswith(NETWORKS):
        pytest.importorskip("torch").set_num_threads(1)
    return ATTACKERS[name](known, np.random.default_rng(0), SMALL)


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
    first, again = (gather(make(name, world.known), world.release) for make in (fit, fresh))
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


def holdings(value, seen=None):
    """Every array and every Records that can be reached from a value through fields, attributes, items and closures."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | complex | type | ModuleType | None):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
        return
    if isinstance(value, Records):
        yield value
    if hasattr(value, "detach"):  # a tensor of torch
        yield value.detach().numpy()
        return
    inside = []
    if isinstance(value, Mapping):
        inside += [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside += list(value)
    inside += [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    inside += [getattr(value, "__self__", None), *vars(value).values()] if hasattr(value, "__dict__") else []
    for name in ("data", "indices", "indptr"):  # sparse matrices
        inside.append(getattr(value, name, None) if type(value).__module__.startswith("scipy.sparse") else None)
    for part in inside:
        yield from holdings(part, seen)


def leaks(attacker, secrets):
    """What an attacker holds of the audited secrets: the records themselves, their memory, or their values in a row."""
    found = []
    for held in holdings(attacker):
        if isinstance(held, Records):
            found += ["the records"] if held.fingerprint == secrets.fingerprint else []
        elif np.shares_memory(held, secrets.points):
            found.append("their memory")
        elif held.size >= len(secrets.points) and held.ndim == 1 and held.dtype.kind in "iuf":
            windows = np.lib.stride_tricks.sliding_window_view(held, len(secrets.points))
            found += ["their values"] if (windows == secrets.points).all(axis=1).any() else []
    return found


@dataclass(frozen=True)
class Cheating:
    """Knows the audited secrets, kept in one of several ways, and raises their odds."""

    known: object
    kept: object
    name: str = "cheating"
    with_context: bool = False

    def beliefs(self, release):
        truth = self.kept() if callable(self.kept) else getattr(self.kept, "points", self.kept)
        for block in Own(self.known).beliefs(release):
            raised = np.arange(8) == np.asarray(truth)[block.positions, None]
            yield Beliefs(block.positions, block.shift + 5.0 * raised, block.log_prior)


def ways_to_cheat(secrets):
    copy = secrets.points.copy()
    return {
        "the records": secrets,
        "their memory": secrets.points[:],
        "their values": copy.astype(np.float64),
        "a closure": lambda: copy,
    }


@pytest.mark.parametrize("name", ATTACKERS)
def test_it_never_sees_the_audited_secrets(name, world):
    """Nothing that can be reached from an attacker is, shares or repeats the audited records."""
    attacker = fit(name, world.known)
    assert leaks(attacker, world.secrets) == []
    assert leaks(attacker, world.known.fit) != []  # what it was fitted on is found: the search is not blind


@pytest.mark.parametrize("way", ["the records", "their memory", "their values", "a closure"])
def test_an_attacker_that_keeps_the_audited_secrets_is_caught(way, world):
    cheat = Cheating(world.known, ways_to_cheat(world.secrets)[way])
    assert leaks(cheat, world.secrets)
    gained = gather(cheat, world.release)[0] - gather(Own(world.known), world.release)[0]
    assert gained[np.arange(len(gained)), world.secrets.points].min() == 5.0  # and it does use them


@pytest.mark.parametrize("name", [name for name in ATTACKERS if not name.endswith("+W")])
def test_without_words_the_words_are_not_read(name, world):
    """Every word replaced by one that says nothing: only the spacing is left, which is public anyhow."""
    attacker, context = fit(name, world.known), world.release.context
    silent = replace(context, tokens=np.where(context.tokens >= 0, 0, context.tokens), symbols=("word",))
    found = gather(attacker, replace(world.release, context=silent))[0]
    np.testing.assert_array_equal(found, gather(attacker, world.release)[0])


@pytest.mark.parametrize("name", [name for name in ATTACKERS if not name.endswith("+W")])
def test_a_release_without_any_context_is_read_too(name, world):
    shift = gather(fit(name, world.known), world.release.without_context())[0]
    assert np.isfinite(shift).all()


@pytest.mark.parametrize("name", [name for name in ATTACKERS if name.endswith("+W")])
def test_an_attacker_that_reads_words_needs_them(name, world):
    with pytest.raises(InvalidInput, match="no context W"):
        gather(fit(name, world.known), world.release.without_context())


def test_an_empty_release_gives_nothing_wrong(world):
    empty = world.release.take(np.flatnonzero(world.release.lengths == 0))
    for name in ATTACKERS:
        assert [b for b in fit(name, world.known).beliefs(empty) if len(b.positions)] == []

"""Promises of every registered attacker that needs no training, over and above those that all attackers keep."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from identities import chain_of
from oddshift.attackers import ATTACKERS, UNTRAINED, FitOptions
from oddshift.attackers.attacker import against, carried, knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms import Mask
from oddshift.model.records import Records
from oddshift.model.release import candidates
from worlds import gather, log_score, ring, two_tiers, with_words

COUNTING = sorted(UNTRAINED)
QUICK = [name for name in COUNTING if not name.startswith("portfolio")]
"""Those whose fit costs next to nothing; a portfolio is fitted once for each world."""

OPTIONS = FitOptions(prior_of=chain_of(0.9))


@pytest.fixture(scope="module", params=["public tiers", "secret tiers"])
def world(request):
    return with_words(ring(length=None, documents=40, tiers=two_tiers(is_public=request.param == "public tiers")))


@cache
def fit(name, known):
    return ATTACKERS[name](known, np.random.default_rng(0), OPTIONS)


def allowed_points(tiers, release):
    """The candidates of every position, (positions, points)."""
    if release.position_tiers is None:
        return np.broadcast_to(tiers.sensitive, (len(release.outputs), len(tiers.labels)))
    return np.stack([candidates(tiers, tier) for tier in release.position_tiers])


def beliefs_of(attacker, world):
    """Log posteriors over the candidates of every position."""
    shift, prior = gather(attacker, world.release)
    allowed = allowed_points(world.known.tiers, world.release)
    total = np.where(allowed, shift + prior, -np.inf)
    return total - log_sum(total)[:, None], allowed


def test_there_are_attackers_to_run():
    assert len(COUNTING) >= 5
    assert set(COUNTING) <= set(ATTACKERS)


@pytest.mark.parametrize("name", COUNTING)
def test_posteriors_are_laws_over_the_candidates(name, world):
    posterior, allowed = beliefs_of(fit(name, world.known), world)
    np.testing.assert_allclose(np.exp(posterior).sum(axis=1), 1.0, atol=1e-9)
    assert (np.exp(posterior)[~allowed] == 0.0).all()
    assert (np.exp(posterior)[allowed] >= 0.0).all()


@pytest.mark.parametrize("name", COUNTING)
def test_the_order_of_documents_says_nothing(name, world):
    """Documents come in any order: beliefs go with them."""
    attacker = fit(name, world.known)
    order = np.random.default_rng(9).permutation(len(world.release))
    moved = np.concatenate([np.arange(*world.release.offsets[d : d + 2]) for d in order]).astype(np.int64)
    shift, prior = gather(attacker, world.release)
    other_shift, other_prior = gather(attacker, world.release.take(order))
    np.testing.assert_allclose(other_shift, shift[moved], atol=1e-9)
    np.testing.assert_allclose(other_prior, prior[moved], atol=1e-9)


@pytest.mark.parametrize("name", [name for name in COUNTING if name != "null"])
def test_against_the_mechanism_it_knows_already_it_is_the_same(name, world):
    attacker = fit(name, world.known)
    if not hasattr(attacker, "against"):
        with pytest.raises(InvalidInput, match=f"attacker {attacker.name} has no method against"):
            against(attacker, world.known)
        return
    np.testing.assert_allclose(
        gather(carried(attacker, world.known), world.release)[0], gather(attacker, world.release)[0], atol=1e-9
    )


@pytest.mark.parametrize("name", QUICK)
def test_under_a_mask_nobody_learns_anything_from_a_release(name, world):
    """One output for every value: the shift is the same for every candidate."""
    masked = replace(world.known, mechanism=Mask(world.known.mechanism.space))
    attacker = ATTACKERS[name](masked, np.random.default_rng(0), OPTIONS)
    release = replace(world.release, outputs=np.zeros_like(world.release.outputs))
    shift, _ = gather(attacker, release)
    allowed = allowed_points(masked.tiers, release)
    for row, inside in zip(shift, allowed, strict=True):
        assert np.ptp(row[inside]) < 1e-9


@pytest.mark.parametrize("name", QUICK)
def test_another_fit_is_another_fingerprint(name, world):
    fit_again = with_words(ring(length=None, documents=40, tiers=world.known.tiers, seed=1)).known
    assert fingerprint(fit(name, world.known)) != fingerprint(fit(name, fit_again))


@pytest.mark.parametrize("name", COUNTING)
def test_no_secret_is_shown(name, world):
    """Neither the representation of an attacker nor that of what it knows lists secrets."""
    shown = repr(fit(name, world.known)) + repr(world.known)
    assert "array(" not in shown
    assert "[0" not in shown


@pytest.mark.parametrize("name", QUICK)
def test_with_independent_secrets_nobody_is_much_worse_than_the_single_release(name):
    rng = np.random.default_rng(4)
    base = ring(length=4, documents=300)
    space = base.known.mechanism.space
    fitted = Records.from_documents(space, list(rng.integers(0, 8, (300, 4))))
    known = knowledge(base.known.mechanism, base.known.tiers, fitted)
    fresh = Records.from_documents(space, list(rng.integers(0, 8, (120, 4))))
    outputs = known.mechanism.sample(fresh.points, rng)
    world = replace(base, known=known, secrets=fresh, release=replace(base.release, outputs=outputs))
    attacker = fit(name, world.known)
    own = Null(world.known) if name == "null" else Own(world.known)
    assert log_score(attacker, world) <= log_score(own, world) + 0.12


@pytest.mark.parametrize("name", [name for name in QUICK if name != "null"])
def test_with_little_noise_everyone_who_reads_the_release_beats_the_prior(name):
    world = ring(length=4, documents=100, epsilon=6.0)
    assert log_score(fit(name, world.known), world) < log_score(Null(world.known), world) - 0.5

"""The portfolio: which parts suit, weights by tier, and worlds in which one kind of dependence is all there is."""

from dataclasses import replace

import numpy as np
import pytest
from studies.wide_laws import skip, two_before
from studies.world_laws import WORLDS

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.combination import fit_combination, held_out_by_tier, weights_by_tier
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.law_attacker import Dense, LawAttacker
from oddshift.attackers.portfolio import (
    DENSE_POINTS,
    counted_parts,
    dense_parts,
    fit_portfolio,
)
from oddshift.audit.scan import Budget, scan
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.model.release import one_tier, perturb
from worlds import World, gather, log_score, ring, two_tiers, with_words

GAINS = {"local walk": 0.9, "hidden regimes": 0.4, "second order": 0.3, "copies": 0.7, "distant ties": 0.85}
"""How much of the exact gain 600 documents must give."""


@pytest.fixture(params=GAINS, scope="module")
def study(request):
    world, rng = WORLDS[request.param](), np.random.default_rng(5)
    em, tiers = Exponential(world.space, 1.5), one_tier(world.space)
    known, fresh = knowledge(em, tiers, world.records(600, rng)), world.records(600, rng)
    return world, World(known, fresh, perturb(fresh, em, tiers, rng)), GAINS[request.param]


def test_most_of_the_exact_gain_is_found_in_every_world(study):
    world, made, share = study
    own = log_score(Own(made.known), made)
    exact = own - log_score(LawAttacker(made.known, Dense(world.law), "exact"), made)
    found = own - log_score(fit_portfolio(made.known, np.random.default_rng(0)), made)
    assert exact > 0.04
    assert share * exact < found < 1.05 * exact + 0.01


def test_independent_secrets_teach_nothing():
    world = ring(strength=0.0, documents=400)
    found = fit_portfolio(world.known, np.random.default_rng(0))
    assert not np.any(found.weights)
    np.testing.assert_array_equal(gather(found, world.release)[0], gather(Own(world.known), world.release)[0])


def test_the_parts_follow_the_number_of_points():
    assert len(dense_parts(DENSE_POINTS, 0)) == 2
    assert dense_parts(DENSE_POINTS + 1, 0) == []
    assert len(counted_parts(64)) == len(counted_parts(10_000)) == 2


@pytest.mark.parametrize("draw", [skip, two_before])
def test_what_neighbours_do_not_show_is_found_over_more_points_than_tables_allow(draw):
    world, rng = draw(), np.random.default_rng(5)
    em, tiers = Exponential(world.space, 1.5), one_tier(world.space)
    known, fresh = knowledge(em, tiers, world.records(700, rng)), world.records(300, rng)
    release, budget = perturb(fresh, em, tiers, rng), Budget(em, tiers, 1.5)
    exact, found = (
        scan(each, release, fresh, budget, rng, laws=("anchored",), detailed=False).anchored.mean()
        for each in (LawAttacker(known, Dense(world.law), "exact"), fit_portfolio(known, np.random.default_rng(0)))
    )
    assert len(world.space) > 128
    assert exact > 0.1
    assert 0.6 * exact < found < 1.2 * exact


def test_words_are_a_prior_and_the_gain_is_joint():
    world = with_words(ring(documents=300))
    found = fit_portfolio(world.known, np.random.default_rng(0), reads_words=True)
    assert found.with_context
    assert found.parts[0].name == "words"
    assert log_score(found, world) < log_score(fit_portfolio(world.known, np.random.default_rng(0)), world) - 0.02
    with pytest.raises(InvalidInput, match="no context W"):
        fit_portfolio(ring(documents=30).known, np.random.default_rng(0), reads_words=True)


def test_each_tier_has_weights_of_its_own():
    """Words of the first tier follow each other, those of the second are independent."""
    rng = np.random.default_rng(0)
    world = ring(words=8, tiers=two_tiers())

    def draw(n):
        first = rng.integers(4, size=n)
        return np.stack([first, (first + 1) % 4, rng.integers(4, 8, size=n), rng.integers(4, 8, size=n)], axis=1)

    fit, fresh = (
        replace(world.secrets, points=draw(n).ravel(), offsets=4 * np.arange(n + 1), sources=np.arange(n))
        for n in (400, 300)
    )
    known = knowledge(world.known.mechanism, world.known.tiers, fit)
    found = fit_combination(known, [fit_cooccurrence(known)], fresh, rng=rng)
    assert min(found.weights[0][0]) > 0.2
    assert found.weights[1] == ((0.0, 0.0),)


def test_secret_tiers_share_one_row_of_weights():
    world = ring(tiers=two_tiers(is_public=False))
    found = fit_portfolio(world.known, np.random.default_rng(0))
    assert len(found.weights) == 1
    assert np.isfinite(gather(found, world.release)[0]).all()


def test_it_serves_another_mechanism_without_fitting_again():
    world = ring(documents=300)
    found = fit_portfolio(world.known, np.random.default_rng(0))
    noisier = knowledge(Exponential(world.known.mechanism.space, 1.0), world.known.tiers, world.known.fit)
    there = found.against(noisier)
    assert there.parts[0].law is found.parts[0].law
    release = perturb(world.secrets, noisier.mechanism, noisier.tiers, np.random.default_rng(2))
    moved = World(noisier, world.secrets, release)
    assert log_score(there, moved) < log_score(Own(noisier), moved) - 0.05


def test_weights_without_positions_of_a_tier_are_zero():
    world = ring(tiers=two_tiers())
    held = fit_cooccurrence(world.known)

    terms = held_out_by_tier([held], world.known, world.secrets, np.random.default_rng(0))
    found = weights_by_tier({0: terms[0]}, world.known.tiers, 1)
    assert found[0] == weights_by_tier(terms, world.known.tiers, 1)[0]
    assert found[1] == ((0.0, 0.0),)

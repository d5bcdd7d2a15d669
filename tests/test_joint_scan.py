"""Attackers scanned together find exactly what each finds alone, and what one recalibrates is read once."""

import numpy as np
import pytest

from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import Combination
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import Cooccurrence, fit_cooccurrence
from oddshift.audit.calibration import Recalibrated, joint_scan, joint_scores
from oddshift.audit.scan import Budget, scan, scores
from worlds import ring, two_tiers


@pytest.fixture(params=["one tier", "public tiers", "secret tiers"])
def case(request):
    tiers = {"one tier": None, "public tiers": two_tiers(), "secret tiers": two_tiers(is_public=False)}[request.param]
    world = ring(length=None, documents=40, tiers=tiers)
    known = world.known
    rows = len(known.tiers) if known.tiers.is_public else 1
    plugin = fit_plugin(known)
    pairs = Combination(known, (fit_cooccurrence(known),), (((0.7, 0.4),),) * rows, name="pairs")
    counts = Combination(known, (plugin, fit_cooccurrence(known)), (((0.4, 0.4), (0.5, 0.9)),) * rows, name="counts")
    attackers = [Own(known), pairs, counts, Recalibrated(known.mechanism, counts, 0.6)]
    return world, attackers, Budget(known.mechanism, known.tiers, 0.8)


@pytest.mark.parametrize("law", ["anchored", "uniform"])
def test_every_scan_is_that_of_the_attacker_alone(case, law):
    world, attackers, budget = case
    together = joint_scan(attackers, world.release, world.secrets, budget, np.random.default_rng(4), law=law)
    for attacker, found in zip(attackers, together, strict=True):
        alone = scan(
            attacker, world.release, world.secrets, budget, np.random.default_rng(4), laws=(law,), detailed=False
        )
        np.testing.assert_array_equal(found.rate(law), alone.rate(law))
        np.testing.assert_array_equal(found.rank, alone.rank)
        np.testing.assert_array_equal(found.prior_hit, alone.prior_hit)
        np.testing.assert_allclose(found.scores.log_score, alone.scores.log_score, rtol=1e-12)
    assert len({found.scores.log_score.sum() for found in together}) == len(attackers)  # they do differ


def test_recalibrated_attackers_read_one_that_is_not_among_them_once(case, monkeypatch):
    world, (_, _, counts, calmer), budget = case
    bolder, calls, terms = Recalibrated(world.known.mechanism, counts, 1.4), [], Cooccurrence.terms
    alone = [scores(attacker, world.release, world.secrets, budget) for attacker in (calmer, bolder)]
    monkeypatch.setattr(Cooccurrence, "terms", lambda *three: calls.append(len(three[2])) or terms(*three))
    together = joint_scores([calmer, bolder], world.release, world.secrets, budget)
    assert sum(calls) == len(world.release)
    for found, mine in zip(together, alone, strict=True):
        np.testing.assert_allclose(found.log_score, mine.log_score, rtol=1e-12)


def test_scores_are_those_of_the_attackers_alone(case):
    world, attackers, budget = case
    together = joint_scores(attackers, world.release, world.secrets, budget)
    for attacker, found in zip(attackers, together, strict=True):
        alone = scores(attacker, world.release, world.secrets, budget)
        np.testing.assert_allclose(found.log_score, alone.log_score, rtol=1e-12)
        np.testing.assert_allclose(found.own_score, alone.own_score, rtol=1e-12)

"""Exemplars: the formula written out, and dependence that no pair of secrets shows."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.nearest_documents import LENT, TRUST, fit_exemplars
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import candidates, one_tier, perturb
from oddshift.model.space import Space
from worlds import World, log_score, ring, two_tiers


def slow_terms(world):
    """The formula, position by position and fit document by fit document."""
    known, release = world.known, world.release
    prior, likelihood = np.exp(known.log_prior), np.exp(known.mechanism.log_matrix)
    found = np.zeros((len(release.outputs), len(prior)))
    remembered = [document for document in known.fit.documents if len(document)]

    def law(place):
        tier = 0 if release.position_tiers is None else release.position_tiers[place]
        inside = prior * candidates(known.tiers, tier)
        return inside / inside.sum()

    def shares(document, place):
        counts = np.bincount(document, minlength=len(prior)) * (law(place) > 0)
        return counts / counts.sum() if counts.sum() else law(place)

    for low, high in zip(release.offsets[:-1], release.offsets[1:], strict=True):
        for place in range(low, high if high - low > 1 else low):
            weight = np.ones(len(remembered))
            for s in set(range(low, high)) - {place}:
                seen = likelihood[:, release.outputs[s]]
                ratio = [shares(d, s) @ seen / (law(s) @ seen) for d in remembered]
                weight *= 1 - TRUST + TRUST * np.array(ratio)
            lent = sum(w * shares(d, place) for w, d in zip(weight / weight.sum(), remembered, strict=True))
            inside, equal = law(place) > 0, np.mean([shares(d, place) for d in remembered], axis=0)
            after, before = (1 - LENT + LENT * each[inside] / law(place)[inside] for each in (lent, equal))
            found[place, inside] = np.log(after / before)
    return found


@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_it_is_the_formula(tiers):
    world = ring(documents=30, length=None, tiers=tiers)
    expected = slow_terms(world)
    for block in fit_exemplars(world.known).terms(world.known, world.release):
        np.testing.assert_allclose(block.context, expected[np.ix_(block.positions, block.points)], atol=1e-10)


def test_documents_about_one_event_lend_their_secrets():
    """Forty events of four names each; a fresh document is about one of them, and tells its names in another order."""
    space, rng = Space(np.random.default_rng(1).normal(size=(30, 4))), np.random.default_rng(0)
    events = [rng.permutation(30)[:4] for _ in range(40)]
    fit = Records.from_documents(space, events)
    fresh = Records.from_documents(space, [rng.permutation(event) for event in events])
    known = knowledge(Exponential(space, 6.0), one_tier(space), fit)
    world = World(known, fresh, perturb(fresh, known.mechanism, known.tiers, rng))
    found = LawAttacker(known, fit_exemplars(known), "exemplars")
    assert log_score(found, world) < log_score(Own(known), world) - 0.1

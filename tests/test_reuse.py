"""Reuse: the term by a loop, silence without others, and long documents that repeat their words."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.combination import fit_and_combine
from oddshift.attackers.controls import Own
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.repetition import REUSED, Reuse
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import perturb
from oddshift.model.space import Space
from worlds import World, log_score, one_tier, ring, two_tiers


@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_the_term_is_that_of_a_loop(tiers):
    world = ring(documents=60, length=0, tiers=tiers)
    known, release = world.known, world.release
    labels = release.position_tiers
    document = np.repeat(np.arange(len(release)), release.lengths)
    seen = 0
    for block in Reuse().terms(known, release):
        law = np.exp(known.log_prior[block.points])
        law /= law.sum()
        columns = np.exp(known.mechanism.log_matrix[block.points][:, release.outputs])
        ratio = columns / (law @ columns)
        for row, position in enumerate(block.positions):
            others = [
                s
                for s in np.flatnonzero(document == document[position])
                if s != position and (labels is None or labels[s] == labels[position])
            ]
            mean = np.mean([ratio[:, s] for s in others], axis=0) if others else np.ones(len(law))
            np.testing.assert_allclose(block.context[row], np.log(1 - REUSED + REUSED * mean), atol=1e-12)
            seen += 1
    assert seen == len(release.outputs)


def reusing(documents, rng):
    """Fifteen secrets each: half of them new, half taken from among the earlier ones."""
    space = Space(rng.normal(size=(60, 2)) * 3)

    def walk():
        found = [int(rng.integers(60))]
        while len(found) < 15:
            found.append(int(rng.choice(found)) if rng.random() < 0.5 else int(rng.integers(60)))
        return found

    fit, fresh = (Records.from_documents(space, [walk() for _ in range(n)]) for n in (documents, 60))
    mechanism, tiers = Exponential(space, 1.5), one_tier(space)
    known = knowledge(mechanism, tiers, fit)
    return World(known, fresh, perturb(fresh, mechanism, tiers, rng))


def test_documents_that_repeat_their_words_are_read():
    world = reusing(200, np.random.default_rng(0))
    found = fit_and_combine(
        world.known, [lambda known: LawAttacker(known, Reuse(), "reuse")], rng=np.random.default_rng(0)
    )
    assert log_score(found, world) < log_score(Own(world.known), world) - 0.05

"""Saturation: the rule by hand, nested smaller fits, and an attacker that still learns certifies nothing."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.learning_size import LearningOfSize, Refittable, SizeStep, smaller_fits
from oddshift.attackers.plugin import fit_plugin
from oddshift.audit import AuditSettings, audit
from oddshift.model.records import Records, Split
from worlds import ring

WORLD = ring(documents=400, length=4)


def learning(half, full, quarter=0.0):
    return LearningOfSize(
        "counts", ("all",), (SizeStep(100, 0.1, (quarter,)), SizeStep(200, 0.2, (half,)), SizeStep(400, 0.3, (full,)))
    )


@pytest.mark.parametrize(
    ("half", "full", "expected"),
    [(0.02, 0.04, 0.08), (0.04, 0.04, 0.04), (0.06, 0.04, 0.06), (0.0, 0.01, np.inf), (0.0, 0.0, 0.0)],
)
def test_the_rate_of_twice_as_many_documents(half, full, expected):
    found = learning(half, full)
    assert found.expected_rates == (pytest.approx(expected),)
    assert found.is_saturated(0.05) == (expected <= 0.05)


def test_one_lucky_doubling_does_not_hide_the_growth_of_two():
    """The rate doubled and then stood still: by √(.04/.02) for each doubling it reaches .057."""
    found = learning(0.039, 0.04, quarter=0.02)
    assert found.expected_rates == (pytest.approx(0.04 * np.sqrt(2.0)),)
    assert not found.is_saturated(0.05)
    assert learning(0.039, 0.04, quarter=0.038).is_saturated(0.05)


def test_the_sentence_names_attacker_sizes_and_rates():
    sentence = learning(0.02, 0.04).sentence
    assert "attacker counts" in sentence
    assert "200 documents: gain +0.200, rate all 0.02; 400 documents: gain +0.300, rate all 0.04" in sentence
    assert learning(0.02, 0.04).reason == "at most certified for an attacker with 400 documents, not saturated"


def test_smaller_fits_are_nested_and_keep_users_whole():
    fit = Records.from_documents(WORLD.known.fit.space, WORLD.known.fit.documents, users=[k // 4 for k in range(400)])
    known = knowledge(WORLD.known.mechanism, WORLD.known.tiers, fit)
    parts = []
    sizes = [
        size
        for size, _ in smaller_fits(lambda part: parts.append(part.fit) or Own(part), known, np.random.default_rng(0))
    ]
    assert sizes == [100, 200]
    quarter, half = (set(part.sources) for part in parts)
    assert quarter < half
    assert all(np.bincount(part.users)[np.unique(part.users)].min() == 4 for part in parts)


def fitted(known):
    return fit_plugin(known, rng=np.random.default_rng(0))


def audited(refit, delta):
    split = Split(fit=WORLD.known.fit, select=ring(seed=5).secrets, certify=ring(seed=6).secrets, by="document")
    attacker = fitted(WORLD.known)
    given = attacker if refit is None else Refittable(attacker, refit)
    return audit(split, WORLD.known, [given], AuditSettings(epsilon=3.0, delta=delta, worst_positions=20))


def own_named_plugin(part):
    """Fewer documents teach nothing at all: the rate of the full fit came out of nothing."""
    return Own(part, name="plugin")


def test_an_attacker_that_still_learns_certifies_nothing():
    plain = audited(None, 0.9)
    assert plain.state == "certified"
    assert plain.learning == ()
    growing = audited(own_named_plugin, 0.9)
    assert growing.state == "undecided"
    assert [step.documents for step in growing.learning[0].steps] == [100, 200, 400]
    assert any("not saturated" in part.claim.withheld for part in growing.verdict.parts)


def test_a_saturated_attacker_certifies_as_before():
    found = audited(fitted, 0.9)
    assert found.state == "certified"
    steps = found.learning[0].steps
    assert steps[-1].rates[0] == pytest.approx(steps[-2].rates[0], rel=0.2)


def test_one_that_still_learns_may_show_a_violation():
    assert audited(None, 0.001).state == "violated"
    assert audited(own_named_plugin, 0.001).state == "violated"

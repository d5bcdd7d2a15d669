"""Completeness: dependence that attackers do not read withholds a certificate, and what they read never does."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt import AdaptSettings, AdaptTask, adapt
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.cherry_tree import fit_place_trees, place_threes
from oddshift.attackers.combination import Combination
from oddshift.attackers.completeness import Clear, completeness
from oddshift.attackers.controls import Own
from oddshift.attackers.law_attacker import Dense, LawAttacker
from oddshift.attackers.positional_pairs import fit_positional_pairs
from oddshift.audit import AuditSettings
from oddshift.audit.auditing import audit
from oddshift.mechanisms import Exponential, Tiered
from oddshift.model.records import Records, Split
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space

POINTS = 6
SPACE = Space(3.0 * np.random.default_rng(0).random((POINTS, 2)))
MECHANISM, TIERS = Exponential(SPACE, 2.0), one_tier(SPACE)


def documents(n, rng, *, three=False, tie=True):
    values = rng.integers(POINTS, size=(n, 5))
    if three:
        values[:, 2] = (values[:, 0] + values[:, 1]) % POINTS
    if tie:
        values[:, 4] = np.where(rng.random(n) < 0.9, values[:, 3], values[:, 4])
    return Records.from_documents(SPACE, list(values))


def reader(known, law, weight=1.0):
    return Combination(known, (LawAttacker(known, law, "law"),), (((weight, weight),),))


def found_by(seed, *, three, law, weight=1.0, tie=True):
    rng = np.random.default_rng([seed, 3])
    known = knowledge(MECHANISM, TIERS, documents(1_000, rng, three=three, tie=tie))
    select = documents(400, rng, three=three, tie=tie)
    release = perturb(select, MECHANISM, TIERS, rng)
    return completeness([reader(known, law(known), weight)], known, release, select)


def trees(known):
    return Dense(fit_place_trees(known, place_threes(known)))


def test_three_places_that_attackers_do_not_read_are_named():
    found = found_by(0, three=True, law=fit_positional_pairs)
    assert found.missing == (("position 1", "position 2", "position 3"),)
    # of log 6 nats at least half is gained
    assert np.log(POINTS) / 2 < found.gains[0] < np.log(POINTS)
    assert "position 1 with position 2 with position 3" in found.reason


def test_what_attackers_read_is_not_missing():
    assert found_by(0, three=True, law=trees).missing == ()


def test_a_part_without_weight_reads_nothing():
    missing = found_by(0, three=True, law=trees, weight=0.0).missing
    assert set(missing) == {("position 1", "position 2", "position 3"), ("position 4", "position 5")}


@pytest.mark.parametrize("seed", range(6))
def test_pairs_that_are_read_and_independent_places_raise_no_alarm(seed):
    assert found_by(seed, three=False, law=fit_positional_pairs).reason == ""
    assert found_by(seed, three=False, tie=False, law=fit_positional_pairs, weight=0.0).reason == ""


def test_other_attackers_and_long_documents_are_not_tested():
    rng = np.random.default_rng(1)
    known = knowledge(MECHANISM, TIERS, documents(200, rng))
    select = documents(50, rng)
    release = perturb(select, MECHANISM, TIERS, rng)
    assert completeness([Own(known)], known, release, select) is None
    some = Records.from_documents(SPACE, [rng.integers(POINTS, size=n) for n in (30, 40)] * 40)
    known = knowledge(MECHANISM, TIERS, some)
    release = perturb(some, MECHANISM, TIERS, rng)
    assert completeness([reader(known, Dense(fit_place_trees(known, {})))], known, release, some) is None


def test_the_clear_channel_is_one():
    rows = np.exp(Clear(SPACE).log_likelihood(np.arange(POINTS)))
    assert rows.sum(axis=1) == pytest.approx(np.ones(POINTS))
    assert np.exp(Clear(SPACE).log_columns([2])[0]) == pytest.approx(rows[:, 2])


@pytest.mark.parametrize("three", [False, True])
def test_an_audit_certifies_only_what_attackers_read(three):
    rng = np.random.default_rng(5)
    split = Split(*(documents(n, rng, three=three) for n in (1_000, 400, 400)), by="document")
    known = knowledge(MECHANISM, TIERS, split.fit)
    settings = AuditSettings(epsilon=2.0, delta=0.5)
    found = audit(split, known, [replace(reader(known, fit_positional_pairs(known)), name="pairs")], settings)
    assert found.verdict.state == ("undecided" if three else "certified")
    said = " ".join(found.assumptions)
    assert ("position 1 with position 2 with position 3" in said) == three


@pytest.mark.parametrize("three", [False, True])
def test_an_adaptation_certifies_only_what_attackers_read(three):
    rng = np.random.default_rng(6)
    split = Split(*(documents(n, rng, three=three) for n in (1_000, 400, 400)), by="document")
    known = knowledge(Tiered(SPACE, TIERS, 2.0), TIERS, split.fit)
    settings = AdaptSettings(epsilon=2.0, delta=0.5, remap="never", cost="euclidean", grid=(0.5, 1.0))
    pairs = replace(reader(known, fit_positional_pairs(known)), name="pairs")
    task = AdaptTask(
        split=split, known=known, family=lambda tiers: Tiered(SPACE, tiers, 2.0), attackers=(pairs,), settings=settings
    )
    found = adapt(task)
    assert (found.guarantee == "certified") != three
    assert ("position 1 with position 2" in found.sequence[-1].failed) == three

"""Completeness: dependence that attackers do not read withholds a certificate, and what they read never does."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt import AdaptSettings, AdaptTask, adapt
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.cherry_tree import fit_place_trees, place_graphs
from oddshift.attackers.combination import Combination, fit_and_combine
from oddshift.attackers.completeness import Clear, completeness
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.law_attacker import Dense, LawAttacker
from oddshift.attackers.positional_pairs import fit_positional_pairs
from oddshift.attackers.relations import VOTED, votes_of
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
    return Dense(fit_place_trees(known, place_graphs(known)))


def test_three_places_that_attackers_do_not_read_are_named():
    found = found_by(0, three=True, law=fit_positional_pairs)
    assert found.missing == (("position 1", "position 2", "position 3"),)
    assert found.gains[0] == pytest.approx(np.log(POINTS), rel=0.02)
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


def test_other_attackers_and_few_documents_are_not_tested():
    rng = np.random.default_rng(1)
    known = knowledge(MECHANISM, TIERS, documents(200, rng))
    for select, attacker in ((documents(200, rng), Own(known)), (documents(50, rng), reader(known, trees(known)))):
        assert completeness([attacker], known, perturb(select, MECHANISM, TIERS, rng), select) is None


def texts(n, rng, share):
    """Words of three kinds with seven others; the third word follows from the first two in a share of the texts."""
    found = []
    for _ in range(n):
        one, two, three = rng.integers(8, size=3)
        third = (one + two) % 8 if rng.random() < share else three
        found.append(rng.permutation([one, 8 + two, 16 + third, *rng.integers(24, 60, size=rng.integers(5, 9))]))
    return found


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_words_in_any_order_that_two_others_decide_are_seen(share):
    rng = np.random.default_rng(3)
    space = Space(3.0 * rng.random((60, 2)))
    mechanism, tiers = Exponential(space, 2.0), one_tier(space)
    fit, select = (Records.from_documents(space, texts(n, rng, share)) for n in (800, 400))
    known = knowledge(mechanism, tiers, fit)
    pairs = fit_and_combine(known, [fit_cooccurrence], rng=rng)
    found = completeness([pairs], known, perturb(select, mechanism, tiers, rng), select)
    assert found.missing == (VOTED[1:] if share else ())


def test_votes_count_what_is_shared_by_ones_and_by_twos():
    space = Space(np.arange(4.0)[:, None])
    tiers = one_tier(space)
    known = knowledge(Exponential(space, 1.0), tiers, Records.from_documents(space, [[0, 1, 2], [0, 1, 3]]))
    votes = votes_of(known, Records.from_documents(space, [[0, 1, 2]]))
    ones, twos = votes.log_ratios(np.array([2]), np.arange(4))
    # the prior is (2.5, 2.5, 1.5, 1.5)/8; both documents share 0 and 1 and hold three words each
    prior = np.array([2.5, 2.5, 1.5, 1.5]) / 8
    by_ones = (np.array([4, 4, 2, 2]) + 100 * prior) / 112
    by_twos = (np.array([2, 2, 1, 1]) + 100 * by_ones) / 106
    assert ones[0] == pytest.approx(np.log(by_ones / prior))
    assert twos[0] == pytest.approx(np.log(by_twos / by_ones))


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

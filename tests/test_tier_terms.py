"""Terms over candidates: the same as over all points, for every attacker from counts, and nothing computed twice."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.attackers.attacker import Beliefs
from oddshift.attackers.candidate_sampling import (
    RememberedColumns,
    held_out_by_tier,
    held_out_terms,
    prior_part,
    remember,
    terms_by_tier,
)
from oddshift.attackers.chain import fit_gap_chain
from oddshift.attackers.combination import Combination
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import fit_cooccurrence, fit_copies
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.word_prior import fit_word_prior
from oddshift.audit.scan import Budget, scan
from oddshift.mechanisms import Tiered
from oddshift.model.release import candidate_sets, perturb
from worlds import gather, ring, two_tiers, with_words

KEPT = {"public": (True, False), "kept": (True, True), "secret": (False, False)}


@pytest.fixture(scope="module", params=KEPT)
def world(request):
    """Documents of several lengths; tiers that are public, kept by the outputs, or secret."""
    is_public, keeps = KEPT[request.param]
    made = with_words(ring(length=None, documents=80, tiers=two_tiers(is_public=is_public)))
    known = made.known
    mechanism = Tiered(known.fit.space, known.tiers, 2.0, keeps_tier=keeps)
    known = replace(known, mechanism=mechanism)
    release = perturb(made.secrets, mechanism, known.tiers, np.random.default_rng(0))
    return replace(made, known=known, release=release)


@pytest.fixture(scope="module")
def parts(world):
    rng = np.random.default_rng(0)
    return (
        LawAttacker(world.known, fit_word_prior(world.known, rng), "words", with_context=True),
        fit_gap_chain(world.known),
        fit_cooccurrence(world.known),
        LawAttacker(world.known, fit_copies(world.known), "copies"),
    )


def by_tier(parts, world):
    wanted = np.ones(len(parts), dtype=bool)
    return terms_by_tier(parts, world.known, world.release, wanted, prior_part(parts))


def test_terms_are_what_each_part_adds_to_the_own_release(world, parts):
    own, _ = gather(Own(world.known), world.release)
    for number, part in enumerate(parts):
        shift, prior = gather(part, world.release)
        for mine in by_tier(parts, world):
            at = np.ix_(mine.positions, mine.points)
            np.testing.assert_allclose(mine.terms[number], shift[at] - own[at], atol=1e-9)
            np.testing.assert_allclose(mine.own, own[at], atol=1e-12)
            if part.with_context:
                np.testing.assert_allclose(mine.log_prior, prior[at])


def test_every_position_is_in_one_candidate_set(world):
    sets = candidate_sets(world.release, world.known.tiers)
    assert sorted(np.concatenate([mine.positions for mine in sets])) == list(range(len(world.release.outputs)))
    for mine in sets:
        assert np.isin(world.secrets.points[mine.positions], mine.points).all()


def test_parts_that_are_not_wanted_are_not_run(world, parts):
    class Refuses:
        name, with_context = "refuses", False

    wanted = np.array([False, True])
    found = terms_by_tier([Refuses(), parts[2]], world.known, world.release, wanted, None)
    assert not any(mine.terms[0].any() for mine in found)
    assert any(mine.terms[1].any() for mine in found)


def test_any_other_attacker_gives_its_beliefs_less_the_own_release(world):
    class Doubtful:
        name, with_context = "doubtful", False

        def beliefs(self, release):
            for block in Own(world.known).beliefs(release):
                yield Beliefs(block.positions, block.shift - 0.25, block.log_prior)

    for mine in by_tier([Doubtful()], world):
        possible = np.isfinite(mine.own)
        np.testing.assert_allclose(mine.terms[0][possible], -0.25)
        assert not mine.terms[0][~possible].any()


def test_a_combination_says_the_same_over_candidates_and_over_all_points(world, parts):
    rows = 2 if world.known.tiers.is_public else 1
    both = Combination(world.known, parts, (tuple((w, 1.5 * w) for w in (0.0, 0.5, 0.2, 0.7)),) * rows)
    shift, prior = gather(both, world.release)
    seen = np.zeros(len(world.release.outputs), dtype=int)
    for block in both.candidate_beliefs(world.release):
        at = np.ix_(block.positions, block.points)
        np.testing.assert_allclose(block.shift, shift[at], atol=1e-12)
        np.testing.assert_allclose(np.broadcast_to(block.log_prior, block.shift.shape), prior[at], atol=1e-12)
        seen[block.positions] += 1
    assert (seen == 1).all()


def test_a_scan_over_candidates_is_the_scan_over_all_points(world, parts):
    rows = 2 if world.known.tiers.is_public else 1
    both = Combination(world.known, parts, (tuple((w, 1.5 * w) for w in (0.0, 0.5, 0.2, 0.7)),) * rows)

    class Dense:
        """The same attacker without the method for candidates."""

        name, with_context = "dense", True

        def beliefs(self, release):
            return both.beliefs(release)

    budget = Budget(world.known.mechanism, world.known.tiers, 1.0)
    first, second = (
        scan(attacker, world.release, world.secrets, budget, np.random.default_rng(1)) for attacker in (both, Dense())
    )
    np.testing.assert_allclose(first.scores.log_score, second.scores.log_score)
    np.testing.assert_allclose(first.scores.own_score, second.scores.own_score)
    np.testing.assert_array_equal(first.rank, second.rank)
    np.testing.assert_allclose(first.anchored, second.anchored)
    np.testing.assert_allclose(first.uniform, second.uniform)
    np.testing.assert_allclose(first.details.histogram, second.details.histogram)


def test_held_out_terms_of_the_tiers_are_those_of_all_positions(world, parts):
    whole = held_out_terms(parts, world.known, world.secrets, np.random.default_rng(3))
    tiers = held_out_by_tier(parts, world.known, world.secrets, np.random.default_rng(3))
    weights = np.array([0.0, 0.3, 0.4, 0.2])
    both = np.repeat(weights, 2)
    total = sum(part.loss(both)[0] * len(part.truth) for part in tiers.values())
    assert total / len(whole.truth) == pytest.approx(whole.loss(weights)[0])


def test_remembered_columns_are_the_mechanism_s(world):
    sets = candidate_sets(world.release, world.known.tiers)
    remembered = remember(world.known, world.release, sets).mechanism
    assert isinstance(remembered, RememberedColumns)
    real = world.known.mechanism
    for mine in sets:
        outputs = world.release.outputs[mine.positions][::-1]
        found = remembered.candidate_columns(outputs, mine.points)
        np.testing.assert_allclose(found, real.candidate_columns(outputs, mine.points))
        np.testing.assert_allclose(found, real.log_columns(outputs)[:, mine.points], atol=1e-12)
    some = np.array([1, 3])
    np.testing.assert_array_equal(
        remembered.candidate_columns(np.array([0, 2]), some), real.candidate_columns(np.array([0, 2]), some)
    )

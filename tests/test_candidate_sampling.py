"""Few candidates: fewer columns, nearly the same score and weights.

Held-out secrets: which of them count when weights are fitted.


Terms over candidates: the same as over all points, for every attacker from counts, and nothing computed twice.
"""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.attackers import candidate_sampling as few
from oddshift.attackers.attacker import Beliefs, knowledge
from oddshift.attackers.candidate_sampling import (
    FIT_POSITIONS,
    RememberedColumns,
    few_candidates,
    foreseeable,
    held_out_by_tier,
    held_out_release,
    prior_part,
    remember,
    terms_by_tier,
)
from oddshift.attackers.chain import fit_gap_chain
from oddshift.attackers.combination import Combination
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import fit_cooccurrence, fit_copies
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.term_weights import ContextTerms, likeliest_weights
from oddshift.attackers.word_prior import fit_word_prior
from oddshift.audit.scan import Budget, scan
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms import Exponential, Tiered
from oddshift.model.records import Records
from oddshift.model.release import candidate_sets, perturb
from oddshift.model.space import Space
from worlds import gather, held_out_terms, one_tier, ring, two_tiers, with_words


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(few, "LIKELY", 4)
    monkeypatch.setattr(few, "DRAWN", 3)


def test_the_likeliest_candidates_and_the_truth_stay_and_draws_stand_for_the_others(small):
    """Ten candidates: three likely ones and the truth stay; of six alike, every second one is drawn for two."""
    base = np.array([[5.0, 4.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -9.0]])
    found, (term,), truth = few_candidates(base, [0.0 * base], np.array([9]))
    assert sorted(found[0, :4]) == [-9.0, 3.0, 4.0, 5.0]
    assert found[0, truth[0]] == -9.0
    np.testing.assert_allclose(found[0, 4:], np.log(2.0))
    assert not term.any()


def test_the_sum_at_the_first_idea_is_exact_and_impossible_candidates_are_not_drawn(small):
    rng = np.random.default_rng(0)
    base, term = rng.normal(size=(20, 30)), rng.normal(size=(20, 30))
    base[:, 5:9] = -np.inf
    found, (less,), truth = few_candidates(base, [term], np.zeros(20, dtype=np.int64))
    np.testing.assert_allclose(log_sum(found + 0.25 * less), log_sum(base + 0.25 * term))
    np.testing.assert_allclose(found[np.arange(20), truth], base[:, 0])
    assert np.isfinite(found[:, 4:]).all()


def test_where_nothing_is_left_draws_have_no_mass(small):
    base = np.full((1, 9), -np.inf)
    base[0, :3] = 0.0
    found, _, _ = few_candidates(base, [np.zeros((1, 9))], np.array([1]))
    assert np.isneginf(found[0, 4:]).all()
    assert log_sum(found)[0] == pytest.approx(np.log(3.0))


def test_weights_are_nearly_those_of_all_candidates(monkeypatch):
    """300 candidates in 60 columns, most of the mass outside the likeliest ones."""
    monkeypatch.setattr(few, "LIKELY", 30)
    monkeypatch.setattr(few, "DRAWN", 30)
    rng = np.random.default_rng(0)
    n, size = 3_000, 300
    base = rng.normal(size=(n, size))
    terms = [rng.normal(size=(n, size)), rng.normal(size=(n, size))]
    law = np.exp(base + 0.4 * terms[0] + 0.9 * terms[1])
    truth = (np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1) < rng.random((n, 1))).sum(axis=1)
    units = Units(np.arange(n), n)
    whole = likeliest_weights(ContextTerms(base, tuple(terms), truth, units), np.zeros(2))
    fewer, less, column = few_candidates(base, terms, truth)
    assert fewer.shape == (n, 60)
    part = likeliest_weights(ContextTerms(fewer, tuple(less), column, units), np.zeros(2))
    np.testing.assert_allclose(part, whole, atol=0.05)


def test_blocks_of_rows_give_the_whole(small, monkeypatch):
    rng = np.random.default_rng(1)
    base, term = rng.normal(size=(25, 12)), rng.normal(size=(25, 12))
    truth = rng.integers(12, size=25)
    whole = few_candidates(base, [term], truth)
    monkeypatch.setattr(few, "_TOGETHER", 40)
    part = few_candidates(base, [term], truth)
    for one, other in ((whole[0], part[0]), (whole[1][0], part[1][0]), (whole[2], part[2])):
        np.testing.assert_array_equal(one, other)


SPACE = Space(np.arange(4.0)[:, None])


def known_with(documents):
    return knowledge(Exponential(SPACE, 1.0), one_tier(SPACE), Records.from_documents(SPACE, documents))


def test_a_point_that_only_held_out_documents_hold_does_not_count():
    """All four points are in the records, 3 only in a held-out one: no release of such a vocabulary has it unseen."""
    held = Records.from_documents(SPACE, [[0, 3]])
    assert foreseeable(known_with([[0, 1], [2]]), held).tolist() == [True, True, True, False]


def test_all_points_count_where_some_candidate_is_in_no_record():
    """Point 2 was never seen at all, so a release may hold unseen points."""
    held = Records.from_documents(SPACE, [[0, 3]])
    assert foreseeable(known_with([[0, 1]]), held).all()


def test_terms_leave_those_positions_out_and_keep_their_outputs():
    known, held = known_with([[0, 1], [2, 0], [1, 2]]), Records.from_documents(SPACE, [[0, 3], [3], [1, 2]])
    parts = [fit_cooccurrence(known)]
    chosen, release = held_out_release(known, held, 100, np.random.default_rng(0))
    whole = held_out_terms(parts, known, held, np.random.default_rng(0))
    counted = np.flatnonzero(chosen.points != 3)
    np.testing.assert_array_equal(whole.truth, chosen.points[counted])
    context = np.concatenate([block.context for block in parts[0].terms(release)])
    np.testing.assert_allclose(whole.terms[0], context[counted])  # the outputs left out still say something
    (tier,) = held_out_by_tier(parts, known, held, np.random.default_rng(0)).values()
    np.testing.assert_array_equal(tier.base, whole.base)
    np.testing.assert_array_equal(tier.units.of_position, whole.units.of_position)


def test_few_documents_are_released_several_times_and_many_in_part():
    known = known_with([[0, 1, 2, 3]] * 5)
    few, _ = held_out_release(known, Records.from_documents(SPACE, [[0, 1]]), FIT_POSITIONS, np.random.default_rng(0))
    assert len(few) == 4
    many, _ = held_out_release(
        known, Records.from_documents(SPACE, [[0] * 10] * 1_000), FIT_POSITIONS, np.random.default_rng(0)
    )
    assert len(many.points) == FIT_POSITIONS


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

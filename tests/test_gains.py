"""Units, standard errors, gains and what counts as learned, with numbers that can be worked out by hand."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from studies.known_laws import chain

from oddshift.attackers.attacker import Beliefs, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import fit_and_combine
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.learning_size import smaller_fits
from oddshift.attackers.paired_log_score import (
    FEWEST_UNITS,
    Gain,
    Units,
    choosing_units,
    gain,
    one_document_each,
    standard_error,
    units_of,
)
from oddshift.audit.scan import Budget, Scores, scores
from oddshift.audit.verdict import Standing, standing, strongest
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from worlds import gather, ring

SPACE = Space([[0.0], [1.0], [2.0]])


def records(users=None):
    made = Records.from_documents(SPACE, [[0, 1], [2], [0, 0, 1]])
    return made if users is None else replace(made, users=np.array(users))


def test_positions_count_inside_their_document_first():
    units = units_of(records())
    np.testing.assert_array_equal(units.of_position, [0, 0, 1, 2, 2, 2])
    assert units.total == 3
    np.testing.assert_allclose(units.means(np.array([0.0, 1.0, 0.25, 1.0, 0.0, 0.5])), [0.5, 0.25, 0.5])


def test_documents_of_one_user_are_one_unit():
    units = units_of(records(users=[7, 4, 7]))
    assert units.total == 2
    np.testing.assert_allclose(units.means(np.array([1.0, 1.0, 0.25, 0.0, 0.0, 0.0])), [0.25, 0.4])


def test_units_without_a_kept_position_are_left_out():
    units = units_of(records())
    keep = np.array([False, True, False, True, False, True])
    np.testing.assert_allclose(units.means(np.array([9.0, 1.0, 9.0, 2.0, 9.0, 4.0]), keep), [1.0, 3.0])
    assert units.count(keep) == 2


def test_one_document_of_each_user_is_drawn_uniformly():
    made = replace(Records.from_documents(SPACE, [[0]] * 6), users=np.array([0, 0, 0, 1, 1, 2]))
    rng = np.random.default_rng(0)
    drawn = [np.sort(one_document_each(np.arange(6), made, rng)) for _ in range(3_000)]
    assert all(list(made.users[documents]) == [0, 1, 2] for documents in drawn)
    first = np.bincount([documents[0] for documents in drawn], minlength=3) / 3_000
    np.testing.assert_allclose(first, 1 / 3, atol=0.04)
    assert {tuple(one_document_each(np.array([4, 5]), made, rng)) for _ in range(50)} == {(4, 5), (5, 4)}


def test_the_error_is_that_of_a_mean_of_independent_values():
    assert standard_error(np.array([1.0, 3.0])) == pytest.approx(1.0)
    assert standard_error(np.array([1.0, 1.0, 1.0])) == 0.0
    assert standard_error(np.array([1.0])) == np.inf  # one unit shows no spread, so nothing is beyond chance


def test_a_gain_is_by_unit():
    units = Units(np.array([5, 5, 9, 9]), 2)
    found = gain(np.array([1.0, 1.0, 3.0, 3.0]), np.zeros(4), units)
    assert (found.mean, found.error) == (2.0, pytest.approx(1.0))
    assert not found.is_significant  # exactly two errors is not more than two
    assert gain(np.full(4, 2.0), np.array([0.0, 0.0, 0.1, 0.1]), units).is_significant
    assert gain(np.ones(4), np.zeros(4), Units(np.zeros(4, dtype=int), 1)).error == np.inf


@pytest.mark.parametrize(
    ("mean", "error", "learned"),
    [(0.21, 0.1, True), (0.2, 0.1, False), (-0.5, 0.1, False), (5.0, np.inf, False), (1e-15, 0.0, False)],
)
def test_learned_is_more_than_two_errors_and_more_than_rounding(mean, error, learned):
    assert Gain(mean, error).is_significant is learned
    assert Standing(1.0, Gain(mean, error)).learned is learned


def test_the_strongest_has_the_best_score_among_those_that_learned():
    idle, good, best = Standing(0.5, Gain(0.0, 0.1)), Standing(1.0, Gain(0.4, 0.1)), Standing(0.9, Gain(0.3, 0.1))
    assert strongest([idle, good, best]) == 2
    assert strongest([idle, good]) == 1
    assert strongest([replace(idle, log_score=0.7), idle]) == 1  # nobody learned: the best score alone


def test_a_standing_is_the_mean_over_units():
    found = Scores(log_score=np.array([1.0, 1.0, 4.0]), own_score=np.array([2.0, 2.0, 6.0]))
    made = standing(found, Units(np.array([0, 0, 1]), 2))
    assert made.log_score == 2.5
    assert (made.joint.mean, made.joint.error) == (1.5, pytest.approx(0.5))


@dataclass(frozen=True)
class BetterPrior:
    """Knows which half of the words a secret is in, and reads every position alone."""

    known: object
    secrets: Records
    name: str = "better prior"
    with_context: bool = False

    def beliefs(self, release):
        for block in Own(self.known).beliefs(release):
            half = self.secrets.points[block.positions] // 4
            prior = np.where(np.arange(8) // 4 == half[:, None], block.log_prior, block.log_prior - 3.0)
            yield Beliefs(block.positions, block.shift, prior)


def scored(attacker, world):
    budget = Budget(world.known.mechanism, world.known.tiers, 1.0)
    return scores(attacker, world.release, world.secrets, budget)


def test_the_control_of_an_attacker_is_the_single_release_under_its_own_prior():
    world = ring()
    units = units_of(world.secrets)
    own, better = scored(Own(world.known), world), scored(BetterPrior(world.known, world.secrets), world)
    np.testing.assert_allclose(own.own_score, own.log_score, atol=1e-12)
    assert gain(own.log_score, better.log_score, units).is_significant  # it beats own by far
    np.testing.assert_allclose(better.own_score, better.log_score, atol=1e-12)
    assert not standing(better, units).learned  # and learned nothing from reading positions together


def test_own_scores_are_those_of_bayes_rule_at_every_position():
    world = ring(documents=60)
    plugin = fit_plugin(world.known)
    found = scored(plugin, world)
    _, prior = gather(plugin, world.release)
    own = prior + world.known.mechanism.log_columns(world.release.outputs)
    rows = np.arange(len(own))
    expected = np.logaddexp.reduce(own, axis=1) - own[rows, world.secrets.points]
    np.testing.assert_allclose(found.own_score, expected, atol=1e-12)
    assert standing(found, units_of(world.secrets)).learned


def test_an_attacker_that_ignores_the_release_loses_to_the_single_release():
    world = ring()
    assert standing(scored(Null(world.known), world), units_of(world.secrets)).joint.mean < 0.0


def few_users(users, documents=60):
    made = chain(words=20, length=6, strength=0.95, rng=np.random.default_rng(0))
    drawn = made.draw(documents, np.random.default_rng(1))
    return replace(drawn, users=np.arange(documents) % users)


@pytest.mark.parametrize(("users", "units"), [(2, 60), (FEWEST_UNITS - 1, 60), (FEWEST_UNITS, FEWEST_UNITS), (60, 60)])
def test_where_users_are_too_few_to_know_their_spread_documents_choose(users, units):
    records = few_users(users)
    assert choosing_units(records).total == units
    assert units_of(records).total == users, "certificates count users all the same"


def test_an_attacker_keeps_its_weight_although_one_user_is_held_out():
    records = few_users(4, documents=300)
    known = knowledge(Exponential(records.space, 2.0), one_tier(records.space), records)
    found = fit_and_combine(known, [fit_plugin], rng=np.random.default_rng(0))
    assert found.has_weights


@pytest.mark.parametrize("users", [1, 2, 3])
def test_attackers_of_very_few_users_are_fitted_on_smaller_sizes_too(users):
    records = few_users(users, documents=120)
    known = knowledge(Exponential(records.space, 2.0), one_tier(records.space), records)

    def fit(some):
        return fit_and_combine(some, [fit_cooccurrence], rng=np.random.default_rng(0))

    assert [size for size, _ in smaller_fits(fit, known, np.random.default_rng(0))] == [30, 60]

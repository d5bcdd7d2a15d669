"""Rounds of the context game: pairs by secrets alone, each document looked at once, stakes that are fair."""

import math

import numpy as np
import pytest

import oddshift as od
from oddshift.attackers.attacker import knowledge
from oddshift.audit.witness_rounds import Rounds, draw_pairs, expected_growth, joined, pairs_of, played, promises
from oddshift.evidence.witness import context_log_e, context_lower
from oddshift.model.records import Records
from oddshift.model.release import one_tier

SPACE = od.Space(np.array([[0.0], [1.0], [2.5], [4.0]]))


def known(epsilon=1.0, space=SPACE):
    records = Records.from_documents(space, [[k] for k in range(len(space))])
    return knowledge(od.Exponential(space, epsilon), one_tier(space), records)


def test_distances_are_rounded_up_and_own_sups_down():
    them = known(space=od.Space(np.random.default_rng(0).normal(size=(9, 2))))
    pairs = pairs_of(np.array([5, 1, 1, 7, 3]), them)
    assert pairs.values.tolist() == [1, 3, 5, 7]
    logs, real = them.mechanism.log_matrix, them.mechanism.space.distances
    for i, a in enumerate(pairs.values):
        for j, b in enumerate(pairs.values):
            if a == b:
                assert math.isinf(pairs.distance[i, j])
                continue
            own = (logs[a] - logs[b]).max()
            slack = them.mechanism.exact_epsilon * pairs.distance[i, j] / 50
            assert real[a, b] <= pairs.distance[i, j] <= 1.0201 * real[a, b]
            assert own - slack - 1e-12 <= pairs.own[i, j] <= own + 1e-12


def test_documents_of_one_value_are_never_paired():
    values = np.array([1] * 10)
    pairs = pairs_of(values, known())
    assert len(draw_pairs(values, pairs, promises(pairs, np.zeros((3, 1)), 1.0), np.random.default_rng(0))) == 0


def test_every_document_is_looked_at_once_and_almost_all_are():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, 200)
    pairs = pairs_of(values, known(space=od.Space(np.arange(5.0)[:, None])))
    rounds = draw_pairs(values, pairs, promises(pairs, rng.normal(size=(20, 5)), 1.0), rng)
    assert len(set(rounds[:, 0].tolist())) == len(rounds)
    assert len(rounds) >= 190
    assert (pairs.values[rounds[:, 1]] != values[rounds[:, 0]]).all()


def test_the_coin_is_fair_within_every_pair():
    """Given the two values, each is the truth in half of the rounds, whoever was offered first."""
    heads = total = 0
    space = od.Space(np.arange(2.0)[:, None])
    for seed in range(400):
        rng = np.random.default_rng(seed)
        values = np.array([0] * 30 + [1] * 12)
        pairs = pairs_of(values, known(space=space))
        rounds = draw_pairs(values, pairs, promises(pairs, np.zeros((2, 2)), 1.0), rng)[:12]
        heads, total = heads + int(values[rounds[:, 0]].sum()), total + len(rounds)
    assert abs(heads / total - 0.5) < 4 * math.sqrt(0.25 / total)


def test_an_attacker_that_always_bets_gains_nothing_at_the_true_leakage():
    """The two-secret toy played with documents that go back to the pool: E has a mean of 1, and rarely reaches 20."""
    space = od.Space(np.arange(2.0)[:, None])
    channel = od.Channel(space, np.log([[0.72, 0.28], [0.28, 0.72]]))
    them = knowledge(channel, one_tier(space), Records.from_documents(space, [[0], [1]]))
    context = 0.98 * 0.72 + 0.02 * 0.28
    # the own sup is exact here (a whole number of steps) and the distance is 1, so guesses sit on their limit
    sup = math.log(0.72 / 0.28) + math.log(context / (1 - context))
    wealth = []
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 2, 20)
        pairs = pairs_of(values, them)
        rounds = draw_pairs(values, pairs, promises(pairs, np.zeros((2, len(pairs.values))), sup), rng)
        said = np.where(rng.random(len(rounds)) < context, values[rounds[:, 0]], 1 - values[rounds[:, 0]])
        lean = np.zeros((len(rounds), len(pairs.values)))
        if len(rounds):
            lean[np.arange(len(rounds)), said] = 1.2  # more than the truth, so that something is staked
        wealth.append(math.exp(context_log_e(played(values, rounds, pairs, lean).groups(sup, 1.0), sup)))
    assert abs(np.mean(wealth) - 1.0) < 4 * np.std(wealth) / math.sqrt(len(wealth))
    assert np.std(wealth) > 0.3
    assert np.mean(np.array(wealth) >= 20) <= 0.05


def test_stakes_are_those_of_the_likelihood_ratio_and_abstain_below_the_limit():
    rounds = Rounds(np.full(3, 2.0), np.full(3, 1.0), np.full(3, 0.5), np.array([3.0, -3.0, 0.9]))
    assert rounds.own.tolist() == [1.0, 0.5, 1.0]
    stakes = rounds.stakes(1.0, 1.0)
    p, q = 1 / (1 + math.exp(-3.0)), 1 / (1 + math.exp(-1.0))
    assert stakes[0] == pytest.approx((p - q) / (1 - q), rel=0.25)
    assert stakes[0] <= (p - q) / (1 - q)
    assert stakes[2] == 0.0
    right, wrong = rounds.growth(1.0, 1.0)[:2]
    assert right == pytest.approx(math.log1p(stakes[0] * math.exp(-1.0)))
    assert wrong == pytest.approx(math.log1p(-stakes[1]))
    groups = rounds.groups(1.0, 1.0)
    assert [(g.own_sup, g.correct, g.guesses) for g in groups] == [(0.5, 0, 1), (1.0, 1, 1)]
    assert context_log_e(groups, 1.0) == pytest.approx(rounds.growth(1.0, 1.0).sum())
    assert context_lower(groups, 1.0, 0.05) == 1.0


def test_expected_growth_is_the_divergence_of_belief_and_limit():
    sure, budget = np.array([1.0, 2.0, 0.5]), np.array([0.2, 1.5, 1.0])
    p, q = 1 / (1 + np.exp(-sure)), 1 / (1 + np.exp(-budget))
    divergence = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    assert expected_growth(sure, budget) == pytest.approx(np.where(p > q, divergence, 0.0), abs=1e-12)


def test_pairs_that_the_context_tells_apart_promise_most():
    space = od.Space(np.arange(3.0)[:, None])
    pairs = pairs_of(np.arange(3), known(0.5, space))
    context = np.array([[2.0, -2.0, 1.9], [-2.0, 2.0, -1.9]])
    promised = promises(pairs, context, 1.0)
    assert promised == pytest.approx(promised.T)
    assert np.diag(promised).tolist() == [-1.0] * 3
    assert promised[0, 1] > promised[0, 2]


def test_rounds_join_and_none_is_fine():
    one = Rounds(*(np.ones(2) for _ in range(4)))
    assert len(joined([one, one]).lean) == 4
    assert len(joined([]).lean) == 0
    assert joined([]).groups(1.0, 1.0) == []
    assert joined([]).promise(1.0, 1.0) == (0.0, 0.0)

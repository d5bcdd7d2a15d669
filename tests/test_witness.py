"""Witnesses: reference values, validity, groups, selection, and re-checking from counts alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies import witness_false_positives as study
from studies import witness_models
from studies.witness_correct import CORRECT

from oddshift.base.errors import InvalidInput, NoGuarantee, TamperedEvidence
from oddshift.base.storage import load, save
from oddshift.bounds import clopper_pearson_lower, clopper_pearson_upper
from oddshift.evidence import witness as w
from oddshift.model.space import Space


def test_reference_values():
    assert w.two_arm(120, 250, 22, 250, 1.5, 0.05) == pytest.approx(0.7754137323457707, abs=1e-9)
    assert w.guess_game(61, 68, 1.0, 0.05) == pytest.approx(1.4850132297074001, abs=1e-9)


@given(st.integers(1, 200), st.integers(0, 200), st.integers(1, 200), st.integers(0, 200), st.floats(0.1, 5))
@settings(max_examples=80, deadline=None)
def test_formulas(n_a, k_a, n_b, k_b, distance):
    k_a, k_b = min(k_a, n_a), min(k_b, n_b)
    low, high = clopper_pearson_lower(k_a, n_a, 0.025), clopper_pearson_upper(k_b, n_b, 0.025)
    expected = max(0.0, math.log(low / high) / distance) if low else 0.0
    assert w.two_arm(k_a, n_a, k_b, n_b, distance, 0.05) == pytest.approx(expected, abs=1e-12)
    share = clopper_pearson_lower(k_a, n_a, 0.05)
    expected = max(0.0, math.log(share / (1 - share)) / distance) if share else 0.0
    assert w.guess_game(k_a, n_a, distance, 0.05) == pytest.approx(expected, abs=1e-12)
    rate = w.hockey_stick((k_a, n_a, k_b, n_b), distance, 0.5, 0.05)
    assert rate == pytest.approx(max(0.0, low - math.exp(0.5 * distance) * high), abs=1e-12)


def test_pooled_bound_by_hand_and_by_search():
    q = 1 / (1 + math.exp(-1.0))
    bets = np.geomspace(0.005, 1, 20)
    by_hand = np.mean((1 + bets * (1 - q) / q) ** 9 * (1 - bets))
    assert w.pooled_log_e([(1.0, 9, 10)], 1.0) == pytest.approx(math.log(by_hand), abs=1e-9)
    rounds = [(1.0, 61, 68), (2.0, 30, 31)]
    bound = w.pooled_lower(rounds, 0.05)
    assert w.pooled_log_e(rounds, bound) >= math.log(20)
    assert w.pooled_log_e(rounds, bound + 1e-6) < math.log(20)
    assert w.pooled_lower([(1.0, 5, 10)], 0.05) == 0.0


def test_known_label_odds_raise_what_a_guess_must_beat():
    fair = w.pooled_lower([(1.0, 90, 100)], 0.05)
    likely_label = w.pooled_lower([(1.0, 90, 100)], 0.05, log_odds=[1.0])
    assert likely_label == pytest.approx(fair - 1.0, abs=1e-6)
    assert w.pooled_log_e([(1.0, 1, 1)], 0.0, log_odds=[-2.0]) > w.pooled_log_e([(1.0, 1, 1)], 0.0)


def test_groups_are_divided_by_the_largest_distance():
    points = np.array([0.0, 1.0, 5.0, 6.0])
    distances = np.abs(points[:, None] - points[None])
    assert w.group_distance(distances, [0, 1], [2, 3]) == 6.0
    assert w.group_distances(distances, [0, 0, 1, 1])[0, 1] == 6.0
    with pytest.raises(InvalidInput, match="value 1 is in both groups"):
        w.group_distance(distances, [0, 1], [1, 2])


def test_group_witness_stays_below_the_exact_sup():
    rng = np.random.default_rng(0)
    points = np.arange(6) * 0.5
    distances = np.abs(points[:, None] - points[None])
    logits = -1.5 * distances
    channel = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    logs = np.log(channel)
    sup = (np.abs(logs[:, None] - logs[None]).max(axis=2) / (distances + np.diag([np.inf] * 6))).max()
    labels = np.array([0, 0, 0, 1, 1, 1])
    x = rng.integers(0, 6, 20_000)
    y = (rng.random(20_000)[:, None] > np.cumsum(channel, axis=1)[x]).sum(axis=1)
    result = w.select_then_test(labels[x], y, w.group_distances(distances, labels), 0.1, 0.01, rng=rng)
    assert 0.1 < result.lower_bound < sup
    too_small = w.two_arm(*result.counts, 0.5, 0.01)  # the nearest values of the groups are .5 apart
    assert too_small > sup


@pytest.mark.parametrize("game", ["two_arm", "guess_game"])
def test_a_trained_score_may_replace_counting(game):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 4000)
    outputs = np.where(x[:, None] == 1, 1.0, -1.0) + rng.normal(size=(4000, 3)) * 2

    def score(rows, a, b):
        return (rows.sum(axis=1) * 0.5) * (1 if a == 1 else -1) * (1 if a != b else 0)

    result = w.select_then_test(x, outputs, [[0, 1], [1, 0]], 0.5, 0.05, game=game, score=score, rng=rng)
    assert result.shown
    assert result.event.startswith(game)


@pytest.mark.parametrize("name", [name for name in study.GAMES if "invalid" not in name])
def test_false_positives_at_the_boundary(name):
    assert study.rate(name, 200) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("name", CORRECT)
def test_correct_mechanisms_are_not_accused(name):
    sample, space = CORRECT[name]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        assert not w.witness_mdp(sample, space, study.EPSILON, explore=300, confirm=2000, pairs=6, rng=rng).shown


def test_choosing_on_the_counted_releases_is_shown_to_fail():
    name = next(name for name in study.GAMES if "invalid" in name)
    assert study.rate(name, 300) > 0.25


def slow_toy_power(releases):
    from scipy import stats

    guesses = np.arange(1, releases + 1)
    chance = stats.binom.pmf(guesses, releases, study.TOY_GUESS)
    needed = [next((k for k in range(g + 1) if w.guess_game(k, g, 1.0, 0.05) > 1.0), g + 1) for g in guesses.tolist()]
    return float(chance @ stats.binom.sf(np.array(needed) - 1, guesses, study.TOY_RIGHT))


def test_the_guess_planner_is_exact_and_says_what_is_missing():
    assert w.guess_power(60, study.TOY_GUESS, study.TOY_RIGHT, 1 / (1 + math.exp(-1)), 0.05) == pytest.approx(
        slow_toy_power(60), abs=1e-9
    )
    plan = w.plan_guess_game(study.TOY_GUESS, study.TOY_RIGHT, 1.0, 1.0)
    assert plan.needs == 108
    assert plan.says(30).startswith("undecided: needs 108, has 30")
    with pytest.raises(NoGuarantee, match="no number of releases is enough"):
        w.plan_guess_game(0.5, 0.7, 1.0, 1.0)


def word_model(rng, n):
    """Documents of two words: the second repeats the first, both are released with a little noise."""
    space = Space(np.arange(200.0)[:, None] / 4)
    x = rng.integers(0, 200, n)
    spread = lambda: np.clip(x + np.rint(rng.laplace(scale=4.0, size=n)).astype(int), 0, 199)  # noqa: E731
    return space, x, np.stack([spread(), spread()], axis=1)


def test_rare_values_are_pooled_and_their_pairs_not_named():
    rng = np.random.default_rng(4)
    space, x, y = word_model(rng, 4000)

    def score(rows, a, b):
        return (np.abs(rows - b[:, None]) - np.abs(rows - a[:, None])).sum(axis=1) / 4.0

    found = w.pooled_then_test(x, y, space, 1.05, 0.05, score=score, rng=rng)
    assert found.game == "pooled"
    assert found.shown  # one release alone leaks at most 1 per unit of distance, both together 2
    assert found.lower_bound < 2.0
    w.recheck(found)
    exact = {abs(float(a)) for a in np.arange(1, 200) / 4}
    assert len(set(found.distances) & (exact - {1.0})) <= 1
    assert len(found.sentence) < 400
    deaf = w.pooled_then_test(x, y, space, 1.05, 0.05, score=lambda r, a, b: np.zeros(len(r)), rng=rng)
    assert not deaf.shown
    assert deaf.lower_bound == 0.0


def test_the_toy_needs_at_most_120_releases():
    assert study.toy_power(108) >= 0.8 > study.toy_power(107)
    assert study.toy_power(120) >= 0.8


@pytest.mark.parametrize("game", ["two_arm", "guess_game"])
def test_random_joint_models_never_exceed_their_sup(game):
    shares = witness_models.shares(60, 2000, 0.001, game)
    assert (shares > 1).sum() <= 1
    assert np.median(shares) > 0.15


def test_swapping_the_secret_inside_a_document_measures_the_single_release_only():
    toy = witness_models.Model(
        np.array([[0.01, 0.49], [0.49, 0.01]]),
        (np.array([[0.72, 0.28], [0.28, 0.72]]),) * 2,
        np.ones((2, 2)) - np.eye(2),
    )
    assert toy.sup() == pytest.approx(1.845680886021875, abs=1e-9)
    rng = np.random.default_rng(2)
    x, y = toy.draw(20_000, rng)
    sound = w.select_then_test(x, y, toy.distances, 1.0, 0.05, rng=rng)
    assert 1.5 < sound.lower_bound < toy.sup()
    swapped = rng.integers(0, 2, 20_000)
    own = np.where(rng.random(20_000) < 0.72, swapped, 1 - swapped)
    blind = w.select_then_test(swapped, np.stack([own, y[:, 1]], axis=1), toy.distances, 1.0, 0.05, rng=rng)
    assert blind.lower_bound < 0.9445


def test_a_witness_is_rechecked_from_its_counts_and_stored(tmp_path):
    found = [
        w.witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0),
        w.witness_of("two_arm", (120, 250, 22, 250), (1.5,), alpha=0.05, epsilon=1.0),
        w.witness_of("hockey_stick", (900, 1000, 10, 1000), (1.0,), alpha=0.05, epsilon=1.0),
        w.witness_of("pooled", (61, 68, 30, 31), (1.0, 2.0), alpha=0.05, epsilon=1.0, log_odds=(0.0, 0.1)),
    ]
    assert [x.shown for x in found] == [True, False, True, True]
    for i, item in enumerate(found):
        w.recheck(item)
        save(tmp_path / f"{i}.json", item)
        assert load(tmp_path / f"{i}.json", w.Witness) == item
        with pytest.raises(TamperedEvidence):
            w.recheck(replace(item, lower_bound=item.lower_bound + 0.01))
    assert "not a pass" in found[1].sentence
    assert "whatever the attacker" in found[0].sentence


def test_candidates_share_the_level():
    alone = w.witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0)
    shared = w.witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0, tried=10)
    assert shared.lower_bound == w.guess_game(61, 68, 1.0, 0.005) < alone.lower_bound


RNG = np.random.default_rng(0)
COINS = [0, 1] * 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: w.guess_game(5, 3, 1.0, 0.05), "correct=5"),
        (lambda: w.guess_game(0, 0, 1.0, 0.05), "guesses=0"),
        (lambda: w.guess_game(1, 2, 0.0, 0.05), "distance=0.0"),
        (lambda: w.two_arm(1, 2, 3, 2, 1.0, 0.05), "k_b=3"),
        (lambda: w.two_arm(1, 2, 1, 2, 1.0, 1.0), "alpha=1.0"),
        (lambda: w.hockey_stick((1, 2, 1, 2), 1.0, -1.0, 0.05), "epsilon=-1.0"),
        (lambda: w.hockey_stick((1, 2, 1), 1.0, 1.0, 0.05), "counts has 3 entries, expected 4"),
        (lambda: w.pooled_lower([], 0.05), "0 groups"),
        (lambda: w.pooled_lower([(1.0, 2)], 0.05), "rounds has 2 columns, expected 3"),
        (lambda: w.pooled_log_e([(1.0, 1, 2)], "1"), "epsilon='1', expected a number"),
        (lambda: w.pooled_log_e([(1.0, 1, 2)], 1.0, [0.0, 0.0]), "1 groups of rounds and 2 log odds"),
        (
            lambda: w.witness_of("guess_game", (1, 2), (1.0,), alpha=0.05, epsilon=1.0, log_odds=(1.0,)),
            "log_odds given for the game guess_game, expected a fair coin",
        ),
        (lambda: w.select_then_test(COINS, COINS, [[0, 1], [2, 0]], 1.0, 0.05, rng=RNG), "expected symmetry"),
        (lambda: w.select_then_test(COINS, COINS, [[0, 1]], 1.0, 0.05, rng=RNG), r"expected \(1, 1\)"),
        (lambda: w.select_then_test(COINS, COINS, [[0, 1], [1, 0]], 1.0, 0.05, rng=7), "rng is an int, expected"),
        (
            lambda: w.select_then_test([5] * 99, COINS, [[0, 1], [1, 0]], 1.0, 0.05, rng=RNG),
            "secrets has another value",
        ),
        (lambda: w.witness_of("chess", (1, 2), (1.0,), alpha=0.05, epsilon=1.0), "game='chess'"),
        (lambda: w.witness_of("guess_game", (1, 2, 3), (1.0,), alpha=0.05, epsilon=1.0), "3 counts"),
        (lambda: w.witness_of("guess_game", (1, 2), (1.0,), alpha=0.05, epsilon=1.0, tried=0), "tried=0"),
        (
            lambda: w.select_then_test([0, 1], [0, 1], [[0, 1], [1, 0]], 1.0, 0.05, rng=np.random.default_rng()),
            r"2 secrets and outputs of shape \(2,\)",
        ),
        (
            lambda: w.select_then_test([0] * 99, [0] * 99, [[0, 1], [1, 0]], 1.0, 0.05, rng=np.random.default_rng()),
            "no two values",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)

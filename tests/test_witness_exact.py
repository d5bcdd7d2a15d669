"""Games by enumeration, selection and pooling by hand: a witness never says more than its counts."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.bounds import BETS, clopper_pearson_lower, clopper_pearson_upper
from oddshift.evidence import witness as w
from oddshift.evidence.witness import pooled
from oddshift.evidence.witness.games import CEILING
from oddshift.evidence.witness.pooled import pair_up, rounded_up
from oddshift.evidence.witness.selection import Rule, best_threshold, coded, count_events, frequency_score
from oddshift.model.space import Space


def pmf(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("distance", [0.5, 2.0])
def test_the_guess_game_overstates_a_leak_with_at_most_alpha(epsilon, distance):
    """Guesses are right with probability expit(ε·d) at most; the error is summed over all counts of 12 guesses."""
    n, alpha = 12, 0.1
    right = 1 / (1 + math.exp(-epsilon * distance))
    wrong = sum(pmf(k, n, right) for k in range(n + 1) if w.guess_game(k, n, distance, alpha) > epsilon)
    assert wrong <= alpha


@pytest.mark.parametrize("low", [0.05, 0.2])
def test_two_arms_overstate_a_leak_with_at_most_alpha(low):
    """P(E|a) = e^{ε·d}·P(E|b) exactly; every pair of counts of 9 releases each is summed."""
    n, alpha, distance, epsilon = 9, 0.2, 0.5, 1.5
    high = low * math.exp(epsilon * distance)
    wrong = sum(
        pmf(i, n, high) * pmf(j, n, low)
        for i, j in itertools.product(range(n + 1), repeat=2)
        if w.two_arm(i, n, j, n, distance, alpha) > epsilon
    )
    assert wrong <= alpha


def test_a_hockey_stick_overstates_a_rate_with_at_most_alpha():
    """Pr[mPL > ε | a] is at least P(E|a) − e^{εd}·P(E|b), which is what the bound estimates from below."""
    n, alpha, epsilon, distance = 9, 0.2, 0.5, 1.0
    for p, q in ((0.6, 0.2), (0.9, 0.1), (0.5, 0.5)):
        truth = max(0.0, p - math.exp(epsilon * distance) * q)
        wrong = sum(
            pmf(i, n, p) * pmf(j, n, q)
            for i, j in itertools.product(range(n + 1), repeat=2)
            if w.hockey_stick((i, n, j, n), distance, epsilon, alpha) > truth + 1e-12
        )
        assert wrong <= alpha


def test_pooled_evidence_has_mean_one_at_the_claim():
    """E is a product of fair bets when each guess is right with probability expit(ε·d) exactly."""
    epsilon, distances, sizes = 0.8, (1.0, 2.5), (3, 4)
    rights = [1 / (1 + math.exp(-epsilon * d)) for d in distances]
    mean = sum(
        pmf(i, sizes[0], rights[0])
        * pmf(j, sizes[1], rights[1])
        * math.exp(w.pooled_log_e([(distances[0], i, sizes[0]), (distances[1], j, sizes[1])], epsilon))
        for i, j in itertools.product(range(sizes[0] + 1), range(sizes[1] + 1))
    )
    assert mean == pytest.approx(1.0, abs=1e-9)


def test_pooled_evidence_with_a_biased_coin_has_mean_one_too():
    epsilon, distance, odds, n = 0.6, 1.5, 0.7, 5
    right = 1 / (1 + math.exp(-epsilon * distance - odds))
    mean = sum(pmf(k, n, right) * math.exp(w.pooled_log_e([(distance, k, n)], epsilon, [odds])) for k in range(n + 1))
    assert mean == pytest.approx(1.0, abs=1e-9)


def test_groups_of_one_distance_may_be_cut_or_joined():
    whole = w.pooled_log_e([(1.5, 20, 26)], 0.7)
    assert w.pooled_log_e([(1.5, 12, 16), (1.5, 8, 10)], 0.7) == pytest.approx(whole, rel=1e-12)


@given(st.integers(1, 60), st.data(), st.floats(0.2, 4.0))
@settings(max_examples=60, deadline=None)
def test_more_right_guesses_never_lower_and_more_distance_never_raises_a_bound(guesses, data, distance):
    correct = data.draw(st.integers(0, guesses - 1))
    for bound in (
        lambda k, d: w.guess_game(k, guesses, d, 0.05),
        lambda k, d: w.pooled_lower([(d, k, guesses)], 0.05),
        lambda k, d: w.two_arm(k, guesses, 0, guesses, d, 0.05),
    ):
        assert bound(correct, distance) <= bound(correct + 1, distance) + 1e-9
        assert bound(correct, 2 * distance) == pytest.approx(bound(correct, distance) / 2, rel=1e-6, abs=1e-9)


def test_perfect_guesses_show_a_finite_leak():
    lower = w.guess_game(1000, 1000, 1.0, 0.05)
    share = 0.05 ** (1 / 1000)
    assert lower == pytest.approx(math.log(share / (1 - share)), rel=1e-6)
    assert 0 < w.pooled_lower([(1.0, 10_000, 10_000)], 0.05) < CEILING
    assert w.two_arm(50, 50, 0, 50, 1.0, 0.05) == pytest.approx(
        math.log(clopper_pearson_lower(50, 50, 0.025) / clopper_pearson_upper(0, 50, 0.025))
    )


def test_an_event_that_never_happened_shows_nothing():
    assert w.two_arm(0, 50, 0, 50, 1.0, 0.05) == 0.0
    assert w.guess_game(0, 50, 1.0, 0.05) == 0.0
    assert w.hockey_stick((0, 50, 0, 50), 1.0, 1.0, 0.05) == 0.0


def test_a_huge_budget_does_not_overflow_a_hockey_stick():
    assert w.hockey_stick((50, 50, 0, 50), 1.0, 1e6, 0.05) == 0.0
    assert w.hockey_stick((50, 50, 0, 50), 1e6, 1e6, 0.05) == 0.0


def test_all_wrong_guesses_are_evidence_below_one():
    expected = np.mean((1 - BETS) ** 2)
    assert w.pooled_log_e([(1.0, 0, 2)], 1.0) == pytest.approx(math.log(expected))


def test_group_distances_are_the_largest_over_members():
    rng = np.random.default_rng(0)
    far = Space(rng.normal(size=(9, 2))).distances
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    found = w.group_distances(far, labels)
    for g, h in itertools.product(range(3), repeat=2):
        pairs = [far[a, b] for a in range(9) for b in range(9) if labels[a] == g and labels[b] == h]
        assert found[g, h] == (0.0 if g == h else max(pairs))
        if g != h:
            assert w.group_distance(far, np.flatnonzero(labels == g), np.flatnonzero(labels == h)) == found[g, h]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: w.group_distance(np.eye(2), [], [1]), "groups of 0 and 1 values, expected at least one in each"),
        (lambda: w.group_distance(np.zeros((2, 2)), [0], [1]), r"distance=0\.0, expected a finite number > 0"),
        (lambda: w.group_distances(np.zeros((3, 3)), [0, 1]), "2 labels for 3 values, expected one for each"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def slow_best_threshold(a, b, alpha):
    options = sorted({*a, *b})

    def bound(t):
        hits_a, hits_b = (sum(s >= t for s in scores) for scores in (a, b))
        low = clopper_pearson_lower(hits_a, len(a), alpha / 2)
        high = clopper_pearson_upper(hits_b, len(b), alpha / 2)
        return math.log(low / high) if low > 0 else -math.inf

    return max(bound(t) for t in options), bound


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=20), st.lists(st.integers(-3, 3), min_size=2, max_size=20))
@settings(max_examples=60, deadline=None)
def test_the_chosen_threshold_of_two_arms_is_the_best_of_all(a, b):
    chosen, bound = best_threshold(np.array(a, dtype=float), np.array(b, dtype=float), "two_arm", 0.05)
    best, at = slow_best_threshold(a, b, 0.05)
    if best > -math.inf:
        assert at(chosen) == pytest.approx(best, rel=1e-6)
        assert bound == pytest.approx(best, rel=1e-6)


def test_a_guess_needs_a_score_away_from_zero():
    assert best_threshold(np.zeros(9), np.zeros(9), "guess_game", 0.05) == (np.inf, -np.inf)
    threshold, bound = best_threshold(np.array([2.0] * 30 + [0.0]), np.array([-2.0] * 30), "guess_game", 0.05)
    assert threshold == 2.0
    assert bound > 0


def test_counts_of_two_arms_include_the_threshold_itself():
    rule = Rule(a=0, b=1, distance=1.0, threshold=2.0, game="two_arm")
    secrets, outputs = np.array([0, 0, 0, 1, 1, 7]), np.array([2.0, 1.9, 3.0, 2.0, -5.0, 9.0])
    counts = count_events(rule, secrets, outputs, lambda rows, a, b: rows, np.random.default_rng(0))
    assert counts == (2, 3, 1, 2)


def test_counts_of_the_guess_game_add_up_and_a_silent_game_is_one_wrong_guess():
    rule = Rule(a=0, b=1, distance=1.0, threshold=1.0, game="guess_game")
    secrets, outputs = np.array([0] * 30 + [1] * 20), np.array([1.0] * 30 + [-1.0] * 20)
    score = lambda rows, a, b: rows  # noqa: E731
    assert count_events(rule, secrets, outputs, score, np.random.default_rng(0)) == (20, 20)
    assert count_events(rule, secrets, -outputs, score, np.random.default_rng(0)) == (0, 20)
    assert count_events(rule, secrets, 0.0 * outputs, score, np.random.default_rng(0)) == (0, 1)
    with pytest.raises(InvalidInput, match="30 and 0 fresh documents of the chosen pair, expected some of each"):
        count_events(rule, secrets[:30], outputs[:30], score, np.random.default_rng(0))


def test_a_frequency_score_is_the_log_ratio_of_smoothed_counts():
    codes, secrets = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 1, 1, 1])
    score = frequency_score(codes, secrets, 4)
    # three outputs were seen: Pr[0|0] = 2.5/4.5 and Pr[0|1] = .5/4.5
    assert score(np.array([0, 1, 2, 3]), 0, 1) == pytest.approx(
        [math.log(5.0), math.log(1.5 / 2.5), math.log(0.5 / 1.5), 0.0]
    )
    assert score(np.array([0]), 1, 0) == pytest.approx([-math.log(5.0)])


def test_joint_outputs_are_coded_by_their_whole_row():
    assert coded(np.array([5, 3, 5])).tolist() == [1, 0, 1]
    rows = np.array([[[0, 1], [2, 3]], [[0, 1], [2, 4]], [[0, 1], [2, 3]]])
    codes = coded(rows)
    assert codes[0] == codes[2] != codes[1]


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_pairs_are_disjoint_and_of_different_values_with_their_true_distance(values, seed):
    space = Space(np.arange(7.0)[:, None] * 1.5)
    left, right, distances = pair_up(np.array(values), space, 3.0, np.random.default_rng(seed))
    used = [*left.tolist(), *right.tolist()]
    assert len(used) == len(set(used))
    for a, b, d in zip(left, right, distances, strict=True):
        assert values[a] != values[b]
        assert d == pytest.approx(1.5 * abs(values[a] - values[b]))
    assert len(left) > 0 or len(set(values)) == 1


def test_a_partner_is_sought_near_the_target_distance():
    space = Space(np.array([[0.0], [1.0], [100.0]]))
    values = np.array([0, 1, 2] * 30)
    near = pair_up(values, space, 1.0, np.random.default_rng(0))[2]
    far = pair_up(values, space, 100.0, np.random.default_rng(0))[2]
    assert (near == 1.0).sum() > (far == 1.0).sum()


def test_pairs_of_many_values_are_those_of_few(monkeypatch):
    """Distances worked out pair by pair, or once for all values: the same pairs."""
    values, space = np.random.default_rng(1).integers(0, 30, 200), Space(np.random.default_rng(2).normal(size=(30, 2)))
    once = pair_up(values, space, 1.0, np.random.default_rng(3))
    monkeypatch.setattr(pooled, "_FEW", 5)
    each = pair_up(values, space, 1.0, np.random.default_rng(3))
    assert [part.tolist() for part in once[:2]] == [part.tolist() for part in each[:2]]
    assert once[2] == pytest.approx(each[2], abs=1e-12)


def test_stored_distances_are_never_smaller_and_at_most_two_percent_larger():
    exact = np.geomspace(1e-3, 1e4, 500)
    shown = rounded_up(exact)
    assert (shown >= exact).all()
    assert (shown <= 1.02 * exact * (1 + 1e-9)).all()
    assert len(np.unique(rounded_up(np.linspace(1.0, 1.019, 100)))) <= 2
    assert rounded_up(np.array([1e-20]))[0] >= 1e-20


def test_a_pooled_witness_of_one_value_or_few_documents_is_refused():
    space = Space([[0.0], [1.0]])
    score = lambda rows, a, b: rows * 0.0  # noqa: E731
    with pytest.raises(InvalidInput, match="no two documents have different values"):
        w.pooled_then_test([0] * 40, [0.0] * 40, space, 1.0, 0.05, score=score, rng=np.random.default_rng(0))
    with pytest.raises(
        InvalidInput, match=r"15 secrets and outputs of shape \(15,\), expected equally many, at least 16"
    ):
        w.pooled_then_test([0] * 15, [0.0] * 15, space, 1.0, 0.05, score=score, rng=np.random.default_rng(0))


WITNESS = w.witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower_bound": -0.1}, r"lower_bound=-0\.1, expected a number >= 0"),
        ({"lower_bound": math.nan}, "lower_bound=nan"),
        ({"distances": ()}, "2 counts and 0 distances do not fit the game guess_game"),
        ({"distances": (1.0, 2.0)}, "2 counts and 2 distances do not fit"),
        ({"game": "pooled", "counts": (1, 2, 3)}, "3 counts and 1 distances do not fit the game pooled"),
        ({"alpha": 0.0}, r"alpha=0\.0"),
        ({"epsilon": 0.0}, r"epsilon=0\.0"),
        ({"tried": 1.5}, r"tried=1\.5"),
    ],
)
def test_a_witness_that_no_game_could_give_is_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        replace(WITNESS, **change)


def test_a_witness_is_shown_only_strictly_above_its_budget():
    assert not replace(WITNESS, epsilon=WITNESS.lower_bound).shown
    assert replace(WITNESS, epsilon=WITNESS.lower_bound - 1e-9).shown
    rate = w.witness_of("hockey_stick", (50, 50, 0, 50), (1.0,), alpha=0.05, epsilon=1.0)
    assert rate.shown
    assert not replace(rate, lower_bound=0.0).shown


@pytest.mark.parametrize("change", [{"counts": (60, 68)}, {"distances": (1.01,)}, {"alpha": 0.049}, {"tried": 2}])
def test_a_witness_whose_parts_were_changed_does_not_recheck(change):
    with pytest.raises(TamperedEvidence, match=r"counts give the lower bound .*, the witness says"):
        w.recheck(replace(WITNESS, **change))


def test_sentences_say_what_was_counted_and_never_pass_an_undecided_witness():
    pooled = w.witness_of("pooled", (9, 10, 4, 5), (1.0, 2.0), alpha=0.05, epsilon=3.0)
    assert "13 of 15 guesses right at 2 distances" in pooled.sentence
    assert pooled.sentence.startswith("Undecided, which is not a pass")
    assert "Pr[mPL > 1 | X = a]" in w.witness_of("hockey_stick", (9, 9, 0, 9), (1.0,), alpha=0.05, epsilon=1.0).sentence
    assert WITNESS.sentence.startswith(
        "Leakage above epsilon = 1 was shown: the lower bound on the largest mPL is 1.48501"
    )


def slow_guess_power(n, guessed, right, threshold, alpha):
    total = 0.0
    for g in range(1, n + 1):
        needed = next((k for k in range(g + 1) if sum(pmf(j, g, threshold) for j in range(k, g + 1)) <= alpha), None)
        if needed is not None:
            total += pmf(g, n, guessed) * sum(pmf(k, g, right) for k in range(needed, g + 1))
    return total


@pytest.mark.parametrize(
    ("n", "guessed", "right", "threshold"), [(1, 1.0, 0.9, 0.7), (15, 0.6, 0.95, 0.7), (25, 1.0, 0.9, 0.6)]
)
def test_the_power_of_a_guess_game_is_the_sum_over_guesses_and_hits(n, guessed, right, threshold):
    assert w.guess_power(n, guessed, right, threshold, 0.05) == pytest.approx(
        slow_guess_power(n, guessed, right, threshold, 0.05), rel=1e-9, abs=1e-12
    )


def test_a_planned_game_is_the_smallest_with_its_power():
    plan = w.plan_guess_game(1.0, 0.95, 1.0, 1.0, power=0.7)
    threshold = 1 / (1 + math.exp(-1))
    assert slow_guess_power(plan.needs, 1.0, 0.95, threshold, 0.05) >= 0.7
    assert slow_guess_power(plan.needs - 1, 1.0, 0.95, threshold, 0.05) < 0.7
    assert plan.says(plan.needs).startswith("enough")
    with pytest.raises(InvalidInput, match=r"guessed=1\.5"):
        w.plan_guess_game(1.5, 0.9, 1.0, 1.0)

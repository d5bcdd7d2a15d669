"""Witnesses: reference values, validity by enumeration, and re-checking from counts alone."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies import witness_false_positives as study
from studies.witness_correct import CORRECT

from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.storage import load, save
from oddshift.bounds import clopper_pearson_lower, clopper_pearson_upper
from oddshift.evidence import witness as w


def pmf(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


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


@given(st.integers(1, 60), st.data(), st.floats(0.2, 4.0))
@settings(max_examples=60, deadline=None)
def test_more_right_guesses_never_lower_and_more_distance_never_raises_a_bound(guesses, data, distance):
    correct = data.draw(st.integers(0, guesses - 1))
    for bound in (
        lambda k, d: w.guess_game(k, guesses, d, 0.05),
        lambda k, d: w.two_arm(k, guesses, 0, guesses, d, 0.05),
    ):
        assert bound(correct, distance) <= bound(correct + 1, distance) + 1e-9
        assert bound(correct, 2 * distance) == pytest.approx(bound(correct, distance) / 2, rel=1e-6, abs=1e-9)


def test_perfect_guesses_show_a_finite_leak_and_none_shows_nothing():
    share = 0.05 ** (1 / 1000)
    assert w.guess_game(1000, 1000, 1.0, 0.05) == pytest.approx(math.log(share / (1 - share)), rel=1e-6)
    assert w.two_arm(50, 50, 0, 50, 1.0, 0.05) == pytest.approx(
        math.log(clopper_pearson_lower(50, 50, 0.025) / clopper_pearson_upper(0, 50, 0.025))
    )
    assert w.two_arm(0, 50, 0, 50, 1.0, 0.05) == w.guess_game(0, 50, 1.0, 0.05) == 0.0


@pytest.mark.parametrize("name", [name for name in study.GAMES if "invalid" not in name])
def test_false_positives_at_the_boundary(name):
    assert study.rate(name, 200) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)


def test_choosing_on_the_counted_releases_is_shown_to_fail():
    name = next(name for name in study.GAMES if "invalid" in name)
    assert study.rate(name, 300) > 0.25


@pytest.mark.parametrize("name", CORRECT)
def test_correct_mechanisms_are_not_accused(name):
    sample, space = CORRECT[name]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        assert not w.witness_mdp(sample, space, study.EPSILON, explore=300, confirm=2000, pairs=6, rng=rng).shown


GUESSES = w.witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0)
ARMS = w.witness_of("two_arm", (120, 250, 22, 250), (1.5,), alpha=0.05, epsilon=1.0)


@pytest.mark.parametrize(("found", "shown"), [(GUESSES, True), (ARMS, False)])
def test_a_witness_is_rechecked_from_its_counts_and_stored(tmp_path, found, shown):
    assert found.shown == shown
    w.recheck(found)
    save(tmp_path / "w.json", found)
    assert load(tmp_path / "w.json", w.Witness) == found
    assert found.sentence.startswith("Leakage above epsilon = 1" if shown else "Undecided")


@pytest.mark.parametrize(
    "change",
    [{"lower_bound": 1.6}, {"counts": (60, 68)}, {"distances": (1.01,)}, {"alpha": 0.049}, {"tried": 2}],
)
def test_a_witness_whose_parts_were_changed_does_not_recheck(change):
    with pytest.raises(TamperedEvidence, match=r"counts give the lower bound .*, the witness says"):
        w.recheck(replace(GUESSES, **change))


def test_candidates_share_the_level():
    shared = w.witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0, tried=10)
    assert shared.lower_bound == w.guess_game(61, 68, 1.0, 0.005) < GUESSES.lower_bound


def test_a_witness_is_shown_only_strictly_above_its_budget():
    assert not replace(GUESSES, epsilon=GUESSES.lower_bound).shown
    assert replace(GUESSES, epsilon=GUESSES.lower_bound - 1e-9).shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: w.guess_game(5, 3, 1.0, 0.05), "correct=5"),
        (lambda: w.guess_game(0, 0, 1.0, 0.05), "guesses=0"),
        (lambda: w.guess_game(1, 2, 0.0, 0.05), "distance=0.0"),
        (lambda: w.two_arm(1, 2, 3, 2, 1.0, 0.05), "k_b=3"),
        (lambda: w.two_arm(1, 2, 1, 2, 1.0, 1.0), "alpha=1.0"),
        (lambda: replace(GUESSES, game="chess"), "game='chess'"),
        (lambda: replace(GUESSES, game="pooled"), "game='pooled'"),
        (lambda: replace(GUESSES, counts=(1, 2, 3)), "3 counts, 1 distances and 0 log_odds .* expected 2, 1 and 0"),
        (lambda: replace(GUESSES, distances=()), "2 counts, 0 distances"),
        (lambda: replace(GUESSES, log_odds=(1.0,)), "1 distances and 1 log_odds"),
        (lambda: replace(GUESSES, lower_bound=-0.1), r"lower_bound=-0\.1"),
        (lambda: replace(GUESSES, lower_bound=math.nan), "lower_bound=nan"),
        (lambda: replace(GUESSES, alpha=0.0), r"alpha=0\.0"),
        (lambda: replace(GUESSES, epsilon=0.0), r"epsilon=0\.0"),
        (lambda: replace(GUESSES, tried=0), "tried=0"),
        (lambda: replace(GUESSES, tried=1.5), r"tried=1\.5"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()

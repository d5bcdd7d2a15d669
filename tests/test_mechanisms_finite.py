"""Finite mechanisms by hand: the numbers of small channels, and each bad argument once.

Geometric noise and randomized response against their own definitions.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift import (
    Channel,
    Deletion,
    Exponential,
    Geometric,
    InvalidInput,
    Mask,
    NoiseCharacter,
    RandomizedResponse,
    Space,
    Substitution,
    Truncated,
    scaled,
)
from oddshift.base.errors import NoGuarantee, TooLarge
from oddshift.mechanisms import estimate_channel, truncation_radius

LINE = Space([[0.0], [1.0], [3.0]])
PAIR = Space([[0.0], [1.0]])


def test_exponential_by_hand():
    em = Exponential(LINE, 2.0)
    weights = np.exp(-LINE.distances)
    assert np.exp(em.log_matrix) == pytest.approx(weights / weights.sum(axis=1, keepdims=True))
    assert em.log_z == pytest.approx(np.log(weights.sum(axis=1)))
    assert (em.claimed_epsilon, em.n_outputs, em.outputs) == (2.0, 3, LINE)
    assert repr(em) == "Exponential(Space(n=3, metric=euclidean), epsilon=2, n_outputs=3)"


def test_exponential_with_other_candidates():
    em = Exponential(PAIR, 2.0, Space([[0.5], [2.5]]))
    weights = np.exp([[-0.5, -2.5], [-0.5, -1.5]])
    assert np.exp(em.log_matrix) == pytest.approx(weights / weights.sum(axis=1, keepdims=True))
    assert em.exact_epsilon < 2.0


def test_truncated_is_flat_beyond_its_radius():
    em = Truncated(LINE, 2.0, 1.5)
    assert em.log_matrix[0, 1] - em.log_matrix[0, 2] == pytest.approx(0.5)
    assert em.exact_epsilon <= 2.0
    assert Truncated(LINE, 2.0, 10.0).log_matrix == pytest.approx(Exponential(LINE, 2.0).log_matrix)


def test_truncation_radius_bounds_the_far_mass():
    radius = truncation_radius(1_001, 2.0, 0.01)
    far = 1_000 * np.exp(-radius)
    assert far / (1 + far) == pytest.approx(0.01)
    assert truncation_radius(2, 1.0, 0.9) == 0.0


def test_mask_says_nothing_about_any_number_of_points():
    mask = Mask(Space(np.arange(20_000.0)[:, None]))
    assert (mask.exact_epsilon, mask.claimed_epsilon, mask.n_outputs, mask.outputs) == (0.0, 0.0, 1, None)
    assert mask.sample([5, 7], np.random.default_rng(0)).tolist() == [0, 0]


def test_deletion_by_hand():
    assert np.exp(Deletion(PAIR, 0.25).log_matrix).tolist() == [[0.75, 0.0, 0.25], [0.0, 0.75, 0.25]]
    assert Deletion(PAIR, 0.25).exact_epsilon == np.inf
    assert Deletion(PAIR, 1.0).exact_epsilon == 0.0
    assert Deletion(PAIR, 1.0).claimed_epsilon == 0.0


def test_substitution_by_hand():
    rows = np.exp(Substitution(LINE, 0.5, 1).log_matrix)
    assert rows.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    everyone = Substitution(LINE, 0.5, 2)
    assert everyone.exact_epsilon == pytest.approx(np.log(2.0))


def test_noise_character_by_hand():
    noise = NoiseCharacter(PAIR, ("a", "ab"), 0.5, "ab")
    row = dict(zip(noise.strings, np.exp(noise.log_matrix[0]), strict=True))
    assert row["a"] == 0.5
    assert row["aa"] == pytest.approx(0.25)  # two places give the same string
    assert row["ab"] == row["ba"] == pytest.approx(0.125)
    assert row["aab"] == 0.0
    assert noise.exact_epsilon == np.inf
    assert repr(noise) == "NoiseCharacter(Space(n=2, metric=euclidean), probability=0.5)"


def test_an_estimate_has_no_exact_epsilon():
    counted = estimate_channel(Exponential(PAIR, 1.0), 4_000, np.random.default_rng(0))
    assert np.exp(counted.log_matrix) == pytest.approx(np.exp(Exponential(PAIR, 1.0).log_matrix), abs=0.03)
    assert "estimate" in repr(counted)
    with pytest.raises(NoGuarantee, match="no exact epsilon"):
        _ = counted.exact_epsilon


def test_large_mechanisms_sample_without_a_matrix():
    em = Exponential(Space(np.arange(20_000.0)[:, None]), 1.0)
    drawn = em.sample([0, 19_999, 0], np.random.default_rng(0))
    assert drawn[0] < 40
    assert drawn[1] > 19_900
    for refused in (lambda: em.log_matrix, em.sampler):
        with pytest.raises(TooLarge, match="use "):
            refused()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exponential(LINE, 0.0), r"epsilon=0\.0, expected a finite number > 0"),
        (lambda: Exponential(LINE, -2.0), r"epsilon=-2\.0, expected a finite number > 0"),
        (lambda: Exponential(LINE, np.nan), "epsilon=nan"),
        (lambda: Exponential(LINE, np.inf), "epsilon=inf"),
        (lambda: Exponential(LINE, "a lot"), "epsilon='a lot', expected a number"),
        (lambda: Exponential(LINE, 1.0, Space([[0.0, 1.0]])), "outputs have 2 columns, expected 1 like the points"),
        (lambda: Truncated(LINE, 1.0, 0.0), r"radius=0\.0"),
        (lambda: Truncated(LINE, 0.0, 1.0), r"epsilon=0\.0"),
        (lambda: Truncated(LINE, 1.0, 1.0, Space([[0.0, 1.0]])), "outputs have 2 columns"),
        (lambda: truncation_radius(1, 1.0, 0.1), "n_outputs=1, expected a whole number >= 2"),
        (lambda: truncation_radius(5, 1.0, 1.0), "expected 0 < far_mass < 1"),
        (lambda: Geometric(LINE, 1.0), "not in order at equal steps"),
        (lambda: Geometric(Space([[1.0], [0.0]]), 1.0), "not in order"),
        (lambda: Geometric(Space([[0.0]]), 1.0), "at least 2 points"),
        (lambda: Geometric(Space([[0.0, 0.0], [1.0, 0.0]]), 1.0), "one column"),
        (lambda: Geometric(PAIR, 0.0), r"epsilon=0\.0"),
        (lambda: RandomizedResponse(Space([[0.0]]), 1.0), "expected at least 2 points"),
        (lambda: RandomizedResponse(PAIR, -1.0), r"epsilon=-1\.0"),
        (lambda: Deletion(PAIR, 0.0), r"probability=0\.0, expected 0 < probability <= 1"),
        (lambda: Deletion(PAIR, 1.1), r"probability=1\.1"),
        (lambda: Substitution(PAIR, 0.5, 2), r"neighbours=2, expected a whole number in \[1, 1\]"),
        (lambda: Substitution(PAIR, np.nan, 1), "probability=nan"),
        (lambda: NoiseCharacter(PAIR, ("a", "a"), 0.5), "1 distinct words, expected 2, one for each point"),
        (lambda: NoiseCharacter(PAIR, ("a", "b"), 0.5, "xx"), "alphabet repeats a character"),
        (lambda: Channel(PAIR, np.zeros((3, 1))), "log_matrix has 3 rows, expected 2, one for each point"),
        (lambda: Channel(PAIR, np.zeros((2, 1)), PAIR), "log_matrix has 1 columns, expected 2, one for each output"),
        (lambda: Channel(PAIR, np.log([[0.5, 0.4], [0.5, 0.5]])), r"row 0 sums to 0\.9, expected 1"),
        (lambda: estimate_channel(Mask(PAIR), 0, np.random.default_rng(0)), "draws=0"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_words_never_show_in_a_refusal():
    with pytest.raises(InvalidInput) as caught:
        NoiseCharacter(PAIR, ("secretive", "secretive"), 0.5)
    assert "secretive" not in str(caught.value)


def slow_geometric(n, a):
    """Two-sided geometric noise on the whole line, what falls beyond an end counted at that end."""
    noise = {k: a ** abs(k) * (1 - a) / (1 + a) for k in range(-400, 401)}
    rows = np.zeros((n, n))
    for x in range(n):
        for k, p in noise.items():
            rows[x, min(max(x + k, 0), n - 1)] += p
    return rows


@pytest.mark.parametrize(("n", "step", "epsilon"), [(2, 1.0, 0.5), (3, 0.5, 0.7), (6, 2.0, 0.1), (5, 1.5, 2.0)])
def test_geometric_noise_gathers_its_tails_at_the_ends(n, step, epsilon):
    mechanism = Geometric(Space(10.0 + step * np.arange(n)[:, None]), epsilon)
    assert np.exp(mechanism.log_matrix) == pytest.approx(slow_geometric(n, np.exp(-epsilon * step)), abs=1e-12)


@given(st.integers(2, 12), st.floats(0.01, 3.0), st.floats(0.1, 5.0))
@settings(max_examples=40, deadline=None)
def test_geometric_noise_reaches_its_claim_exactly(n, epsilon, step):
    mechanism = Geometric(Space(step * np.arange(n)[:, None]), epsilon)
    assert mechanism.exact_epsilon == pytest.approx(epsilon, rel=1e-9)
    assert mechanism.claimed_epsilon == epsilon


def test_geometric_noise_without_end_stays_normalised():
    rows = np.exp(Geometric(Space(np.arange(50.0)[:, None]), 1e-12).log_matrix)
    assert rows.sum(axis=1) == pytest.approx(np.ones(50))
    assert rows[20, 0] == pytest.approx(0.5, abs=1e-9)  # flat noise leaves the line on either side
    sure = np.exp(Geometric(Space(np.arange(5.0)[:, None]), 1e5).log_matrix)
    assert sure == pytest.approx(np.eye(5))


def test_manhattan_is_a_line_too_and_another_metric_is_not():
    points = [[0.0], [1.0], [2.0]]
    assert Geometric(Space(points, "manhattan"), 1.0).exact_epsilon == pytest.approx(1.0)
    for metric in ("hamming", scaled("euclidean", 2.0)):
        with pytest.raises(InvalidInput, match="expected at least 2 points in one column"):
            Geometric(Space(points, metric), 1.0)


@pytest.mark.parametrize("points", [[[0.0], [1.0], [2.0 + 1e-6]], [[0.0], [1.0], [0.5]], [[2.0], [1.0], [0.0]]])
def test_points_out_of_step_or_order_are_refused_without_being_shown(points):
    with pytest.raises(InvalidInput, match="not in order at equal steps") as caught:
        Geometric(Space(points), 1.0)
    assert "0." not in str(caught.value)


@given(st.integers(2, 8), st.floats(0.05, 4.0), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_randomized_response_keeps_the_point_with_odds_of_the_smallest_distance(n, epsilon, seed):
    space = Space(np.random.default_rng(seed).normal(size=(n, 3)))
    smallest = min(space.distances[a, b] for a in range(n) for b in range(a))
    rows = np.exp(RandomizedResponse(space, epsilon).log_matrix)
    for x in range(n):
        others = np.delete(rows[x], x)
        assert others == pytest.approx(np.full(n - 1, others[0]))
        assert rows[x, x] / others[0] == pytest.approx(np.exp(epsilon * smallest))
        assert rows[x].sum() == pytest.approx(1.0)
    assert RandomizedResponse(space, epsilon).exact_epsilon == pytest.approx(epsilon, rel=1e-9)


def test_reprs_show_sizes_and_budget_only():
    space = Space([[17.25], [18.25]])
    assert repr(Geometric(space, 0.5)) == "Geometric(Space(n=2, metric=euclidean), epsilon=0.5)"
    assert repr(RandomizedResponse(space, 0.5)) == "RandomizedResponse(Space(n=2, metric=euclidean), epsilon=0.5)"

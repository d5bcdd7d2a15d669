"""Back-off: hand-computed rows, the leave-one-out score against removing each observation, and mixing weights."""

import numpy as np
import pytest

from oddshift.attackers.backoff import Backoff, backed_off, fit_backoff, mixing_weights, observations


def test_rows_by_hand():
    """Counts 3, 1, 0 with discount .5, strength 2 and a flat base: kinds 2, so (2 + 1)/3 is spread."""
    row = Backoff(0.5, 2.0).rows(np.array([[3.0, 1.0, 0.0]]), np.full((1, 3), 1 / 3))
    np.testing.assert_allclose(row, [[(2.5 + 1) / 6, (0.5 + 1) / 6, 1 / 6]])


def test_a_row_without_counts_is_the_broader_law():
    base = np.array([[0.2, 0.8]])
    np.testing.assert_allclose(Backoff(0.3, 5.0).rows(np.zeros((1, 2)), base), base)


def removed_one_by_one(context, value, backoff, base, values):
    total = 0.0
    for k in range(len(value)):
        rest = np.arange(len(value)) != k
        counts = np.zeros((context.max() + 1, values))
        np.add.at(counts, (context[rest], value[rest]), 1)
        total += np.log(backoff.rows(counts, base)[context[k], value[k]])
    return total


@pytest.mark.parametrize("backoff", [Backoff(0.0, 1.0), Backoff(0.4, 3.0), Backoff(0.8, 0.3)])
def test_the_score_leaves_one_out(backoff):
    rng = np.random.default_rng(0)
    context, value = rng.integers(3, size=40), rng.integers(4, size=40) // 2
    base = np.array([[0.4, 0.3, 0.2, 0.1]])
    seen = observations(context, value, 3, 4)
    expected = removed_one_by_one(context, value, backoff, base, 4)
    assert backoff.score(seen, base[0, seen.value]) == pytest.approx(expected)


def test_deterministic_contexts_are_trusted_and_random_ones_are_not():
    rng = np.random.default_rng(0)
    context = rng.integers(10, size=300)
    base = np.full(10, 0.1)
    sure = fit_backoff(seen := observations(context, context, 10, 10), base[seen.value])
    unsure = fit_backoff(seen := observations(context, rng.integers(10, size=300), 10, 10), base[seen.value])
    assert sure.strength < 1.0
    assert unsure.strength >= 100.0


def test_no_observation_is_no_reason_to_fail():
    empty = observations(np.zeros(0, int), np.zeros(0, int), 2, 3)
    assert fit_backoff(empty, np.zeros(0)).strength > 0
    np.testing.assert_allclose(backed_off(empty, np.zeros((2, 3)), [np.full((2, 3), 1 / 3)]), 1 / 3)
    np.testing.assert_allclose(mixing_weights(np.zeros((0, 2)), np.zeros(0)), 0.5)


def test_weights_find_the_law_that_made_the_data():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(6), size=2)
    value = rng.choice(6, size=6_000, p=0.7 * laws[0] + 0.3 * laws[1])
    weights = mixing_weights(laws.T[value], np.ones(len(value)))
    np.testing.assert_allclose(weights, [0.7, 0.3], atol=0.1)


def test_many_pairs_are_compared_on_some_of_them(monkeypatch):
    """The choice on a tenth of the pairs scores, on all of them, about as well as the best choice."""
    rng = np.random.default_rng(0)
    context = rng.integers(100, size=5_000)
    value = (context + rng.geometric(0.3, size=5_000)) % 50
    seen, flat = observations(context, value, 100, 50), np.full(50, 0.02)
    best = fit_backoff(seen, flat[seen.value])
    monkeypatch.setattr("oddshift.attackers.backoff.SCORED", len(seen.count) // 10)
    chosen = fit_backoff(seen, flat[seen.value])
    scores = [each.score(seen, flat[seen.value]) / 5_000 for each in (best, chosen, Backoff(0.0, 1e4))]
    assert scores[1] > scores[0] - 0.02
    assert scores[2] < scores[0] - 0.3  # a choice can be much worse

import numpy as np
import pytest

import oracles
from oddshift import Channel, Exponential, InvalidInput, Mask, Remap, Space, Tiered, Tiers
from oddshift.base.errors import NoGuarantee
from oddshift.mechanisms import estimate_channel

LINE = Space([[1.0], [2.0], [4.0]])
SPACE = Space(np.random.default_rng(0).normal(size=(12, 4)))
PRIOR = np.random.default_rng(1).dirichlet(np.ones(12))


def test_by_hand():
    channel = Channel(LINE, np.log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]), LINE)
    table = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [9.0, 1.0, 0.0]])
    remap = Remap(channel, [0.5, 0.25, 0.25], table)
    assert remap.destination.tolist() == [0, 1, 1]
    assert np.exp(remap.log_matrix) == pytest.approx(np.array([[0.8, 0.2, 0], [0.1, 0.9, 0], [0.1, 0.9, 0]]))
    assert remap.invert([0, 2, 2], [0.0, 0.95, 0.05]).tolist() == [0, 1, 0]


@pytest.mark.parametrize("cost", ["cosine", "euclidean"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_destinations_are_the_argmin(cost, epsilon):
    inner = Exponential(SPACE, epsilon)
    remap = Remap(inner, PRIOR, cost)
    costs = remap.cost.between(SPACE, np.arange(12), SPACE)
    expected = oracles.remap_costs(np.exp(inner.log_matrix), PRIOR, costs)
    chosen = expected[np.arange(12), remap.destination]
    assert chosen == pytest.approx(expected.min(axis=1), abs=1e-12)


def test_the_shortcut_for_cosine_is_the_general_way():
    inner = Exponential(SPACE, 1.0)
    table = Remap(inner, PRIOR, "cosine").cost.between(SPACE, np.arange(12), SPACE)
    assert Remap(inner, PRIOR, "cosine").destination.tolist() == Remap(inner, PRIOR, table).destination.tolist()


def test_outputs_may_be_other_points_than_the_secrets():
    outputs = Space(np.random.default_rng(2).normal(size=(30, 4)))
    remap = Remap(Exponential(SPACE, 1.0, outputs), PRIOR, "euclidean")
    assert remap.n_outputs == 30
    assert np.exp(remap.log_matrix).sum(axis=1) == pytest.approx(np.ones(12))


def test_exact_epsilon_counts_the_inner_pairs():
    tiers = Tiers([0] * 6 + [1] * 6, names=("PII", "PoII"), scales=(0.1, 1.0), is_public=True)
    inner = Tiered(SPACE, tiers, 4.0)
    remap = Remap(inner, PRIOR, "euclidean")
    assert remap.exact_epsilon <= inner.exact_epsilon + 1e-12
    groups = [range(6), range(6, 12)]
    assert remap.exact_epsilon == pytest.approx(oracles.log_epsilon(remap.log_matrix, SPACE.distances, groups))
    secret = Remap(Tiered(SPACE, Tiers(tiers.labels, names=("a", "b"), scales=(0.1, 1.0), is_public=False), 4.0), PRIOR)
    assert secret.exact_epsilon == pytest.approx(oracles.log_epsilon(secret.log_matrix, SPACE.distances))


def test_an_estimate_stays_an_estimate():
    counted = estimate_channel(Exponential(SPACE, 1.0), 50, np.random.default_rng(0))
    with pytest.raises(NoGuarantee, match="Monte-Carlo estimate"):
        _ = Remap(counted, PRIOR, "euclidean").exact_epsilon


def test_ties_go_to_the_lowest_index():
    flat = Channel(LINE, np.log(np.full((3, 3), 1 / 3)), LINE)
    assert Remap(flat, [0.5, 0.25, 0.25], np.zeros((3, 3))).destination.tolist() == [0, 0, 0]


@pytest.mark.parametrize("cost", ["euclidean", "cosine"])
def test_outputs_too_far_for_floats_still_go_to_the_likelier_point(cost):
    points, outputs = Space([[0.0, 1.0], [1.0, 1.0]]), Space([[0.0, 1.0], [1.0, 1.0], [2000.0, 1.0]])
    remap = Remap(Exponential(points, 10.0, outputs), [0.5, 0.5], cost)  # e^-10000 from either point
    assert remap.destination.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Remap("em", [0.5, 0.25, 0.25]), "mechanism is a str, expected a finite Mechanism"),
        (lambda: Remap(Mask(LINE), [0.5, 0.25, 0.25]), "does not release points"),
        (lambda: Remap(Exponential(LINE, 1.0), [0.5, 0.5]), "prior has 2 entries, expected 3"),
        (lambda: Remap(Exponential(LINE, 1.0), [0.5, 0.25, 0.2]), "prior sums to 0.95, expected 1"),
        (lambda: Remap(Exponential(LINE, 1.0), [0.5, 0.25, 0.25], "hops"), "cost='hops'"),
        (lambda: Remap(Exponential(LINE, 1.0), [0.5, 0.25, 0.25], np.zeros((2, 2))), r"shape \(2, 2\), expected"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_the_remapped_matrix_adds_columns_that_share_a_destination():
    rng = np.random.default_rng(3)
    inner = Exponential(SPACE, 2.0)
    remap = Remap(inner, PRIOR, "euclidean")
    slow = np.zeros((12, 12))
    for x in range(12):
        for y in range(12):
            slow[x, remap.destination[y]] += np.exp(inner.log_matrix[x, y])
    assert np.exp(remap.log_matrix) == pytest.approx(slow, abs=1e-15)
    index = rng.integers(0, 12, 50)
    assert remap.log_likelihood(index) == pytest.approx(remap.log_matrix[index])


def test_remapping_never_costs_more_than_releasing_what_was_drawn():
    from oddshift.mechanisms.utility import expected_loss

    for cost in ("cosine", "euclidean"):
        for epsilon in (0.2, 1.0, 5.0):
            inner = Exponential(SPACE, epsilon)
            assert expected_loss(Remap(inner, PRIOR, cost), PRIOR, cost) <= expected_loss(inner, PRIOR, cost) + 1e-12


def test_the_prior_decides_where_an_ambiguous_output_goes():
    flat = Channel(LINE, np.log(np.full((3, 3), 1 / 3)), LINE)
    for likely in range(3):
        prior = np.full(3, 0.05)
        prior[likely] = 0.9
        assert Remap(flat, prior, "euclidean").destination.tolist() == [likely] * 3


def test_points_of_prior_zero_have_no_say():
    sure = Channel(LINE, np.log([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]]), LINE)
    for cost in ("euclidean", "cosine"):
        assert 2 not in Remap(sure, [0.5, 0.5, 0.0], "euclidean").destination.tolist()
        assert np.isfinite(Remap(sure, [0.5, 0.5, 0.0], cost).log_matrix[2]).any()


def test_blocks_of_points_and_outputs_do_not_change_a_destination(monkeypatch):
    from oddshift.base import arrays

    whole = {cost: Remap(Exponential(SPACE, 1.0), PRIOR, cost).destination.tolist() for cost in ("cosine", "euclidean")}
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 13)
    for cost, expected in whole.items():
        assert Remap(Exponential(SPACE, 1.0), PRIOR, cost).destination.tolist() == expected


def test_a_stored_remap_is_used_as_it_was_kept():
    inner = Exponential(LINE, 1.0)
    kept = Remap.stored(inner, np.array([0.5, 0.25, 0.25]), "euclidean", np.array([2, 2, 0]))
    assert kept.destination.tolist() == [2, 2, 0]
    rows, own = np.exp(kept.log_matrix), np.exp(inner.log_matrix)
    assert rows[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert rows[:, 2] == pytest.approx(own[:, 0] + own[:, 1])
    for prior, destination, message in (
        (np.ones(2) / 2, np.arange(3), "prior has 2 entries and destination 3, expected 3 and 3"),
        (np.ones(3) / 3, np.arange(2), "prior has 3 entries and destination 2, expected 3 and 3"),
        (np.ones(3) / 3, np.array([0, 1, 3]), r"destination has 3, expected integers in \[0, 3\)"),
    ):
        with pytest.raises(InvalidInput, match=message):
            Remap.stored(inner, prior, "euclidean", destination)


def test_a_remap_of_a_remap_is_a_mechanism_with_the_claim_of_the_innermost():
    inner = Exponential(SPACE, 1.0)
    twice = Remap(Remap(inner, PRIOR, "euclidean"), PRIOR, "euclidean")
    assert twice.claimed_epsilon == 1.0
    assert twice.exact_epsilon <= inner.exact_epsilon + 1e-12
    assert np.exp(twice.log_matrix).sum(axis=1) == pytest.approx(np.ones(12))


def test_outputs_with_one_destination_are_added_even_where_their_numbers_underflow():
    """log Pr of −2,000 for two outputs of one destination: e^−2000 is 0 as a float, and their sum is not impossible."""
    half, four = np.log(0.5), Space([[1.0], [2.0], [3.0], [4.0]])
    table = np.array([[-2000.0, -2000.0, half, half], [half, half, -np.inf, -np.inf], [half, half, -2000.0, -2000.0]])
    channel = Channel(LINE, table, four)
    moved = Remap.stored(channel, np.full(3, 1 / 3), "cosine", np.array([0, 0, 3, 3]))
    never, tiny = -np.inf, -2000.0 + np.log(2.0)
    expected = [[tiny, never, never, 0.0], [0.0, never, never, never], [0.0, never, never, tiny]]
    np.testing.assert_allclose(moved.log_likelihood(np.arange(3)), expected, atol=1e-12)


def test_averages_and_the_law_of_outputs_need_no_matrix():
    em = Exponential(Space(np.random.default_rng(4).normal(size=(12, 3))), 1.5)
    law, values = np.full(12, 1 / 12), np.random.default_rng(5).normal(size=(12, 4))
    moved = Remap(em, law)
    averages, outputs = moved.averages(values), moved.law_of_outputs(law)
    assert "log_matrix" not in moved.__dict__
    np.testing.assert_allclose(averages, np.exp(moved.log_matrix) @ values, atol=1e-12)
    np.testing.assert_allclose(outputs, law @ np.exp(moved.log_matrix), atol=1e-12)


def test_columns_of_many_points_need_no_matrix(monkeypatch):
    """Some outputs have several sources, some one, some none: the columns are those of the matrix."""
    monkeypatch.setattr("oddshift.mechanisms.remap.KEPT_POINTS", 0)
    moved = Remap.stored(Exponential(SPACE, 3.0), PRIOR, "cosine", np.array([0, 0, 2, 0, 4, 4, 6, 7, 7, 9, 10, 11]))
    outputs = np.array([0, 4, 2, 11, 1, 4])
    found, some = moved.log_columns(outputs), moved.candidate_columns(outputs, np.array([1, 5]))
    assert "log_matrix" not in moved.__dict__
    assert np.isneginf(found[4]).all()  # nothing is released as output 1
    np.testing.assert_allclose(found, moved.log_matrix.T[outputs], atol=1e-12)
    np.testing.assert_allclose(some, found[:, [1, 5]], atol=1e-12)

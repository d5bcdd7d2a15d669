"""Outputs that keep the tier: a point is released as a point of its own tier, with the exact ε of that mechanism."""

import numpy as np
import pytest

from oddshift import InvalidInput, Remap, Space, Tiered, Tiers
from oddshift.mechanisms.channel import Channel

POINTS = np.random.default_rng(1).normal(size=(24, 3))
LABELS = np.arange(24) % 3


def tiers(is_public=True):
    return Tiers(LABELS, names=("PERSON", "ORG", "GPE"), scales=(0.3, 0.6, 1.0), is_public=is_public)


def mechanism(epsilon=2.0):
    return Tiered(Space(POINTS), tiers(), epsilon, keeps_tier=True)


def test_an_output_is_never_of_another_tier():
    rows = mechanism().log_matrix
    same = LABELS[:, None] == LABELS[None, :]
    assert np.isneginf(rows[~same]).all()
    assert np.isfinite(rows[same]).all()
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1.0, rtol=1e-12)


def test_inside_a_tier_it_is_the_exponential_mechanism_on_that_tier():
    rows = mechanism().log_matrix
    for tier, scale in enumerate((0.3, 0.6, 1.0)):
        inside = np.flatnonzero(tier == LABELS)
        far = Space(POINTS).distances[np.ix_(inside, inside)]
        weight = np.exp(-0.5 * 2.0 * scale * far)
        np.testing.assert_allclose(np.exp(rows[np.ix_(inside, inside)]), weight / weight.sum(axis=1, keepdims=True))


def test_columns_of_the_candidates_of_a_tier_and_of_any_points():
    kept = mechanism()
    tier = np.flatnonzero(LABELS == 1)
    for outputs, points in ((tier[:3], tier), (np.arange(5), tier), (tier[:2], np.arange(7))):
        np.testing.assert_allclose(
            kept.candidate_columns(outputs, points), kept.log_matrix.T[np.ix_(outputs, points)], rtol=1e-12
        )


def test_points_in_no_tier_are_released_among_themselves_at_the_largest_scale():
    labels = np.where(np.arange(24) < 6, -1, LABELS)
    some = Tiers(labels, names=("PERSON", "ORG", "GPE"), scales=(0.3, 0.6, 0.9), is_public=True)
    kept = Tiered(Space(POINTS), some, 2.0, keeps_tier=True)
    weight = np.exp(-0.5 * 2.0 * 0.9 * Space(POINTS).distances[:6, :6])
    np.testing.assert_allclose(np.exp(kept.log_matrix[:6, :6]), weight / weight.sum(axis=1, keepdims=True))


def test_a_tier_of_one_point_has_no_epsilon():
    alone = Tiers([0, 0, 1], names=("PERSON", "ORG"), scales=(0.5, 1.0), is_public=True)
    kept = Tiered(Space([[0.0], [1.0], [2.0]]), alone, 2.0, keeps_tier=True)
    assert kept.exact_epsilon == pytest.approx(0.5)
    single = Tiers([0, 1], names=("a", "b"), scales=(1, 1), is_public=True)
    assert Tiered(Space([[0.0], [1.0]]), single, 1.0, keeps_tier=True).exact_epsilon == 0.0


@pytest.mark.parametrize("cost", ["cosine", "euclidean"])
def test_remapping_keeps_the_tier_too(cost):
    prior = np.random.default_rng(4).dirichlet(np.ones(24))
    kept = Remap(mechanism(0.8), prior, cost)
    free = Remap(Tiered(Space(POINTS), tiers(), 0.8), prior, cost)
    assert (LABELS[kept.destination] == LABELS).all()
    assert (LABELS[free.destination] != LABELS).any()  # without the rule some outputs would leave their tier
    through_rows = Remap(Channel.of(mechanism(0.8)), prior, cost)
    np.testing.assert_array_equal(through_rows.destination, kept.destination)


def test_within_its_tier_a_remap_takes_the_least_expected_cost():
    prior = np.random.default_rng(4).dirichlet(np.ones(24))
    inner = mechanism(0.8)
    kept = Remap(inner, prior, "euclidean")
    joint = prior[:, None] * np.exp(inner.log_matrix)
    for output in range(24):
        tier = np.flatnonzero(LABELS[output] == LABELS)
        cost = [joint[:, output] @ inner.space.distances[:, z] for z in tier]
        assert kept.destination[output] == tier[int(np.argmin(cost))]


def test_what_would_show_a_secret_tier_is_refused():
    with pytest.raises(InvalidInput, match="expected public tiers"):
        Tiered(Space(POINTS), tiers(is_public=False), 1.0, keeps_tier=True)
    with pytest.raises(InvalidInput, match="expected the points themselves"):
        Tiered(Space(POINTS), tiers(), 1.0, Space(POINTS + 1.0), keeps_tier=True)

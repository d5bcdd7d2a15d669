"""The exponential family: one formula for every member, what settings build of each, and kinds that outputs keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from oddshift.base import arrays
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import (
    Channel,
    Exponential,
    Geometric,
    Mask,
    MechanismSettings,
    PathExponential,
    RandomizedResponse,
    Tiered,
    Truncated,
    build_mechanism,
)
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.mechanism import log_normalisers, normalised
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.settings import tiers_with_scales
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SPACE = Space(np.random.default_rng(3).normal(size=(7, 2)))
PUBLIC = Tiers([0, 0, 0, 1, 1, 1, 1], names=("PII", "PoII"), scales=(0.5, 1.0), is_public=True)
SECRET = Tiers(PUBLIC.labels, names=PUBLIC.names, scales=PUBLIC.scales, is_public=False)
EPSILON = 1.7

SHARED = {
    "exponential": (Exponential(SPACE, EPSILON), lambda d: d),
    "truncated": (Truncated(SPACE, EPSILON, 0.8), lambda d: np.minimum(d, 0.8)),
    "tiered": (Tiered(SPACE, SECRET, EPSILON), lambda d: d * SECRET.scale_of_points[:, None]),
    "path": (PathExponential(SPACE, SECRET, EPSILON), lambda d: closed(d, SECRET.scale_of_points)),
}


def closed(distances, scales):
    return oracles.shortest_paths(distances * (scales[:, None] + scales[None, :]) / 2)


@pytest.mark.parametrize("name", SHARED)
def test_every_member_is_exp_of_minus_half_the_budget_over_its_sum(name):
    mechanism, stretched = SHARED[name]
    weights = np.exp(-0.5 * EPSILON * stretched(np.array(SPACE.distances)))
    assert np.exp(mechanism.log_matrix) == pytest.approx(weights / weights.sum(axis=1, keepdims=True), rel=1e-12)


@pytest.mark.parametrize("name", SHARED)
def test_the_exact_epsilon_of_every_member_is_the_largest_ratio(name):
    mechanism = SHARED[name][0]
    assert mechanism.exact_epsilon == pytest.approx(oracles.log_epsilon(mechanism.log_matrix, SPACE.distances))


@settings(max_examples=40)
@given(st.lists(st.lists(st.floats(-400, 400), min_size=3, max_size=3), min_size=1, max_size=4))
def test_normalised_rows_sum_to_one_whatever_their_size(scores):
    rows = normalised(np.array(scores))
    assert np.exp(rows).sum(axis=1) == pytest.approx(np.ones(len(scores)))
    for row, score in zip(rows, scores, strict=True):
        assert np.diff(row) == pytest.approx(np.diff(score), abs=1e-9)


@pytest.mark.parametrize("entries", [1, 5, 4_000_000])
def test_normalisers_do_not_depend_on_blocks(monkeypatch, entries):
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", entries)
    table = np.random.default_rng(0).normal(size=(6, 4))
    found = log_normalisers(lambda index: table[index], 6, 4)
    assert found == pytest.approx(np.log(np.exp(table).sum(axis=1)))


def test_points_that_rounding_brings_together_are_named():
    with pytest.raises(InvalidInput, match="points 0 and 1 are at distance 0 after rounding, expected a distance > 0"):
        exponential_epsilon(np.zeros(2), lambda index: (np.zeros((len(index), 2)), np.zeros((len(index), 2))))


def test_paths_are_no_longer_than_the_direct_way_and_close_every_triangle():
    ways = PathExponential(SPACE, SECRET, EPSILON).path_distances
    scales = SECRET.scale_of_points
    assert (ways <= SPACE.distances * (scales[:, None] + scales[None, :]) / 2 + 1e-12).all()
    assert (ways[:, None, :] <= ways[:, :, None] + ways[None, :, :] + 1e-12).all()
    assert not ways.flags.writeable


BUILT = {
    "exponential": (MechanismSettings(outputs="all"), Exponential),
    "mask": (MechanismSettings(name="mask"), Mask),
    "path": (MechanismSettings(name="path", scales=(0.3, 0.9)), PathExponential),
    "randomized_response": (MechanismSettings(name="randomized_response"), RandomizedResponse),
    "tiered": (MechanismSettings(name="tiered", scales=(0.3, 0.9)), Tiered),
    "truncated": (MechanismSettings(name="truncated", radius=1.0), Truncated),
}


@pytest.mark.parametrize("name", BUILT)
def test_settings_build_the_mechanism_that_they_name(name):
    asked, kind = BUILT[name]
    made = build_mechanism(asked, SPACE, PUBLIC, EPSILON)
    assert type(made) is kind
    assert made.space is SPACE
    assert getattr(made, "epsilon", EPSILON) == EPSILON


def test_settings_build_geometric_noise_on_a_line():
    line = Space(np.arange(5.0)[:, None])
    made = build_mechanism(
        MechanismSettings(name="geometric", epsilon=0.3),
        line,
        Tiers([0] * 5, names=("a",), scales=(1.0,), is_public=True),
        9.0,
    )
    assert isinstance(made, Geometric)
    assert made.epsilon == 0.3


def test_scales_of_settings_replace_those_of_the_tiers_and_are_needed():
    assert tiers_with_scales(PUBLIC, MechanismSettings(name="tiered", scales=(0.2, 0.4))).scales == (0.2, 0.4)
    with pytest.raises(InvalidInput, match=r"'tiered' needs mechanism\.scales, one for each tier PII, PoII"):
        tiers_with_scales(PUBLIC, MechanismSettings(name="tiered"))
    with pytest.raises(InvalidInput):
        tiers_with_scales(PUBLIC, MechanismSettings(name="tiered", scales=(0.2,)))


def test_kinds_of_outputs_are_kept_through_channels_and_remaps():
    keeping = Tiered(SPACE, PUBLIC, EPSILON, keeps_tier=True)
    prior = np.full(7, 1 / 7)
    assert keeping.output_kinds.tolist() == PUBLIC.labels.tolist()
    assert Channel.of(keeping).output_kinds.tolist() == PUBLIC.labels.tolist()
    remapped = Remap(keeping, prior, "euclidean")
    assert (PUBLIC.labels[remapped.destination] == PUBLIC.labels).all()


@pytest.mark.parametrize("mechanism", [Exponential(SPACE, 1.0), Tiered(SPACE, PUBLIC, 1.0), Mask(SPACE)], ids=repr)
def test_outputs_without_a_kind_have_none(mechanism):
    assert mechanism.output_kinds is None
    assert Channel.of(mechanism).output_kinds is None

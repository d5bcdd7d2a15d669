"""Mechanisms with tiers, and calibration."""

import numpy as np
import pytest

import oracles
from oddshift import Exponential, InvalidInput, PathExponential, Space, Tiered, Tiers

LINE = Space(np.arange(4.0)[:, None])


def tiers(is_public, scales=(0.4, 1.0), labels=(0, 0, 1, 1)):
    return Tiers(list(labels), names=("PII", "PoII"), scales=scales, is_public=is_public)


def test_each_point_draws_with_its_own_scale():
    rows = Tiered(LINE, tiers(True), 2.0).log_matrix
    assert rows[0, 0] - rows[0, 1] == pytest.approx(0.4)
    assert rows[3, 3] - rows[3, 2] == pytest.approx(1.0)


def test_what_counts_depends_on_who_knows_the_tier():
    public, secret = Tiered(LINE, tiers(True), 2.0), Tiered(LINE, tiers(False), 2.0)
    assert (public.claimed_epsilon, secret.claimed_epsilon) == (2.0, np.inf)
    assert public.exact_epsilon == pytest.approx(
        oracles.log_epsilon(public.log_matrix, LINE.distances, [[0, 1], [2, 3]])
    )
    assert secret.exact_epsilon == pytest.approx(oracles.log_epsilon(secret.log_matrix, LINE.distances))
    assert secret.exact_epsilon > public.exact_epsilon


def test_naive_tiers_leak_across_and_the_path_metric_does_not():
    space = Space(np.random.default_rng(0).normal(size=(60, 5)))
    labels = np.arange(60) % 2
    two = tiers(False, (0.2, 1.0), labels)
    naive, safe = Tiered(space, two, 3.0), PathExponential(space, two, 3.0)
    assert naive.exact_epsilon > 3.0
    assert safe.exact_epsilon <= safe.claimed_epsilon == 3.0
    for tier, scale in enumerate(two.scales):
        inside = np.flatnonzero(labels == tier)
        assert (
            oracles.log_epsilon(safe.log_matrix[inside], space.distances[np.ix_(inside, inside)]) <= scale * 3.0 + 1e-9
        )
    across = np.abs(safe.log_matrix[::2, None, :] - safe.log_matrix[None, 1::2, :]).max(axis=2)
    assert (across <= 3.0 * 0.6 * space.distances[::2, 1::2] + 1e-9).all()


def test_equal_scales_are_the_exponential_mechanism():
    same = PathExponential(LINE, tiers(False, (0.5, 0.5)), 2.0)
    assert same.log_matrix == pytest.approx(Exponential(LINE, 1.0).log_matrix)
    assert same.exact_epsilon == pytest.approx(Exponential(LINE, 1.0).exact_epsilon)


@pytest.mark.parametrize("new", [Tiered, PathExponential])
def test_refusals(new):
    with pytest.raises(InvalidInput, match="tiers label 4 points, expected 2"):
        new(Space([[0.0], [1.0]]), tiers(True), 1.0)
    with pytest.raises(InvalidInput, match=r"epsilon=0\.0"):
        new(LINE, tiers(True), 0.0)


def test_reprs_say_sizes():
    assert repr(Tiered(LINE, tiers(True), 2.0)) == (
        "Tiered(Space(n=4, metric=euclidean), Tiers(PII: 2 x0.4, PoII: 2 x1; public), epsilon=2)"
    )

"""The linear attacker: least squares by hand, points that were never seen together, and where it does not apply."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.combination import fit_and_combine
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.linear_context import GaussianLaw, fit_linear_context, neighbourhood, suits_linear
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import World, log_score


def test_neighbours_are_those_of_the_document():
    v = np.array([[1.0], [2.0], [4.0], [8.0]])
    found = neighbourhood(v, np.array([3, 0, 1]))
    np.testing.assert_allclose(found[1], [1.0, 4.0, 5.0 / np.sqrt(2.0)])
    assert not found[3].any()


@pytest.mark.parametrize("open_share", [0.0, 0.4, 1.0])
def test_the_ratio_is_that_of_two_gaussian_laws(open_share):
    rng = np.random.default_rng(0)
    slope, v, features = rng.normal(size=(6, 2)), rng.normal(size=(5, 2)), rng.normal(size=(3, 6))
    root, spread = rng.normal(size=(2, 2)), np.array([0.3, 0.8])
    alone = root @ root.T
    given = alone + (1.0 - open_share) * (root @ np.diag(spread) @ root.T - alone)
    inverse = np.linalg.inv(root)
    law = GaussianLaw(inverse, spread, slope @ inverse.T, np.full(3, 1 / 3))
    found = law.log_ratio(features, np.full(3, open_share), v)
    for row, feature in zip(found, features, strict=True):
        expected = multivariate_normal.logpdf(v, feature @ slope, given) - multivariate_normal.logpdf(v, cov=alone)
        np.testing.assert_allclose(row - row[0], expected - expected[0], atol=1e-10)


def draw(n, offset, space, rng):
    """Two secrets near each other; `offset` chooses which half of the points the documents may use."""
    centre = space.points[rng.integers(0, len(space) // 2, n) * 2 + offset]
    near = centre[:, None] + 0.3 * rng.normal(size=(n, 2, space.points.shape[1]))
    return Records.from_documents(space, space.nearest(near.reshape(2 * n, -1)).reshape(n, 2).tolist())


def test_points_that_were_never_seen_together_are_told_apart():
    rng = np.random.default_rng(1)
    space = Space(rng.normal(size=(300, 5)))
    fit, fresh = draw(400, 0, space, rng), draw(300, 1, space, rng)
    known = knowledge(Exponential(space, 4.0), one_tier(space), fit)
    world = World(known, fresh, perturb(fresh, known.mechanism, known.tiers, rng))
    own, linear, counted = (
        log_score(each, world)
        for each in (
            Own(known),
            fit_and_combine(known, [lambda part: LawAttacker(part, fit_linear_context(part), "linear")], rng=rng),
            fit_and_combine(known, [fit_cooccurrence], rng=rng),
        )
    )
    assert linear < own - 0.1
    assert linear < counted - 0.1


def test_it_needs_coordinates_that_are_not_places():
    rng = np.random.default_rng(0)
    assert suits_linear(Space(rng.normal(size=(20, 8))))
    assert not suits_linear(Space(rng.normal(size=(20, 2))))
    assert not suits_linear(Space.from_distances(1.0 - np.eye(20)))

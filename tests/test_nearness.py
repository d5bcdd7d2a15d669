"""Broader laws that read the metric: rows are laws, near points come first, and no point is predicted from itself."""

import numpy as np

from oddshift.attackers.backoff import local_laws, neighbour_laws, onward_laws
from oddshift.model.space import Space

LINE = Space(np.arange(9.0)[:, None])
FLAT = np.full(9, 1 / 9)


def test_near_points_follow_each_other():
    for law in local_laws(LINE, FLAT):
        np.testing.assert_allclose(law.sum(axis=1), 1.0)
        assert (np.diff(law[0]) < 0).all()


def test_a_point_that_never_occurs_gets_no_mass():
    law = np.where(np.arange(9) == 4, 0.0, 1 / 8)
    for made in (*local_laws(LINE, law), *neighbour_laws(LINE, np.zeros((9, 9)), law), *onward_laws(LINE, law)):
        assert not made[:, 4].any()
        assert np.isfinite(made).all()


def test_neighbours_stand_in_and_a_point_never_predicts_itself():
    counts = np.zeros((9, 9))
    counts[4, 0] = 100.0
    for law in neighbour_laws(LINE, counts, FLAT):
        np.testing.assert_allclose(law.sum(axis=1), 1.0)
        assert law[3].argmax() == 0
        assert law[4, 0] < 0.2  # its own counts are left out, and no other point has any


def test_the_same_step_again():
    for law in onward_laws(LINE, FLAT):
        rows = law.reshape(9, 9, 9)
        assert rows[0, 3].argmax() == 6
        assert rows[5, 4].argmax() == 3
        np.testing.assert_allclose(law.sum(axis=1), 1.0)


def test_without_coordinates_a_step_means_nothing():
    assert onward_laws(Space.from_distances(1.0 - np.eye(9)), FLAT) == []

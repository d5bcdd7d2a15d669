"""Sparse laws: ratios by hand, laws inside sets, and batches that hold every document once.

Weights of sparse terms: the same score and gradient as with dense terms.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from oddshift.attackers import sparse_law
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.sparse_law import (
    SparseLaw,
    counted,
    fit_pair_law,
    number_of_sets,
    seen_by_place,
    set_labels,
    sparse_terms,
    within_sets,
)
from oddshift.attackers.term_weights import ContextTerms, likeliest_weights
from oddshift.mechanisms import Deletion
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import ring, two_tiers

LAW = SparseLaw(csr_array(np.array([[0.0, 0.6], [0.0, 0.0]])), np.array([[0.4], [1.0]]), np.array([0.75, 0.25]))


def test_a_ratio_by_hand():
    """Likelihoods .2 and .8 average to .35; after the first value .6·.8 + .4·.35 is expected."""
    found = LAW.ratio(np.array([[0.2], [0.8]]), np.zeros(1, int))
    np.testing.assert_allclose(found[:, 0], [(0.6 * 0.8 + 0.4 * 0.35) / 0.35, 1.0])


def test_what_says_nothing_has_ratio_one():
    np.testing.assert_allclose(LAW.ratio(np.full((2, 3), 0.3), np.zeros(3, int)), 1.0)


def test_pairs_are_predicted_by_their_share_and_the_rest():
    found = LAW.predicted(np.array([0, 0, 1]), np.array([0, 1, 1]), np.zeros(2, int))
    np.testing.assert_allclose(found, [0.4 * 0.75, 0.6 + 0.4 * 0.25, 0.25])
    assert LAW.predicted(np.empty(0, int), np.empty(0, int), np.zeros(2, int)).shape == (0,)


@pytest.mark.parametrize("is_public", [True, False])
def test_rows_sum_to_one_inside_every_set(is_public):
    rng = np.random.default_rng(0)
    tiers = two_tiers(is_public=is_public)
    labels, sets = set_labels(tiers), number_of_sets(tiers)
    law = within_sets(rng.random(8), labels, sets)
    before = rng.integers(8, size=200)
    after = (before + rng.integers(3, size=200)) % 8
    found = counted((before, after), (8, sets), labels, lambda seen: law[seen.value])
    table = found.own.toarray()
    for number in range(sets):
        inside = labels == number
        assert law[inside].sum() == pytest.approx(1.0)
        np.testing.assert_allclose(table[:, inside].sum(axis=1) + found.rest[:, number], 1.0)
    assert (found.left_out.toarray()[table > 0] > 0).all()


def test_values_that_follow_nothing_leave_the_law(monkeypatch):
    rng, law = np.random.default_rng(1), np.full(8, 1 / 8)
    known = ring(documents=10).known
    for points in (sparse_law.TABLE_POINTS, 0):
        monkeypatch.setattr(sparse_law, "TABLE_POINTS", points)
        found = fit_pair_law(known, *rng.integers(8, size=(2, 3_000)), law)
        table = csr_array(found.own).toarray() + found.rest * law
        np.testing.assert_allclose(table, np.broadcast_to(law, (8, 8)), atol=0.02)


def test_an_output_that_no_candidate_gives_says_nothing():
    space = Space(np.eye(3))
    records = Records.from_documents(space, [[0, 1], [1, 2]])
    known = knowledge(Deletion(space, 0.5), one_tier(space), records)
    release = perturb(records, known.mechanism, known.tiers, np.random.default_rng(0))
    for seen in seen_by_place(known, release, np.array([[0, 1], [2, 3]]))[0]:
        assert (seen.max(axis=0) == 1.0).all()


def test_likelihoods_are_zero_outside_the_set():
    world = ring(documents=40, tiers=two_tiers())
    positions = world.release.offsets[:3][:, None] + np.arange(4)
    seen, sets = seen_by_place(world.known, world.release, positions)
    for likely, number in zip(seen, sets, strict=True):
        np.testing.assert_array_equal(likely > 0, world.known.tiers.labels[:, None] == number)


@pytest.fixture
def both():
    """The same terms kept in both ways: 40 positions, 12 points of which the last is impossible.

    log π is the first of the dense terms.
    """
    rng = np.random.default_rng(0)
    law, truth = np.append(rng.dirichlet(np.ones(11)), 0.0), rng.integers(0, 11, 40)
    terms = [random_array((40, 12), density=d, rng=rng, format="csr") for d in (0.1, 0.4)]
    all_terms = (np.tile(np.log(law + (law == 0)), (40, 1)), *(term.toarray() for term in terms))
    dense = ContextTerms(np.tile(np.where(law > 0, 0.0, -np.inf), (40, 1)), all_terms, truth, Units(np.arange(40), 40))
    return sparse_terms(terms, law, truth), dense


@pytest.mark.parametrize(
    "weights", [(1.0, 0.0, 0.0), (1.0, 1.0, 0.5), (0.4, 0.2, 2.0), (0.0, 30.0, 0.0), (800.0, 900.0, 0.0)]
)
def test_score_and_gradient_are_those_of_dense_terms(both, weights):
    (found, slope), (expected, dense_slope) = (each.loss(np.array(weights)) for each in both)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope, dense_slope, atol=1e-12)


def test_the_best_weights_are_the_same(both):
    sparse, dense = both
    start = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(likeliest_weights(sparse, start), likeliest_weights(dense, start), atol=1e-4)


def test_a_law_that_is_too_steep_is_flattened():
    """Truths are uniform and no term tells anything: π^γ is best at γ = 0."""
    from scipy.sparse import csr_array

    held = sparse_terms([csr_array((500, 5))], np.array([0.6, 0.1, 0.1, 0.1, 0.1]), np.arange(500) % 5)
    assert likeliest_weights(held, np.array([1.0, 0.0]))[0] == pytest.approx(0.0, abs=1e-3)

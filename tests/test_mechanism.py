"""What every mechanism inherits: inversion, samplers, columns, exact ε over groups, and its refusals.

Calibration on families whose exact ε is known as a function of the nominal one.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from oddshift import Channel, Exponential, InvalidInput, Remap, Space, balanced_weights, calibrate
from oddshift.base.errors import NoGuarantee
from oddshift.base.logarithms import log
from oddshift.mechanisms.mechanism import Sampler

LINE = Space(np.arange(4.0)[:, None])


def channel(rows):
    rows = np.asarray(rows, dtype=float)
    return Channel(Space(np.arange(float(len(rows)))[:, None]), log(rows / rows.sum(axis=1, keepdims=True)))


weights = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)


@given(st.lists(weights, min_size=1, max_size=4), st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=20))
@settings(max_examples=80, deadline=None)
def test_inversion_is_the_papers_map_for_any_rows_in_any_order(rows, integers):
    mechanism = channel(rows)
    z = np.array(integers) / 2.0**53
    index = np.arange(len(z)) % len(rows)
    got = mechanism.invert(index, z)
    for k, (point, u) in enumerate(zip(index, z, strict=True)):
        row = np.exp(mechanism.log_matrix[point])
        edges = np.cumsum(row) / row.sum()
        if np.abs(edges - u).min() > 1e-14:
            assert got[k] == oracles.inverse(row, u)
        assert row[got[k]] > 0


def test_the_largest_uniform_reaches_the_last_possible_output_although_rounding_falls_short():
    """Ten rows of tenths sum to less than 1 in floats; the cumulative row must still end in exactly 1."""
    tenths = channel([[1] * 10])
    assert np.cumsum(np.full(10, 0.1))[-1] < 1.0
    assert tenths.invert([0], [1 - 2.0**-53]).tolist() == [9]
    ends_in_zero = channel([[1] * 10 + [0]])
    assert ends_in_zero.invert([0], [1 - 2.0**-53]).tolist() == [9]


def test_a_sampler_keeps_distinct_points_sorted_and_rows_that_end_in_one():
    sampler = Exponential(LINE, 1.0).sampler([3, 1, 3])
    assert sampler.points.tolist() == [1, 3]
    assert sampler.cumulative.shape == (2, 4)
    assert (sampler.cumulative[:, -1] == 1.0).all()
    assert (np.diff(sampler.cumulative, axis=1) > 0).all()


@pytest.mark.parametrize("missing", [0, 2, 99])
def test_a_sampler_refuses_a_point_without_a_row_wherever_it_sorts(missing):
    sampler = Exponential(Space(np.arange(5.0)[:, None]), 1.0).sampler([1, 3])
    with pytest.raises(InvalidInput, match="index names a point that this sampler has no row for"):
        sampler.invert([missing], [0.5])


def test_a_sampler_checks_its_uniforms_like_a_mechanism():
    sampler = Sampler(np.array([0]), np.array([[0.5, 1.0]]))
    assert sampler.invert(0, 0.5).tolist() == [1]
    for z, message in (([1.0], "expected uniforms"), ([0.1, 0.2], "2 uniforms, expected 1"), ([np.nan], "NaN")):
        with pytest.raises(InvalidInput, match=message):
            sampler.invert([0], z)
    with pytest.raises(InvalidInput, match="expected a numpy Generator"):
        sampler.sample([0], 7)


def test_a_copy_as_a_channel_has_the_same_rows_outputs_and_exact_epsilon():
    em = Exponential(LINE, 1.0, Space([[0.5], [1.5]]))
    copy = Channel.of(em)
    assert copy.log_matrix is em.log_matrix
    assert copy.outputs is em.outputs
    assert copy.exact_epsilon == pytest.approx(em.exact_epsilon)
    assert (
        copy.sample([0, 3], np.random.default_rng(0)).tolist() == em.sample([0, 3], np.random.default_rng(0)).tolist()
    )


def test_a_channel_keeps_a_copy_of_its_matrix():
    mine = np.log(np.full((4, 2), 0.5))
    made = Channel(LINE, mine)
    mine[0] = np.log([0.9, 0.1])
    assert np.exp(made.log_matrix[0]).tolist() == pytest.approx([0.5, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        made.table[0, 0] = 0.0


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e12, 1e300])
def test_tiny_and_huge_budgets_stay_normalised(epsilon):
    em = Exponential(LINE, epsilon)
    rows = np.exp(em.log_matrix)
    assert rows.sum(axis=1) == pytest.approx(np.ones(4))
    expected = np.full((4, 4), 0.25) if epsilon < 1 else np.eye(4)
    assert rows == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("q", [[3.0, 1.0, 0.5, 2.0], [1.0, 0.0, 0.0, 4.0], [1e-9, 1.0, 1.0, 1e-9]])
@pytest.mark.parametrize("outputs", [None, LINE, Space([[0.5], [1.5], [2.5], [9.0]])])
def test_weights_keep_the_claimed_epsilon_and_the_matrix_is_the_formula(q, outputs):
    em = Exponential(LINE, 1.3, outputs, weights=q)
    candidates = LINE if outputs is None else outputs
    by_hand = np.array(q) * np.exp(-0.65 * np.abs(LINE.points - candidates.points.T))
    by_hand /= by_hand.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(em.log_matrix), by_hand, rtol=1e-12)
    np.testing.assert_allclose(em.log_columns([3, 0]), em.log_matrix[:, [3, 0]].T, rtol=1e-12)
    exact = oracles.log_epsilon(em.log_matrix, LINE.distances)
    assert em.exact_epsilon == pytest.approx(exact, rel=1e-12)
    assert exact <= em.claimed_epsilon == 1.3
    np.testing.assert_allclose(em.law_of_outputs(np.full(4, 0.25)), by_hand.mean(axis=0))


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0, 20.0])
def test_balanced_weights_cost_no_more_than_the_best_constant(epsilon):
    law = np.array([0.1, 0.5, 0.1, 0.3])
    q = balanced_weights(LINE, epsilon, law)
    rows = np.exp(Exponential(LINE, epsilon, weights=q).log_matrix)
    constant = (law @ LINE.distances).min()
    assert law @ (rows * LINE.distances).sum(axis=1) <= constant + 1e-9
    if epsilon >= 0.7:  # at small budgets the iteration goes to one output, which it reaches in the limit only
        np.testing.assert_allclose(law @ rows, q, atol=2e-3)


@pytest.mark.parametrize("q", [[1.0, 1.0], [0.0] * 4, [1.0, -1.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0]])
def test_weights_that_are_no_weights_are_refused(q):
    with pytest.raises(InvalidInput, match="weights"):
        Exponential(LINE, 1.0, weights=q)


def test_a_weighted_mechanism_has_another_identity_and_cannot_become_a_policy_unnoticed():
    assert Exponential(LINE, 1.0, weights=[1, 2, 3, 4]).fingerprint != Exponential(LINE, 1.0).fingerprint


def test_a_weighted_mechanism_is_remapped_by_its_own_posterior():
    space = Space([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    em, law = Exponential(space, 2.0, weights=[0.1, 0.1, 5.0]), np.array([0.2, 0.5, 0.3])
    joint = law[:, None] * np.exp(em.log_matrix)
    by_hand = np.argmax(joint.T @ space.points @ space.points.T, axis=1)
    np.testing.assert_array_equal(Remap(em, law, "cosine").destination, by_hand)


@dataclass(frozen=True)
class Known:
    """Stands for a mechanism: a nominal ε and the exact one that a family gives it."""

    epsilon: float
    exact_epsilon: float


SHAPES = {
    "half": lambda e: e / 2,
    "label": lambda e: e,
    "square": lambda e: e * e,
    "root": lambda e: e**0.5,
    "late": lambda e: max(0.0, e - 5.0),
    "double": lambda e: 2 * e,
}


@given(st.sampled_from(sorted(SHAPES)), st.floats(0.01, 50.0))
@settings(max_examples=120, deadline=None)
def test_the_exact_epsilon_ends_just_below_the_target_and_never_above(name, target):
    shape, calls = SHAPES[name], []

    def family(epsilon):
        calls.append(epsilon)
        return Known(epsilon, shape(epsilon))

    best = calibrate(family, target)
    assert best.exact_epsilon <= target
    assert best.exact_epsilon >= target * (1 - 1e-5)
    assert best.exact_epsilon == shape(best.epsilon)
    assert len(calls) < 120


def test_a_family_that_jumps_over_the_target_gives_the_largest_nominal_below_the_jump():
    best = calibrate(lambda e: Known(e, 0.5 if e < 3.0 else 2.0), 1.0)
    assert best.exact_epsilon == 0.5
    assert best.epsilon == pytest.approx(3.0, rel=1e-5)
    assert best.epsilon < 3.0


def test_a_family_that_becomes_infinite_is_searched_by_halving():
    best = calibrate(lambda e: Known(e, 0.1 if e < 7.0 else float("inf")), 1.0)
    assert best.epsilon == pytest.approx(7.0, rel=1e-5)
    assert best.exact_epsilon == 0.1


def test_a_target_that_is_met_exactly_is_accepted():
    assert calibrate(lambda e: Known(e, 1.0), 1.0).exact_epsilon == 1.0


def test_a_family_that_never_exceeds_the_target_ends():
    assert calibrate(lambda e: Exponential(Space([[0.0]]), e), 1.0).exact_epsilon == 0.0
    assert calibrate(lambda e: Exponential(LINE, min(e, 1.5)), 50.0).epsilon == 1.5


def test_a_family_far_above_its_label_is_followed_down():
    best = calibrate(lambda e: Known(e, 1000.0 * e), 1.0)
    assert best.epsilon == pytest.approx(0.001, rel=1e-5)
    with pytest.raises(NoGuarantee, match=r"no nominal epsilon down to .* has an exact epsilon <= target=1$"):
        calibrate(lambda e: Known(e, 1e9 * e), 1.0)


@pytest.mark.parametrize("target", [0.0, -1.0, float("nan"), float("inf"), None, "1"])
def test_a_target_is_a_finite_number_above_zero(target):
    with pytest.raises(InvalidInput, match=r"target=.*expected a"):
        calibrate(lambda e: Known(e, e), target)

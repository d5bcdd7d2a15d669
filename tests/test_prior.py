import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from oddshift import Independent, InvalidInput, Joint, Markov, estimate_independent, estimate_joint, estimate_markov
from oddshift.base.errors import TooLarge
from oddshift.model.prior import prior_of

STEP = [[0.9, 0.1], [0.4, 0.6]]


def test_independent_by_hand():
    prior = Independent([[0.3, 0.7], [0.2, 0.3, 0.5]])
    assert prior.sizes == (2, 3)
    assert prior.joint_table() == pytest.approx(np.array([[0.06, 0.09, 0.15], [0.14, 0.21, 0.35]]))


def test_joint_allows_zeros_inside():
    prior = Joint([[0.0, 0.5], [0.5, 0.0]])
    assert [m.tolist() for m in prior.marginals] == [[0.5, 0.5], [0.5, 0.5]]
    assert prior.sizes == (2, 2)


def test_markov_by_hand():
    prior = Markov([0.5, 0.5], STEP, length=3)
    assert prior.marginals[1].tolist() == pytest.approx([0.65, 0.35])
    assert prior.marginals[2].tolist() == pytest.approx([0.65 * 0.9 + 0.35 * 0.4, 0.65 * 0.1 + 0.35 * 0.6])
    assert prior.joint_table() == pytest.approx(oracles.table_of(prior))
    assert prior.backward[0, 0, 0] == pytest.approx(0.45 / 0.65)
    assert prior.backward.sum(axis=2) == pytest.approx(np.ones((2, 2)))


def test_markov_of_length_one_and_not_homogeneous():
    assert Markov([0.5, 0.5], STEP, length=1).sizes == (2,)
    assert Markov([0.5, 0.5], STEP, length=1).backward.shape == (0, 2, 2)
    assert Markov([0.5, 0.5], np.empty((0, 2, 2)), length=1).sizes == (2,)
    steps = [STEP, [[0.5, 0.5], [0.1, 0.9]]]
    assert Markov([0.5, 0.5], steps, length=3).joint_table()[0, 1, 0] == pytest.approx(0.5 * 0.1 * 0.1)


def test_reprs_show_sizes_only():
    assert repr(Independent([[0.3, 0.7]])) == "Independent(sizes=(2,))"
    assert repr(Joint([0.3, 0.7])) == "Joint(sizes=(2,))"
    assert repr(Markov([0.3, 0.7], STEP, 4)) == "Markov(states=2, length=4)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Independent([]), "marginals is empty, expected one vector for each position"),
        (lambda: Independent([[0.5, 0.4]]), r"marginals\[0\] sums to 0.9, expected 1"),
        (lambda: Independent([[1.0, 0.0]]), r"marginals\[0\] gives value 1 probability 0, expected > 0"),
        (lambda: Independent([[np.nan, 1.0]]), r"marginals\[0\] has NaN"),
        (lambda: Joint([[0.5, 0.5], [0.5, 0.5]]), "table sums to 2, expected 1"),
        (lambda: Joint([[0.5, 0.0], [0.5, 0.0]]), "marginal of position 1 gives value 1 probability 0"),
        (lambda: Joint([[1.5, -0.5]]), "expected probabilities >= 0"),
        (lambda: Joint(1.0), "table has no axes"),
        (lambda: Joint([[0.5], [0.25, 0.25]]), "table is ragged"),
        (lambda: Joint([]), "table is empty"),
        (lambda: Markov([0.5, 0.5], STEP, 0), "length=0, expected a whole number >= 1"),
        (lambda: Markov([0.5, 0.5], [[0.5, 0.5]], 2), r"transitions has shape \(1, 2\), expected \(2, 2\)"),
        (lambda: Markov([0.5, 0.5], [STEP, STEP], 2), r"shape \(2, 2, 2\), expected \(2, 2\) or \(1, 2, 2\)"),
        (lambda: Markov([0.5, 0.5], [[0.5, 0.4], [0.5, 0.5]], 2), "transitions sums to 0.9, expected 1"),
        (lambda: Markov([0.5, 0.5], [[1.0], [0.5, 0.5]], 2), "transitions is ragged"),
        (lambda: Markov([1.0, 0.0], STEP, 2), "marginal of position 0 gives value 1 probability 0"),
        (lambda: Markov([0.5, 0.5], [[1, 0], [1, 0]], 2), "marginal of position 1 gives value 1 probability 0"),
        (lambda: estimate_independent([], 2, 1), "documents is empty"),
        (lambda: estimate_independent([[0, 2]], 2, 1), r"document 0 has another value, expected integers in \[0, 2\)"),
        (lambda: estimate_independent([[0]], 2, 1, smoothing=0.0), "smoothing=0.0, expected a finite number > 0"),
        (lambda: estimate_joint([[0]], (2, 2)), "document 0 does not have one value in each of 2 positions"),
        (lambda: estimate_joint([[0, 1]], (2, 1)), "document 0 does not have one value"),
        (lambda: estimate_joint([[0]], ()), "sizes is empty"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_tables_too_large_say_what_would_work():
    with pytest.raises(TooLarge, match="a Markov prior has exact posteriors at any length"):
        Markov([0.5, 0.5], STEP, 40).joint_table()
    with pytest.raises(TooLarge, match="expected at most"):
        estimate_markov([[0]], 20_000, 2)


def test_estimates_by_hand():
    documents = [[0, 1, 1], [0, 0]]
    assert estimate_independent(documents, 2, 3).marginals[2].tolist() == pytest.approx([4 / 7, 3 / 7])
    chain = estimate_markov(documents, 2, 4, smoothing=1.0)
    assert chain.initial.tolist() == pytest.approx([2.5 / 3, 0.5 / 3])
    assert chain.transitions[2].tolist() == [pytest.approx([0.5, 0.5]), pytest.approx([0.25, 0.75])]
    pairs = estimate_joint([[0, 1], [0, 1], [1, 0]], (2, 2), smoothing=1.0)
    assert pairs.table.ravel().tolist() == pytest.approx([0.0625, 0.5625, 0.3125, 0.0625])


def test_an_unseen_value_keeps_a_flat_row():
    assert estimate_markov([[0, 0]], 3, 2).transitions[0][2].tolist() == pytest.approx([1 / 3] * 3)


seeds = st.integers(0, 10**6)


def random_chain(seed, states, length):
    rng = np.random.default_rng(seed)
    steps = rng.dirichlet(np.ones(states), (length - 1, states))
    return Markov(rng.dirichlet(np.ones(states)), steps.reshape(length - 1, states, states), length)


@given(seeds, st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_the_marginals_of_a_chain_are_those_of_its_table(seed, states, length):
    chain = random_chain(seed, states, length)
    table = oracles.table_of(chain)
    assert chain.joint_table() == pytest.approx(table)
    assert chain.sizes == table.shape
    for t, vector in enumerate(chain.marginals):
        assert vector == pytest.approx(oracles.marginal(table, t))


@given(seeds, st.integers(2, 3), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_the_backward_chain_is_bayes_rule_for_every_step(seed, states, length):
    chain = random_chain(seed, states, length)
    for t in range(length - 1):
        both = chain.marginals[t][:, None] * chain.transitions[t]
        for b in range(states):
            assert chain.backward[t, b] == pytest.approx(both[:, b] / both[:, b].sum())


def test_the_steps_of_a_chain_are_used_in_order_and_read_from_rows():
    to_one, swap = [[0.5, 0.5], [0.1, 0.9]], [[0.0, 1.0], [1.0, 0.0]]
    chain = Markov([0.5, 0.5], [to_one, swap], 3)
    assert chain.marginals[1].tolist() == pytest.approx([0.3, 0.7])
    assert chain.marginals[2].tolist() == pytest.approx([0.7, 0.3])
    other = Markov([0.5, 0.5], [swap, to_one], 3)
    assert other.marginals[2].tolist() == pytest.approx([0.3, 0.7])


def test_a_table_of_three_positions_has_its_axes_in_order():
    table = np.zeros((2, 3, 4))
    table[0, 1, 2], table[1, 0, 0], table[1, 2, 1], table[0, 0, 3] = 0.4, 0.3, 0.2, 0.1
    prior = Joint(table)
    assert prior.sizes == (2, 3, 4)
    assert prior.marginals[0].tolist() == pytest.approx([0.5, 0.5])
    assert prior.marginals[1].tolist() == pytest.approx([0.4, 0.4, 0.2])
    assert prior.marginals[2].tolist() == pytest.approx([0.3, 0.2, 0.4, 0.1])


def test_priors_are_copies_that_cannot_be_changed():
    mine = np.array([0.3, 0.7])
    for prior, array in (
        (Independent([mine]), lambda p: p.marginals[0]),
        (Joint(mine), lambda p: p.table),
        (Markov(mine, np.array(STEP), 2), lambda p: p.initial),
        (Markov(mine, np.array(STEP), 2), lambda p: p.transitions),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array(prior)[0] = 1.0
    mine[0] = 0.9
    assert Joint([0.3, 0.7]).table[0] == 0.3


def test_a_repeated_pair_is_counted_each_time_it_occurs():
    chain = estimate_markov([[0, 1, 0, 1, 0, 1]], 2, 2, smoothing=1e-9)
    assert chain.transitions[0].tolist() == [pytest.approx([0.0, 1.0], abs=1e-8), pytest.approx([1.0, 0.0], abs=1e-8)]


def test_pairs_are_never_counted_across_documents_and_empty_documents_count_nothing():
    apart = estimate_markov([[0], [1], []], 2, 2, smoothing=1.0)
    assert apart.transitions[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert apart.initial.tolist() == pytest.approx([0.5, 0.5])


def test_no_refusal_of_documents_shows_a_value():
    for make in (
        lambda: estimate_markov([[0, 77]], 5, 2),
        lambda: estimate_joint([[0, 77]], (5, 5)),
        lambda: estimate_independent([[-77]], 5, 2),
    ):
        with pytest.raises(InvalidInput, match="document 0") as caught:
            make()
        assert "77" not in str(caught.value)


def test_what_is_not_a_prior_is_refused_by_its_type():
    chain = Markov([0.5, 0.5], STEP, 2)
    assert prior_of(chain) is chain
    with pytest.raises(InvalidInput, match="prior is an ndarray, expected Independent, Joint or Markov"):
        prior_of(np.ones(2) / 2)

"""The cherry tree: exact marginals and draws against enumeration, and ties of three places that no pair shows."""

import numpy as np
import pytest

from oddshift.attackers.cherry_tree import Cherry, CherryTree, chosen_cherries, estimated_cherry_tree
from oracles import law_of_cherries, marginal

POINTS = 3
SHAPES = {
    "cherries on both parents": [(0, ()), (1, (0,)), (2, (0, 1)), (3, (0, 2)), (4, (1, 2)), (5, (2, 3))],
    "second order": [(0, ()), (1, (0,)), (2, (0, 1)), (3, (1, 2)), (4, (2, 3))],
    "tree": [(2, ()), (0, (2,)), (1, (2,)), (3, (1,))],
    "two components": [(0, ()), (1, (0,)), (2, (0, 1)), (3, ()), (4, (3,))],
    "one parent of a cherry": [(0, ()), (1, (0,)), (2, (0, 1)), (3, (2,))],
}


def random_tree(shape, rng):
    cherries = [Cherry(v, p, rng.dirichlet(np.ones(POINTS), (POINTS,) * len(p))) for v, p in shape]
    return CherryTree(tuple(cherries), np.full(POINTS, 1 / POINTS))


def posterior_table(tree, seen):
    """Pr[document | outputs] by enumeration, for one document's likelihoods (places, points)."""
    table = law_of_cherries(tree.cherries, POINTS)
    for secrets in np.ndindex(*table.shape):
        table[secrets] *= np.prod([seen[t, x] for t, x in enumerate(secrets)])
    return table / table.sum()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_marginals_are_those_of_enumeration(shape):
    rng = np.random.default_rng(0)
    tree = random_tree(shape, rng)
    seen = rng.random((4, len(shape), POINTS)) ** 3
    found = np.exp(tree.marginals(seen))
    for d in range(len(seen)):
        table = posterior_table(tree, seen[d])
        for t in range(len(shape)):
            assert found[d, t] == pytest.approx(marginal(table, t), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_messages_leave_the_own_output_out(shape):
    rng = np.random.default_rng(1)
    tree = random_tree(shape, rng)
    seen = rng.random((1, len(shape), POINTS))
    found = np.exp(tree.messages(seen))
    for t in range(len(shape)):
        others = seen[0].copy()
        others[t] = 1.0
        said = found[0, t] / found[0, t].sum()
        assert said == pytest.approx(marginal(posterior_table(tree, others), t), abs=1e-12)


def test_a_value_that_an_output_excludes_still_hears_the_others():
    tree = random_tree(SHAPES["second order"], np.random.default_rng(2))
    seen = np.ones((1, 5, POINTS))
    seen[0, 2] = [1.0, 0.0, 0.5]
    said = np.exp(tree.messages(seen))[0, 2]
    seen[0, 2] = 1.0
    assert said / said.sum() == pytest.approx(marginal(posterior_table(tree, seen[0]), 2), abs=1e-9)


def test_documents_of_another_length_get_the_law_of_any_value():
    tree = random_tree(SHAPES["tree"], np.random.default_rng(2))
    assert np.exp(tree.messages(np.ones((2, 7, POINTS)))) == pytest.approx(np.full((2, 7, POINTS), 1 / POINTS))


def test_draws_follow_the_joint_posterior():
    rng = np.random.default_rng(3)
    shape = SHAPES["two components"]
    tree = random_tree(shape, rng)
    seen = rng.random((1, len(shape), POINTS))
    drawn = tree.draw(np.repeat(seen, 60_000, axis=0), rng)
    counts = np.zeros((POINTS,) * len(shape))
    np.add.at(counts, tuple(drawn.T), 1)
    expected = posterior_table(tree, seen[0])
    error = np.sqrt(expected * (1 - expected) / 60_000)
    assert np.all(np.abs(counts / 60_000 - expected) <= 5 * error + 1e-4)


def test_draws_repeat_under_the_same_generator():
    tree = random_tree(SHAPES["tree"], np.random.default_rng(4))
    one, two = (tree.draw(np.ones((50, 4, POINTS)), np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one, two)


def check_digit(n, rng, points=8, tie=False):
    """x_2 = x_0 + x_1 and, with a tie, x_4 = x_3 nine times in ten; every pair of the first three is independent."""
    values = rng.integers(points, size=(n, 5))
    values[:, 2] = (values[:, 0] + values[:, 1]) % points
    if tie:
        same = rng.random(n) < 0.9
        values[same, 4] = values[same, 3]
    return values


@pytest.mark.parametrize("tie", [False, True])
def test_a_check_digit_is_found_alone_and_next_to_a_tie(tie):
    rng = np.random.default_rng(6)
    values = check_digit(3_000, rng, tie=tie)
    tree = estimated_cherry_tree(values, 8)
    fresh = check_digit(500, rng, tie=tie)
    seen = np.eye(8)[fresh] * 0.999 + 0.001 / 8
    seen[:, 2] = 1.0  # the third value was not released: the first two decide it
    told = np.exp(tree.marginals(seen))[np.arange(500), 2, fresh[:, 2]]
    assert np.log(told).mean() > -0.2  # guessing gives -2.08
    if tie:
        assert any({v, *parents} >= {3, 4} for v, parents in chosen_cherries(values, 8))


def test_independent_values_are_told_nothing():
    rng = np.random.default_rng(7)
    tree = estimated_cherry_tree(rng.integers(6, size=(3_000, 4)), 6)
    fresh = rng.integers(6, size=(2_000, 4))
    said = tree.messages(np.eye(6)[fresh] * 0.9 + 0.1 / 6)
    said -= np.log(np.exp(said).sum(axis=2, keepdims=True))
    score = np.take_along_axis(said, fresh[..., None], axis=2).mean()
    assert score == pytest.approx(-np.log(6), abs=0.01)

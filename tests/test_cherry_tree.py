"""The cherry tree: exact marginals and draws against enumeration, and ties of three places that no pair shows."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.cherry_tree import Cherry, CherryTree, PlaceTrees, cherry_tree, graph_of, hung
from oddshift.attackers.controls import Own
from oddshift.attackers.portfolio import three_parts
from oddshift.attackers.row_layout import row_layout
from oddshift.attackers.threes import Ties, beyond_pairs, threes_of
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.mechanisms import Exponential, MechanismSettings, build_mechanism
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from oracles import law_of_cherries, marginal
from worlds import World, log_score

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
    return CherryTree(tuple(cherries))


def by_place(seen):
    """Likelihoods (documents, places, points) place by place."""
    return np.moveaxis(seen, 1, 0)


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
    found = np.exp(tree.marginals(by_place(seen)))
    for d in range(len(seen)):
        table = posterior_table(tree, seen[d])
        for t in range(len(shape)):
            assert found[t, d] == pytest.approx(marginal(table, t), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_messages_leave_the_own_output_out(shape):
    rng = np.random.default_rng(1)
    tree = random_tree(shape, rng)
    seen = rng.random((1, len(shape), POINTS))
    found = np.exp(tree.messages(by_place(seen)))
    for t in range(len(shape)):
        others = seen[0].copy()
        others[t] = 1.0
        said = found[t, 0] / found[t, 0].sum()
        assert said == pytest.approx(marginal(posterior_table(tree, others), t), abs=1e-12)


def test_a_value_that_an_output_excludes_still_hears_the_others():
    tree = random_tree(SHAPES["second order"], np.random.default_rng(2))
    seen = np.ones((1, 5, POINTS))
    seen[0, 2] = [1.0, 0.0, 0.5]
    said = np.exp(tree.messages(by_place(seen)))[2, 0]
    seen[0, 2] = 1.0
    assert said / said.sum() == pytest.approx(marginal(posterior_table(tree, seen[0]), 2), abs=1e-9)


def test_documents_of_another_length_get_the_law_of_any_value():
    trees = PlaceTrees({4: random_tree(SHAPES["tree"], np.random.default_rng(2))}, np.full(POINTS, 1 / POINTS))
    assert np.exp(trees.messages(np.ones((2, 7, POINTS)))) == pytest.approx(np.full((2, 7, POINTS), 1 / POINTS))


def test_draws_follow_the_joint_posterior():
    rng = np.random.default_rng(3)
    shape = SHAPES["two components"]
    tree = random_tree(shape, rng)
    seen = rng.random((1, len(shape), POINTS))
    drawn = tree.draw(by_place(np.repeat(seen, 60_000, axis=0)), rng)
    counts = np.zeros((POINTS,) * len(shape))
    np.add.at(counts, tuple(drawn.T), 1)
    expected = posterior_table(tree, seen[0])
    error = np.sqrt(expected * (1 - expected) / 60_000)
    assert np.all(np.abs(counts / 60_000 - expected) <= 5 * error + 1e-4)


def test_draws_repeat_under_the_same_generator():
    tree = random_tree(SHAPES["tree"], np.random.default_rng(4))
    one, two = (tree.draw(np.ones((4, 50, POINTS)), np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one, two)


def check_digit(n, rng, points=8, tie=False):
    """x_2 = x_0 + x_1 and, with a tie, x_4 = x_3 nine times in ten; every pair of the first three is independent."""
    values = rng.integers(points, size=(n, 5))
    values[:, 2] = (values[:, 0] + values[:, 1]) % points
    if tie:
        same = rng.random(n) < 0.9
        values[same, 4] = values[same, 3]
    return values


def estimated(values, points):
    ties = Ties(values, (points,) * values.shape[1])
    return cherry_tree(ties, graph_of(ties, threes_of(ties)))


@pytest.mark.parametrize("tie", [False, True])
def test_a_check_digit_is_found_alone_and_next_to_a_tie(tie):
    rng = np.random.default_rng(6)
    tree = estimated(check_digit(3_000, rng, tie=tie), 8)
    fresh = check_digit(500, rng, tie=tie)
    seen = np.eye(8)[fresh] * 0.999 + 0.001 / 8
    seen[:, 2] = 1.0  # the third value was not released: the first two decide it
    found = np.exp(tree.marginals(by_place(seen)))[2][np.arange(500), fresh[:, 2]]
    assert np.log(found).mean() > -0.2  # guessing gives -2.08
    assert {frozenset((c.place, *c.parents)) for c in tree.cherries} >= {frozenset((0, 1, 2))}
    assert any({c.place, *c.parents} == {3, 4} for c in tree.cherries) == tie


def test_what_three_tell_is_counted_beyond_pairs():
    rng = np.random.default_rng(8)
    values = check_digit(3_000, rng, tie=True)
    ties = Ties(values, (8,) * 5)
    assert threes_of(ties) == ((0, 1, 2),)
    assert beyond_pairs(ties, 2, 0, 1) == pytest.approx(np.log(8), abs=0.1)
    assert beyond_pairs(ties, 4, 3, 0) == 0.0  # 3 alone tells all of it
    assert ties.dependence(4, (3,)) > 1.0
    assert ties.dependence(2, (0,)) < 0.01
    values[::2, 2] = -1  # missing cells are left out
    assert threes_of(Ties(values, (8,) * 5)) == ((0, 1, 2),)


def test_independent_values_have_no_threes_and_are_told_nothing():
    rng = np.random.default_rng(7)
    values = rng.integers(6, size=(3_000, 4))
    tree = estimated(values, 6)
    assert all(len(c.parents) < 2 for c in tree.cherries)
    fresh = rng.integers(6, size=(2_000, 4))
    said = np.stack(tree.messages(by_place(np.eye(6)[fresh] * 0.9 + 0.1 / 6)), axis=1)
    said -= np.log(np.exp(said).sum(axis=2, keepdims=True))
    score = np.take_along_axis(said, fresh[..., None], axis=2).mean()
    assert score == pytest.approx(-np.log(6), abs=0.01)


def test_threes_in_a_ring_are_all_read():
    rng = np.random.default_rng(9)
    values = rng.integers(5, size=(4_000, 8))
    for p in range(4):
        values[:, 4 + p] = (values[:, p] + values[:, (p + 1) % 4]) % 5
    tree = estimated(values, 5)
    cliques = {frozenset((c.place, *c.parents)) for c in tree.cherries}
    assert cliques >= {frozenset((p, (p + 1) % 4, 4 + p)) for p in range(4)}


def test_ties_without_an_order_of_cliques_are_refused():
    assert hung(frozenset({(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)}), 4)
    four = frozenset((p, q) for q in range(4) for p in range(q))
    assert hung(four, 4) == []  # all four tied: a clique too large


def test_the_portfolio_reads_threes_only_where_there_are_some():
    rng = np.random.default_rng(10)
    space = Space(rng.random((8, 2)) * 4)
    mechanism, tiers = Exponential(space, 3.0), one_tier(space)
    parts = []
    for values in (check_digit(1_500, rng), rng.integers(8, size=(1_500, 5))):
        known = knowledge(mechanism, tiers, Records.from_documents(space, list(values)))
        parts.append([fit(known).name for fit in three_parts(known, None)])
    assert parts == [["threes"], []]


def table_of(rows, rng):
    """Three small columns, the third of which the first two decide, and a number that half repeats another one."""
    a, b = rng.integers(4, size=rows), rng.integers(5, size=rows)
    age = rng.integers(20, 90, size=rows)
    columns = {"a": a, "b": b, "c": (a + b) % 4, "age": age, "seen": age + rng.integers(0, 3, size=rows)}
    return {name: [str(x) for x in column] for name, column in columns.items()}


def test_columns_in_threes_are_read_row_by_row():
    rng = np.random.default_rng(11)
    settings = TableSettings(categorical=("a", "b", "c"), numeric=("age", "seen"))
    codec = TableCodec.fit(table_of(1_500, rng), settings)
    mechanism = build_mechanism(MechanismSettings(), codec.space, codec.tiers, 4.0)
    known = knowledge(mechanism, codec.tiers, codec.encode(table_of(1_500, rng)).records)
    (fit,) = three_parts(known, row_layout(known))
    fresh = codec.encode(table_of(300, rng)).records
    world = World(known, fresh, perturb(fresh, mechanism, codec.tiers, rng))
    assert {2, 3, 4} in [{c.place, *c.parents} for c in fit(known).law.tree.cherries]  # numbers come first
    assert log_score(fit(known), world) < log_score(Own(known), world) - 0.05

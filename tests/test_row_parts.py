"""Attackers for rows of tables: layouts by hand, exact inference against enumeration, estimates against the truth."""

from itertools import product

import numpy as np
import pytest

import oddshift as od
from oddshift.app.run import Run, knowledge_of
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.clear_columns import clear_tokens, fit_clear_columns, has_rows
from oddshift.attackers.column_tree import (
    ColumnNode,
    ColumnTree,
    _spread,
    _strongest_tree,
    _ties,
    fit_column_tree,
)
from oddshift.attackers.hidden_classes import RowClasses, fit_row_classes
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.attackers.row_layout import RowCells, RowLayout, row_batches, row_cells, row_layout, spread_over_points
from oddshift.audit import AuditSettings
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.data.embedded import PeopleSettings
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MechanismSettings, build_mechanism
from oddshift.model.records import Context
from oddshift.model.release import perturb

RNG = np.random.default_rng(7)


def known_of(columns, settings, epsilon=1.0):
    codec = TableCodec.fit(columns, settings)
    mechanism = build_mechanism(MechanismSettings(), codec.space, codec.tiers, epsilon)
    return knowledge(mechanism, codec.tiers, codec.encode(columns).records), codec


def survey(rows=400, rng=RNG):
    """Three categories: b mostly copies a, c is noise."""
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.85, a, rng.integers(0, 3, rows))
    return {
        "a": [f"a{x}" for x in a],
        "b": [f"b{x}" for x in b],
        "c": [f"c{x}" for x in rng.integers(0, 2, rows)],
    }


CELLS = TableSettings(categorical=("a", "b", "c"))


def test_a_row_has_each_column_once_and_starts_over():
    layout = RowLayout((np.array([0, 1]), np.array([2, 3]), np.array([4])), np.array([1, 0, 2]))
    tiers = np.array([1, 0, 2, 1, 2, 0, 2, 1])  # columns 0 1 2 | 0 2 | 1 2 | 0
    row, column = layout.places(tiers, np.array([0, 5, 8]))
    assert column.tolist() == [0, 1, 2, 0, 2, 1, 2, 0]
    assert row.tolist() == [0, 0, 0, 1, 1, 2, 2, 3]


def test_tables_have_a_layout_and_texts_have_none():
    known, _ = known_of(survey(), CELLS)
    layout = row_layout(known)
    assert [len(points) for points in layout.members] == [3, 3, 2]
    space = od.Space(np.arange(4.0)[:, None])
    tiers = od.Tiers([0, 0, 1, 1], names=("x", "y"), scales=(1.0, 1.0), is_public=True)
    texts = od.Records.from_documents(space, [[0, 1, 0, 3, 2], [2, 3, 0, 0]] * 20)
    mechanism = od.Exponential(space, 1.0)
    assert row_layout(knowledge(mechanism, tiers, texts)) is None
    secret = od.Tiers([0, 0, 1, 1], names=("x", "y"), scales=(1.0, 1.0), is_public=False)
    assert row_layout(knowledge(mechanism, secret, texts)) is None


def test_cells_come_back_as_numbers_of_values_with_holes():
    columns = {**survey(60), "a": [None if k == 4 else f"a{k % 3}" for k in range(60)]}
    known, codec = known_of(columns, CELLS)
    cells = row_cells(known, row_layout(known))
    assert cells.values.shape == (60, 3)
    assert cells.values[4, 0] == -1
    domain = codec.vocabulary.domains[1].values
    assert [domain[v] for v in cells.values[:, 1]] == columns["b"]
    assert cells.document.tolist() == list(range(60))


def test_batches_cover_every_position_once_whatever_the_group_sizes():
    columns = {**survey(90), "who": [str(k // 2 if k < 40 else k) for k in range(90)]}
    known, _ = known_of(columns, TableSettings(categorical=("a", "b", "c"), group="who"))
    release = perturb(known.fit, known.mechanism, known.tiers, np.random.default_rng(0))
    layout = row_layout(known)
    batches = list(row_batches(known, release, layout))
    assert {batch.seen[0].shape[1] for batch in batches} == {1, 2}
    assert sorted(np.concatenate([batch.positions for batch in batches])) == list(range(270))
    for batch in batches:
        terms = [np.log(np.maximum(cells, 1e-300)) for cells in batch.seen]
        spread = spread_over_points(batch, layout, terms, len(known.log_prior))
        own = known.mechanism.log_columns(release.outputs[batch.positions])
        for at, c in enumerate(batch.column):
            points = layout.members[c]
            np.testing.assert_allclose(spread[at, points], own[at, points] - own[at, points].max(), atol=1e-9)


def laws(*shape, rng=RNG):
    found = rng.random(shape) + 0.1
    return found / found.sum(axis=-1, keepdims=True)


def by_enumeration(weight, seen, values, rows):
    """log of Σ over all cells but one of the weight of a group times what was seen of the others."""
    cells = [(r, c) for r in range(rows) for c in range(len(values))]
    found = [np.zeros((1, rows, size)) for size in values]
    for table in product(*(range(values[c]) for _, c in cells)):
        filled = np.array(table).reshape(rows, len(values))
        joint = weight(filled)
        for r, c in cells:
            others = np.prod([seen[d][0, s, filled[s, d]] for s, d in cells if (s, d) != (r, c)])
            found[c][0, r, filled[r, c]] += joint * others
    return [np.log(part) for part in found]


def same_up_to_constants(found, expected):
    for a, b in zip(found, expected, strict=True):
        gap = a - b
        np.testing.assert_allclose(gap - gap[..., :1], 0.0, atol=1e-9)


VALUES = (2, 3, 2)


def small_layout():
    return RowLayout((np.arange(2), np.arange(2, 5), np.arange(5, 7)), np.arange(3))


@pytest.mark.parametrize("rows", [1, 2])
def test_the_tree_is_exact_with_columns_of_groups_and_of_rows(rows):
    root, middle, leaf = laws(2), laws(2, 3), laws(3, 2)
    spread = 0.8 * np.eye(2) + 0.2 * root
    tree = ColumnTree(
        small_layout(),
        (ColumnNode(0, -1, root, spread), ColumnNode(1, 0, middle, None), ColumnNode(2, 1, leaf, None)),
    )
    seen = [RNG.random((1, rows, size)) + 0.05 for size in VALUES]

    def weight(cells):
        total = 0.0
        for z in range(2):
            part = root[z]
            for x, y, v in cells:
                part *= spread[z, x] * middle[z, y] * leaf[y, v]
            total += part
        return total

    same_up_to_constants(tree.messages(seen), by_enumeration(weight, seen, VALUES, rows))


def test_the_tree_is_exact_with_two_columns_of_groups_and_a_root_alone():
    root, child, alone = laws(2), laws(2, 3), laws(2)
    spreads = 0.9 * np.eye(2) + 0.1 * root, 0.7 * np.eye(3) + 0.3 * laws(3)
    tree = ColumnTree(
        small_layout(),
        (ColumnNode(0, -1, root, spreads[0]), ColumnNode(1, 0, child, spreads[1]), ColumnNode(2, -1, alone, None)),
    )
    seen = [RNG.random((1, 2, size)) + 0.05 for size in VALUES]

    def weight(cells):
        total = 0.0
        for z, w in product(range(2), range(3)):
            part = root[z] * child[z, w]
            for x, y, v in cells:
                part *= spreads[0][z, x] * spreads[1][w, y] * alone[v]
            total += part
        return total

    same_up_to_constants(tree.messages(seen), by_enumeration(weight, seen, VALUES, 2))


@pytest.mark.parametrize("rows", [1, 2])
def test_classes_are_exact(rows):
    shares, tables = laws(3), tuple(laws(3, size) for size in VALUES)
    model = RowClasses(small_layout(), shares, tables)
    seen = [RNG.random((1, rows, size)) + 0.05 for size in VALUES]

    def weight(cells):
        each = [np.prod([tables[c][m, row[c]] for row in cells for c in range(3)]) for m in range(3)]
        return float(shares @ each)

    same_up_to_constants(model.messages(seen), by_enumeration(weight, seen, VALUES, rows))


def test_ties_are_information_less_chance():
    values = np.stack([RNG.integers(0, 3, 5000), np.zeros(5000, dtype=int), RNG.integers(0, 4, 5000)], axis=1)
    values[:, 1] = values[:, 0]
    layout = RowLayout((np.arange(3), np.arange(3), np.arange(4)), np.arange(3))
    ties = _ties(values, layout)
    assert ties[0, 1] == pytest.approx(np.log(3), abs=0.01)
    assert abs(ties[0, 2]) < 0.002
    values[:, 2] = -1
    assert (0, 2) not in _ties(values, layout), "columns that never meet have no tie"


def test_columns_of_groups_come_first_in_the_tree():
    ties = {(0, 1): 0.9, (0, 2): 0.2, (1, 2): 0.5, (0, 3): 0.1, (1, 3): 0.3, (2, 3): -1.0}
    order = _strongest_tree(ties, [False, True, True, False])
    assert order[0] == (1, -1)
    assert order[1] == (2, 1)
    assert dict(order) == {1: -1, 2: 1, 0: 1, 3: 1}
    assert dict(_strongest_tree({(0, 1): -0.1}, [False, False])) == {0: -1, 1: -1}, "no tie, no edge"


def test_agreement_within_groups_is_beyond_chance():
    law = np.array([0.5, 0.5])
    document = np.repeat(np.arange(500), 2)
    value = np.repeat(RNG.integers(0, 2, 500), 2)
    same = RowCells(np.stack([value, RNG.integers(0, 2, 1000)], axis=1), document)
    spread = _spread(same, 0, law)
    assert spread[0, 0] > 0.99
    np.testing.assert_allclose(spread.sum(axis=1), 1.0)
    assert _spread(same, 1, law) is None
    assert _spread(RowCells(same.values[:20], document[:20]), 0, law) is None, "too few to say"


def test_an_estimated_tree_finds_the_tie_and_says_nothing_about_noise():
    known, _ = known_of(survey(1500, np.random.default_rng(1)), CELLS, 2.0)
    layout = row_layout(known)
    attacker = LawAttacker(known, fit_column_tree(known, layout), "tree")
    release = perturb(known.fit, known.mechanism, known.tiers, np.random.default_rng(2))
    scores = np.zeros((2, 3))
    for block in attacker.beliefs(release):
        own = known.mechanism.log_columns(release.outputs[block.positions])
        tier = known.fit.tier_of_position(known.tiers)[block.positions]
        truth = known.fit.points[block.positions]
        for t in range(3):
            mine, inside = np.flatnonzero(tier == t), np.flatnonzero(known.tiers.labels == t)
            for k, shift in enumerate((own, block.shift)):
                total = (known.log_prior + shift)[np.ix_(mine, inside)]
                at_truth = total[np.arange(len(mine)), np.searchsorted(inside, truth[mine])]
                scores[k, t] += np.mean(np.log(np.exp(total).sum(axis=1)) - at_truth)
    gain = scores[0] - scores[1]
    assert gain[0] > 0.05
    assert gain[1] > 0.05
    assert abs(gain[2]) < 0.005


def test_clear_columns_two_at_a_time_give_a_third_away():
    rng = np.random.default_rng(3)
    one, two = rng.integers(0, 4, 2000), rng.integers(0, 5, 2000)
    far = rng.permutation(20)[one * 5 + two]  # neither column says much alone
    columns = {
        "from": [f"f{x}" for x in one],
        "to": [f"t{x}" for x in two],
        "far": [f"d{x}" for x in far],
        "other": [f"o{x}" for x in rng.integers(0, 3, 2000)],
    }
    known, codec = known_of(columns, TableSettings(categorical=("far", "other"), public=("from", "to")))
    layout = row_layout(known)
    assert has_rows(known.fit.context, 2)
    law = fit_clear_columns(known, layout, np.random.default_rng(0))
    release = perturb(known.fit, known.mechanism, known.tiers, np.random.default_rng(1))
    (block,) = law.terms(known, release)
    prior = block.log_prior
    assert not block.context.any()
    tier = known.fit.tier_of_position(known.tiers)
    far_tier = codec.tiers.names.index("far")
    mine, inside = np.flatnonzero(tier == far_tier), np.flatnonzero(known.tiers.labels == far_tier)
    guess = inside[prior[np.ix_(mine, inside)].argmax(axis=1)]
    assert (guess == known.fit.points[mine]).mean() > 0.99
    other = np.flatnonzero(tier != far_tier)
    rest = np.flatnonzero(known.tiers.labels != far_tier)
    shown = prior[np.ix_(other, rest)] - prior[np.ix_(other, rest)].max(axis=1, keepdims=True)
    assert np.ptp(shown, axis=0).max() < 0.3, "the clear columns say nothing about it"


def test_values_that_were_never_seen_clear_leave_the_law_as_it_is():
    columns = {"w": ["x", "y"] * 200, "a": ["p", "q"] * 200, "b": ["r", "s", "s", "r"] * 100}
    settings = TableSettings(categorical=("a", "b"), public=("w",))
    known, codec = known_of(columns, settings)
    law = fit_clear_columns(known, row_layout(known), np.random.default_rng(0))
    fresh = codec.encode({"w": ["z"] * 4, "a": ["p", "q"] * 2, "b": ["r", "s"] * 2}).records
    release = perturb(fresh, known.mechanism, known.tiers, np.random.default_rng(0))
    (block,) = law.terms(known, release)
    np.testing.assert_allclose(np.exp(block.log_prior[0, :2]), 0.5, atol=0.01)


def test_contexts_without_rows_are_told_apart():
    ragged = Context(
        tokens=np.array([0, -1, 0, 0, -1]),
        offsets=np.array([0, 5]),
        symbols=("w",),
        breaks=np.array([True, False, True, False, False]),
    )
    assert not has_rows(ragged, 1)
    assert not has_rows(None, 1)
    with pytest.raises(InvalidInput, match="differ in width"):
        clear_tokens(ragged, 1)


def audited(data, epsilon, attackers=("portfolio",)):
    settings = AuditSettings(epsilon=epsilon, delta=0.05, attackers=attackers)
    return Run(prepare(data, 0), MechanismSettings(calibrated=True)).audit(settings)


def test_a_distance_between_released_places_is_never_certified():
    rng = np.random.default_rng(4)
    start, end = rng.integers(0, 3, 1500), rng.integers(0, 12, 1500)
    table = rng.integers(100, 3000, (3, 12))
    data = od.table(
        {
            "distance": table[start, end].tolist(),
            "delay": rng.integers(-10, 60, 1500).tolist(),
            "origin": [f"o{x}" for x in start],
            "dest": [f"d{x}" for x in end],
        },
        settings={"numeric": ["distance", "delay"], "public": ["origin", "dest"]},
    )
    found = audited(data, 0.5, ("portfolio", "portfolio+W")).result
    right = {row.name: row.tiers[0].top1 for row in found.attackers}
    assert right["own"] < 0.5
    assert right["portfolio+W"] > 0.95
    assert found.state != "certified"
    assert any(
        "first guess" in part.claim.withheld and "distance" in part.claim.withheld for part in found.verdict.parts
    )


def patients(count=450, rng=None):
    """Two rows for each patient, as in a trial: four columns that agree, one that depends on them and differs."""
    rng = np.random.default_rng(5) if rng is None else rng
    stage = rng.integers(0, 3, count)
    sex = rng.integers(0, 2, count)
    spread = np.where(rng.random(count) < 0.8, stage, rng.integers(0, 3, count))
    arm = rng.integers(0, 3, count)
    rows = np.repeat(np.arange(count), 2)
    status = np.where(rng.random(2 * count) < 0.85, (stage[rows] == 2).astype(int), rng.integers(0, 2, 2 * count))
    values = {"stage": stage[rows], "sex": sex[rows], "spread": spread[rows], "arm": arm[rows], "status": status}
    return {"id": rows.tolist(), **{name: [f"{name}{x}" for x in cells] for name, cells in values.items()}}


def true_tree(layout, codec):
    """The law that `patients` draws from, as a tree."""
    order = {domain.name: [int(value[-1]) for value in domain.values] for domain in codec.vocabulary.domains}
    size = {name: len(values) for name, values in order.items()}
    column = {name: c for c, name in enumerate(order)}
    uniform = {name: np.full(size[name], 1.0 / size[name]) for name in order}
    spread = np.array([[0.8 * (a == b) + 0.2 / 3 for b in order["spread"]] for a in order["stage"]])
    status = np.array([[0.85 * (int(a == 2) == b) + 0.15 / 2 for b in order["status"]] for a in order["stage"]])
    sure = {name: np.eye(size[name]) * (1 - 1e-9) + 1e-9 / size[name] for name in order}
    return ColumnTree(
        layout,
        (
            ColumnNode(column["stage"], -1, uniform["stage"], sure["stage"]),
            ColumnNode(column["spread"], column["stage"], spread, sure["spread"]),
            ColumnNode(column["sex"], -1, uniform["sex"], sure["sex"]),
            ColumnNode(column["arm"], -1, uniform["arm"], sure["arm"]),
            ColumnNode(column["status"], column["stage"], status, None),
        ),
    )


def test_groups_of_rows_leak_nearly_as_much_as_the_true_law_shows():
    data = od.table(patients())
    assert data.settings.group == "id"
    prepared = prepare(data, 0)
    settings = AuditSettings(epsilon=1.0, delta=0.05, attackers=("portfolio",))
    found = Run(prepared, MechanismSettings(calibrated=True)).audit(settings)
    known = knowledge_of(prepared, MechanismSettings(calibrated=True), 1.0)
    layout = row_layout(known)
    exact = LawAttacker(known, true_tree(layout, prepared.codec), "true law")
    best = Run(prepared, MechanismSettings(calibrated=True)).audit(settings, [exact]).result
    rates = [
        np.mean([tier.anchored for tier in audit.row(name).tiers])
        for audit, name in ((found.result, "portfolio"), (best, "true law"))
    ]
    assert rates[1] > 0.2
    assert rates[0] >= 0.8 * rates[1]
    assert found.result.state == "violated"


def test_classes_of_rows_are_found_and_one_class_is_enough_for_noise():
    rng = np.random.default_rng(6)
    kind = rng.integers(0, 2, 600)
    columns = {
        name: [f"{name}{x}" for x in np.where(rng.random(600) < 0.9, kind, 1 - kind)] for name in ("a", "b", "c")
    }
    known, _ = known_of(columns, CELLS)
    assert len(fit_row_classes(known, row_layout(known), np.random.default_rng(0)).shares) > 1
    noise = {name: [f"{name}{x}" for x in rng.integers(0, 2, 600)] for name in ("a", "b", "c")}
    known, _ = known_of(noise, CELLS)
    assert len(fit_row_classes(known, row_layout(known), np.random.default_rng(0)).shares) == 1


def test_the_portfolio_of_a_table_reads_rows():
    known, _ = known_of(survey(), CELLS)
    found = fit_portfolio(known, np.random.default_rng(0))
    assert {part.name for part in found.parts} & {"column tree", "row classes"}


def test_columns_of_many_values_in_few_rows_are_tied_all_the_same():
    rng = np.random.default_rng(8)
    first = rng.integers(0, 100, 300)
    second = np.where(rng.random(300) < 0.8, first // 2, rng.integers(0, 50, 300))
    values = np.stack([first, second, rng.integers(0, 60, 300)], axis=1)
    ties = _ties(values, RowLayout((np.arange(100), np.arange(50), np.arange(60)), np.arange(3)))
    assert ties[0, 1] > 1.0, "six thousand cells and three hundred rows: most of them are empty"
    assert max(ties[0, 2], ties[1, 2]) < 0.0


def test_texts_that_look_like_rows_are_read_as_texts_too():
    settings = AuditSettings(epsilon=1.0, delta=0.05, attackers=("portfolio", "plugin", "exact"))
    prepared = prepare(PeopleSettings(documents=600), 0)
    found = Run(prepared, MechanismSettings()).audit(settings)
    assert row_layout(knowledge_of(prepared, MechanismSettings(), 1.0)) is not None
    gain = {row.name: row.joint_gain for row in found.result.attackers}
    assert gain["portfolio"] > 0.95 * gain["plugin"] > 0.5
    assert gain["portfolio"] < gain["exact"]

"""Attackers for rows of tables: layouts by hand, exact inference against enumeration, estimates against the truth."""

from itertools import product

import numpy as np
import pytest

import oddshift as od
from oddshift.app.run import Run, knowledge_of
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.clear_columns import clear_tokens, fit_clear_columns, has_rows
from oddshift.attackers.hidden_classes import RowClasses, fit_row_classes
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.attackers.row_layout import RowLayout, row_batches, row_cells, row_layout
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
        for c, points, mine, at in batch.cells(layout):
            own = known.mechanism.log_columns(release.outputs[mine])[:, points]
            seen = np.log(batch.seen[c].reshape(-1, len(points))[at])
            np.testing.assert_allclose(seen, own - own.max(axis=1, keepdims=True), atol=1e-9)


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
def test_classes_are_exact(rows):
    shares, tables = laws(3), tuple(laws(3, size) for size in VALUES)
    model = RowClasses(small_layout(), shares, tables)
    seen = [RNG.random((1, rows, size)) + 0.05 for size in VALUES]

    def weight(cells):
        each = [np.prod([tables[c][m, row[c]] for row in cells for c in range(3)]) for m in range(3)]
        return float(shares @ each)

    same_up_to_constants(model.messages(seen), by_enumeration(weight, seen, VALUES, rows))


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


def true_law(layout, codec):
    """The law that `patients` draws from, as a class for all that rows of one patient share."""
    order = {domain.name: [int(value[-1]) for value in domain.values] for domain in codec.vocabulary.domains}
    shared = [name for name in order if name != "status"]
    kinds = list(product(*(order[name] for name in shared)))
    at, stage = shared.index("spread"), shared.index("stage")
    shares = np.array([0.8 * (kind[at] == kind[stage]) + 0.2 / 3 for kind in kinds])
    laws = {
        name: np.array([[(1 - 1e-9) * (kind[k] == value) + 1e-9 for value in order[name]] for kind in kinds])
        for k, name in enumerate(shared)
    }
    laws["status"] = np.array(
        [[0.85 * (int(kind[stage] == 2) == value) + 0.15 / 2 for value in order["status"]] for kind in kinds]
    )
    return RowClasses(layout, shares / shares.sum(), tuple(laws[name] for name in order))


def test_groups_of_rows_leak_nearly_as_much_as_the_true_law_shows():
    data = od.table(patients())
    assert data.settings.group == "id"
    prepared = prepare(data, 0)
    settings = AuditSettings(epsilon=1.0, delta=0.05, attackers=("portfolio",))
    found = Run(prepared, MechanismSettings(calibrated=True)).audit(settings)
    known = knowledge_of(prepared, MechanismSettings(calibrated=True), 1.0)
    layout = row_layout(known)
    exact = LawAttacker(known, true_law(layout, prepared.codec), "true law")
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
    assert {part.name for part in found.parts} & {"copula", "row classes"}


def test_texts_that_look_like_rows_are_read_as_texts_too():
    settings = AuditSettings(epsilon=1.0, delta=0.05, attackers=("portfolio", "plugin", "exact"))
    prepared = prepare(PeopleSettings(documents=600), 0)
    found = Run(prepared, MechanismSettings()).audit(settings)
    assert row_layout(knowledge_of(prepared, MechanismSettings(), 1.0)) is not None
    gain = {row.name: row.joint_gain for row in found.result.attackers}
    assert gain["portfolio"] > 0.95 * gain["plugin"] > 0.5
    assert gain["portfolio"] < gain["exact"]

"""A sweep: which question each cell asks, that a cell is an audit, and that finished cells are not computed again."""

import csv
import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from oddshift.app import sweep as sweeping
from oddshift.app.cli import app
from oddshift.app.configuration import parse_config
from oddshift.app.run import Run
from oddshift.app.sweep import at_point, cell_values, paired_tests, sweep
from oddshift.app.sweep_page import CSV, PAGE, PARQUET, PICTURE, front_plot, write_sweep
from oddshift.app.sweep_settings import SweepSettings
from oddshift.base.errors import InvalidInput
from oddshift.data.preparation import prepare
from oddshift.mechanisms.settings import MechanismSettings

PEOPLE = """
[data]
kind = "people"
documents = 120
by_kind = false
[audit]
epsilon = 2.0
delta = 0.2
[sweep]
"""


def config(sweep='scales = [[1.0, 1.0], [0.5, 0.5]]\nattackers = ["plugin"]\nseed = [0, 1]\ncompare = "scales"'):
    return parse_config(PEOPLE + sweep, "test")


@pytest.mark.parametrize(
    ("point", "read", "expected"),
    [
        ({"epsilon": 1.5}, lambda c: (c.audit.epsilon, c.mechanism.epsilon), (1.5, None)),
        ({"seed": 7}, lambda c: c.audit.seed, 7),
        ({"documents": 60}, lambda c: c.data.documents, 60),
        ({"attackers": "plugin"}, lambda c: c.audit.attackers, ("plugin",)),
        ({"mechanism": "truncated"}, lambda c: c.mechanism.name, "truncated"),
        ({"scales": (0.5, 1.0)}, lambda c: (c.mechanism.name, c.mechanism.scales), ("tiered", (0.5, 1.0))),
        ({"temperature": 2.5}, lambda c: (c.audit.paper.tau_base, c.audit.paper.tau), (2.5, 1.0)),
        ({"preset": "AmPL"}, lambda c: (c.adapt.preset, c.adapt.objective), ("AmPL", "weighted")),
        ({"rate_weight": 9.0, "seed": 3}, lambda c: (c.adapt.rate_weight, c.adapt.seed), (9.0, 3)),
    ],
)
def test_a_point_changes_what_it_names(point, read, expected):
    assert read(at_point(config(), point)) == expected


def test_cells_are_every_value_with_every_other():
    points = list(SweepSettings(seed=(0, 1), epsilon=(1.0, 2.0, 3.0)).points)
    assert len(points) == 6
    assert points[:2] == [{"seed": 0, "epsilon": 1.0}, {"seed": 0, "epsilon": 2.0}]


def test_a_cell_is_an_audit():
    asked = config()
    found = cell_values(at_point(asked, {"scales": (0.5, 0.5), "seed": 1, "attackers": "plugin"}), {})
    mechanism = MechanismSettings(name="tiered", scales=(0.5, 0.5))
    audit = replace(asked.audit, seed=1, delta=None, attackers=("plugin",))
    row = Run(prepare(asked.data, 1), mechanism).audit(audit).result.row("plugin")
    for tier in row.tiers:
        assert found[f"anchored[{tier.tier}]"] == tier.anchored
    weighed = sum(tier.positions * tier.top1 for tier in row.tiers) / sum(tier.positions for tier in row.tiers)
    assert found["top1"] == pytest.approx(weighed)


def test_the_loop_ends_at_its_scales_and_these_are_audited():
    asked = config('preset = ["EM", "AmPL-P"]\nattackers = ["plugin"]')
    em, only_rate = (cell_values(at_point(asked, point), point) for point in asked.sweep.points)
    assert em["ends_at"] == [1.0, 1.0]
    assert min(only_rate["ends_at"]) < 1.0
    assert only_rate["loss"] > em["loss"]


def test_finished_cells_are_kept_and_others_computed(tmp_path, monkeypatch):
    asked, computed = config(), []
    monkeypatch.setattr(sweeping, "cell_values", lambda made, point: computed.append(point) or {"loss": 1.0})
    rows = sweep(asked, tmp_path)
    assert [row["scales"] for row in rows] == [[1.0, 1.0], [0.5, 0.5]] * 2
    assert len(computed) == 4
    next((tmp_path / "cells").iterdir()).unlink()
    assert sweep(asked, tmp_path) == rows
    assert len(computed) == 5
    more = config('scales = [[1.0, 1.0], [0.5, 0.5], [0.1, 0.1]]\nattackers = ["plugin"]\nseed = [0, 1]')
    assert len(sweep(more, tmp_path)) == 6
    assert len(computed) == 7, "only the two cells with new values"


def test_the_command_writes_rows_a_picture_and_a_page_and_no_certificate(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(PEOPLE + 'scales = [[1.0, 1.0], [0.5, 0.5]]\nattackers = ["plugin"]\ncompare = "scales"')
    ended = CliRunner().invoke(app, ["sweep", str(path), "--out", str(tmp_path / "out"), "--json"])
    assert ended.exit_code == 0, ended.output
    found = json.loads(ended.stdout)
    with (tmp_path / "out" / CSV).open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["scales"] for row in rows] == ["1 1", "0.5 0.5"]
    assert float(rows[1]["loss"]) > float(rows[0]["loss"])
    assert pq.read_table(tmp_path / "out" / PARQUET).num_rows == 2
    picture, page = ((tmp_path / "out" / name).read_text() for name in (PICTURE, PAGE))
    assert picture.startswith("<svg")
    assert picture.count('class="dot') >= 2
    assert "src=" not in page
    assert {test["what"]: test["difference"] < 0 for test in found["tests"]}["loss"] is False
    assert not any("certif" in name or name == "state" for name in found["rows"][0] if name != "certify_documents")
    assert not any(path.name in {"ledger", "evidence"} for path in (tmp_path / "out").iterdir())


ROWS = [
    {"seed": s, "epsilon": e, "uniform": e, "anchored": e + s, "top1": 0.5, "loss": -e} for s in (0, 1) for e in (1, 2)
]


def test_pairs_agree_in_all_else():
    found = paired_tests(ROWS, SweepSettings(seed=(0, 1), epsilon=(1, 2), compare="epsilon"))
    assert [(t.what, t.pairs, t.difference, t.error) for t in found] == [
        ("uniform", 2, 1.0, 0.0), ("anchored", 2, 1.0, 0.0), ("top1", 2, 0.0, 0.0), ("loss", 2, -1.0, 0.0)
    ]  # fmt: skip
    assert [t.p for t in found] == [0.5, 0.5, 1.0, 0.5]
    alone = paired_tests(ROWS[:2], SweepSettings(epsilon=(1, 2), compare="epsilon"))
    assert alone[0].error is None


def test_the_front_is_drawn_through_what_nothing_beats(tmp_path):
    asked = SweepSettings(seed=(0, 1), epsilon=(1, 2))
    assert front_plot(ROWS, asked).series["the front"] == [(-2, 2), (-1, 1)]
    assert {path.name for path in write_sweep(tmp_path, ROWS, asked)} == {CSV, PARQUET, PAGE, PICTURE}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sweep lists nothing"),
        ("seeds = [1]", "unknown key sweep.seeds"),
        ('seed = [0]\ncompare = "seed"', "compare='seed'"),
        ('epsilon = [1.0]\ncompare = "scales"', "compare='scales'"),
        ("scales = [[1.0, 1.0]]\nrate_weight = [1.0]", "one of both"),
        ("documents = [1]", "documents=1"),
    ],
)
def test_bad_tables_are_one_line(text, message):
    with pytest.raises(InvalidInput, match=message):
        config(text)


def test_a_configuration_without_the_table_and_a_loop_without_delta_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"missing table \[sweep\]"):
        sweep(replace(config(), sweep=None), tmp_path)
    with pytest.raises(InvalidInput, match=r"sweep\.preset needs audit\.delta"):
        at_point(replace(config(), adapt=None), {"preset": "AmPL"})

"""Counts of the original by inverting the channel: by hand, with the coverage that intervals state, and refusals."""

import json

import numpy as np
import pytest

import oddshift as od
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec
from oddshift.data.codecs.table.settings import TableSettings
from oddshift.mechanisms import MECHANISMS, MechanismSettings
from oddshift.protect.channel_inversion import estimate, public_key
from oddshift.protect.policies import make_policy
from oddshift.protect.release import ReleasePolicy

FLIP = {"name": "a", "values": ["no", "yes"], "channel": [[0.75, 0.25], [0.25, 0.75]], "mode": "drawn"}
STEP = {
    "name": "b",
    "values": [0, 1, 5],
    "channel": [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]],
    "mode": "drawn",
}
PUBLIC = {"layout": 1, "policy": "", "columns": [FLIP, STEP], "has_groups": False}


def test_counts_by_hand():
    """600 of 1,000 say yes: x·.75 + (1000 − x)·.25 = 600 gives x = 700."""
    found = estimate({"a": ["yes"] * 600 + ["no"] * 400}, PUBLIC, ["a"])
    assert [round(cell.count, 6) for cell in found.cells] == [300.0, 700.0]
    # the standard error of 600 is sqrt(1000·.6·.4) = 15.5, twice that after inversion, times 1.96
    assert found.cells[1].high - found.cells[1].count == pytest.approx(1.96 * 2 * 15.49, rel=0.1)
    assert found.cells[1].share == pytest.approx(0.7)


def test_intervals_cover():
    """At least 93 % of 95 % intervals hold the truth, over 500 draws: of a cross table and of a mean."""
    rng, rows = np.random.default_rng(0), 800
    law = np.array([[0.2, 0.15, 0.1], [0.1, 0.05, 0.4]])
    held, means = [], []
    for draw in range(500):
        code = rng.choice(6, size=rows, p=law.ravel())
        truth = np.bincount(code, minlength=6)
        columns = {}
        for part, x in zip((FLIP, STEP), np.unravel_index(code, law.shape), strict=True):
            sums = np.cumsum(part["channel"], axis=1)[x]
            y = (sums <= rng.random((rows, 1))).sum(axis=1)
            columns[part["name"]] = np.array(part["values"], dtype=object)[y].tolist()
        found = estimate(columns, PUBLIC, ["a", "b"], seed=draw)
        held += [cell.low <= n <= cell.high for cell, n in zip(found.cells, truth, strict=True)]
        (mean,) = found.means
        means.append(mean.low <= float(np.array([0, 1, 5])[code % 3].mean()) <= mean.high)
    assert np.mean(held) >= 0.93
    assert np.mean(means) >= 0.93


def table_policy():
    rng = np.random.default_rng(1)
    region, age = rng.choice(["north", "south", "west"], size=800), rng.integers(20, 30, 800)
    columns = {"region": region.tolist(), "age": age.tolist()}
    codec = TableCodec.fit(columns, TableSettings(categorical=("region",), numeric=("age",)))
    asked = MechanismSettings(name="tiered", scales=codec.tiers.scales, outputs="tier")
    mechanism = MECHANISMS["tiered"].configured(codec.space, codec.tiers, 2.0, asked)
    return columns, ReleasePolicy(make_policy(codec, mechanism, codec.tiers))


def test_a_release_is_estimated_from_its_key(tmp_path):
    columns, policy = table_policy()
    released = policy.save(tmp_path / "policy").apply(columns)
    key = tmp_path / "policy" / "key.json"
    found = od.estimate(released, key, by=["region"])
    true = {name: columns["region"].count(name) for name in ("north", "south", "west")}
    for cell in found.cells:
        slack = cell.high - cell.low  # twice the reach of the interval
        assert abs(cell.count - true[cell.values[0]]) <= slack
    assert "confidential" not in key.read_text()
    assert od.estimate(released, json.loads(key.read_bytes()), by=["age"]).means[0].column == "age"
    with pytest.raises(InvalidInput, match="no column"):
        od.estimate(released, key, by=["income"])
    with pytest.raises(InvalidInput, match="never releases"):
        od.estimate({**released, "region": ["east"] * 800}, key, by=["region"])


def test_what_was_repaired_cannot_be_inverted():
    columns, policy = table_policy()
    released = policy.repairing("best").apply(columns)
    with pytest.raises(InvalidInput, match="repaired"):
        od.estimate(released, public_key(policy.repairing("best").policy), by=["region"])


def test_a_channel_that_merges_values_is_refused():
    merged = {**PUBLIC, "columns": [{**FLIP, "channel": [[1.0, 0.0], [1.0, 0.0]]}]}
    with pytest.raises(InvalidInput, match="merges"):
        estimate({"a": ["no"] * 10}, merged, ["a"])
    grouped = {**PUBLIC, "has_groups": True}
    with pytest.raises(InvalidInput, match="unit"):
        estimate({"a": ["no"] * 10}, grouped, ["a"])
    found = estimate({"a": ["no", "yes"] * 40, "who": [str(k // 8) for k in range(80)]}, grouped, ["a"], unit="who")
    assert found.cells[0].low == found.cells[0].high  # every group is alike


def test_the_command_prints_counts(tmp_path, capsys):
    from oddshift.app.commands.protect_commands import estimate as command

    columns, policy = table_policy()
    released = policy.save(tmp_path / "policy").apply(columns)
    rows = zip(released["region"], released["age"], strict=True)
    file = tmp_path / "released.csv"
    file.write_text("region,age\n" + "".join(f"{region},{age}\n" for region, age in rows))
    command(file, tmp_path / "policy" / "key.json", "region,age", "", as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert said["by"] == ["region", "age"]
    assert sum(cell["count"] for cell in said["cells"]) >= 800  # cut at 0, so never less
    command(file, tmp_path / "policy" / "key.json", "region", "", as_json=False)
    assert "800 rows" in capsys.readouterr().out
    with pytest.raises(Exception, match="income"):
        command(file, tmp_path / "policy" / "key.json", "income", "", as_json=False)

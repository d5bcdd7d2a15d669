"""What goes out of a table: drawn for an audit, written by protect, and ε in the units of each column."""

import csv
from datetime import date, timedelta

import numpy as np
import pytest

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.app.run import Run
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MechanismSettings, build_mechanism
from oddshift.protect import Ledger, protect
from oddshift.protect.measurement import ReleaseSample, column_odds, drawn_release, measured_release
from oddshift.protect.policies.store import save_policy


def columns(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(20, 80, rows).tolist(),
        "sex": rng.choice(["f", "m"], rows).tolist(),
        "seen": [date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 300, rows)],
        "city": rng.choice(list("abcdefgh"), rows).tolist(),
    }


SETTINGS = TableSettings(numeric=("age",), categorical=("sex",), dates=("seen",), public=("city",))


def made(epsilon, settings=SETTINGS):
    codec = TableCodec.fit(columns(), settings)
    return codec, build_mechanism(MechanismSettings(calibrated=True), codec.space, codec.tiers, epsilon)


def test_a_drawn_release_is_about_every_secret_column():
    codec, mechanism = made(1.0)
    found = drawn_release(codec, columns(), mechanism, np.random.default_rng(0))
    assert set(found.unchanged) == {"age", "seen", "sex"}
    assert found.rows == 400
    assert 0.5 < found.unchanged["sex"] < 0.9  # odds of e between two values
    assert found.unchanged["age"] < 0.1  # most ages lie off the grid of fives
    assert 0.3 < found.quality < 1.0


def test_more_noise_leaves_less_unchanged():
    found = [drawn_release(*_codec_first(e), np.random.default_rng(0)) for e in (0.2, 30.0)]
    assert found[0].unchanged["sex"] < 0.65
    assert found[1].unchanged["sex"] > 0.99
    assert "sex" in found[1].vacuous


def _codec_first(epsilon):
    codec, mechanism = made(epsilon)
    return codec, columns(), mechanism


def test_a_release_of_masks_is_not_measured():
    codec, _ = made(1.0)
    mask = build_mechanism(MechanismSettings(name="mask"), codec.space, codec.tiers, 1.0)
    assert drawn_release(codec, columns(), mask, np.random.default_rng(0)) is None
    assert list(column_odds(codec, mask)) == []


def test_public_columns_count_for_the_risks():
    codec, _ = made(1.0)
    rows = columns()
    rows["city"] = [str(k) for k in range(400)]  # the clear column alone singles everybody out
    nothing = {**rows, "age": [50] * 400, "sex": ["f"] * 400, "seen": [date(2020, 2, 1)] * 400}
    found = measured_release(codec, rows, nothing, np.random.default_rng(0))
    by_name = {risk.name: risk for risk in found.after}
    assert by_name["singling out by one column"].rate == 1.0


def test_odds_are_exact_and_in_the_units_of_the_column():
    codec, mechanism = made(1.0)
    (said,) = column_odds(codec, mechanism)
    assert "between values 5 apart" in said
    assert "days apart" in said
    point = [len(d) for d in codec.vocabulary.domains]
    sexes = np.arange(point[0] + point[1], sum(point))
    table = mechanism.log_matrix[np.ix_(sexes, sexes)]
    odds = float(np.exp(np.abs(table[0] - table[1]).max()))
    assert f"sex {odds:.3g}:1 between its 2 values" in said
    assert odds <= np.exp(1.0) + 1e-9, "the values are one apart, so the budget bounds their odds"


def test_odds_beyond_all_measure_are_not_spelled_out():
    codec, mechanism = made(100.0)
    (said,) = column_odds(codec, mechanism)
    assert "over a million:1" in said


class Rows:
    """A block of rows in memory."""

    def __init__(self, cells):
        self.table = cells

    def __len__(self):
        return len(self.table["age"])

    def cells(self, name):
        return self.table[name]


def test_a_sample_takes_rows_at_equal_steps_and_stays_small(monkeypatch):
    monkeypatch.setattr("oddshift.protect.measurement.MOST_ROWS", 10)
    codec, _ = made(1.0)
    sample = ReleaseSample(codec, ("age", "sex", "seen", "city"))
    part = {name: cells[:7] for name, cells in columns().items()}
    for block in range(20):
        sample.add(Rows(part), {"age": [1] * 7, "sex": ["f"] * 7, "seen": part["seen"]}, 1 + 7 * block)
    assert 5 <= len(sample.rows) <= 10
    assert all(number % sample.step == 0 for number in sample.rows)
    assert max(sample.rows) >= 140 - sample.step, "the end of the file is in it too"


def test_a_sample_of_another_kind_of_data_or_of_rows_left_out_is_empty():
    codec, _ = made(1.0)
    sample = ReleaseSample(codec, ("age", "sex", "seen"))
    sample.add(Rows({"age": [1, 2], "sex": ["f", "m"], "seen": columns()["seen"][:2]}), {"age": [1]}, 1)
    assert sample.rows == {}
    assert sample.measured() is None


def test_protect_measures_the_file_it_writes_and_keeps_it_out_of_the_sidecar(tmp_path):
    rows = {name: cells for name, cells in columns(600).items() if name in {"age", "sex"}}
    table = od.table(rows, settings={"numeric": ["age"], "categorical": ["sex"]})
    settings = AdaptSettings(
        epsilon=0.5, delta=0.1, independent=True, grid=(0.5, 1.0), documents=100, attackers=("portfolio",)
    )
    fixed = Run(prepare(table, 0), MechanismSettings(calibrated=True)).adapt(settings)
    assert fixed.result.release is not None
    save_policy(tmp_path / "policy", fixed.policy.policy)
    ledger = Ledger.beside(tmp_path / "policy" / "policy.json")
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([list(rows), *zip(*rows.values(), strict=True)])
    done = protect(path, out, fixed.policy.policy, ledger)
    with out.open() as stream:
        written = list(csv.DictReader(stream))
    same = np.mean([row["sex"] == sex for row, sex in zip(written, rows["sex"], strict=True)])
    assert done.table.unchanged["sex"] == pytest.approx(same)
    assert done.table.rows == 600
    (sidecar,) = tmp_path.glob("*.protected.json")
    assert "unchanged" not in sidecar.read_text()

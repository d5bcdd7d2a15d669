"""What work is expected to cost: sizes by hand, what is said, and where nothing is."""

import numpy as np
import pytest

from oddshift.app import configured_runs, resources
from oddshift.app.datasets import table, trajectories
from oddshift.app.resources import (
    LARGE_FILE,
    UNITS,
    ExpectedCost,
    basis_of_cost,
    cost_of_adaptation,
    cost_of_audit,
    cost_of_file,
    work_size,
)
from oddshift.app.run import Run
from oddshift.data.preparation import prepare

USUAL = ("portfolio", "portfolio+W")


def cohort(rows):
    rng = np.random.default_rng(0)
    return {"age": rng.integers(20, 60, rows).tolist(), "sex": rng.choice(["f", "m"], rows).tolist()}


def cohort_of(rows):
    return prepare(table(cohort(rows), settings={"numeric": ["age"], "categorical": ["sex"], "unit": "cell"}), 0)


@pytest.fixture(scope="module")
def people():
    return cohort_of(100)


@pytest.fixture(scope="module")
def walks():
    rng = np.random.default_rng(0)
    fixes = {"lat": rng.uniform(38.0, 38.1, 120).tolist(), "lon": rng.uniform(23.0, 23.1, 120).tolist()}
    whose = {
        "user": [f"u{n % 12}" for n in range(120)],
        "timestamp": [str(1_600_000_000 + 600 * n) for n in range(120)],
    }
    return prepare(trajectories({**fixes, **whose}, settings={"trip": "", "every": 0}), 0)


def test_work_grows_with_pairs_of_cells_of_a_row_and_with_fixes_times_cells(people, walks):
    assert work_size(people) == 100 * 2**2
    assert work_size(walks) == 120 * len(walks.split.fit.space)


def test_an_estimate_is_the_unit_costs_times_the_sizes(people):
    units = UNITS["table"]
    found = cost_of_audit(people, USUAL)
    assert found.seconds == pytest.approx(units.fixed + 400 * units.audit + 200 * units.measure)
    assert found.megabytes == pytest.approx(units.base + 200 * units.bytes_each / 1e6)
    fitted, alone = (cost_of_adaptation(people, USUAL, are_fitted=kept).seconds for kept in (True, False))
    assert fitted == pytest.approx(units.fixed + 400 * units.adapt)
    assert alone - fitted == pytest.approx(400 * units.fit)


def test_memory_of_places_grows_with_fixes_times_cells(walks):
    units = UNITS["location"]
    assert cost_of_audit(walks, USUAL).megabytes == pytest.approx(
        units.base + units.bytes_work * work_size(walks) / 1e6
    )


def test_twice_the_rows_cost_twice_as_much_beyond_what_is_fixed(people):
    fixed = UNITS["table"].fixed
    small, large = (cost_of_audit(data, USUAL).seconds - fixed for data in (people, cohort_of(200)))
    assert large == pytest.approx(2 * small)


@pytest.mark.parametrize("attackers", [("lstm",), ("portfolio", "lstm+W"), (object(),)])
def test_nothing_is_estimated_for_attackers_that_are_trained_or_that_nobody_knows(attackers, people):
    assert cost_of_audit(people, attackers) is None
    assert cost_of_adaptation(people, attackers, are_fitted=False) is None


def test_small_files_take_no_time_worth_saying():
    assert cost_of_file(int(LARGE_FILE * 1e6) - 1, 0.5) is None
    assert cost_of_file(100_000_000, 0.5, 12.0) == ExpectedCost(52.0, 1200.0)


def test_a_line_says_that_it_is_an_estimate_and_from_what(people, walks):
    assert basis_of_cost(people) == "200 cells, 2 at a time read together"
    assert basis_of_cost(walks) == f"120 fixes in {len(walks.split.fit.space)} cells"
    said = ExpectedCost(1234.0, 0.0).line("the size of the file")
    assert said == "expected: about 1,200 CPU s (estimated from the size of the file; this may be off by a factor of 2)"


class BegunError(Exception):
    """The work would begin now."""


@pytest.mark.parametrize("worth", [0.0, 100.0])
@pytest.mark.parametrize("ask", ["audit", "adapt"])
def test_runs_say_it_before_they_begin_and_large_files_before_they_are_read(ask, worth, tmp_path, monkeypatch):
    def begin(*_, **__):
        raise BegunError

    lines = ["age,sex", *(f"{age},{sex}" for age, sex in zip(*cohort(120).values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    text = (
        '[data]\nkind = "table"\npath = "a.csv"\nnumeric = ["age"]\ncategorical = ["sex"]\nunit = "cell"\n'
        '[mechanism]\nname = "exponential"\nepsilon = 1.0\n[audit]\ndelta = 0.3\n'
    )
    monkeypatch.setattr(resources, "LARGE_FILE", 0.0)
    monkeypatch.setattr(configured_runs, "WORTH_SAYING", worth)
    monkeypatch.setattr(Run, ask, begin)
    told = []
    run = {"audit": configured_runs.run_audit, "adapt": configured_runs.run_adapt}[ask]
    with pytest.raises(BegunError):
        run(text, tmp_path / "run", home=tmp_path, say=told.append, progress=lambda what, *_: told.append(what))
    expected = ["estimated from the size of ", "reading the data", "estimated from 240 cells, 2"]
    assert [line.split("(")[-1][:27] for line in told] == (expected[:2] if worth else expected)

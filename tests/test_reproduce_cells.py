"""Cells: kept with all that determines them, skipped when finished, computed again when damaged or otherwise asked."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from studies.paper import cell_runs, reproductions
from studies.paper.cell_runs import changed_cells, run_cells
from studies.paper.cell_store import Cell, FinishedCell, plain_values, read_cell, read_cells, write_cell
from studies.paper.reproduction import Place, Reproduction, ReproductionOptions
from studies.paper.reproductions import REPRODUCTIONS

import oddshift
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.execution import Execution


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path / "data", tmp_path / "results")


@pytest.fixture
def counted(monkeypatch):
    """A reproduction of three cells that notes what it computes."""
    done = []

    def compute(cell, place):
        done.append(cell.key)
        return {"square": cell.seed**2}

    def cells(options):
        return [Cell(name="squares", key=f"k{seed}", seed=seed, settings={"scale": options.scale}) for seed in range(3)]

    monkeypatch.setitem(REPRODUCTIONS, "squares", Reproduction("squares of seeds", cells, compute))
    return done


def cells_of(name, **options):
    return REPRODUCTIONS[name].cells(ReproductionOptions(**options))


def test_a_cell_carries_question_data_versions_and_values(place, counted):
    place.data.mkdir()
    (place.data / "words.txt").write_bytes(b"abc")
    cell = replace(cells_of("squares")[2], files=("words.txt",))
    found = run_cells([cell], place, command="python -m studies.paper squares").cells[0]
    assert found.values == {"square": 4}
    assert found.data == {"words.txt": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
    assert {"oddshift", "numpy", "python"} <= set(found.versions)
    assert found.cpu_seconds >= 0
    raw = json.loads((place.results / "squares" / "k2.json").read_text())
    assert (raw["seed"], raw["settings"], raw["command"]) == (2, {"scale": "small"}, "python -m studies.paper squares")


def test_finished_cells_are_skipped(place, counted):
    first = run_cells(cells_of("squares"), place)
    again = run_cells(cells_of("squares"), place)
    assert counted == ["k0", "k1", "k2"]
    assert (first.skipped, again.skipped, again.recomputed) == (0, 3, ())
    assert again.cells == first.cells


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace('"square": 1', '"square": 7'),
        lambda text: text.replace('"schema": 1', '"schema": 9'),
        lambda text: "[1, 2]",
    ],
    ids=["truncated", "empty", "changed", "another schema", "something else"],
)
def test_a_damaged_cell_is_computed_again_and_named(place, counted, damage):
    before = run_cells(cells_of("squares"), place).cells
    path = place.results / "squares" / "k1.json"
    path.write_text(damage(path.read_text()))
    with pytest.raises(TamperedEvidence, match=r"k1\.json"):
        read_cell(path)
    lines = []
    outcome = run_cells(cells_of("squares"), place, say=lines.append)
    assert counted == ["k0", "k1", "k2", "k1"]
    assert [line.split()[0] for line in outcome.recomputed] == ["squares/k1.json"]
    assert any("computing again: squares/k1.json is damaged" in line for line in lines)
    assert [c.sum for c in outcome.cells] == [c.sum for c in before]


def test_other_settings_or_data_are_another_cell(place, counted):
    run_cells(cells_of("squares"), place)
    outcome = run_cells(cells_of("squares", scale="full"), place)
    assert len(counted) == 6
    assert all("other settings" in line for line in outcome.recomputed)
    place.data.mkdir()
    cell = replace(cells_of("squares", scale="full")[0], files=("a.csv",))
    for content in (b"one", b"two"):
        (place.data / "a.csv").write_bytes(content)
        os.utime(place.data / "a.csv", ns=(len(counted), len(counted)))
        run_cells([cell], place)
    assert len(counted) == 8


def test_a_missing_file_is_one_line_before_any_work(place, counted):
    cells = [*cells_of("squares"), Cell(name="squares", key="needs", files=("ag_news.csv",))]
    with pytest.raises(InvalidInput) as refused:
        run_cells(cells, place)
    said = str(refused.value)
    assert "ag_news.csv" in said
    assert str(place.data / "ag_news.csv") in said
    assert "--data" in said
    assert "\n" not in said
    assert counted == []


def test_progress_says_how_much_is_left(place, counted, monkeypatch):
    moments = iter([0.0, 0.0, 10.0, 20.0])
    monkeypatch.setattr(cell_runs.time, "monotonic", lambda: next(moments))
    lines = []
    run_cells(cells_of("squares"), place, say=lines.append)
    assert lines == [
        "0 of 3 done: squares/k0.json",
        "1 of 3 done, about 20 s left: squares/k1.json",
        "2 of 3 done, about 10 s left: squares/k2.json",
    ]


def test_workers_give_the_same_cells(place, tmp_path):
    cells = cells_of("toy", seeds=1) + cells_of("non-convexity")
    serial = run_cells(cells, place)
    other = run_cells(cells, replace(place, results=tmp_path / "other"), execution=Execution("processes", 2))
    assert [c.sum for c in other.cells] == [c.sum for c in serial.cells]


def test_the_sum_leaves_only_the_cpu_seconds_out():
    cell = FinishedCell(
        name="n", key="k", command="c", settings={}, seed=0, data={}, versions={}, cpu_seconds=1.0, values={"x": 1}
    )
    assert replace(cell, cpu_seconds=2.0).sum == cell.sum
    for name, value in {"key": "l", "seed": 1, "values": {"x": 2}, "data": {"f": "0"}, "settings": {"a": 1}}.items():
        assert replace(cell, **{name: value}).sum != cell.sum


def test_cells_are_read_in_the_order_of_their_keys(tmp_path):
    for key in ("b", "a"):
        write_cell(
            tmp_path,
            FinishedCell(
                name="n", key=key, command="", settings={}, seed=0, data={}, versions={}, cpu_seconds=0.0, values={}
            ),
        )
    assert [cell.key for cell in read_cells(tmp_path, "n")] == ["a", "b"]
    assert read_cells(tmp_path, "nothing") == []


def test_values_become_plain():
    import numpy as np

    found = plain_values({"a": np.array([1.0, 2.0]), "b": (np.int64(3), True), "c": None, "d": "x"})
    assert found == {"a": [1.0, 2.0], "b": [3, True], "c": None, "d": "x"}
    assert json.loads(json.dumps(found)) == found


def test_options_are_checked():
    for options in ({"scale": "huge"}, {"seeds": 0}):
        with pytest.raises(InvalidInput):
            ReproductionOptions(**options)


SLOW = """
import sys, time
from pathlib import Path
from studies.paper import reproductions as r
from studies.paper.reproduction import Place, Reproduction
from studies.paper.cell_runs import changed_cells, run_cells
from studies.paper.cell_store import Cell
def compute(cell, place):
    if cell.key == "k1" and len(sys.argv) > 2:
        print("in the middle", flush=True)
        time.sleep(60)
    return {"cube": cell.seed ** 3}
r.REPRODUCTIONS["cubes"] = Reproduction("", lambda o: [], compute)
cells = [Cell(name="cubes", key=f"k{n}", seed=n) for n in range(3)]
folder = Path(sys.argv[1])
print(run_cells(cells, Place(folder, folder)).skipped)
"""


def test_killed_in_the_middle_and_started_again_it_gives_the_same_cells(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run([sys.executable, "-c", SLOW, str(whole)], check=True, capture_output=True)
    killed = subprocess.Popen([sys.executable, "-c", SLOW, str(broken), "wait"], stdout=subprocess.PIPE, text=True)
    assert killed.stdout.readline().strip() == "in the middle"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert [p.name for p in (broken / "cubes").iterdir()] == ["k0.json"]
    resumed = subprocess.run([sys.executable, "-c", SLOW, str(broken)], check=True, capture_output=True, text=True)
    assert resumed.stdout.strip() == "1"
    sums = [[cell.sum for cell in read_cells(folder, "cubes")] for folder in (whole, broken)]
    assert sums[0] == sums[1]
    assert len(sums[0]) == 3


def test_every_reproduction_says_what_it_is_and_has_cells_of_its_own_name():
    for name, found in reproductions.REPRODUCTIONS.items():
        cells = found.cells(ReproductionOptions())
        assert found.about
        assert cells
        assert {cell.name for cell in cells} == {name}
        assert len({cell.key for cell in cells}) == len(cells)


INSTALLED = """
import resource, sys
for absent in ("torch", "spacy", "sklearn", "pandas"):
    sys.modules[absent] = None
import oddshift
from studies.paper.__main__ import main
assert oddshift.__file__.startswith(sys.argv[1]), oddshift.__file__
sys.argv = ["studies.paper", *sys.argv[2:]]
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as a wheel installs it: its own files in a folder without the clone around them."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(oddshift.__file__).parent, site / "oddshift", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(cell_runs.__file__).parents[1], site / "studies", ignore=shutil.ignore_patterns("__pycache__"))
    return site


def run_installed(site, *words):
    """A command of the installed package, where neither data nor packages of extras are there."""
    around = {k: v for k, v in os.environ.items() if k not in {"ODDSHIFT_DATA", "PYTHONPATH"}} | {
        "PYTHONPATH": str(site)
    }
    command = [sys.executable, "-c", INSTALLED, str(site), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=site, env=around)


@pytest.mark.parametrize(("name", "key"), [("toy", "exact"), ("propositions", "masking")])
def test_light_names_need_neither_a_clone_nor_torch_nor_data(installed, name, key):
    done = run_installed(installed, name, "--seeds", "1", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["reproduced"][name]["cells"][key]
    assert found.get("joint", found.get("alone")) == pytest.approx(
        {"toy": 1.845681, "propositions": 0.0}[name], abs=1e-6
    )
    assert float(done.stderr.splitlines()[-1]) < 30, "CPU seconds"


def test_a_command_without_its_corpus_is_one_line_that_says_how_to_make_it(installed):
    done = run_installed(installed, "tradeoff", "--out", "out", "--data", "nowhere")
    assert done.returncode == 1
    said, _ = done.stderr.splitlines()  # the second one is ours, the CPU seconds
    assert said.startswith("error: tradeoff needs the data file ag_news.csv, expected at nowhere/ag_news.csv; give")
    assert said.endswith("from the public corpus AG News as a CSV file with the columns label, title and text.")


def test_packages_that_are_not_installed_are_named_with_their_extra(place, counted, monkeypatch):
    monkeypatch.setattr(cell_runs, "EXTRA_OF_PACKAGE", {"no-such-package": "attackers", "nor-this": "text"})
    needs = Reproduction("", lambda options: [], lambda cell, place: {}, ("numpy", "no-such-package", "nor-this"))
    monkeypatch.setitem(REPRODUCTIONS, "needs", needs)
    with pytest.raises(InvalidInput, match=r"needs needs no-such-package and nor-this, .*'oddshift\[attackers,text\]'"):
        run_cells([Cell(name="needs", key="k")], place)
    write_cell(
        place.results, replace(run_cells(cells_of("squares"), place).cells[0], name="needs", key="k", settings={})
    )
    assert run_cells([Cell(name="needs", key="k")], place).skipped == 1, "a finished cell needs no package"


def test_every_package_of_a_reproduction_has_an_extra():
    needed = {package for found in REPRODUCTIONS.values() for package in found.packages}
    assert needed == set(cell_runs.EXTRA_OF_PACKAGE)


KEPT = Path(__file__).resolve().parent.parent / "docs" / "results"


def test_kept_cells_are_bit_for_bit_those_of_a_fresh_run():
    cells = [cell for name in ("toy", "propositions", "non-convexity") for cell in cells_of(name)]
    assert changed_cells(cells, Place(KEPT, KEPT)) == []


def test_a_cell_with_other_values_is_named_when_it_is_run_afresh(place, counted):
    place.data.mkdir()
    cells = cells_of("squares")
    with pytest.raises(InvalidInput, match=r"squares/k0.json is not there"):
        changed_cells(cells, place)
    kept = run_cells(cells, place).cells
    assert changed_cells(cells, place) == []
    write_cell(place.results, replace(kept[1], values={"square": 1 + 1e-9}))
    assert changed_cells(cells, place) == ["squares/k1.json"]
    assert read_cell(place.results / "squares" / "k1.json").values == {"square": 1 + 1e-9}, "nothing is kept"

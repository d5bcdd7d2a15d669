"""The cells of a corpus, on a small world in place of one: what each holds, and that controls stand in every row."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from studies.paper import (  # noqa: E402
    corpus_cells,
    corpus_figures,
    loss_grid,
    setting_effects,
    utility_values,
    violations,
)
from studies.paper.cell_runs import run_cells  # noqa: E402
from studies.paper.cell_store import Cell  # noqa: E402
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS, METHODS  # noqa: E402
from studies.paper.paper_reading import released  # noqa: E402
from studies.paper.reproduction import Place  # noqa: E402
from studies.paper.reproductions import REPRODUCTIONS  # noqa: E402
from studies.paper.studied_corpus import StudiedCorpus, trained  # noqa: E402

from oddshift.base.errors import InvalidInput  # noqa: E402
from oddshift.mechanisms.utility import expected_loss  # noqa: E402
from oddshift.model.records import Split, assign_parts  # noqa: E402
from worlds import ring, two_tiers  # noqa: E402

SMALL = {"corpus": "ag_news", "documents": 60, "epochs": 2, "batch": 16}
SMALL |= {"width": 8, "candidates": 6, "observations": 40, "loop": {"rate": 5.0, "loss": 1.0, "first_step": 0.3}}
RATES = ("rate", "null", "own")


class Words:
    """Vectors of words, as a file of them would be read."""

    def __init__(self, words, vectors):
        self.words, self.vectors = words, vectors

    def look_up(self, words):
        return self.vectors[: len(words)], np.ones(len(words), dtype=bool)


@pytest.fixture(scope="module")
def corpus():
    torch.set_num_threads(1)
    fit, select, certify = (
        ring(documents=n, strength=0.9, tiers=two_tiers(), epsilon=2.6, seed=seed).known.fit
        for seed, n in enumerate((50, 20, 20))
    )
    words = tuple(f"word{k}" for k in range(len(fit.space)))
    return StudiedCorpus("ag_news", Split(fit, select, certify, "document"), two_tiers(), words)


@pytest.fixture
def place(tmp_path, corpus, monkeypatch):
    rng = np.random.default_rng(0)
    vectors = Words([f"other{k}" for k in range(30)], rng.normal(size=(30, 2)))
    for module in (violations, corpus_figures, loss_grid, setting_effects, utility_values):
        monkeypatch.setattr(module, "studied", lambda settings, data, seed: corpus)
        if hasattr(module, "read_vectors"):
            monkeypatch.setattr(module, "read_vectors", lambda path: vectors)
    return Place(tmp_path, tmp_path / "results")


def run(place, name, key, **own):
    """The values of one cell, kept like any other."""
    cell = Cell(name=name, key=key, settings={**SMALL, **own})
    return run_cells([cell], place).cells[0].values


@pytest.fixture(scope="module")
def kept_surfaces(tmp_path_factory):
    """Where the first test that needs surfaces leaves them for the others."""
    return tmp_path_factory.mktemp("surfaces") / "results"


@pytest.fixture
def surfaces(place, kept_surfaces):
    if kept_surfaces.is_dir():
        shutil.copytree(kept_surfaces, place.results)
        return place
    for attacker in ATTACKERS:
        run(place, "table-violations", f"ag_news-{attacker}-surface", kind="surface", attacker=attacker)
    shutil.copytree(place.results, kept_surfaces)
    return place


def shares(row):
    """Every row of paper mode has the network and both controls, all of them shares."""
    assert all(0.0 <= row[what] <= 1.0 for what in RATES)
    assert row["T"] > 0


def test_a_surface_holds_rates_losses_and_the_network_that_chose(place, corpus):
    found = run(place, "table-violations", "ag_news-rnn-surface", kind="surface", attacker="rnn")
    grid = np.asarray(found["rates"]["2.5"])
    assert grid.shape == (2, len(violations.GRID), len(violations.GRID))
    shares(found["chosen_by"])
    assert sum(found["shares"]) == pytest.approx(1.0)
    assert sum(found["weights"]) == pytest.approx(1.0)
    last = np.asarray(found["losses"])[:, -1] @ np.asarray(found["weights"])
    whole = corpus.known((violations.LINE[-1],) * 2).mechanism
    assert last == pytest.approx(expected_loss(whole, corpus.weights, "cosine"), rel=1e-6)
    assert found["size"]["documents"] == [50, 20, 20]


def test_a_network_has_every_method_under_three_rules(surfaces):
    found = run(surfaces, "table-violations", "ag_news-rnn-0", kind="network", attacker="rnn")
    assert [(row["epsilon"], row["method"]) for row in found["rows"]] == [(e, m) for e in EPSILONS for m in METHODS]
    for row in found["rows"]:
        assert set(row["rules"]) == {"one", "fitted", "matched"}
        for rule in row["rules"].values():
            shares(rule)
        assert row["rules"]["one"]["T"] == 1.0
        assert row["exact"]["rate"] == 0.0 or row["scales"][0] != row["scales"][1]
    by_method = {(row["epsilon"], row["method"]): row for row in found["rows"]}
    for epsilon in EPSILONS:
        em, only_u = by_method[epsilon, "EM"], by_method[epsilon, "AmPL-U"]
        assert em["scales"] == only_u["scales"] == [1.0, 1.0]
        assert em["rules"] == only_u["rules"], "one cell serves both"
    assert len(found["temperature_curve"]) == 25


def test_sound_mode_gives_intervals_around_its_rates(surfaces):
    methods = ["EM", "AmPL-P"]
    found = run(surfaces, "table-violations", "ag_news-sound-0", kind="sound", methods=methods)
    assert [(row["epsilon"], row["method"]) for row in found["rows"]] == [(e, m) for e in EPSILONS for m in methods]
    for row in found["rows"]:
        for law in ("uniform", "anchored"):
            assert row[law]["lower"] <= row[law]["mean"] <= row[law]["upper"]
        assert row["documents"] <= 20
        assert row["exact_epsilon"] <= row["epsilon"] + 1e-9


def test_a_method_without_its_surface_says_which_cell_is_needed(place):
    with pytest.raises(InvalidInput, match="table-violations/ag_news-rnn-surface"):
        run(place, "table-violations", "ag_news-rnn-0", kind="network", attacker="rnn")


def test_distributions_are_shares_of_all_triples(place):
    found = run(place, "mpl-distributions", "ag_news")
    for network in found["networks"].values():
        shares(network)
        assert sum(network["counts"]) == pytest.approx(1.0)
    assert set(found["controls"]) == {"null", "own", "exact"}
    beyond = [share for k, share in enumerate(found["controls"]["exact"]) if k * found["span"] / found["bins"] > 2.5]
    assert sum(beyond) == 0.0, "the exact single release of an mDP mechanism never exceeds its budget"


def test_losses_of_three_ways_to_release_stand_over_the_grid_of_the_surfaces(place, corpus):
    found = run(place, "tradeoff", "ag_news")
    assert found["grid"] == list(violations.GRID)
    drawn, remapped = (np.asarray(found["losses"][way]) for way in ("drawn", "remapped"))
    assert drawn[0, 0] > drawn[-1, -1]
    assert remapped[0, 0] < drawn[0, 0]
    assert np.asarray(found["losses"]["repaired"])[0, 0] < drawn[0, 0]
    certify, space = corpus.split.certify, corpus.split.fit.space
    release = released(corpus.known((2.6, 2.6)), certify, [0, 2])
    unit = space.points / np.linalg.norm(space.points, axis=1, keepdims=True)
    pairs = zip(certify.points, release.outputs, strict=True)
    assert drawn[-1, -1] == pytest.approx(np.mean([(1 - unit[x] @ unit[y]) / 2 for x, y in pairs]))


def test_the_sweep_ends_where_the_release_tells_the_word(place, corpus):
    found = run(place, "epsilon-sweep", "ag_news", epsilons=[0.5, 2.5, 5.0])
    assert [row["epsilon"] for row in found["rows"]] == [0.5, 2.5, 5.0]
    exact = [row["exact"]["mean_mpl"] for row in found["rows"]]
    assert exact == sorted(exact)
    assert all(row["exact"]["rate"] == 0.0 for row in found["rows"])
    for row in found["rows"]:
        shares(row["one"])
    space = corpus.split.fit.space
    mean = space.distances.sum() / (len(space) * (len(space) - 1))
    assert found["transition"] == pytest.approx(2 * np.log(len(space)) / mean)


def test_the_learning_curve_grows_with_its_share(place):
    found = run(place, "learning-curve", "ag_news", shares=[0.2, 1.0])
    assert [row["documents"] for row in found["rows"]] == [10, 50]
    for row in found["rows"]:
        shares(row["one"])
        assert -1.0 <= row["cosine"] <= 1.0


def test_utility_stands_beside_outputs_and_a_constant_word(surfaces):
    found = run(surfaces, "utility", "ag_news", kind="corpus")
    assert len(found["rows"]) == len(ATTACKERS) * len(EPSILONS) * len(utility_values.RELEASED_METHODS)
    for row in found["rows"]:
        assert row["remapped_loss"] <= row["loss"] + 1e-9
        assert row["remapped_outputs"] <= row["outputs"] + 1e-9
    assert set(found["readings_of_ampl_1"]) == {"AmPL-1", "AmPL-1-clear", "AmPL-1-averages", "AmPL-1-one-level"}
    assert 0.0 < found["constant_word"] < 1.0


def test_vocabularies_vary_size_and_prior(place):
    cell = Cell(name="utility", key="vocabulary", settings={"kind": "vocabulary", "sizes": [10, 20]})
    found = run_cells([cell], place).cells[0].values
    assert [(row["words"], row["prior"]) for row in found["rows"]] == [
        (size, prior) for size in (10, 20) for prior in ("uniform", "1/rank")
    ]
    assert all(row["remapped_loss"] <= min(row["loss"], row["constant_word"]) + 1e-9 for row in found["rows"])


def test_open_settings_are_varied_one_at_a_time(surfaces):
    found = run(surfaces, "open-settings", "ag_news", more_outputs=5)
    for row in found["rows"]:
        shares(row)
    assert {row["setting"] for row in found["rows"]} == {
        "default", "network", "candidates", "prior", "outputs", "PII rule"
    }  # fmt: skip
    assert next(row for row in found["rows"] if row["setting"] == "outputs")["value"] == "13"
    assert len(found["loops"]) == len(setting_effects.LOOPS)
    assert [curve[0] for curve in found["temperatures"]] == sorted(curve[0] for curve in found["temperatures"])


def test_a_mismatched_attacker_reads_through_other_vectors(place):
    found = run(place, "embedding-mismatch", "ag_news-rnn", attacker="rnn", epsilons=[2.5])
    assert [row["kind"] for row in found["rows"]] == ["matched", "mismatched"]
    for row in found["rows"]:
        shares(row["rules"]["one"])
    assert found["rows"][0]["rules"] != found["rows"][1]["rules"]


def test_a_network_serves_one_choice_of_budgets_and_is_the_same_when_trained_again(corpus):
    first, again = (trained(corpus.known((2.5, 1.0)), "rnn", SMALL, 0) for _ in range(2))
    assert first.settings.scale_range is None
    assert len(first.curve.train) == SMALL["epochs"]
    assert again.fingerprint == first.fingerprint
    assert first.known.mechanism.tiers.scales == (2.5, 1.0)


def test_sound_mode_reads_every_method_that_has_scales_of_its_own():
    asked = [c.settings["methods"] for c in corpus_cells.violation_cells(True, 3) if c.settings["kind"] == "sound"]
    assert len(asked) == len(CORPORA)
    assert all(set(methods) == set(METHODS) - set(violations.SHARED_METHODS) for methods in asked)


def test_the_three_corpora_have_one_layout_and_one_schedule_at_the_small_scale():
    shared = ("candidates", "epochs", "width")
    by_corpus = {corpus: corpus_cells.corpus_settings(corpus, True) for corpus in CORPORA}
    assert len({tuple(settings[key] for key in shared) for settings in by_corpus.values()}) == 1
    assert {corpus: settings["observations"] for corpus, settings in by_corpus.items()} == corpus_cells.OBSERVATIONS
    part = np.bincount(assign_parts(np.arange(by_corpus["imdb"]["documents"]), by_corpus["imdb"]["fractions"],
                                    np.random.default_rng(0)))  # fmt: skip
    assert part.tolist() == [400, 50, 100]


def test_a_missing_corpus_is_one_line(tmp_path):
    place = Place(tmp_path / "none", tmp_path / "results")
    for name, found in REPRODUCTIONS.items():
        cells = [cell for cell in found.cells(reproduction_options()) if cell.files]
        if cells:
            with pytest.raises(InvalidInput) as refused:
                run_cells(cells[:1], place)
            assert name in str(refused.value)
            assert "\n" not in str(refused.value)
            assert f"expected at {tmp_path / 'none'}" in str(refused.value)
            assert "It is made " in str(refused.value)


def reproduction_options():
    from studies.paper.reproduction import ReproductionOptions

    return ReproductionOptions(seeds=1)


def test_settings_of_a_cell_do_not_change_those_of_others():
    before = replace(corpus_cells.violation_cells(True, 1)[0])
    corpus_cells.sweep_cells(True, 1)
    assert corpus_cells.violation_cells(True, 1)[0] == before

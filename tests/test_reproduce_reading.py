"""What paper mode reads out of a reconstruction, and the loop replayed on a surface, against slow versions."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from studies.paper import corpus_cells  # noqa: E402
from studies.paper.layouts import LayoutShifts  # noqa: E402
from studies.paper.paper_reading import (  # noqa: E402
    LayoutSize,
    Read,
    exact_row,
    own_means,
    read,
    released,
    released_together,
)
from studies.paper.search_surface import READINGS, LoopWeights, Surface, replayed  # noqa: E402

from oddshift.adapt.rounds import PRESETS  # noqa: E402
from oddshift.attackers.paper import PAPER_SCHEDULE, fit_paper, fitted_temperature, guesses, squared_distances  # noqa: E402  # noqa: E402
from oddshift.attackers.reconstruction import PaperSettings  # noqa: E402
from worlds import ring  # noqa: E402


@pytest.fixture(scope="module")
def world():
    torch.set_num_threads(1)
    made = ring(documents=40)
    attacker = fit_paper(
        made.known, PaperSettings(architecture="rnn", width=16), replace(PAPER_SCHEDULE, epochs=3, batch=16)
    )
    return made, attacker


def test_reading_is_the_share_of_pairs_beyond_the_budget(world):
    made, attacker = world
    found = read(attacker, made.known, made.secrets, made.secrets, LayoutSize(99, 9_999), seed=0)
    release, points = released(made.known, made.secrets, [0, 2]), made.known.fit.space.points
    guess = guesses(attacker, release)
    for temperature in (0.5, 2.0):
        slow = [
            abs(((g - points[i]) ** 2).sum() - ((g - points[j]) ** 2).sum())
            / temperature
            / np.linalg.norm(points[i] - points[j])
            for g in guess
            for i, j in combinations(range(len(points)), 2)
        ]
        at = found.at(1.0, temperature)
        assert at["rate"] == pytest.approx(np.mean(np.array(slow) > 1.0), abs=2e-3)
        assert at["mean_mpl"] == pytest.approx(np.mean(slow), rel=1e-4)
        assert at["T"] == temperature


def test_the_exact_single_release_never_exceeds_the_exact_epsilon(world):
    made, attacker = world
    found = read(attacker, made.known, made.secrets, made.secrets, LayoutSize(99, 9_999), seed=0)
    largest = made.known.mechanism.exact_epsilon
    assert exact_row(found, largest * 1.000001)["rate"] == 0.0
    assert found.exact.leakages().max() <= largest * 1.000001
    assert found.at(largest, 1e-3)["own"] > 0.5, "the same release through a cold softmax violates"


def test_parts_that_are_released_together_are_those_released_alone(world):
    made, _ = world
    parts = [(made.secrets, [0, 1]), (made.known.fit, [0, 2])]
    for together, (records, seeds) in zip(released_together(made.known, parts), parts, strict=True):
        alone = released(made.known, records, seeds)
        np.testing.assert_array_equal(together.outputs, alone.outputs)
        np.testing.assert_array_equal(together.offsets, alone.offsets)


def test_own_reconstructs_the_posterior_mean(world):
    made, _ = world
    outputs = np.array([0, 3])
    columns = made.known.mechanism.log_columns(outputs)
    found = own_means(made.known, columns)
    prior = np.exp(made.known.log_prior)
    for k, y in enumerate(outputs):
        weight = prior * np.exp(made.known.mechanism.log_matrix[:, y])
        expected = (weight[:, None] * made.known.fit.space.points).sum(axis=0) / weight.sum()
        np.testing.assert_allclose(found[k], expected, atol=1e-9)


def test_the_fitted_temperature_has_the_best_log_score(world):
    made, attacker = world
    release = released(made.known, made.secrets, [0, 1])
    best = fitted_temperature(attacker, release, made.secrets, most=10_000)
    squares = squared_distances(guesses(attacker, release), attacker.points)

    def score(temperature):
        logits = -squares / temperature
        normal = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return normal[np.arange(len(squares)), made.secrets.points].mean()

    assert score(best) >= max(score(best * 1.1), score(best / 1.1)) - 1e-9


def test_a_matched_temperature_gives_the_printed_rate():
    rng = np.random.default_rng(0)
    shifts = LayoutShifts(rng.exponential(size=(20, 45)) * 3, np.ones((45, 45)))
    found = Read(shifts, shifts, shifts, shifts, 2.0, 0.5)
    temperature = found.matched(2.5, 0.14)
    assert found.at(2.5, temperature)["rate"] == pytest.approx(0.14, abs=1e-3)
    rules = found.rules(2.5, temperature)
    assert (rules["one"]["T"], rules["fitted"]["T"], rules["matched"]["T"]) == (1.0, 2.0, temperature)
    curve = found.curve(2.5)
    assert all(a[1] >= b[1] for a, b in pairwise(curve)), "warmer is never more"


def surface(rate_slope=0.1, loss_slope=-0.02):
    """Rates and losses that are straight in both budgets."""
    grid = np.linspace(0.25, 2.5, 4)
    rates = np.stack([rate_slope * np.add.outer(grid, 0 * grid), rate_slope * np.add.outer(0 * grid, grid)])
    line = np.linspace(0.25, 2.5, 6)
    losses = np.stack([0.5 + loss_slope * line] * 2)
    return Surface(grid, rates, np.array([0.5, 0.5]), line, losses, np.array([0.6, 0.4]))


def test_a_surface_is_interpolated():
    found = surface()
    np.testing.assert_allclose(found.rate(np.array([1.1, 2.2])), [0.11, 0.22])
    np.testing.assert_allclose(found.loss(np.array([1.0, 2.0])), [0.48, 0.46])
    np.testing.assert_allclose(found.rate(np.array([9.0, 0.0])), [0.25, 0.025])


def test_methods_end_where_their_objective_leads():
    found = surface()
    assert replayed(found, 2.5, "EM") == (1.0, 1.0)
    assert replayed(found, 2.5, "AmPL-U") == (1.0, 1.0)
    assert replayed(found, 2.5, "AmPL-P", LoopWeights(rate=20.0)) == (0.1, 0.1)
    first, second = replayed(found, 2.5, "AmPL-1", LoopWeights(rate=20.0))
    assert (first, second) == (0.1, 1.0)
    assert replayed(found, 2.5, "AmPL-1-clear", LoopWeights(rate=20.0)) == (0.1, 1e4)
    one, same = replayed(found, 2.5, "AmPL-1-one-level", LoopWeights(rate=3.0))
    assert one == same < 1.0
    assert set(PRESETS) >= {"EM", "AmPL", "AmPL-U", "AmPL-P", *READINGS}
    assert len(READINGS) == 4


def test_the_weights_decide_whether_ampl_moves():
    steep = surface(loss_slope=-0.2)
    assert replayed(steep, 2.5, "AmPL", LoopWeights(rate=1.0)) == (1.0, 1.0)
    assert replayed(steep, 2.5, "AmPL", LoopWeights(rate=20.0))[0] < 0.5


def test_cells_of_corpora_name_their_files_and_settings():
    for make in (
        corpus_cells.violation_cells,
        corpus_cells.distribution_cells,
        corpus_cells.tradeoff_cells,
        corpus_cells.sweep_cells,
        corpus_cells.learning_cells,
        corpus_cells.mismatch_cells,
        corpus_cells.open_cells,
    ):
        for cell in make(True, 2):
            assert f"{cell.settings['corpus']}.csv" in cell.files
            assert "glove.6B.100d.npz" in cell.files
            assert cell.settings["documents"] <= corpus_cells.FULL_DOCUMENTS[cell.settings["corpus"]]
        assert [cell.settings for cell in make(True, 2)] != [cell.settings for cell in make(False, 2)]
    table = corpus_cells.violation_cells(True, 3)
    assert len(table) == 3 * (3 + 30 + 1)

"""Figures, tables and sections of the results page, each from cells that were made by hand."""

import math
import re

import numpy as np
import pytest
from studies.paper.claims_table import CLAIM_SHARES, claims_section
from studies.paper.compared_plots import MirrorPlot, SlopePlot
from studies.paper.corpus_cells import (
    FULL_DOCUMENTS,
    PAIRED,
    PAIRED_SEEDS,
    SMALL_DOCUMENTS,
    corpus_cell,
    corpus_settings,
    mismatch_cells,
    utility_cells,
    violation_cells,
)
from studies.paper.fronts import WAYS, fronts, reached
from studies.paper.open_points import OUR_DEFAULTS, open_section
from studies.paper.other_weights import RATE_WEIGHTS, replayed_loops, weights_compared
from studies.paper.page_blocks import Linked, TableBlock, anchor, cells_title, linked_files
from studies.paper.paper_numbers import (
    ATTACKERS,
    CORPORA,
    EPSILONS,
    METHODS,
    MISMATCH,
    audit_samples,
    paper_table,
    violation,
)
from studies.paper.plot_kinds import BarPlot, MarkedRow, RowPlot
from studies.paper.results_content import (
    absent_section,
    origin_section,
    violations_section,
    weights_blocks,
)
from studies.paper.results_figures import (
    FIGURES,
    distributions,
    learning,
    slopes,
    sweep,
    toy_errors,
    tradeoff,
    utility,
)
from studies.paper.table_figures import dumbbells, exponents, temperatures

from finished_cells import finished, front_cells, network_cell, results_of, sound_cell
from oddshift.app.report.figures import SHAPES, LinePlot
from oddshift.app.report.markup import NARROW, WIDE

NOTHING = results_of()


def places_of(drawn):
    """All coordinates of a drawing."""
    found = re.findall(r' (?:x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]*)"', drawn)
    found += [part for points in re.findall(r' points="([^"]*)"', drawn) for part in re.split(r"[ ,]", points) if part]
    return [float(place) for place in found]


@pytest.mark.parametrize("values", [(0.0, 0.0), (1e-9, 1e9), (-2.0, 3.0), (0.0, 1.0)])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_lines_are_drawn_for_any_numbers(values, width):
    plot = LinePlot("t", "s", "x", "y", {"one": list(enumerate(values))}, {"here": 0.5}, level=values[0])
    drawn = plot.figure.draw(width, "label")
    assert all(math.isfinite(place) for place in places_of(drawn))
    assert "here" in drawn


@pytest.mark.parametrize("at", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_name_of_a_vertical_line_is_whole_wherever_the_line_is(at, width):
    plot = LinePlot("t", "s", "x", "y", {"a": [(0.0, 1.0), (1.0, 2.0)]}, {"a transition": at})
    drawn = plot.figure.draw(width, "x")
    anchor = re.search(r'text-anchor="(\w+)"[^>]*>a transition<', drawn).group(1)
    assert anchor == ("end" if at == 1.0 else "start")


def test_a_line_plot_has_its_numbers_as_a_table_and_a_shape_for_every_series():
    series = {name: [(0.0, 1.0), (1.0, 2.0)] for name in ("a", "b", "c", "d", "e")}
    figure = LinePlot("t", "s", "x", "y", series).figure
    assert figure.rows[:2] == [["a", "0", "1"], ["a", "1", "2"]]
    assert figure.key == (*(f"{shape}: {name}" for shape, name in zip(SHAPES, "abcd", strict=True)), "dashes: e")
    drawn = figure.draw(WIDE, "x")
    assert drawn.count('class="dashed"') == 1
    assert drawn.count('class="curve ') == 4


def test_dots_leave_the_lines_out():
    figure = LinePlot("t", "s", "x", "y", {"a": [(0.0, 1.0), (1.0, 2.0)]}, dots=True).figure
    drawn = figure.draw(WIDE, "x")
    assert 'class="curve ' not in drawn
    assert drawn.count('class="dot first"') == 2


def test_a_row_joins_what_is_printed_with_what_was_found():
    rows = (MarkedRow("both", (1.0,), (3.0,), (0.5, 0.7), (0.2, 0.4)), MarkedRow("printed only", (2.0,)))
    figure = RowPlot("t", "s", "x", rows, ("key",)).figure
    assert figure.rows == [["both", "1", "3", "0.5, 0.7"], ["printed only", "2", "", ""]]
    drawn = figure.draw(WIDE, "x")
    assert drawn.count('class="whisker"') == 1  # between hollow and filled, where there are both
    assert drawn.count('class="whisker strong"') == 1
    assert drawn.count('class="tickmark faint"') == 2
    left, right = (float(x) for x in re.findall(r'<circle cx="([^"]*)"[^>]*class="(?:hollow|solid)"', drawn)[:2])
    assert left < right


def test_bars_start_at_nothing_and_the_level_they_are_compared_with_is_in_the_picture():
    plot = BarPlot("t", "s", "loss", {"EM": (0.2, 0.1), "AmPL": (0.4, 0.0)}, ("drawn", "remapped"), 0.9, "one word")
    drawn = plot.figure.draw(WIDE, "x")
    heights = [float(h) for h in re.findall(r'<rect[^>]*height="([^"]*)"', drawn)]
    assert heights[0] == pytest.approx(2 * heights[1], rel=0.02)
    assert heights[3] == 0.0
    limit = float(re.search(r'y1="([^"]*)"[^>]*class="limit"', drawn).group(1))
    assert 30.0 <= limit <= 220.0
    assert plot.figure.key == ("drawn", "remapped", "dashed: one word")


@pytest.mark.parametrize("make", [f for f in FIGURES if f is not slopes], ids=lambda make: make.__name__)
def test_without_cells_there_is_no_figure(make):
    assert list(make(NOTHING)) == []


def test_printed_means_of_embeddings_are_shown_even_where_ours_were_not_run():
    (figure,) = slopes(NOTHING)
    printed = paper_table(MISMATCH).cell(row="matched", attacker="RNN", epsilon=2.4)["mean"]
    assert len(figure.rows) == 9
    assert figure.rows[0][:4] == ["RNN", "paper", "2.4", f"{printed:.4g}"]
    assert "the printed values rise in 1 of 9 cells." in figure.says
    rows = [
        {"epsilon": 2.5, "kind": kind, "rules": {"one": {"mean_mpl": value}}}
        for kind, value in (("matched", 1.25), ("mismatched", 1.5))
    ]
    (figure,) = slopes(results_of(finished("embedding-mismatch", "ag_news-rnn", {"attacker": "rnn", "rows": rows})))
    assert figure.rows[9:] == [["RNN", "ours", "2.5", "1.25", "1.5"]]
    assert figure.says.endswith("rise in 1 of 1.")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_slopes_go_up_where_the_right_value_is_larger(width):
    plot = SlopePlot("t", "s", "mPL", ("a", "b"), {"one": [("x", 1.0, 2.0)]}, {"one": [("x", 2.0, 1.0)]})
    drawn = plot.figure.draw(width, "x")
    ends = [[float(v) for v in re.search(rf'y1="([^"]*)" x2="[^"]*" y2="([^"]*)" class="{kind}"', drawn).groups()]
            for kind in ("dashed", "whisker")]  # fmt: skip
    assert ends[0][0] > ends[0][1]  # places are counted from above
    assert ends[1] == ends[0][::-1]
    assert (drawn.count('class="hollow"'), drawn.count('class="solid"')) == (2, 2)


def test_one_distribution_grows_up_and_the_other_down_and_both_are_striped_beyond_the_split():
    plot = MirrorPlot("t", "s", "mPL", ("up", [0.6, 0.4]), ("down", [0.3, 0.7]), 4.0, 2.0, "ε = 2")
    figure = plot.figure
    assert figure.rows == [["1", "60", "30"], ["3", "40", "70"]]
    bars = re.findall(
        r'<rect x="[^"]*" y="([^"]*)" width="[^"]*" height="([^"]*)" class="(\w+)"', figure.draw(WIDE, "x")
    )
    assert [kind for *_, kind in bars] == ["good", "bad", "quiet", "bad"]
    (up, tall, _), (_, _, _), (down, short, _), _ = bars
    assert float(up) + float(tall) == pytest.approx(float(down), abs=0.02), "both begin at the line in the middle"
    assert float(tall) == pytest.approx(2 * float(short), abs=0.03)


def table_cell(corpus="ag_news", attacker="rnn", seed=0):
    """A network's cell with all that the page reads."""
    made = network_cell(lambda epsilon, method: 0.2 if method == "EM" else 0.1, corpus, attacker, seed)
    for row in made.values["rows"]:
        row["rules"]["matched"] = dict(row["rules"]["one"])
        row |= {"scales": [0.5, 1.0], "loss": 0.25}
    made.values["temperature_curve"] = [[0.1, 0.5, 0.4, 0.45], [1.0, 0.2, 0.1, 0.15]]
    made.values["size"] = {"documents": [6, 2, 2], "positions": [30, 9, 9], "words": [20, 10]}
    settings = corpus_settings(corpus, small=True)
    loop = {"rate": 5.0, "loss": 1.0, "first_step": 0.3}
    return finished(made.name, made.key, made.values, seed, **{**settings, **made.settings, "loop": loop})


def test_printed_ratios_stand_next_to_ours_and_to_both_controls():
    (figure,) = dumbbells(results_of(table_cell()))
    assert len(figure.rows) == len(EPSILONS) * len(METHODS)
    name, printed, ours, controls = figure.rows[0]
    assert name == "RNN, ε = 2.4 EM"
    assert float(printed) == pytest.approx(violation("EM", "ag_news", "rnn", 2.4)[0])
    assert float(ours) == pytest.approx(20.0)
    assert [float(v) for v in controls.split(", ")] == pytest.approx([5.0, 21.0])


def test_sound_bounds_are_a_span_of_their_own():
    plain = next(dumbbells(results_of(table_cell()))).draw(WIDE, "x")
    sound = next(dumbbells(results_of(table_cell(), sound_cell((0.0, 0.1), (0.0, 0.1))))).draw(WIDE, "x")
    assert (plain.count("whisker strong"), sound.count("whisker strong")) == (0, 9)


def test_the_dumbbells_say_how_often_a_network_is_nearer_to_own_than_to_the_paper():
    (figure,) = dumbbells(results_of(table_cell()))
    nearer = sum(
        abs(float(ours) - float(controls.split(", ")[1])) < abs(float(ours) - float(printed))
        for _, printed, ours, controls in figure.rows
    )
    assert 0 < nearer <= 15
    assert f"In {nearer} of them the network is nearer to own" in figure.says


def test_temperatures_lie_on_an_axis_of_powers_and_the_fitted_one_is_marked():
    (figure,) = temperatures(results_of(table_cell()))
    series = {row[0] for row in figure.rows}
    assert series == {"RNN", "null", "own"}
    assert [row[1:] for row in figure.rows if row[0] == "RNN"] == [["0.1", "50"], ["1", "20"]]
    drawn = figure.draw(WIDE, "x")
    assert "fitted, RNN" in drawn
    assert all(f">{tick}<" in drawn for tick in ("0.1", "0.2", "0.5", "1", "2"))


def test_a_distribution_is_drawn_at_the_middles_of_its_bins():
    at = {"rate": 0.25, "null": 0.1, "own": 0.2, "counts": [0.75, 0.25]}
    values = {
        "bins": 2, "span": 4.0, "epsilon": 2.5, "networks": {"rnn": at},
        "controls": {"null": [1.0, 0.0], "own": [0.5, 0.5], "exact": [1.0, 0.0]},
    }  # fmt: skip
    (figure,) = distributions(results_of(finished("mpl-distributions", "ag_news", values)))
    assert figure.rows == [["1", "75", "50"], ["3", "25", "50"]]
    assert "25.0% of the triples lie beyond" in figure.says
    assert "one release has 0.0% there" in figure.says


@pytest.mark.parametrize(("transition", "is_marked"), [(2.2, True), (5.0, True), (7.5, False)])
def test_a_transition_outside_the_sweep_is_not_drawn(transition, is_marked):
    at = {"rate": 0.2, "null": 0.1, "own": 0.15, "mean_mpl": 1.0}
    rows = [{"epsilon": e, "one": at, "fitted": at, "exact": {"mean_mpl": 0.1}} for e in (1.0, 5.0)]
    both = list(sweep(results_of(finished("epsilon-sweep", "imdb", {"rows": rows, "transition": transition}))))
    assert [figure.title for figure in both] == ["IMDB: mean mPL over ε", "IMDB: violation ratio over ε"]
    assert all(("ε* =" in figure.draw(WIDE, "x")) == is_marked for figure in both)


def test_every_pair_of_scales_is_a_dot_for_each_way_to_release():
    (figure,) = tradeoff(results_of(*front_cells()))
    assert figure.says.endswith("1,200 documents to fit.")
    assert figure.says.startswith("100 pairs of scales")
    assert len(figure.rows) == 300
    ends = {row[0]: row[1:] for row in figure.rows}
    assert set(ends) == set(WAYS.values())


def test_a_front_says_what_a_reduction_costs_and_what_is_reached_for_nearly_nothing():
    found = fronts(results_of(*front_cells()))
    assert [front.place for front in found] == [("amazon", "transformer", e) for e in EPSILONS]
    front = found[1]
    assert front.falls
    steps = 2.5 - 0.26  # from ε to the end of the grid
    assert front.reduction(1.0, "drawn") == pytest.approx(100 * 0.04 * steps)
    assert front.price(100 * 0.04 * steps - 1e-6, "drawn") == pytest.approx(0.3 / 2.34 * steps)
    assert front.price(100.0, "drawn") is None
    assert front.reduction(0.02, "drawn") <= front.reduction(0.02, "remapped") < front.reduction(0.02, "repaired")
    assert reached(found, 0.2) == [True] * 3, "the repaired one loses nearly nothing"
    assert reached(found, 0.9) == [False] * 3
    flat = fronts(results_of(*front_cells(slope=0.0)))
    assert [front.falls for front in flat] == [False] * 3


def test_losses_are_those_of_the_middle_budget():
    rows = [
        {
            "attacker": "lstm",
            "epsilon": e,
            "method": m,
            "loss": e / 10,
            "remapped_loss": 0.1,
            "outputs": 100.0,
            "remapped_outputs": 9.0,
        }
        for e in EPSILONS
        for m in ("EM", "AmPL")
    ]
    (figure,) = utility(results_of(finished("utility", "imdb", {"rows": rows, "constant_word": 0.3})))
    assert "IMDB, LSTM" in figure.title
    assert figure.rows == [[method, "0.2500", "0.1000"] for method in ("EM", "AmPL", "AmPL-U")]
    drawn = figure.draw(WIDE, "x")
    assert drawn.count('class="tickmark"') == 3 * 3 * 2, "a bracket of three lines around each bar"
    assert "EM 100 → 9" in figure.says


def test_learning_curves_say_how_many_documents_all_of_them_are():
    at = {"rate": 0.2}
    rows = [{"share": s, "documents": round(1200 * s), "cosine": 0.5 + s / 10, "one": at} for s in (0.5, 1.0)]
    both = list(learning(results_of(finished("learning-curve", "imdb", {"rows": rows}))))
    assert len(both) == 2
    assert all(figure.says.endswith("(IMDB 1,200 in all).") for figure in both)


def test_the_toys_of_several_seeds_are_averaged():
    def made(seed, error):
        rows = [{"pairs": 100, "mean_error": error, "bound": 10.0}, {"pairs": 1_000, "mean_error": 0.0, "bound": 1.0}]
        return finished("toy", f"learned-{seed}", {"rows": rows}, seed)

    (figure,) = toy_errors(results_of(made(0, 0.05), made(1, 0.15)))
    assert "over 2 seeds" in figure.says
    assert "to the power -8.00, the bound like that to -1.00" in figure.says
    assert "2√2/(γ·d) times" in figure.says
    errors = [row for row in figure.rows if row[0] == "mean error"]
    assert [float(value) for value in errors[0][1:]] == pytest.approx([100.0, 0.1])
    assert float(errors[1][2]) == 1e-9  # no error at all is drawn at a floor


def test_exponents_are_drawn_on_a_logarithmic_axis():
    row = {"dataset": "IMDB", "attacker": "RNN", "epsilon": 2.4, "printed": 1e6, "by_proposition": 1e3}
    values = {"rows": [row], "observations_say_something": 0}
    (figure,) = exponents(results_of(finished("failure-bounds", "failure-bounds", values)))
    assert figure.rows == [["IMDB RNN 2.4", "1e+06", "1000", ""]]
    drawn = figure.draw(WIDE, "x")
    places = [float(re.search(rf'x="([^"]*)"[^>]*>{tick}<', drawn).group(1)) for tick in ("1,000", "10,000", "100,000")]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.02)
    assert "0 of 1 cells have a positive k" in figure.says


def test_links_lead_to_every_cell():
    assert linked_files([]) == "-"
    found = linked_files([f"toy/learned-{k}.json" for k in range(3)])
    assert found == tuple(Linked(text, f"toy/learned-{k}.json") for k, text in enumerate(("learned-0", "1", "2"))), (
        "what the names share is said once"
    )
    assert linked_files(["utility/ag_news.json", "utility/amazon.json"])[1].text == "amazon"


def test_many_cells_are_linked_by_the_table_that_lists_them():
    many = [finished("toy", f"learned-{k}", {}) for k in range(9)]
    (link,) = linked_files([cell.file for cell in many])
    assert link == Linked("9 cells of toy", f"#{anchor(cells_title('toy'))}")
    listed = tables_of(origin_section(results_of(*many)))[cells_title("toy")]
    assert [row[0].href for row in listed.rows] == [cell.file for cell in many]


def tables_of(section):
    return {block.title: block for block in section.blocks if isinstance(block, TableBlock)}


def test_the_table_of_claims_has_a_row_for_each_and_counts_its_verdicts():
    section = claims_section(NOTHING)
    (table,) = tables_of(section).values()
    (total, _), *counts = section.blocks[0].counts
    assert total == len(table.rows) == sum(number for number, _ in counts) / 2, "as stated, and as used"
    said = [f"{what} as {how}" for how in ("stated", "used") for what in ("hold", "do not hold", "cannot be told")]
    assert [what for _, what in counts] == said
    assert all(len(row) == len(table.head) == len(CLAIM_SHARES) for row in table.rows)
    assert sum(CLAIM_SHARES) == 100


def test_corpora_that_were_not_run_say_so_in_the_table_of_violations():
    section = violations_section(results_of(table_cell(seed=0), table_cell(seed=1)))
    assert list(tables_of(section)) == ["AG News", "The temperature that the printed numbers ask for"]
    assert {"IMDB: not run.", "Amazon: not run.", "Sound mode: not run."} <= set(map(str, section.blocks))
    rows = tables_of(section)["AG News"].rows
    assert len(rows) == 15  # five methods at three budgets
    first = rows[0]
    assert first[:3] == ["RNN", "2.4", "EM"]
    assert first[4] == "20.00 ± 0.00"
    assert first[8] == "20.00"  # the same numbers were put under the matched rule
    assert "λ_1 = 5, λ_2 = 1 and η_0 = 0.3" in section.blocks[0]
    said = next(block for block in section.blocks if isinstance(block, str) and block.startswith("AG News: "))
    assert "2, 0, 0 seeds of noise, network and layout for RNN, LSTM, Transformer, one split." in said


def test_seeds_that_split_the_documents_anew_are_said_to():
    cells = [table_cell(seed=seed) for seed in range(2)]
    cells[1].values["size"]["words"] = [7, 7]
    section = violations_section(results_of(*cells))
    said = next(block for block in section.blocks if isinstance(block, str) and block.startswith("AG News: "))
    assert "each with a split of its own" in said


def surface_cell(rate_slope=0.05, loss_slope=-0.1):
    """A surface whose ratios rise and whose losses fall straight with the budgets."""
    grid = np.linspace(0.25, 2.6, 3)
    by_budget = rate_slope * np.stack([np.broadcast_to(grid[:, None], (3, 3)), np.broadcast_to(grid, (3, 3))])
    values = {
        "grid": list(grid), "line": list(grid), "shares": [0.5, 0.5], "weights": [0.5, 0.5],
        "rates": {f"{e:g}": by_budget for e in EPSILONS}, "losses": [0.4 + loss_slope * grid] * 2,
    }  # fmt: skip
    return finished("table-violations", "imdb-rnn-surface", values, kind="surface", corpus="imdb", attacker="rnn")


def test_a_larger_weight_of_the_ratio_moves_the_loop_away_from_em_and_costs_utility():
    loops = replayed_loops(results_of(surface_cell()), (0.0, 100.0))
    assert [(loop.epsilon, loop.weight) for loop in loops] == [(e, w) for e in EPSILONS for w in (0.0, 100.0)]
    for loop in loops:
        assert loop.ratios[0] == pytest.approx(0.05 * loop.epsilon)
        assert loop.losses[0] == pytest.approx(0.4 - 0.1 * loop.epsilon)
        assert loop.falls == (loop.weight > 0)
        assert loop.scales == ((0.1, 0.1) if loop.weight else (1.0, 1.0))
    said = weights_compared(loops)
    assert "λ_1 = 0: lower in 0 of 3, by 0.00 points on average" in said
    assert "λ_1 = 100: lower in 3 of 3" in said


def test_other_weights_are_shown_where_surfaces_are_there():
    assert weights_blocks(NOTHING) == []
    said, table = weights_blocks(results_of(surface_cell()))
    assert len(table.rows) == len(RATE_WEIGHTS)
    assert all(row[-1] == (Linked("imdb-rnn-surface", "table-violations/imdb-rnn-surface.json"),) for row in table.rows)
    assert weights_compared(replayed_loops(results_of(surface_cell()))) in said


def test_what_the_paper_leaves_open_is_listed_even_where_nothing_was_run():
    section = open_section(NOTHING)
    assert list(tables_of(section)) == ["Left open by the paper"]
    assert section.blocks[-1] == "How far the table moves: not run."
    assert set(OUR_DEFAULTS) == {row[0] for row in section.blocks[0].rows}, "a default for each open point, no other"


def test_the_watched_row_is_shown_at_several_temperatures_with_its_range():
    at = {"null": 0.05, "own": 0.2}
    rows = [
        {"setting": "default", "value": "", "rate": 0.2, **at},
        {"setting": "prior", "value": "x", "rate": 0.3, **at},
    ]
    curve = [[0.52, 0.6, 0.5, 0.6], [1.0, 0.2, 0.05, 0.2], [2.1, 0.01, 0.0, 0.01], [7.0, 0.0, 0.0, 0.0]]
    values = {"rows": rows, "temperatures": curve, "loops": []}
    section = open_section(results_of(finished("open-settings", "ag_news", values)))
    shown = tables_of(section)["AG News, LSTM, ε = 2.5, EM at T = 1"].rows
    assert [row[1] for row in shown if row[0] == "T"] == ["0.52", "1", "2.1", "2.1"]
    assert shown[2][2:5] == ["60.00%", "50.00%", "60.00%"]
    assert section.blocks[1].endswith("between 1.0% and 60.0%, all others together between 20.0% and 30.0%.")


def test_every_cell_is_listed_with_its_command_and_what_was_not_run_is_named():
    found = results_of(finished("toy", "exact", {}), finished("utility", "imdb", {}))
    section, absent = origin_section(found), absent_section(found)
    assert section.blocks[0].startswith("2 cells, 0 CPU minutes in all (AG News 0.0, IMDB 0.0, Amazon 0.0).")
    assert absent.blocks[0].startswith("Not run at all: ")
    assert "toy" not in absent.blocks[0].replace("Not run at all: ", "").split(", ")
    assert {"the paper's future work", "only in commented-out text"} <= {row[0] for row in absent.blocks[1].rows}
    tables = tables_of(section)
    assert list(tables) == ["Cells of toy", "Cells of utility"]
    assert tables["Cells of toy"].rows[0][:2] == [Linked("exact", "toy/exact.json"), "0"]
    after = section.blocks[section.blocks.index(tables["Cells of toy"]) + 1]
    assert after == "Command: python -m studies.paper toy (oddshift 0)"


def test_cells_of_the_table_come_in_an_order_in_which_each_finds_what_it_needs():
    """A network reads the surface of its corpus, so surfaces come first."""
    cells = violation_cells(small=True, seeds=2)
    for corpus in CORPORA:
        kinds = [cell.settings["kind"] for cell in cells if cell.settings["corpus"] == corpus]
        assert kinds == ["surface"] * 3 + ["network"] * 30 + ["sound"]
        pairs = [
            cell
            for cell in cells
            if cell.settings["corpus"] == corpus and cell.settings.get("methods") == PAIRED["methods"]
        ]
        assert {cell.seed for cell in pairs} == set(range(2, PAIRED_SEEDS))
    assert len({cell.key for cell in cells}) == len(cells)


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_small_scale_reads_fewer_documents(corpus):
    small, full = (corpus_settings(corpus, small=is_small) for is_small in (True, False))
    assert small["documents"] == SMALL_DOCUMENTS[corpus] < FULL_DOCUMENTS[corpus] == full["documents"]
    assert small["epochs"] < full["epochs"] == 50
    for scale in (small, full):
        pairs = scale["candidates"] * (scale["candidates"] - 1) // 2
        assert scale["observations"] * pairs == audit_samples()[CORPORA[corpus]], "the paper's layout"


def test_a_cell_of_a_corpus_names_every_file_that_it_reads():
    made = corpus_cell("utility", "imdb", corpus_settings("imdb", small=True), others=("more.npz",))
    assert made.files[0] == "imdb.csv"
    assert made.files[-1] == "more.npz"
    vocabulary = next(cell for cell in utility_cells(small=True, seeds=1) if cell.key == "vocabulary")
    assert "csv" not in " ".join(vocabulary.files)
    assert all(any("minilm" in file for file in cell.files) for cell in mismatch_cells(small=True, seeds=1))
    assert [cell.settings["attacker"] for cell in mismatch_cells(small=True, seeds=1)] == list(ATTACKERS)

"""Claims about utility: what each says for cells that were made by hand, and the tables behind them."""

import pytest
from studies.paper.page_blocks import TableBlock
from studies.paper.paper_claims import FAILS, HOLDS, UNKNOWN
from studies.paper.utility_claims import (
    UTILITY_CLAIMS,
    ag_loss,
    amazon_loss,
    core_ranges,
    first_tier_only,
    remapping,
    remapping_ranges,
)
from studies.paper.utility_tables import utility_section

from finished_cells import finished, results_of

NOTHING = results_of()


def utility_cell(corpus, loss=0.3, outputs=500.0, remapped_outputs=400.0):
    rows = [
        {"attacker": "rnn", "method": method, "epsilon": epsilon, "loss": loss + shift, "remapped_loss": 0.1,
         "outputs": outputs, "remapped_outputs": remapped_outputs}
        for method, shift in (("AmPL", 0.2), ("EM", 0.0))
        for epsilon, shift in ((2.4, shift + 0.05), (2.5, shift))
    ]  # fmt: skip
    readings = {"AmPL-1": {"loss": 0.41}, "AmPL-1-clear": {"loss": 0.12}}
    values = {"rows": rows, "constant_word": 0.25, "readings_of_ampl_1": readings}
    return finished("utility", corpus, values)


@pytest.mark.parametrize("make", UTILITY_CLAIMS, ids=lambda make: make.__name__)
def test_without_a_cell_only_printed_numbers_decide(make):
    claim = make(NOTHING)
    assert (claim.verdict == UNKNOWN) == (make in {remapping, first_tier_only})
    assert claim.files == ()


def test_remapping_reads_the_row_of_em_at_two_and_a_half():
    claim = remapping(results_of(utility_cell("ag_news", loss=0.3)))
    assert claim.paper_mode == ("AG News: 0.300 → 0.100")  # 0.35 is the loss at 2.4, and 0.5 that of AmPL
    assert claim.reason.startswith("Nothing that was run has both printed losses")
    assert claim.verdict == UNKNOWN


@pytest.mark.parametrize(
    ("loss", "left", "verdict"),
    [(0.22, 49.9, FAILS), (0.22, 50.0, HOLDS), (0.24, 3.0, FAILS), (0.26, 3.0, UNKNOWN), (0.18, 400.0, UNKNOWN)],
)
def test_a_gain_by_collapse_does_not_keep_utility(loss, left, verdict):
    claim = remapping(results_of(utility_cell("imdb", loss=loss, outputs=500.0, remapped_outputs=left)))
    assert claim.as_used == verdict
    assert claim.verdict == (UNKNOWN if verdict == UNKNOWN else HOLDS), "as stated it holds where both losses appear"


def test_vocabularies_stand_next_to_corpora():
    row = {"words": 7192, "prior": "1/rank", "loss": 0.22, "remapped_loss": 0.13, "outputs": 900.0,
           "remapped_outputs": 40.0, "constant_word": 0.3}  # fmt: skip
    claim = remapping(results_of(utility_cell("ag_news"), finished("utility", "vocabulary", {"rows": [row]})))
    assert claim.paper_mode == (
        "7,192 words, 1/rank prior: 0.220 → 0.130, effective outputs 900 → 40, a constant word 0.300; AG News: 0.300 → "
        "0.100"
    ), "what reproduces the printed losses comes first, with what is left of its outputs"
    assert "appear in 1 of 2 settings" in claim.reason
    assert (claim.verdict, claim.as_used) == (HOLDS, FAILS)
    assert claim.files == ("utility/ag_news.json", "utility/vocabulary.json")


def test_two_statements_about_one_loss_exclude_each_other():
    claim = ag_loss(NOTHING)
    assert (claim.paper, claim.recomputed, claim.verdict) == ("0.22 in the text", "0.24-0.29 in the appendix", FAILS)


def test_the_largest_loss_is_told_by_the_printed_ranges_and_ours_stand_next_to_it():
    claim = amazon_loss(results_of(utility_cell("amazon", loss=0.31), utility_cell("imdb", loss=0.2)))
    assert claim.verdict == FAILS
    assert "highest on AG News" in claim.recomputed
    assert claim.paper_mode == "IMDB 0.200; Amazon 0.310"


def test_the_nearest_reading_of_a_method_that_is_stated_three_ways_is_named():
    claim = first_tier_only(results_of(utility_cell("imdb")))
    assert claim.paper_mode == "IMDB: 0.120 to 0.410 over four readings"
    assert claim.reason.startswith("On IMDB AmPL-1 lies inside the printed 0.40-0.47.")
    assert claim.verdict == UNKNOWN
    other = first_tier_only(results_of(utility_cell("amazon")))
    assert other.reason.startswith("On Amazon AmPL-1 comes nearest, 0.04 away from the printed 0.45-0.49.")


def test_the_range_of_all_corpora_does_not_contain_that_of_one():
    claim = remapping_ranges(results_of(utility_cell("amazon", loss=0.3)))
    assert claim.verdict == FAILS
    assert claim.recomputed == "0.11-0.17 over all corpora, yet 0.10-0.13 on Amazon"
    assert claim.paper_mode == "Amazon: 0.30-0.55 → 0.10-0.10"


def test_ranges_are_those_of_all_methods_but_the_one_of_the_first_tier():
    cell = utility_cell("imdb", loss=0.3)
    cell.values["rows"].append({**cell.values["rows"][0], "method": "AmPL-1", "loss": 0.9, "remapped_loss": 0.01})
    assert core_ranges(results_of(cell)) == [("IMDB", (pytest.approx(0.3), pytest.approx(0.55)), (0.1, 0.1))]


def tables(*cells):
    blocks = utility_section(results_of(*cells)).blocks
    return [block if isinstance(block, TableBlock) else str(block) for block in blocks[1:]]


def test_every_loss_stands_next_to_its_outputs_and_a_constant_word():
    made = utility_cell("imdb", loss=0.3, outputs=1234.0, remapped_outputs=3.25)
    for row in made.values["rows"]:
        row["scales"] = [0.5, 1.0]
    for reading in made.values["readings_of_ampl_1"].values():
        reading["scales"] = [0.5, 1e4]
    losses, whole, vocabularies, readings = tables(made)
    assert whole == "EM over all documents: not run."
    assert vocabularies == "Losses by vocabulary and prior: not run."
    assert len(losses.rows) == 4
    assert losses.rows[-1][:-1] == ["IMDB", "RNN", "2.5", "EM", "0.5, 1", "0.300", "0.100", "1,234", "3.2", "0.250"]
    assert losses.rows[0][-1][0].href == "utility/imdb.json"
    assert [row[2] for row in readings.rows] == [
        "0.5, in the clear: 0.410",
        "0.5, in the clear: 0.120",
        "0.40-0.47",
    ], "the printed range comes last"
    assert sum(readings.shares) == 100


def test_without_cells_the_tables_of_utility_say_so():
    assert [text.endswith("not run.") for text in tables()] == [True] * 4

"""Claims about utility, ε, training data, embeddings and WDBC: what each says for cells that were made by hand."""

import math

import pytest

from finished_cells import finished, results_of
from oddshift.app.reproduce.further_claims import (
    FURTHER_CLAIMS,
    ag_loss,
    amazon_loss,
    cliff,
    first_tier_only,
    low_side,
    mismatch,
    remapping,
    saturation,
    similar_words,
    toy,
    wdbc,
)
from oddshift.app.reproduce.paper_claims import FAILS, HOLDS, NOT_RUN, UNKNOWN

NOTHING = results_of()


def utility_cell(corpus, loss=0.3, outputs=500.0, remapped_outputs=400.0):
    rows = [
        {"method": method, "epsilon": epsilon, "loss": loss + shift, "remapped_loss": 0.1,
         "outputs": outputs, "remapped_outputs": remapped_outputs}
        for method, shift in (("AmPL", 0.2), ("EM", 0.0))
        for epsilon, shift in ((2.4, shift + 0.05), (2.5, shift))
    ]  # fmt: skip
    readings = {"AmPL-1": {"loss": 0.41}, "AmPL-1-clear": {"loss": 0.12}}
    values = {"rows": rows, "constant_word": 0.25, "readings_of_ampl_1": readings}
    return finished("utility", corpus, values)


@pytest.mark.parametrize("make", FURTHER_CLAIMS, ids=lambda make: make.__name__)
def test_without_a_cell_nothing_that_needs_one_is_decided(make):
    claim = make(NOTHING)
    needs_no_cell = {ag_loss, amazon_loss, mismatch, low_side, similar_words}
    assert (claim.verdict == UNKNOWN) == (make not in needs_no_cell)
    assert claim.files == ()
    assert "nan" not in f"{claim.recomputed} {claim.paper_mode} {claim.controls} {claim.sound} {claim.reason}"


@pytest.mark.parametrize(
    ("joint", "verdict"), [(1.845681, HOLDS), (1.84555, HOLDS), (1.8458, FAILS), (1.8454, FAILS), (0.944, FAILS)]
)
def test_the_toy_holds_when_the_printed_digits_are_met(joint, verdict):
    values = {"single": 0.944462, "joint": joint, "upper": {"lp": 1.845681}}
    claim = toy(results_of(finished("toy", "exact", values)))
    assert claim.verdict == verdict
    assert claim.recomputed == f"0.944462, {joint:.6f} exactly"
    assert claim.sound == "proven upper bound 1.845681"
    assert claim.files == ("toy/exact.json",)


def test_remapping_reads_the_row_of_em_at_two_and_a_half():
    claim = remapping(results_of(utility_cell("ag_news", loss=0.3)))
    assert claim.paper_mode == (
        "AG News: 0.300 → 0.100, effective outputs 500 → 400, a constant word 0.250"
    )  # 0.35 is the loss at 2.4, and 0.5 that of AmPL
    assert claim.reason.startswith("Nothing that was run has both printed losses")
    assert claim.verdict == UNKNOWN


@pytest.mark.parametrize(
    ("loss", "left", "verdict"),
    [(0.22, 49.9, FAILS), (0.22, 50.0, HOLDS), (0.24, 3.0, FAILS), (0.26, 3.0, UNKNOWN), (0.18, 400.0, UNKNOWN)],
)
def test_a_gain_by_collapse_does_not_keep_utility(loss, left, verdict):
    claim = remapping(results_of(utility_cell("imdb", loss=loss, outputs=500.0, remapped_outputs=left)))
    assert claim.verdict == verdict


def test_vocabularies_stand_next_to_corpora():
    row = {"words": 7192, "prior": "1/rank", "loss": 0.22, "remapped_loss": 0.13, "outputs": 900.0,
           "remapped_outputs": 40.0, "constant_word": 0.3}  # fmt: skip
    claim = remapping(results_of(utility_cell("ag_news"), finished("utility", "vocabulary", {"rows": [row]})))
    assert claim.paper_mode.endswith(
        "; 7,192 words, 1/rank prior: 0.220 → 0.130, effective outputs 900 → 40, a constant word 0.300"
    )
    assert "appear in 1 of 2 settings" in claim.reason
    assert claim.verdict == FAILS
    assert claim.files == ("utility/ag_news.json", "utility/vocabulary.json")


def test_two_statements_about_one_loss_exclude_each_other():
    claim = ag_loss(NOTHING)
    assert (claim.paper, claim.recomputed, claim.verdict) == ("0.22 in the text", "0.24-0.29 in the appendix", FAILS)


def test_the_largest_loss_is_told_by_the_printed_ranges_and_ours_stand_next_to_it():
    claim = amazon_loss(results_of(utility_cell("amazon", loss=0.31), utility_cell("imdb", loss=0.2)))
    assert claim.verdict == FAILS
    assert "highest on AG News" in claim.recomputed
    assert claim.paper_mode == "IMDB 0.200; Amazon 0.310"


def test_every_reading_of_a_method_that_is_stated_three_ways_is_shown():
    claim = first_tier_only(results_of(utility_cell("imdb")))
    assert claim.paper_mode == "IMDB: AmPL-1 0.410, AmPL-1-clear 0.120"
    assert claim.reason.startswith("On IMDB AmPL-1 lies inside the printed 0.40-0.47.")
    assert claim.verdict == UNKNOWN
    other = first_tier_only(results_of(utility_cell("amazon")))
    assert other.reason.startswith("On Amazon AmPL-1 comes nearest, 0.04 away from the printed 0.45-0.49.")


def learning(corpus, part, full, shares=(0.6, 1.0)):
    rows = [{"share": share, "cosine": cosine} for share, cosine in zip(shares, (part, full), strict=True)]
    return finished("learning-curve", corpus, {"rows": rows})


@pytest.mark.parametrize(
    ("curves", "verdict"),
    [
        ([("ag_news", 0.79, 0.8)], HOLDS),
        ([("ag_news", 0.5, 0.8)], FAILS),
        ([("ag_news", 0.79, 0.8), ("imdb", 0.5, 0.8)], FAILS),  # one corpus that still learns is enough
        ([("ag_news", 0.97 * 0.8 - 1e-9, 0.8)], FAILS),
    ],
)
def test_sixty_percent_suffice_when_the_cosine_is_within_three_percent_everywhere(curves, verdict):
    assert saturation(results_of(*(learning(*curve) for curve in curves))).verdict == verdict


def test_a_learning_curve_without_both_sizes_decides_nothing():
    claim = saturation(results_of(learning("ag_news", 0.8, 0.8, shares=(0.25, 1.0))))
    assert (claim.verdict, claim.paper_mode) == (UNKNOWN, NOT_RUN)


RATES = {"null": 0.05, "own": 0.25, "rate": 0.2}


def test_the_mismatch_of_embeddings_is_told_by_the_printed_table():
    rows = [
        {"epsilon": 2.5, "kind": kind, "rules": {"one": {"mean_mpl": value, **RATES}}}
        for kind, value in (("mismatched", 1.25), ("matched", 1.5))
    ]
    claim = mismatch(results_of(finished("embedding-mismatch", "ag_news-rnn", {"attacker": "rnn", "rows": rows})))
    assert claim.verdict == FAILS
    assert claim.recomputed == "higher in 8 of 9; printed means 1.2766-1.6498"
    assert claim.paper_mode == "rnn 1.50 matched, 1.25 mismatched (T = 1)"
    assert claim.controls == "rnn: null 5.0%, own 25.0%, matched 20.0% beyond ε"


def test_several_budgets_of_an_embedding_come_in_increasing_order():
    rows = [
        {"epsilon": epsilon, "kind": kind, "rules": {"one": {"mean_mpl": epsilon, **RATES}}}
        for epsilon in (2.6, 2.4, 2.5)
        for kind in ("matched", "mismatched")
    ]
    claim = mismatch(results_of(finished("embedding-mismatch", "ag_news-rnn", {"attacker": "rnn", "rows": rows})))
    assert [part.split()[1] for part in claim.paper_mode.split("; ")] == ["2.40", "2.50", "2.60"]


def sweep(corpus, values):
    """Mean mPL over ε, with controls."""
    rows = [
        {"epsilon": epsilon, "one": {"mean_mpl": value, "null": 0.1, "own": 0.2, "rate": 0.3}}
        for epsilon, value in values.items()
    ]
    return finished("epsilon-sweep", corpus, {"rows": rows, "transition": 2.25})


STEADY = {1.0: 0.1, 2.0: 0.2, 2.5: 0.3, 3.0: 0.4, 4.0: 0.5, 5.0: 0.6}


@pytest.mark.parametrize(
    ("jump", "middle", "verdict"),
    [(2.0, 1.5, FAILS), (2.5, 2.25, HOLDS), (3.0, 2.75, HOLDS), (4.0, 3.5, FAILS), (5.0, 4.5, FAILS)],
)
def test_the_cliff_is_where_the_mean_rises_most(jump, middle, verdict):
    raised = {epsilon: value + (5.0 if epsilon >= jump else 0.0) for epsilon, value in STEADY.items()}
    claim = cliff(results_of(sweep("ag_news", raised)))
    assert claim.verdict == verdict
    assert f"The steepest step lies at ε = {middle:g}." in claim.reason
    assert "ε* = 2.25" in claim.paper_mode
    assert claim.controls == "AG News at 2.5: null 10.0%, own 20.0%, RNN 30.0%"


def test_a_cliff_must_be_there_on_every_corpus():
    inside = {epsilon: value + 5.0 * (epsilon >= 2.5) for epsilon, value in STEADY.items()}
    outside = {epsilon: value + 5.0 * (epsilon >= 5.0) for epsilon, value in STEADY.items()}
    assert cliff(results_of(sweep("ag_news", inside), sweep("imdb", inside))).verdict == HOLDS
    assert cliff(results_of(sweep("ag_news", inside), sweep("imdb", outside))).verdict == FAILS


def test_the_budgets_lie_inside_the_transition_by_the_papers_own_numbers():
    claim = low_side(NOTHING)
    assert claim.verdict == FAILS
    assert "2.0 to 3.1" in claim.recomputed


def wdbc_cell(em, ampl):
    def method(rate, exact):
        matched = {"rate": rate, "null": rate + 0.01, "own": rate + 0.02}
        return {"exact": {"rate": exact}, "rules": {"matched": matched}}

    return finished("wdbc", "one-0", {"rows": [{"methods": {"EM": method(em, 0.0), "AmPL": method(ampl, 0.001)}}]})


def test_single_records_cannot_leak_so_that_the_claim_fails_whatever_is_measured():
    claim = wdbc(results_of(wdbc_cell(0.2, 0.05)))
    assert claim.verdict == FAILS
    assert claim.paper_mode == "EM 20.0% at matched T"
    assert claim.controls == "null 21.0%, own 22.0% at the same T"
    assert claim.sound == "exact rate at most 0.1% of one release, by proof 0"
    assert wdbc(NOTHING).recomputed == "58.1 % mean of cells, 46.6 % pooled"


def test_a_tenth_of_the_words_is_rounded_down():
    claim = similar_words(NOTHING)
    assert claim.verdict == HOLDS
    assert claim.recomputed.endswith("5,492.8")
    assert math.floor(0.1 * (60_376 - 5_448)) == int(claim.paper.replace(",", ""))

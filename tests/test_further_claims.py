"""Claims about the toy, training data, embeddings, ε and WDBC: what each says for cells that were made by hand."""

import math

import pytest
from studies.paper.further_claims import (
    FURTHER_CLAIMS,
    cliff,
    low_side,
    mismatch,
    saturation,
    similar_words,
    toy,
    wdbc,
)
from studies.paper.paper_claims import FAILS, HOLDS, NOT_RUN, UNKNOWN

from finished_cells import finished, results_of

NOTHING = results_of()


@pytest.mark.parametrize("make", FURTHER_CLAIMS, ids=lambda make: make.__name__)
def test_without_a_cell_nothing_that_needs_one_is_decided(make):
    claim = make(NOTHING)
    needs_no_cell = {mismatch, low_side, similar_words}
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


def learning(corpus, part, full, shares=(0.6, 1.0)):
    rows = [{"share": share, "cosine": cosine} for share, cosine in zip(shares, (part, full), strict=True)]
    return finished("learning-curve", corpus, {"rows": rows})


@pytest.mark.parametrize(
    ("curves", "verdict"),
    [
        ([("ag_news", 0.79, 0.8)], HOLDS),
        ([("ag_news", 0.5, 0.8)], UNKNOWN),
        ([("ag_news", 0.79, 0.8), ("imdb", 0.5, 0.8)], UNKNOWN),  # one corpus that still learns is enough
        ([("ag_news", 0.97 * 0.8 - 1e-9, 0.8)], UNKNOWN),
    ],
)
def test_sixty_percent_suffice_when_the_cosine_is_within_three_percent_everywhere(curves, verdict):
    assert saturation(results_of(*(learning(*curve) for curve in curves))).verdict == verdict


def test_the_reason_names_the_corpora_on_which_more_data_still_helps():
    claim = saturation(results_of(learning("ag_news", 0.79, 0.8), learning("imdb", 0.5, 0.8)))
    assert "within 3 % of that of all on AG News. It is further below on IMDB." in claim.reason
    assert "still rises" in claim.reason
    assert "still rises" not in saturation(results_of(learning("ag_news", 0.79, 0.8))).reason


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
    assert (claim.verdict, claim.as_used) == (HOLDS, FAILS), "typically weaker is right, an upper bound it is not"
    assert claim.recomputed == "higher in 8 of 9; printed means 1.2766-1.6498"
    assert claim.paper_mode == "higher in 1 of 1 at T = 1; mean mPL RNN 1.50 matched, 1.25 mismatched"
    assert claim.controls == "beyond ε: null 5.0%, own 25.0%, networks 20.0%"


def test_several_budgets_of_an_embedding_are_compared_one_by_one_and_averaged():
    means = {2.6: (1.0, 1.5), 2.4: (2.0, 1.0), 2.5: (3.0, 1.1)}
    rows = [
        {"epsilon": epsilon, "kind": kind, "rules": {"one": {"mean_mpl": value, **RATES}}}
        for epsilon, both in means.items()
        for kind, value in zip(("matched", "mismatched"), both, strict=True)
    ]
    claim = mismatch(results_of(finished("embedding-mismatch", "ag_news-rnn", {"attacker": "rnn", "rows": rows})))
    assert claim.paper_mode == "higher in 2 of 3 at T = 1; mean mPL RNN 2.00 matched, 1.20 mismatched"


def sweep(corpus, values, fitted=None):
    """Mean mPL over ε with controls, at T = 1, of the exact release and at the fitted T: all the same by default."""
    rows = [
        {
            "epsilon": epsilon, "one": {"mean_mpl": value, "null": 0.1, "own": 0.2, "rate": 0.3},
            "fitted": {"mean_mpl": (fitted or values)[epsilon]}, "exact": {"mean_mpl": value},
        }
        for epsilon, value in values.items()
    ]  # fmt: skip
    return finished("epsilon-sweep", corpus, {"rows": rows, "transition": 2.25})


STEADY = {1.0: 0.1, 2.0: 0.2, 2.5: 0.3, 3.0: 0.4, 4.0: 0.5, 5.0: 0.6}
INSIDE = {epsilon: value + 5.0 * (epsilon >= 2.5) for epsilon, value in STEADY.items()}
OUTSIDE = {epsilon: value + 5.0 * (epsilon >= 4.0) for epsilon, value in STEADY.items()}


@pytest.mark.parametrize(
    ("jump", "verdict"), [(2.0, FAILS), (2.5, HOLDS), (3.0, HOLDS), (4.0, FAILS), (5.0, FAILS), (9.0, FAILS)]
)
def test_a_cliff_has_most_of_the_rise_in_it(jump, verdict):
    raised = {epsilon: value + (5.0 if epsilon >= jump else 0.0) for epsilon, value in STEADY.items()}
    claim = cliff(results_of(sweep("ag_news", raised)))
    assert claim.verdict == verdict
    assert "mean distance = 2.25: a property" in claim.reason
    assert claim.controls == "beyond ε at 2.5: AG News null 10.0%, own 20.0%, RNN 30.0%"


def test_the_share_of_the_rise_is_read_between_the_ends_of_the_cliff():
    # at 2.0: .2; at 3.1: .4 + .1·.1 = .41; the whole rise is .5
    assert "42% at T = 1; 42% at the fitted T; 42% of the exact" in cliff(results_of(sweep("imdb", STEADY))).reason


def test_a_cliff_must_be_there_on_every_corpus():
    assert cliff(results_of(sweep("ag_news", INSIDE), sweep("imdb", INSIDE))).verdict == HOLDS
    assert cliff(results_of(sweep("ag_news", INSIDE), sweep("imdb", OUTSIDE))).verdict == FAILS


def test_a_cliff_that_is_there_under_one_temperature_only_cannot_be_told():
    claim = cliff(results_of(sweep("amazon", INSIDE, fitted=OUTSIDE)))
    assert claim.verdict == UNKNOWN
    assert claim.settles
    assert cliff(results_of(sweep("amazon", OUTSIDE, fitted=INSIDE))).verdict == UNKNOWN
    assert claim.paper_mode.endswith("Amazon 0.10, 0.20, 5.40, 5.60 at T = 1, 0.10, 0.20, 0.40, 5.60 at the fitted T")


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

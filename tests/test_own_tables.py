"""The paper's printed tables counted again, each count by plain loops over the transcribed cells."""

import math

import pytest
from studies.paper.own_tables import (
    PLACES,
    OwnTables,
    largest_loss_by_range,
    matched_above,
    matched_range,
    means,
    own_tables,
    tenth_of_the_other_words,
    wdbc_reductions,
)
from studies.paper.paper_numbers import (
    ATTACKERS,
    CORPORA,
    EPSILONS,
    MISMATCH,
    VIOLATIONS,
    WDBC,
    paper_table,
    paper_text,
)


def printed(label):
    """Every cell of a table by (row, dataset, attacker, epsilon), straight from the transcription."""
    return {
        (c["row"], c.get("dataset"), c["attacker"], c["epsilon"]): (c["mean"], c["sd"])
        for c in paper_table(label).cells
        if "epsilon" in c and "attacker" in c
    }


@pytest.fixture(scope="module")
def table():
    return printed(VIOLATIONS)


@pytest.fixture(scope="module")
def found() -> OwnTables:
    return own_tables()


def every_place():
    """Dataset, attacker and ε of the 27 settings, by the paper's names."""
    return [(d, a, e) for d in CORPORA.values() for a in ATTACKERS.values() for e in EPSILONS]


def test_there_are_27_settings_and_each_has_a_printed_mean(table):
    assert len(PLACES) == len(set(PLACES)) == 27
    for method, row in (("EM", "EM (mDP)"), ("AmPL", "AmPL"), ("AmPL-1", "AmPL-1")):
        ours = means(method)
        assert len(ours) == 27
        for corpus, attacker, epsilon in PLACES:
            expected = table[row, CORPORA[corpus], ATTACKERS[attacker], epsilon][0]
            assert ours[corpus, attacker, epsilon] == expected


def test_drops_are_those_of_the_printed_means(table, found):
    drops, relative, before = [], [], []
    for place in every_place():
        em, ampl = table["EM (mDP)", *place][0], table["AmPL", *place][0]
        drops.append(em - ampl)
        relative.append((em - ampl) / em)
        before.append(em)
    assert found.lower == sum(drop > 0 for drop in drops)
    assert found.mean_drop == pytest.approx(math.fsum(drops) / 27)
    assert found.mean_relative == pytest.approx(100 * math.fsum(relative) / 27)
    assert found.pooled_relative == pytest.approx(100 * math.fsum(drops) / math.fsum(before))
    assert found.largest_absolute[1] == pytest.approx(max(drops))
    assert found.largest_relative[1] == pytest.approx(max(relative))


def test_the_largest_drop_is_where_it_is_said_to_be(table, found):
    for (corpus, attacker, epsilon), drop in (found.largest_absolute, found.largest_relative):
        place = (CORPORA[corpus], ATTACKERS[attacker], epsilon)
        em, ampl = table["EM (mDP)", *place][0], table["AmPL", *place][0]
        assert drop in (pytest.approx(em - ampl), pytest.approx((em - ampl) / em))


def test_the_method_without_a_weight_on_utility_is_compared_cell_by_cell(table, found):
    signs = [
        (table["AmPL-P", *place][0] > table["AmPL", *place][0])
        - (table["AmPL-P", *place][0] < table["AmPL", *place][0])
        for place in every_place()
    ]
    assert (found.p_below, found.p_equal, found.p_above) == tuple(signs.count(sign) for sign in (-1, 0, 1))
    assert found.p_below + found.p_equal + found.p_above == 27


def test_a_difference_is_noise_when_it_is_within_the_combined_deviation(table, found):
    within = 0
    for place in every_place():
        (em, em_sd), (ampl, ampl_sd) = table["EM (mDP)", *place], table["AmPL", *place]
        within += em - ampl <= math.sqrt(em_sd**2 + ampl_sd**2)
    assert found.within_one_sd == within


def test_monotone_groups_are_counted_over_all_steps(table, found):
    rises = falls = 0
    for dataset in CORPORA.values():
        for attacker in ATTACKERS.values():
            em = [table["EM (mDP)", dataset, attacker, e][0] for e in EPSILONS]
            ampl = [table["AmPL", dataset, attacker, e][0] for e in EPSILONS]
            rises += em[0] < em[1] < em[2]
            falls += ampl[0] > ampl[1] > ampl[2]
    assert (found.em_rises, found.ampl_falls) == (rises, falls)


def test_the_other_counts_of_the_table(table, found):
    highest = sum(
        table["EM (mDP)", d, "Transformer", e][0] >= max(table["EM (mDP)", d, a, e][0] for a in ATTACKERS.values())
        for d in CORPORA.values()
        for e in EPSILONS
    )
    assert found.transformer_highest == highest
    gaps = [table["EM (mDP)", *place][0] - table["AmPL-U", *place][0] for place in every_place()]
    assert found.u_below_em == pytest.approx(math.fsum(gaps) / 27)
    above = {place for place in every_place() if table["AmPL-1", *place][0] > table["EM (mDP)", *place][0]}
    assert {(CORPORA[c], ATTACKERS[a], e) for c, a, e in found.first_above_em} == above


def test_wdbc_reductions_are_a_mean_of_cells_and_a_ratio_of_sums():
    table = printed(WDBC)
    places = [(None, a, e) for a in ATTACKERS.values() for e in (0.1, 0.2, 0.3)]
    em = [table["EM (mDP)", *place][0] for place in places]
    ampl = [table["AmPL", *place][0] for place in places]
    mean, pooled = wdbc_reductions()
    assert mean == pytest.approx(100 * sum((a - b) / a for a, b in zip(em, ampl, strict=True)) / 9)
    assert pooled == pytest.approx(100 * (1 - sum(ampl) / sum(em)))
    assert mean > pooled  # the mean of ratios favours cells with few violations


def test_a_matched_embedding_is_counted_as_larger_only_where_it_is():
    table = printed(MISMATCH)
    smaller = {
        (a, e)
        for a in ATTACKERS.values()
        for e in EPSILONS
        if table["matched", None, a, e][0] <= table["mismatched", None, a, e][0]
    }
    assert smaller == {("RNN", 2.4)}  # 1.2848 against 1.3656
    assert matched_above() == 9 - len(smaller)
    assert matched_range() == (1.2766, 1.6498)


def test_statements_of_sizes_and_ranges():
    assert tenth_of_the_other_words() == pytest.approx((60_376 - 5_448) / 10)
    ranges = paper_text("utility_text")["core_methods"]
    highest = max(ranges[name]["no_RMP"][1] for name in CORPORA.values())
    assert ranges[largest_loss_by_range()]["no_RMP"][1] == highest
    assert largest_loss_by_range() != "Amazon"

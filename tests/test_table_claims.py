"""Claims about the table of violation ratios: every verdict and number follows from cells that were made by hand."""

import pytest
from studies.paper.own_tables import matched_range, own_tables
from studies.paper.paper_claims import FAILS, HOLDS, NOT_RUN, UNKNOWN, count, sound_says
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS
from studies.paper.table_claims import (
    TABLE_CLAIMS,
    ampl_falls,
    average_leakage,
    em_rises,
    em_violates,
    largest_drops,
    lower_everywhere,
    mean_drop,
    privacy_only,
    relative_drop,
    transformer_highest,
    utility_only,
    within_noise,
)

from finished_cells import finished, front_cells, network_cell, results_of, sound_cell

NOTHING = results_of()


def table(em=0.2, ampl=0.1, only_p=0.05, corpus="ag_news", attackers=tuple(ATTACKERS), seed=0):
    """Cells of a corpus whose rates are the same for every budget."""
    rates = {"EM": em, "AmPL": ampl, "AmPL-U": em, "AmPL-P": only_p, "AmPL-1": ampl}
    return [network_cell(lambda epsilon, method: rates[method], corpus, a, seed) for a in attackers]


def test_places_are_those_that_were_run():
    assert NOTHING.places == []
    found = results_of(*table(corpus="imdb", attackers=("lstm",)))
    assert found.places == [("imdb", "lstm", epsilon) for epsilon in EPSILONS]


def test_a_number_is_the_mean_over_seeds_in_percent():
    found = results_of(*table(em=0.2, seed=0), *table(em=0.3, seed=1))
    place = ("ag_news", "rnn", 2.5, "EM")
    assert found.mean(place, "one", "rate") == pytest.approx(25.0)
    assert found.spread(place, "one") == pytest.approx(100 * 0.05 * 2**0.5)  # √(2·.05²/(2 − 1))
    assert found.mean(("imdb", "rnn", 2.5, "EM"), "one", "rate") is None


def test_one_seed_has_no_spread():
    found = results_of(*table())
    assert found.spread(("ag_news", "rnn", 2.5, "EM"), "one") is None
    assert found.spread(("imdb", "rnn", 2.5, "EM"), "one") is None


def test_gaps_are_first_less_second_in_points():
    found = results_of(*table(em=0.2, ampl=0.15))
    assert found.gaps("EM", "AmPL", "rate") == pytest.approx([5.0] * 9)
    assert found.gaps("AmPL", "EM", "rate") == pytest.approx([-5.0] * 9)
    assert NOTHING.gaps("EM", "AmPL", "rate") == []


@pytest.mark.parametrize("make", TABLE_CLAIMS, ids=lambda make: make.__name__)
def test_without_cells_the_measured_columns_say_so(make):
    claim = make(NOTHING)
    assert {claim.paper_mode, claim.sound} <= {NOT_RUN, "-"}
    assert claim.files == ()
    assert "nan" not in claim.reason


@pytest.mark.parametrize(
    ("em", "ampl", "verdict"),
    [
        ((0.10, 0.12), (0.01, 0.09), HOLDS),
        ((0.10, 0.12), (0.01, 0.10), UNKNOWN),  # the intervals touch
        ((0.10, 0.12), (0.11, 0.20), UNKNOWN),  # they overlap, which decides nothing
        ((0.10, 0.12), (0.12, 0.20), UNKNOWN),
        ((0.10, 0.12), (0.13, 0.20), FAILS),
    ],
)
def test_sound_mode_needs_intervals_that_lie_apart(em, ampl, verdict):
    assert sound_says(results_of(sound_cell(em, ampl)))[1] == verdict


def test_lower_everywhere_is_no_less_leakage_where_the_control_falls_as_often():
    found = results_of(*table(em=0.2, ampl=0.15))
    claim = lower_everywhere(found)
    assert claim.paper_mode.startswith("9 of 9 at T = 1 and λ_1 = 10")
    assert claim.recomputed == "27 of 27"
    assert (claim.verdict, claim.as_used) == (UNKNOWN, FAILS)
    assert "the networks fall by 5.0 points, and own, whose true ratio is 0 before and after, by 5.0" in claim.reason
    cells = [network_cell(lambda e, m: (0.1 if m == "AmPL" else 0.2, {"own": 0.2}), attacker=a) for a in ATTACKERS]
    assert lower_everywhere(results_of(*cells)).as_used == HOLDS, "here the control stays"


@pytest.mark.parametrize("make", TABLE_CLAIMS, ids=lambda make: make.__name__)
def test_no_sentence_shows_a_formula_in_place_of_its_number(make):
    for found in (NOTHING, results_of(*table(), sound_cell((0.0, 0.1), (0.0, 0.1)))):
        claim = make(found)
        text = " ".join((claim.says, claim.recomputed, claim.paper_mode, claim.controls, claim.sound, claim.reason))
        assert "{" not in text


def test_ratios_that_vanish_at_the_fitted_temperature_are_made_by_the_temperature():
    assert em_violates(results_of(*table(em=0.2))).as_used == UNKNOWN, "the temperature alone decides nothing"
    assert em_violates(results_of(*table(em=0.2), sound_cell((0.0, 0.09), (0.0, 0.01)))).as_used == UNKNOWN
    found = results_of(*table(em=0.2), sound_cell((0.0, 0.02), (0.0, 0.3)))
    claim = em_violates(found)
    assert (claim.verdict, claim.as_used) == (HOLDS, FAILS), "that size is what the estimate gives"
    assert claim.paper_mode == "20.0-20.0 % at T = 1; at most 0.00 % at the fitted T"
    assert claim.controls == "own 21.0-21.0 % at T = 1, though its true ratio is 0"
    for rows in found.table.values():
        rows[0]["rules"]["fitted"]["rate"] = 0.1
    assert em_violates(found).as_used == HOLDS
    assert em_violates(NOTHING).as_used == UNKNOWN
    assert em_violates(results_of(*table(em=0.3))).verdict == FAILS, "the printed ratios end at 21.8 %"


def test_sound_mode_says_its_largest_bounds_under_both_laws():
    made = sound_cell((0.0, 0.02), (0.0, 0.3))
    assert em_violates(results_of(made)).sound == "at most 2.0% of uniform pairs"
    for row in made.values["rows"]:
        row["anchored"] = {"mean": 0.005, "lower": 0.0, "upper": 0.03}
    said = em_violates(results_of(made)).sound
    assert said == "at most 2.0% of uniform pairs, 0.50% of pairs with the truth, at most 3.0%"


def test_sound_mode_moves_with_the_budget_only_where_its_bounds_lie_apart():
    made = sound_cell((0.0, 0.1), (0.0, 0.1))
    assert em_rises(results_of(made)).sound == NOT_RUN, "without pairs that contain the truth nothing is said"
    for row in made.values["rows"]:
        low = 0.1 * EPSILONS.index(row["epsilon"]) * (1 if row["method"] == "EM" else -1)
        row["anchored"] = {"mean": 0.5 + low, "lower": 0.45 + low, "upper": 0.55 + low}
    found = results_of(made)
    assert em_rises(found).sound == "surely rises in 1 of 1 corpora, surely falls in 0 of 1"
    assert ampl_falls(found).sound == "surely rises in 0 of 1 corpora, surely falls in 1 of 1"


def test_sound_mode_is_summed_up_over_corpora_by_its_largest_bounds():
    both = results_of(
        sound_cell((0.10, 0.12), (0.01, 0.05)), sound_cell((0.20, 0.31), (0.02, 0.30), corpus="imdb")
    )  # AmPL is surely lower on the first corpus only
    said, verdict = sound_says(both)
    assert said == "EM at most 31.0%, AmPL at most 30.0%; AmPL surely lower in 3 of 6, surely higher in 0 of 6"
    assert verdict == UNKNOWN
    assert sound_says(NOTHING) == (NOT_RUN, UNKNOWN)
    higher = results_of(sound_cell((0.10, 0.12), (0.01, 0.05)), sound_cell((0.1, 0.2), (0.3, 0.4), corpus="imdb"))
    assert sound_says(higher)[1] == FAILS


def test_drops_are_means_over_places():
    found = results_of(*table(em=0.2, ampl=0.15), *table(em=0.2, ampl=0.05, corpus="imdb"))
    assert mean_drop(found).paper_mode == "10.00 at T = 1"
    assert mean_drop(found).controls == "own 10.00, null 0"
    assert relative_drop(found).paper_mode == "50.0 % at T = 1"  # (25 + 75)/2
    assert mean_drop(found).verdict == relative_drop(found).verdict == UNKNOWN, "without fronts"


@pytest.mark.parametrize(
    ("slope", "repaired", "stated", "used"),
    [(0.04, 0.11, HOLDS, HOLDS), (0.04, 0.4, HOLDS, FAILS), (0.0, 0.4, FAILS, FAILS)],
)
def test_drops_are_judged_by_what_any_scales_reach_and_at_what_loss(slope, repaired, stated, used):
    found = results_of(*front_cells(slope=slope, repaired=repaired))
    for claim in (mean_drop(found), relative_drop(found)):
        assert (claim.verdict, claim.as_used) == (stated, used)
    assert lower_everywhere(found).verdict == (UNKNOWN if stated == HOLDS else FAILS), "three settings are not all"


def test_a_place_without_violations_has_no_relative_drop():
    found = results_of(*table(em=0.0, ampl=0.0), *table(em=0.2, ampl=0.1, corpus="imdb"))
    assert relative_drop(found).paper_mode == "50.0 % at T = 1"


def test_the_controls_of_both_methods_stand_next_to_a_relative_drop():
    found = relative_drop(results_of(*table(em=0.2, ampl=0.1)))
    assert found.controls == (
        "EM: null 5.0 %, own 21.0 %, networks 20.0 %; AmPL: null 5.0 %, own 11.0 %, networks 10.0 %"
    )


def test_the_largest_drops_are_where_the_paper_says():
    claim = largest_drops(NOTHING)
    assert claim.verdict == HOLDS
    assert claim.recomputed.startswith("10.28 points (ag_news lstm 2.6); 57.1 %")


@pytest.mark.parametrize(("only_p", "below"), [(0.05, "9 of 9"), (0.10, "0 of 9"), (0.15, "0 of 9")])
def test_methods_without_a_weight_are_counted_where_they_are_strictly_lower(only_p, below):
    claim = privacy_only(results_of(*table(ampl=0.1, only_p=only_p)))
    assert claim.paper_mode == f"below in {below} at T = 1"
    assert claim.controls == f"own below in {below}; null equal"
    assert claim.verdict == HOLDS  # the paper's statement is about its own table
    assert claim.recomputed == "below in 20, equal in 2, above in 5"


def test_the_printed_gap_of_a_method_that_must_be_em_is_what_fails_it():
    claim = utility_only(NOTHING)
    below = own_tables().u_below_em
    assert claim.verdict == FAILS
    assert f"{below:.2f} points below EM" in claim.reason
    assert 0.7 < below / own_tables().mean_drop < 0.8  # "three quarters of what AmPL gains"


def test_a_loop_that_starts_below_one_may_end_below_em():
    loops = [
        {"method": method, "start": start, "scales": [end, end], "rate": rate}
        for method, start, end, rate in (
            ("AmPL", 1.0, 1.0, 0.2),
            ("AmPL-U", 0.9, 1.0, 0.2),
            ("AmPL-U", 0.5, 0.96, 0.18),
        )
    ]
    reason = utility_only(results_of(finished("open-settings", "ag_news", {"loops": loops}))).reason
    assert reason.endswith("Started at 0.5 it ends at 0.96, 2.0 points below EM (AG News, LSTM).")
    assert reason.count("Started") == 1


def seeds(gap, many=6, own=0.01):
    """Pairs of EM and AmPL that differ by about `gap`, with controls that differ by `own`."""

    def rates(epsilon, method, k):
        return 0.2 + 0.01 * k - (gap + 0.001 * k if method == "AmPL" else 0.0)

    return [
        network_cell(lambda e, m, k=k: (rates(e, m, k), {"own": 0.2 - own * (m == "AmPL")}), attacker=attacker, seed=k)
        for k in range(many)
        for attacker in ATTACKERS
    ]


@pytest.mark.parametrize(
    ("cells", "said", "used"),
    [
        (seeds(0.05), "3 of 3", FAILS),
        (seeds(0.05, own=0.0), "3 of 3", HOLDS),
        (seeds(-0.05, own=0.0), "0 of 3", FAILS),
        (seeds(0.05, many=2), None, FAILS),
    ],
)
def test_consistently_lower_is_held_against_the_printed_spread_and_tested_in_pairs(cells, said, used):
    claim = within_noise(results_of(*cells, *front_cells()))
    assert claim.paper_mode.startswith("some scales are lower by more than one printed standard deviation in 3 of 3")
    assert claim.paper_mode.endswith(f"(paired t test, ε = 2.5) in {said}") == (said is not None)
    assert (claim.verdict, claim.as_used) == (UNKNOWN, used), "three settings are not all"
    assert within_noise(results_of(*cells, *front_cells(slope=0.0))).verdict == FAILS
    assert claim.recomputed.endswith(f"{own_tables().within_one_sd} of 27")


def test_pairs_are_of_runs_whose_networks_are_trained_from_nothing():
    cells = seeds(0.05)
    for cell in cells:
        cell.settings["tuning_epochs"] = 1
    assert "paired" not in within_noise(results_of(*cells, *front_cells())).paper_mode


def test_seeds_of_some_methods_are_pairs_and_no_part_of_the_table():
    only = network_cell(lambda epsilon, method: 0.9, seed=7)
    only.settings.update(methods=["EM", "AmPL"])
    found = results_of(*table(em=0.2), only)
    assert found.mean(("ag_news", "rnn", 2.5, "EM"), "one", "rate") == pytest.approx(20.0)
    assert found.rates(("ag_news", "rnn", 2.5, "EM")) == pytest.approx([20.0, 90.0])


def rising(step, corpus="ag_news", attacker="rnn"):
    """A network whose ratios move by `step` from one budget to the next."""
    return network_cell(lambda epsilon, method: 0.3 + step * (epsilon - 2.4), corpus, attacker)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([rising(-0.1)], ("0 of 1", "0 of 1", FAILS)),
        ([rising(0.1)], ("1 of 1", "0 of 1", HOLDS)),
        ([rising(0.0)], ("0 of 1", "0 of 1", FAILS)),
        ([rising(0.1), rising(-0.1, "imdb")], ("1 of 2", "0 of 2", FAILS)),
        ([], None),
    ],
)
def test_em_rises_where_every_step_does_and_no_temperature_that_was_chosen_decides_it(cells, said):
    claim = em_rises(results_of(*cells))
    assert claim.verdict == HOLDS, "the printed table rises"
    if said is None:
        assert (claim.paper_mode, claim.as_used) == (NOT_RUN, UNKNOWN)
        return
    one, fitted, used = said
    assert claim.paper_mode.startswith(f"rises in {one} groups at T = 1, in {fitted} at the fitted T")
    assert claim.as_used == used


def test_ampl_falls_by_the_printed_table_and_null_falls_with_the_threshold_alone():
    def made(epsilon, method):
        return 0.3 - 0.1 * (epsilon - 2.4), {"null": 0.5 - 0.1 * epsilon}

    claim = ampl_falls(results_of(network_cell(made)))
    assert claim.paper_mode == "falls in 1 of 1 groups at T = 1"
    assert claim.controls == "null falls in 1 of 1"
    assert claim.verdict == HOLDS
    assert claim.recomputed == f"falls in {own_tables().ampl_falls} of 9 groups"


def test_a_group_without_all_budgets_is_left_out():
    whole = rising(0.1)
    part = rising(0.1, "imdb")
    part.values["rows"][:] = [row for row in part.values["rows"] if row["epsilon"] != 2.5]
    assert em_rises(results_of(whole, part)).paper_mode.startswith("rises in 1 of 1 groups at T = 1")


def test_a_ratio_may_fall_at_one_temperature_and_rise_at_the_fitted_one():
    falls = rising(-0.1)
    for row in falls.values["rows"]:
        row["rules"]["fitted"] = {**row["rules"]["fitted"], "rate": 0.01 * row["epsilon"]}
    said = em_rises(results_of(falls)).paper_mode
    assert said.startswith("rises in 0 of 1 groups at T = 1, in 1 of 1 at the fitted T")


@pytest.mark.parametrize(("best", "said"), [("transformer", "3 of 3"), ("lstm", "0 of 3")])
def test_the_highest_network_is_sought_among_all_three(best, said):
    cells = [network_cell(lambda epsilon, method, a=a: 0.3 if a == best else 0.2, "amazon", a) for a in ATTACKERS]
    assert transformer_highest(results_of(*cells)).paper_mode == f"{said} at T = 1"


def test_with_two_networks_nothing_is_said_about_the_highest():
    assert transformer_highest(results_of(*table(attackers=("rnn", "transformer")))).paper_mode == NOT_RUN


def test_the_average_leakage_is_that_of_transformers_at_both_temperatures():
    def made(attacker):
        value = {"transformer": 1.2, "rnn": 9.0, "lstm": 9.0}[attacker]
        return network_cell(lambda e, m: (0.1, {"mean_mpl": value if m == "EM" else value / 3}), attacker=attacker)

    claim = average_leakage(results_of(*(made(attacker) for attacker in ATTACKERS)))
    assert claim.paper_mode == "T = 1: 1.20 → 0.40; fitted T: 0.60 → 0.20"
    assert claim.paper == "0.33 → 0.12"


def test_the_contradicting_range_is_the_printed_one():
    low, high = matched_range()
    assert average_leakage(NOTHING).recomputed.startswith(f"{low:.2f}-{high:.2f} in the table of embeddings")


def test_counts_are_said_in_words():
    assert count([]) == "0 of 0"
    assert count([True] * 27) == "27 of 27"


def test_every_claim_names_the_cells_behind_it():
    cells = table()
    claim = mean_drop(results_of(*cells))
    assert sorted(claim.files) == sorted(cell.file for cell in cells)
    assert set(CORPORA) >= {name.split("/")[1].split("-")[0] for name in claim.files}

"""The reproductions that need no corpus, each against values that are known otherwise; and the paper's numbers."""

import math

import numpy as np
import pytest
from studies.paper import non_convexity as shape
from studies.paper.paper_numbers import (
    ATTACKERS,
    CORPORA,
    EPSILONS,
    METHODS,
    VIOLATIONS,
    audit_samples,
    left_open,
    paper_labels,
    paper_table,
    paper_text,
    violation,
)
from studies.paper.printed_bounds import delta_thresholds, failure_bounds
from studies.paper.propositions import PROPOSITIONS, shared_uniform
from studies.paper.toy_values import exact_values, faithfulness, learned_values

from oddshift.base.errors import InvalidInput


def test_all_tables_are_there_with_their_labels():
    printed = {label: paper_table(label) for label in paper_labels()}
    assert {label for label, table in printed.items() if not table.commented_out} == {
        "Tb:exp:mPL",
        "Tb:recomdelta",
        "Tb:recomdelta_prob",
        "tab:matched_mismatched_leakage",
        "tab:wdbc_violation",
    }
    assert len(printed[VIOLATIONS].cells) == 135
    tokens = sum("sd" in cell for table in printed.values() for cell in table.cells)
    assert tokens == 825
    assert all(table.caption and table.unit for table in printed.values())


def test_cells_are_found_by_our_names():
    assert violation("EM", "ag_news", "rnn", 2.4) == (13.56, 0.82)
    assert violation("AmPL-1", "imdb", "transformer", 2.6) == (1.06, 1.16)
    found = [violation(m, c, a, e) for m in METHODS for c in CORPORA for a in ATTACKERS for e in EPSILONS]
    assert len(found) == 135
    with pytest.raises(InvalidInput, match="0 cells"):
        paper_table(VIOLATIONS).cell(row="AmPL-2")
    with pytest.raises(InvalidInput, match="Tb:exp:mPL"):
        paper_table("Tb:none")
    with pytest.raises(InvalidInput, match="main_claims"):
        paper_text("nothing")
    assert "temperature" in left_open()


def test_the_toy_has_its_known_values():
    found = exact_values()
    assert found["single"] == pytest.approx(0.944462, abs=1e-6)
    assert found["joint"] == pytest.approx(1.845681, abs=1e-6)
    assert found["rate"] == pytest.approx(0.592928, abs=1e-6)
    assert found["upper"]["lp"] == pytest.approx(found["joint"], abs=1e-6)
    assert min(found["upper"].values()) >= found["joint"] - 1e-9
    assert found["masked_target"] > 0.9


def test_learning_comes_nearer_to_the_exact_toy_and_stays_below_the_bound():
    rows = learned_values(0)["rows"]
    assert rows[-1]["mean_error"] < rows[0]["mean_error"]
    assert rows[-1]["joint"] == pytest.approx(1.845681, abs=0.05)
    assert all(row["mean_error"] <= row["bound"] for row in rows)


def test_a_faithful_estimate_has_no_error():
    law = np.array([[0.01, 0.49], [0.49, 0.01]])
    channel = np.array([[0.72, 0.28], [0.28, 0.72]])
    joint = np.einsum("ab,ay,bz->ayz", law, channel, channel)
    exact = faithfulness(np.log(joint[0] / joint[1]))
    assert exact["mean_error"] == pytest.approx(0.0, abs=1e-12)
    assert exact["mean_kl"] == pytest.approx(0.0, abs=1e-12)
    assert faithfulness(np.zeros((2, 2)))["mean_error"] > 0.5


@pytest.mark.parametrize("name", PROPOSITIONS)
def test_each_proposition_is_told_with_its_numbers(name):
    found = PROPOSITIONS[name](np.random.default_rng(0))
    misused = {"concentration", "faithful-audit", "masking", "tiers", "post-processing"}
    assert found["holds"] == (name != "hidden-markov")
    assert found.get("used", found["holds"]) == (found["holds"] and name not in misused)
    assert found["says"].endswith(".")


def test_counterexamples_have_their_known_values():
    merged = PROPOSITIONS["post-processing"](np.random.default_rng(1))
    assert merged["rate_before"] == pytest.approx(0.055)
    assert merged["rate_after"] == pytest.approx(0.20)
    assert merged["largest_before"] == pytest.approx(2.302585, abs=1e-6)
    assert merged["largest_after"] == pytest.approx(0.969401, abs=1e-6)
    assert shared_uniform() == 2
    assert PROPOSITIONS["repeated-release"](np.random.default_rng(0))["twice"] == pytest.approx(2 * math.log(72 / 28))
    across = PROPOSITIONS["tiers"](np.random.default_rng(0))
    assert across["inside_levels"] <= across["budget"] < across["all_pairs"]
    assert PROPOSITIONS["concentration"](np.random.default_rng(0))["error"] > 0.2
    chain = PROPOSITIONS["hidden-markov"](np.random.default_rng(0))
    assert chain["smallest_row"] < 1 < chain["largest_row"], "rows that add up to 1 would be laws"


def test_thresholds_are_the_rates_times_one_point_o_five():
    found = delta_thresholds()
    assert len(found["rows"]) == 27
    assert found["agree"] == 27


def test_printed_exponents_come_from_a_slip():
    found = failure_bounds()
    assert len(found["rows"]) == 27
    assert found["slip_explains"] == 27
    low, high = found["by_proposition_range"]
    assert (round(low), round(high)) == (539, 3669)
    assert found["rows"][0]["by_proposition"] == pytest.approx(1251.377, abs=0.01)
    assert {row["observations"] for row in found["rows"]} == {569, 497, 669}
    assert found["triples_are_whole_layouts"]
    assert found["observations_say_something"] == 0
    assert audit_samples()["AG News"] == 569 * 512 * 511 // 2


def test_the_commented_example_has_a_wrong_derivative_and_another_one_is_valid():
    found = shape.non_convexity()
    assert found["commented"]["0.1"] == pytest.approx(0.363, abs=1e-3)
    assert found["commented"]["0.5"] == pytest.approx(-0.4005, abs=1e-3)
    assert found["printed_formula"]["0.1"] == pytest.approx(-0.0113, abs=1e-4)
    assert found["mechanism_is_convex"]
    assert found["inflection"] == pytest.approx(math.log(2), abs=1e-3)
    assert found["equally_far"]["0.2"] < 0 < found["equally_far"]["1.5"]

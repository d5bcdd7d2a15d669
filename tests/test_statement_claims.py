"""Claims about certificates and propositions: told by their cells, and never decided without one."""

import numpy as np
import pytest
from studies.paper.paper_claims import FAILS, HOLDS, NOT_RUN, UNKNOWN
from studies.paper.printed_bounds import PAIRS, XI, delta_thresholds, failure_bounds
from studies.paper.propositions import PROPOSITIONS, random_channel, random_joint, shared_uniform
from studies.paper.statement_claims import STATEMENT_CLAIMS, convexity, failure, thresholds

from finished_cells import finished, results_of

NOTHING = results_of()

CHECKED = {name: PROPOSITIONS[name](np.random.default_rng(0)) for name in ("masking", "repeated-release", "tiers")}
"""Checks that cost next to nothing, as a cell would hold them."""


@pytest.mark.parametrize("make", STATEMENT_CLAIMS)
def test_a_statement_without_its_cell_cannot_be_told(make):
    claim = make(NOTHING)
    assert claim.verdict == UNKNOWN
    assert claim.recomputed == NOT_RUN
    assert claim.files == ()


def statement(key):
    """The claim that is told by one cell of `propositions`."""
    filler = {"holds": True, "says": "It is so."}
    cell = finished("propositions", key, {**filler, **CHECKED.get(key, {})})
    return [claim for claim in (make(results_of(cell)) for make in STATEMENT_CLAIMS[3:]) if claim.files]


@pytest.mark.parametrize("key", CHECKED)
def test_a_statement_is_told_by_the_cell_of_its_name_alone(key):
    (claim,) = statement(key)
    assert claim.files == (f"propositions/{key}.json",)
    assert claim.reason == CHECKED[key]["says"]
    assert claim.verdict == (HOLDS if CHECKED[key]["holds"] else FAILS)
    assert claim.paper == "stated"


def test_the_numbers_of_a_statement_are_those_of_its_cell():
    (masked,) = statement("masking")
    assert masked.recomputed == f"{CHECKED['masking']['with_a_correlated_release']:.3f} next to a correlated release"
    (twice,) = statement("repeated-release")
    once = np.log(0.72 / 0.28)
    assert twice.recomputed == f"{once:.3f} once, {2 * once:.3f} twice"


@pytest.mark.parametrize(("agree", "verdict"), [(27, HOLDS), (26, FAILS)])
def test_thresholds_hold_only_when_all_agree(agree, verdict):
    claim = thresholds(results_of(finished("delta-thresholds", "delta-thresholds", {"agree": agree, "rows": []})))
    assert claim.verdict == verdict
    assert claim.recomputed == f"{agree} of 27 agree"


@pytest.mark.parametrize(("largest", "verdict"), [(5e5, FAILS), (1e6, HOLDS), (2e6, HOLDS)])
def test_a_failure_probability_holds_when_its_exponent_is_reached(largest, verdict):
    values = {"by_proposition_range": [10.0, largest], "slip_explains": 27, "observations_say_something": 0}
    claim = failure(results_of(finished("failure-bounds", "failure-bounds", values)))
    assert claim.verdict == verdict
    assert f"k = 10 to {largest:,.0f}" in claim.recomputed
    assert claim.sound == "observations as units: a bound in 0 of 27 cells"


@pytest.mark.parametrize(("lowest", "verdict"), [(-0.01, HOLDS), (0.0, FAILS), (0.3, FAILS)])
def test_one_negative_second_derivative_shows_that_a_function_is_not_convex(lowest, verdict):
    values = {
        "printed_formula": {"0.1": -0.5}, "commented": {"0.1": 0.25}, "mechanism_is_convex": True,
        "inflection": 0.6931, "equally_far": {"0.2": lowest, "1.5": 0.4},
    }  # fmt: skip
    claim = convexity(results_of(finished("non-convexity", "non-convexity", values)))
    assert claim.verdict == verdict
    assert "its formula gives -0.5000 at .1, the function 0.250" in claim.recomputed


def test_the_exponents_follow_from_hoeffding_by_hand():
    """k = (2S(δ − p)² − ln 2)/ln 10, with p = ξδ."""
    found = failure_bounds()
    for row in found["rows"]:
        triples = row["observations"] * PAIRS
        gap = row["delta"] * (1 - XI)
        assert row["by_proposition"] == pytest.approx((2 * triples * gap**2 - np.log(2)) / np.log(10), rel=1e-9)
    assert found["by_proposition_range"] == [
        min(row["by_proposition"] for row in found["rows"]),
        max(row["by_proposition"] for row in found["rows"]),
    ]
    assert found["triples_are_whole_layouts"]


def test_thresholds_that_differ_in_the_last_digit_are_not_counted_as_equal():
    rows = delta_thresholds()["rows"]
    assert len(rows) == 27
    wrong = [row for row in rows if abs(row["printed"] - 1.05 * row["rate"]) >= 6e-5]
    assert delta_thresholds()["agree"] == 27 - len(wrong)


def test_random_channels_and_laws_are_laws():
    rng = np.random.default_rng(3)
    rows = random_channel(rng, 5, 7)
    assert rows.shape == (5, 7)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert rows.min() > 0.0
    table = np.asarray(random_joint(rng).table)
    assert table.shape == (3, 3)
    assert table.sum() == pytest.approx(1.0)
    assert table.min() > 0.0


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_one_shared_uniform_excludes_secrets_at_every_budget(epsilon):
    """Under one Z, y1 ≠ y2 tells that the secrets differ and which is which."""
    assert shared_uniform(epsilon) == 2


@pytest.mark.parametrize("name", ["single-release", "independent-secrets", "cross-entropy", "lipschitz", "tiers"])
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_proved_holds_whatever_the_random_channels(name, seed):
    assert PROPOSITIONS[name](np.random.default_rng(seed))["holds"]


def test_levels_are_protected_inside_and_not_across():
    found = CHECKED["tiers"]
    assert found["inside_levels"] <= found["budget"] + 1e-9 < found["all_pairs"]
    assert found["budget"] == pytest.approx(2.5 * 0.9)


def test_a_placeholder_alone_leaks_nothing_and_next_to_a_correlated_release_it_does():
    found = CHECKED["masking"]
    assert found["alone"] == 0.0
    agree, differ = 0.02 * 0.72 + 0.98 * 0.28, 0.02 * 0.28 + 0.98 * 0.72  # Pr[y2 = 0 | x1] for both values of x1
    assert found["with_a_correlated_release"] == pytest.approx(np.log(differ / agree), rel=1e-9)
    assert found["holds"]
    assert not found["used"]

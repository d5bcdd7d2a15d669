"""Certificates: states, wording, joint claims, the paper's own, and what is refused."""

import time
from dataclasses import replace

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.bounds import METHODS, betting_lower, betting_upper
from oddshift.evidence.certificates import (
    DEFAULT_METHOD,
    Claim,
    certify,
    certify_joint,
)


def claim(**changes):
    fields = {
        "epsilon": 1.0,
        "delta": 0.1,
        "tier": "PII",
        "pair_law": "anchored",
        "attacker": "plugin",
        "attacker_hash": "ab12",
        "with_context": True,
        "detector": "gazetteer",
    }
    return Claim(**{**fields, **changes})


def test_three_states_and_undecided_is_no_pass():
    assert certify(np.zeros(59), claim(), 0.05).state == "certified"
    undecided = certify(np.zeros(58), claim(), 0.05)
    assert undecided.state == "undecided"
    assert "not certified" in undecided.sentence
    assert "ertified:" not in undecided.sentence
    violated = certify(np.full(100, 0.5), claim(), 0.05)
    assert violated.state == "violated"
    assert violated.lower > 0.1
    assert violated.sentence.startswith("Violated")


def test_bounds_hold_the_mean_although_an_order_may_give_others():
    """Sample 105: the plug-in bettor bounds a mean of .125 by .089, which is valid, and baffles whoever reads it."""
    values = (np.random.default_rng(105).random(120) < 0.15).astype(float)
    assert METHODS["betting_plugin"].upper(values, 0.05) < values.mean()
    found = certify(values, claim(), 0.05, "betting_plugin")
    assert found.upper == found.mean == values.mean()
    assert (found.state, found.pvalue) == ("undecided", 1.0)  # the bound alone would have certified .1
    other = certify(1.0 - values, claim(), 0.05, "betting_plugin")
    assert other.lower == other.mean
    joint = certify_joint([1.0 - values], [claim()], 0.05, "betting_plugin")
    assert joint.lowers == (other.mean,)


def test_the_sentence_speaks_of_the_procedure_and_the_attacker():
    text = certify(np.zeros(100), claim(assumptions=("secrets are independent",)), 0.05).sentence
    assert "Pr[mPL > 1] <= 0.1, " in text
    assert "as estimated by attacker plugin under the anchored pair law" in text
    assert "what no detector finds is released in the clear" in text
    assert "Assumed: secrets are independent." in text
    for forbidden in ("Pr[p", "10^", "confidence that", "1 - 1"):
        assert forbidden not in text


def test_without_delta_only_the_bound_is_reported():
    result = certify(np.zeros(100), claim(delta=None), 0.05)
    assert result.state == "undecided"
    assert result.pvalue is None
    assert "No delta was stated" in result.sentence
    assert f"{result.upper:.6g}" in result.sentence


def test_a_withheld_verdict_stays_undecided_whatever_the_values():
    reason = "no attacker beats own in held-out log score"
    result = certify(np.zeros(1000), claim(withheld=reason), 0.05)
    assert result.state == "undecided"
    assert reason in result.sentence


def test_cross_tier_claims_and_subjects():
    text = certify(np.zeros(9), claim(other_tier="PoII", with_context=False), 0.05).sentence
    assert "tiers PII x PoII" in text
    assert "sensitive positions only" in text


def test_bounds_are_those_of_the_method():
    values = np.random.default_rng(0).integers(0, 3, 200) / 20
    result = certify(values, claim(), 0.01)
    assert (result.lower, result.upper) == (betting_lower(values, 0.01), betting_upper(values, 0.01))
    assert result.method == DEFAULT_METHOD == "betting"
    for method in sorted(set(METHODS) - {"clopper_pearson", "robbins"}):
        other = certify(values, claim(), 0.01, method)
        assert other.lower <= values.mean() <= other.upper
        assert (other.pvalue <= 0.01) == (other.state == "certified")


def test_design_effect_describes_clustering():
    rng = np.random.default_rng(1)
    violations = rng.binomial(20, rng.beta(0.9, 8.1, 400))
    result = certify(violations / 20, claim(), 0.05, trials=np.full(400, 20), excluded=7)
    assert result.design_effect > 2
    assert result.effective_n == pytest.approx(8000 / result.design_effect)
    assert (result.documents, result.excluded) == (400, 7)
    assert certify(violations / 20, claim(), 0.05).design_effect is None


def test_joint_claims_certify_each_part_at_full_level_and_violate_at_a_share():
    names = [claim(tier=t) for t in ("PII", "PoII", "other")]
    good = certify_joint([np.zeros(60)] * 3, names, 0.05)
    assert good.state == "certified"
    assert certify_joint([np.zeros(60), np.zeros(60), np.zeros(50)], names, 0.05).state == "undecided"
    bad = certify_joint([np.zeros(60), np.zeros(60), np.full(60, 0.5)], names, 0.05)
    assert bad.state == "violated"
    assert bad.lowers[2] == betting_lower(np.full(60, 0.5), 0.05 / 3)
    assert "Joint claim violated" in bad.sentence


def test_a_joint_violation_found_by_chance_among_many_parts_is_rare():
    rng = np.random.default_rng(3)
    names = [claim(tier=str(t), delta=0.3) for t in range(20)]
    wrong = 0
    for _ in range(60):
        values = rng.binomial(1, 0.3, (20, 150)).astype(float)
        wrong += certify_joint(list(values), names, 0.05, "clopper_pearson").state == "violated"
    assert wrong <= 8  # 20 lower bounds at full level would be wrong in about 38 of 60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: certify([0.1, 1.2], claim(), 0.05), r"values_per_document\[1\] = 1.2"),
        (lambda: certify([], claim(), 0.05), "empty"),
        (lambda: certify([0.1], claim(), 0.0), r"alpha=0.0, expected 0 < alpha < 0.5"),
        (lambda: certify([0.1], claim(), 0.05, "magic"), "method='magic', expected one of betting"),
        (lambda: certify([0.5], claim(), 0.05, "clopper_pearson"), r"values\[0\] = 0.5, expected 0 or 1"),
        (lambda: certify([0.15], claim(), 0.05, trials=[10]), r"= 1.5, expected a whole number"),
        (lambda: certify([0.1], claim(), 0.05, trials=[10, 10]), "2 trials for 1 values"),
        (lambda: certify([0.1], claim(), 0.05, excluded=-1), "excluded=-1"),
        (lambda: claim(delta=1.0), "delta=1.0, expected 0 < delta < 1"),
        (lambda: claim(epsilon=0.0), "epsilon=0.0"),
        (lambda: claim(epsilon="1"), "epsilon='1', expected a number"),
        (lambda: certify([0.1], None, 0.05), "claim is a NoneType, expected a Claim"),
        (lambda: claim(pair_law="some"), "pair_law='some', expected one of anchored"),
        (lambda: claim(attacker_hash=""), "attacker_hash=''"),
        (lambda: claim(with_context="yes"), "with_context='yes'"),
        (lambda: certify_joint([[0.1]], [], 0.05), "1 arrays of values for 0 claims"),
        (lambda: certify_joint([[0.1]], [claim(delta=None)], 0.05), "delta=None"),
    ],
)
def test_refusals_show_the_value_in_one_line(call, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_claim_is_a_value():
    assert claim() == claim()
    assert replace(claim(), tier="PoII") != claim()


@pytest.mark.parametrize("shape", ["distinct", "fractions", "rare"])
def test_a_million_documents_in_two_cpu_seconds(shape):
    rng = np.random.default_rng(2)
    values = {
        "distinct": lambda: rng.random(1_000_000) * 0.1,
        "fractions": lambda: rng.binomial(20, 0.05, 1_000_000) / 20,
        "rare": lambda: rng.beta(0.1, 5, 1_000_000),
    }[shape]()
    certify(values[:100], claim(), 0.05)
    start = time.process_time()
    result = certify(values, claim(), 0.05)
    assert time.process_time() - start < 4  # the benchmark holds it to 2; a loaded machine may be slower here
    assert result.state == "certified"


def enough(delta=0.1, alpha=0.05):
    """Zeros that just certify delta."""
    from oddshift.bounds import zero_failures

    return np.zeros(zero_failures(delta, alpha))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_certificate_is_its_method_applied_to_its_values(method):
    values = np.array([0.0, 1.0, 0.0, 0.0] * 30)
    found = certify(values, claim(delta=0.4), 0.05, method, excluded=7)
    assert found.upper == METHODS[method].upper(values, 0.05)
    assert found.lower == METHODS[method].lower(values, 0.05)
    assert found.pvalue == METHODS[method].pvalue(values, 0.4, 0.05)
    assert (found.mean, found.documents, found.excluded, found.method) == (0.25, 120, 7, method)
    assert found.state == ("certified" if found.upper <= 0.4 else "undecided")


def test_the_state_is_wrong_with_at_most_alpha_for_every_true_rate():
    """Clopper-Pearson on 20 documents: the error is summed over all counts, for δ = .2 and every rate."""
    from math import comb

    states = {
        k: certify([1.0] * k + [0.0] * (20 - k), claim(delta=0.2), 0.1, "clopper_pearson").state for k in range(21)
    }
    for rate in np.linspace(0.01, 0.99, 50):
        wrong = "certified" if rate > 0.2 else "violated"
        error = sum(comb(20, k) * rate**k * (1 - rate) ** (20 - k) for k in range(21) if states[k] == wrong)
        assert error <= 0.1


def test_a_joint_claim_needs_every_part_and_one_undecided_part_is_undecided():
    both = [enough(), enough()]
    assert certify_joint(both, [claim(), claim(tier="PoII")], 0.05).state == "certified"
    one_short = [enough(), enough()[1:]]
    found = certify_joint(one_short, [claim(), claim(tier="PoII")], 0.05)
    assert found.state == "undecided"
    assert [part.state for part in found.parts] == ["certified", "undecided"]
    assert "counts as not certified" in found.sentence


def test_a_joint_violation_takes_a_share_of_the_level():
    """A part that is violated at .05 but not at .05/10 violates nothing jointly with nine others."""
    samples = (np.array([1.0] * k + [0.0] * (60 - k)) for k in range(61))
    values = next(v for v in samples if betting_lower(v, 0.05) > 0.1)
    alone = certify(values, claim(), 0.05)
    assert alone.state == "violated"
    others = [np.zeros(60)] * 9
    found = certify_joint([values, *others], [claim()] + [claim(tier=f"t{k}") for k in range(9)], 0.05)
    assert found.lowers[0] == METHODS[DEFAULT_METHOD].lower(values, 0.005)
    assert found.lowers[0] <= 0.1 < alone.lower
    assert found.state == "undecided"


def test_a_withheld_part_neither_certifies_nor_violates_a_joint_claim():
    withheld = claim(tier="PoII", withheld="no attacker learned anything")
    good = certify_joint([enough(), enough()], [claim(), withheld], 0.05)
    assert good.state == "undecided"
    bad = certify_joint([np.zeros(400), np.ones(100)], [claim(), withheld], 0.05)
    assert bad.state == "undecided"


def test_a_joint_certificate_needs_as_many_values_trials_and_exclusions_as_claims():
    for extra in ({"trials": [None]}, {"excluded": [0]}):
        with pytest.raises(InvalidInput, match="expected one for each"):
            certify_joint([enough(), enough()], [claim(), claim(tier="b")], 0.05, **extra)


def test_the_design_effect_never_touches_a_bound():
    values = np.array([0.5, 0.0] * 60)
    plain, sized = certify(values, claim(), 0.05), certify(values, claim(), 0.05, trials=np.full(120, 2))
    assert (plain.lower, plain.upper, plain.state) == (sized.lower, sized.upper, sized.state)
    assert plain.design_effect is None
    assert plain.effective_n is None
    assert sized.effective_n == pytest.approx(240 / sized.design_effect)


def test_trials_with_rounding_in_their_fractions_are_counted_whole():
    values = np.array([1 / 3, 2 / 3, 0.0])
    assert certify(values, claim(), 0.05, trials=[3, 3, 3]).design_effect is not None


@pytest.mark.parametrize("name", ["tier", "attacker", "attacker_hash", "detector", "unit"])
@pytest.mark.parametrize("value", ["", None, 5])
def test_a_claim_names_what_it_speaks_of(name, value):
    with pytest.raises(InvalidInput, match=rf"{name}=.*, expected a name"):
        claim(**{name: value})


def test_the_sentence_says_how_many_units_had_no_position_of_the_tier():
    text = certify(np.zeros(100), claim(unit="user"), 0.05, excluded=12).sentence
    assert "100 independent" in text
    assert "12 without the tier" in text
    assert "each one-sided at level 0.05 by betting" in text


def test_what_the_attacker_saw_is_part_of_the_subject():
    assert claim(with_context=False).subject.count("sensitive positions only") == 1
    assert claim(with_context=True).subject.count("with context W") == 1
    assert "(hash abcdefabcdef)" in claim(attacker_hash="abcdefabcdef0123").subject

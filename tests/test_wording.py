"""Numbers and verdicts as people read them: every sentence says what the state is, and none says more."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.app.report.page import SECRETS_SHOWN, page_head
from oddshift.app.report.page_sections import Sources
from oddshift.app.report.wording import (
    SIGNS,
    TITLES,
    adaptation_sentence,
    interval,
    level_sentence,
    number,
    percent,
    scales_in_words,
    verdict_sentence,
    worst_in_words,
)
from oddshift.audit.verdict import counted_attackers, shown_violations
from oddshift.bounds.methods import STATES
from reports import complete, made_up_adaptation, small_audit


@pytest.fixture(scope="module")
def found():
    return small_audit()[0]


@given(st.floats(1e-6, 1e6))
@settings(max_examples=150, deadline=None)
def test_a_number_is_right_to_three_digits(value):
    assert float(number(value)) == pytest.approx(value, rel=5.1e-3)
    assert float(number(value, 5)) == pytest.approx(value, rel=5.1e-5)


@pytest.mark.parametrize(
    ("value", "said"), [(0.0, "0"), (2.0, "2"), (2.0001, "2.00"), (1234.0, "1.23e+03"), (-0.5, "-0.5"), (1e-9, "1e-09")]
)
def test_a_rounded_number_keeps_its_zeros_and_an_exact_one_drops_them(value, said):
    assert number(value) == said


@given(st.floats(0.0, 1.0))
@settings(max_examples=200, deadline=None)
def test_a_percentage_never_says_nothing_of_something_or_all_of_less(share):
    said = percent(share)
    assert said.endswith("%")
    if said.startswith(("<", ">")):
        assert 0.0 < share < 0.0001 or 0.9995 <= share < 1.0
        return
    shown = float(said[:-1])
    assert abs(shown - 100 * share) <= 0.5
    if share > 0.0:
        assert shown > 0
    if share < 1.0:
        assert shown < 100


def test_an_interval_says_both_ends_in_order():
    assert interval(0.0, 0.125) == "0% to 12%"
    assert scales_in_words(("a", "b"), (0.25, 1.0)) == "a 0.25, b 1"
    with pytest.raises(ValueError, match="zip"):
        scales_in_words(("a",), (0.25, 1.0))


def test_every_state_has_a_title_and_a_sign_of_its_own_and_what_is_proved_passes_as_what_is_certified():
    assert set(TITLES) == set(SIGNS) == {*STATES, "proved"}
    assert len(set(TITLES.values())) == len(TITLES)
    assert len({SIGNS[state] for state in STATES}) == len(STATES)
    assert SIGNS["proved"] == SIGNS["certified"]


def test_what_decides_is_under_the_law_of_the_verdict_the_worst_bound_first(found):
    mine = found.deciding_rates
    assert {c.claim.pair_law for c in mine} == {found.settings.law}
    assert {c.claim.tier for c in mine} == set(found.tier_names)
    assert not {c.claim.pair_law for c in found.further_rates} & {found.settings.law}
    assert mine[0].upper == max(c.upper for c in found.counting_rates)
    assert shown_violations(found.verdict) == shown_violations(None) == {}


def test_a_shown_violation_comes_before_a_larger_bound_and_with_what_shows_it(found):
    """The first part is shown to exceed delta at the shared level, by .06; another has a larger upper bound."""
    parts = found.verdict.parts
    last = min(parts, key=lambda part: part.upper)
    lowers = tuple(0.06 if part is last else 0.0 for part in parts)
    bad = replace(found, verdict=replace(found.verdict, lowers=lowers, state="violated"))
    assert bad.deciding_rates[0] == last
    assert bad.deciding_rates[0] != found.deciding_rates[0]
    assert worst_in_words(bad).endswith("(at least 6%)")
    assert worst_in_words(bad) in verdict_sentence(bad)


def by_two(found):
    """The same audit with a second attacker that reads W: worse in one tier, better by log score."""
    tier = found.tier_names[2]
    mine = [e for e in found.evidence if e.certificate.claim.pair_law == found.settings.law]
    more = []
    for item in mine:
        upper = 0.9 if item.certificate.claim.tier == tier else 0.01
        claim = replace(item.certificate.claim, attacker="clever+W", with_context=True)
        more.append(replace(item, certificate=replace(item.certificate, claim=claim, mean=upper / 2, upper=upper)))
    clever = replace(found.row(found.strongest), name="clever+W", with_context=True, gain=3.21, joint_gain=0.12)
    verdict = replace(found.verdict, parts=(), lowers=(), accusing=(), state="undecided")
    everyone = (*found.attackers, clever)
    return replace(found, evidence=(*found.evidence, *more), attackers=everyone, strongest="clever+W", verdict=verdict)


def test_the_worst_attacker_of_each_claim_is_named_and_the_worst_of_both_first(found):
    """The strongest by log score reads W; without W another attacker decides, and W is worst in one tier only."""
    two, tier = by_two(found), found.tier_names[2]
    without = max((c for c in found.deciding_rates), key=lambda c: c.upper)
    said = worst_in_words(two)
    first, second = said.split("; ")
    assert first == f"45% in tier {tier} by attacker clever+W (given W, at most 90%)"
    whose = f"in tier {without.claim.tier} by attacker {without.claim.attacker}"
    assert second == f"{percent(without.mean)} {whose} (without W, at most {percent(without.upper)})"
    assert len(two.deciding_rates) == 2 * len(found.tier_names)
    assert worst_in_words(found).count("attacker") == 1  # nobody reads W, so there is one claim
    assert said in verdict_sentence(two)
    assert "each attacker which learned something estimates (plugin and clever+W), under the" in level_sentence(two)


def test_a_bound_of_another_attacker_than_the_strongest_comes_first(found):
    """1.8 % by the strongest, 2.5 % by another: the second number decides."""
    two = by_two(found)
    shown = [replace(e, certificate=replace(e.certificate, upper=0.02)) for e in two.evidence[len(found.evidence) :]]
    two = replace(two, evidence=(*found.evidence, *shown))
    assert two.strongest == "clever+W"
    assert two.deciding_rates[0] == found.deciding_rates[0]
    assert worst_in_words(two).split("; ")[0].endswith(f"(without W, at most {percent(two.deciding_rates[0].upper)})")
    assert two.deciding_rates[0].upper == max(c.upper for c in two.counting_rates)


def test_a_recalibrated_attacker_has_the_row_of_the_one_it_was_made_from(found):
    assert found.row("plugin, recalibrated") is found.row("plugin")
    assert counted_attackers([replace(c, claim=replace(c.claim, attacker="plugin, recalibrated"))
                              for c in found.counting_rates]) == ("plugin",)  # fmt: skip


def with_state(found, state):
    """The audit with another state of its verdict."""
    return replace(found, verdict=replace(found.verdict, state=state))


@pytest.mark.parametrize("state", STATES)
def test_only_a_certified_audit_is_said_to_keep_its_budget_in_every_tier(found, state):
    said = verdict_sentence(with_state(found, state))
    assert ("In every tier, at most" in said) == (state == "certified")
    assert ("give too much away" in said) == (state == "violated")
    assert ("not certified" in said) == (state == "undecided")
    assert percent(found.deciding_rates[0].mean) in said


def test_without_a_delta_there_is_no_verdict_but_the_same_numbers(found):
    free = replace(found, settings=replace(found.settings, delta=None), verdict=None)
    assert worst_in_words(free) in verdict_sentence(free)
    assert "not certified" not in verdict_sentence(free)


def test_a_withheld_verdict_gives_its_reason(found):
    claims = [replace(item.certificate.claim, withheld="nobody learned") for item in found.evidence]
    certificates = [replace(i.certificate, claim=c) for i, c in zip(found.evidence, claims, strict=True)]
    evidence = [replace(i, certificate=c) for i, c in zip(found.evidence, certificates, strict=True)]
    held = replace(found, evidence=tuple(evidence))
    assert verdict_sentence(held) == "Undecided (counts as not certified): nobody learned."


def test_chosen_scales_come_with_their_largest_upper_bound():
    said = adaptation_sentence(made_up_adaptation())
    assert "PII 0.7, PoII 0.9" in said
    assert "(upper bound 4.5%)" in said
    untested = replace(made_up_adaptation(), sequence=())
    assert "upper bound" not in adaptation_sentence(untested)


def words_of(markup):
    return re.sub(r"<[^>]*>", " ", markup)


def test_the_head_of_the_page_has_a_card_for_each_part_and_says_each_note_once(found):
    audit = replace(complete(found), assumptions=("the same", "mine"), warnings=("careful",))
    adapted = replace(made_up_adaptation(), assumptions=("the same", "yours"), warnings=("careful",))
    both = page_head(Sources(name="x", audit=audit, adaptation=adapted))
    assert both.count('class="card') == 3  # what everyone reads, then a certificate for each part
    assert both.index("The release under the policy") < both.index("Certificate of the policy")
    assert both.index("Certificate of the policy") < both.index("Certificate of the mechanism as audited")
    said = words_of(both)
    assert [said.count(line) for line in ("the same", "mine", "yours", "careful")] == [1, 1, 1, 1]
    assert SECRETS_SHOWN not in said
    alone = page_head(Sources(name="x", adaptation=replace(adapted, warnings=()), has_secrets=True))
    assert alone.count('class="card') == 2
    assert SECRETS_SHOWN in words_of(alone)
    assert "Notes" not in words_of(alone)


def test_a_state_is_shown_by_sign_and_word_and_not_by_colour_alone(found):
    for state in STATES:
        card = page_head(Sources(name="x", audit=with_state(found, state)))
        assert f'class="card {state}"' in card
        assert SIGNS[state] in words_of(card)
        assert TITLES[state] in words_of(card)


def test_a_violation_is_said_even_where_no_pass_could_have_been_given(found):
    held = [
        replace(e, certificate=replace(e.certificate, claim=replace(e.certificate.claim, withheld="too few")))
        for e in found.evidence
        if e.certificate.claim.pair_law in ("uniform", "anchored", "worst")
    ]
    for state, start in (("undecided", "Undecided"), ("violated", "Read together, the releases")):
        judged = replace(found, evidence=tuple(held), verdict=replace(found.verdict, state=state))
        assert verdict_sentence(judged).startswith(start)


def test_caps_are_part_of_what_an_adaptation_found():
    adapted = made_up_adaptation()
    asked = replace(adapted.settings, success={"PII": 0.2}, advantage={"*": 0.1})
    said = adaptation_sentence(replace(adapted, settings=asked))
    assert "First guesses are right for at most 20% of PII, at most 10% more of every tier than before." in said
    assert "First guesses" not in adaptation_sentence(adapted)

"""The opening of a result: what happened to the data and what attackers guess, before any certificate."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.adapt.result import TierLeft
from oddshift.app.found_points import found_in_records, found_in_text
from oddshift.app.report.opening import (
    found_sentence,
    missed_sentence,
    opening_of_adaptation,
    opening_of_audit,
)
from oddshift.app.report.wording import number, percent
from oddshift.app.terminology import nearest_alternative
from oddshift.audit.replacement_counts import DataFate, KindFate
from oddshift.audit.result import _guesses
from oddshift.base.errors import InvalidInput
from oddshift.data.detectors import PlantedRecall
from oddshift.data.embedded import people
from oddshift.mechanisms import Channel, Exponential, Mask, Tiered
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from reports import made_up_adaptation, small_audit

PERSON = KindFate(name="PERSON", found=100, perturbed=80, marked=15, left=5, unchanged=8)
CITY = KindFate(name="GPE", found=50, perturbed=50, unchanged=2)
FATE = DataFate(kinds=(PERSON, CITY), planted=200, recalled=190, recall=(0.91, 0.97), nearest=2.0)
LEFT = (
    TierLeft(tier="PII", before=0.02, alone=0.05, together=0.11, worst=0.4, upper=0.18),
    TierLeft(tier="PoII", before=0.03, alone=0.06, together=0.12, worst=0.0, upper=0.15),
)


@pytest.fixture(scope="module")
def found():
    return replace(small_audit()[0], fate=FATE, detector="patterns")


def test_counts_add_up_and_say_what_came_out_unchanged():
    assert FATE.total == KindFate(name="all", found=150, perturbed=130, marked=15, left=5, unchanged=10)
    said = found_sentence(FATE)
    assert "Of 150 sensitive words that were found, 130 are perturbed (10 of them, 7.7%, come out unchanged)" in said
    assert "15 replaced by a mark, 5 function words that are left" in said
    assert "mark" not in found_sentence(DataFate(kinds=(CITY,)))


def test_the_share_that_is_missed_is_an_interval_or_said_to_be_unknown():
    said = missed_sentence(FATE)
    assert "Of 200 public names put into these texts, 190 were found" in said
    assert "between 3% and 9% of such names are missed" in said
    assert "was not measured" in missed_sentence(DataFate(kinds=(CITY,)))


def test_words_that_become_marks_enter_the_cost_as_a_constant_output():
    made = replace(made_up_adaptation(), left=LEFT)
    loss = made.choice("AmPL, remapped" if made.remapped else "AmPL").loss
    assert "marks" not in opening_of_adaptation(made).headline
    marked = replace(made, fate=FATE)
    whole = (130 * loss + 15 * made.constant_loss) / 145
    assert marked.loss_with_marks(loss) == pytest.approx(whole)
    said = f"and {number(whole)} when the {percent(15 / 145)} of words that become marks count as one constant output"
    assert said in opening_of_adaptation(marked).headline
    assert made.loss_with_marks(loss) == loss == replace(made, fate=DataFate(kinds=(CITY,))).loss_with_marks(loss)


def test_a_budget_is_said_in_odds():
    assert FATE.odds(0.5) == pytest.approx(np.e)
    assert DataFate(kinds=()).odds(0.5) is None
    assert DataFate(kinds=(), nearest=1e9).odds(1e9) == pytest.approx(np.exp(700.0))  # never an overflow


def test_an_audit_opens_with_the_data_then_guesses_then_the_budget(found):
    opened = opening_of_audit(found)
    assert [row[0] for row in opened.fate_rows] == ["PERSON", "GPE", "all"]
    assert opened.fate_rows[0] == ("PERSON", "100", "80", "8 (10%)", "15", "5")
    assert [row[0] for row in opened.guess_rows] == list(found.tier_names)
    first = found.guesses[0]
    assert opened.guessed[0].together == first.together.mean
    assert opened.guessed[0].most == first.together.upper
    lines = list(opened.lines())
    assert lines[:2] == [found_sentence(FATE), missed_sentence(FATE)]
    assert "multiply the odds" in lines[2]
    assert "where that is largest" not in lines[2]
    given = opening_of_audit(replace(found, detector="none (columns a, b)"))
    assert ", in the tier where that is largest) by at most" in given.meaning


@pytest.mark.parametrize(
    ("state", "start"),
    [("certified", "Protected as asked"), ("violated", "Not protected"), ("undecided", "Not settled, which is not")],
)
def test_the_headline_of_an_audit_never_passes_an_undecided_one(found, state, start):
    said = opening_of_audit(replace(found, verdict=replace(found.verdict, state=state))).headline
    assert said.startswith(start)
    assert ("at most" in said) == (state == "certified")  # a bound is claimed only where it is certified


def test_secrets_that_were_given_cannot_have_been_missed(found):
    given = opening_of_audit(replace(found, detector="none (columns age)"))
    assert given.happened == (found_sentence(FATE),)
    assert opening_of_audit(replace(found, fate=None)).happened == ()


def test_an_adaptation_opens_with_what_its_policy_does_and_costs():
    adapted = replace(made_up_adaptation(), left=LEFT, fate=FATE)
    said = opening_of_adaptation(adapted).headline
    assert "guesses at most 18% of the PII words at the first attempt (2% before any release)" in said
    assert "the cost is an expected loss of " in said
    alone = replace(adapted, left=tuple(replace(row, tier="all") for row in LEFT))
    assert "guesses at most 18% of all words at the first attempt" in opening_of_adaptation(alone).headline
    assert said.startswith("Certified: under this policy")
    proposed = opening_of_adaptation(replace(adapted, chosen=None, proposed=adapted.chosen)).headline
    assert proposed.startswith("Measured only")
    assert "at most" not in proposed
    nothing = opening_of_adaptation(replace(adapted, chosen=None, left=()))
    assert "nothing is released" in nothing.headline


def test_found_points_count_what_a_mechanism_leaves_unchanged():
    corpus = people(60)
    found = found_in_text(corpus.encoded, PlantedRecall(found=9, planted=10))
    rng = np.random.default_rng(0)
    identity = Channel(corpus.space, np.where(np.eye(len(corpus.space)) > 0, 0.0, -np.inf))
    same = found.fate(identity, rng)
    assert same.total.unchanged == same.total.perturbed == len(corpus.records.points)
    assert {kind.name for kind in same.kinds} == set(corpus.tiers.names)
    assert [kind.found for kind in same.kinds] == sorted((kind.found for kind in same.kinds), reverse=True)
    assert (same.recalled, same.planted) == (9, 10)
    assert found.fate(Mask(corpus.space), rng).total.unchanged == 0
    noisy = found.fate(Tiered(corpus.space, corpus.tiers, 0.5, keeps_tier=True), rng)
    assert noisy.total.unchanged < same.total.unchanged / 4
    assert found.fate(Exponential(corpus.space, 1.0, Space(corpus.space.points[:2])), rng) is None
    assert "secrets with a point" in repr(found)


def test_records_count_by_tier():
    corpus = people(60)
    split = corpus.records.split(rng=np.random.default_rng(0))
    fate = found_in_records(split, corpus.tiers).fate(Mask(corpus.space), np.random.default_rng(0))
    assert fate.total.found == len(corpus.records.points)
    farthest = nearest_alternative(corpus.space, corpus.tiers, np.random.default_rng(0), every_tier=True)
    assert fate.nearest == pytest.approx(farthest)


def test_the_nearest_alternative_is_of_the_same_tier():
    line = Space([[0.0], [1.0], [5.0], [9.0]])
    assert nearest_alternative(line, one_tier(line), np.random.default_rng(0)) == pytest.approx(2.5)
    with pytest.raises(InvalidInput, match="two distinct values"):
        nearest_alternative(Space([[0.0]]), one_tier(Space([[0.0]])), np.random.default_rng(0))


def test_the_best_guesser_is_named_where_few_units_leave_every_bound_at_1():
    shares = {"null": 0.02, "own": 0.19, "portfolio": 0.71, "other": 0.3}
    rows = [SimpleNamespace(claim=SimpleNamespace(attacker=a), upper=1.0, mean=m) for a, m in shares.items()]
    found = _guesses("all", rows)
    assert (found.before.mean, found.alone.mean, found.together.mean) == (0.02, 0.19, 0.71)

"""The first screen of a result: three answers, and the numbers behind them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.adapt.result import TierLeft, TierRelease
from oddshift.app.report.first_screen import (
    QUESTIONS,
    screen_of_adaptation,
    screen_of_audit,
)
from oddshift.app.report.wording import found_sentence, missed_sentence, percent
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.audit.result import _guesses
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.coverage import found_in_records, nearest_alternative
from oddshift.data.detectors import PlantedRecall
from oddshift.data.embedded import people
from oddshift.mechanisms import Channel, Exponential, Mask, Tiered
from oddshift.model.nouns import NOUNS
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
    said = found_sentence(FATE, NOUNS["text"])
    assert all(part in said for part in ("150 sensitive words", "130", "10 of them, 7.7%", "15 become", "5 are"))
    assert "mark" not in found_sentence(DataFate(kinds=(CITY,)), NOUNS["text"])
    assert "50 sensitive values" in found_sentence(DataFate(kinds=(CITY,)), NOUNS["table"])


def test_the_share_that_is_missed_is_an_interval_or_said_to_be_unknown():
    said = missed_sentence(FATE)
    assert all(part in said for part in ("190 of 200", "3%", "9%"))
    assert "not measured" in missed_sentence(DataFate(kinds=(CITY,)))


def test_what_is_kept_is_measured_against_one_constant_of_each_kind():
    made = replace(made_up_adaptation(), left=LEFT, loss=0.2, constant_loss=0.4)
    assert made.kept == pytest.approx(0.5)
    marked = replace(made, fate=FATE)  # of 145 words that change, 15 have no point and become a mark
    assert marked.kept == pytest.approx(0.5 * 130 / 145)
    assert percent(marked.kept) in screen_of_adaptation(marked).worth[0]
    only_marks = KindFate(name="ORG", found=145, perturbed=0, marked=145)  # a kind that is released as marks
    assert replace(made, fate=DataFate(kinds=(PERSON, CITY, only_marks))).kept == pytest.approx(0.5 * 275 / 290)
    worthless = screen_of_adaptation(replace(made, constant_loss=0.1)).worth[0]
    assert "marks" in worthless
    assert "%" not in worthless


def test_a_budget_is_said_in_odds():
    assert FATE.odds(0.5) == pytest.approx(np.e)
    assert DataFate(kinds=()).odds(0.5) is None
    assert DataFate(kinds=(), nearest=1e9).odds(1e9) == pytest.approx(np.exp(700.0))  # never an overflow


def test_an_audit_answers_three_questions_with_the_numbers_behind_them(found):
    screen = screen_of_audit(found)
    assert [question for question, _ in screen.answers] == list(QUESTIONS)
    assert [row[0] for row in screen.fate_rows] == ["PERSON", "GPE", "all"]
    assert screen.fate_rows[0] == ("PERSON", "100", "80", "8 (10%)", "15", "5")
    assert [row[0] for row in screen.guess_rows] == list(found.tier_names)
    assert {len(row) for row in screen.guess_rows} == {len(screen.guess_head)}
    first = found.guesses[0]
    assert screen.guessed[0].together == first.together.mean
    assert screen.guessed[0].most == first.together.upper
    assert screen.guessed[0].before == first.before.mean
    assert screen.learned[1:3] == (found_sentence(FATE, NOUNS["text"]), missed_sentence(FATE))
    assert "where that is largest" not in " ".join(screen.basis)
    given = screen_of_audit(replace(found, detector="none (columns a, b)"))
    assert "where that is largest" in " ".join(given.basis)
    assert missed_sentence(FATE) not in given.learned  # secrets that were given cannot have been missed


@pytest.mark.parametrize(("state", "start"), [("certified", "Yes"), ("violated", "Not yet"), ("undecided", "Not yet")])
def test_only_a_certificate_says_yes(found, state, start):
    low = replace(found, verdict=replace(found.verdict, state=state), evidence=unguessed(found))
    screen = screen_of_audit(low)
    assert (screen.state, screen.publish.split(",")[0]) == (state, start)


@pytest.mark.parametrize("show", [screen_of_audit, lambda audit: screen_of_adaptation(made_up_adaptation())])
def test_the_first_screen_has_no_word_that_one_has_to_look_up(found, show):
    for state in ("certified", "violated", "undecided"):
        said = "\n".join(show(replace(found, verdict=replace(found.verdict, state=state))).lines())
        for word in ("loss", "mPL", "recalibrated", "portfolio", "vacuous", "claimed", "anchored", "nats", "tier"):
            assert word not in said


def test_what_is_guessed_is_drawn_by_what_a_reader_sees():
    made = replace(made_up_adaptation(), left=LEFT, fate=FATE, loss=0.2)
    assert [share for _, share in screen_of_adaptation(made).steps] == [0.02, 0.05, 0.11]  # the largest upper bound
    public = screen_of_adaptation(replace(made, left=(replace(LEFT[0], public=0.3), LEFT[1])))
    assert [share for _, share in public.steps] == [0.02, 0.3, 0.05, 0.11]
    bars = [line for line in public.lines() if "█" in line]
    assert [line.count("█") for line in bars[:4]] == [1, 9, 2, 3]
    assert bars[4].count("█") + bars[4].count("·") == 30


def test_noise_is_no_advice_where_the_public_words_say_most():
    made = replace(made_up_adaptation(), fate=FATE, left=(replace(LEFT[0], public=0.75, together=0.8, upper=0.85),))
    assert "have more of them marked" in screen_of_adaptation(made).publish
    made = replace(made, left=(replace(LEFT[0], public=0.1, together=0.8, upper=0.85),))
    assert "smaller epsilon" in screen_of_adaptation(made).publish


def unguessed(found):
    """The evidence of an audit after which nobody guesses anything."""
    return tuple(
        replace(e, certificate=replace(e.certificate, mean=0.0, lower=0.0, upper=0.1))
        if e.certificate.claim.pair_law == "success"
        else e
        for e in found.evidence
    )


def test_no_certificate_saves_a_release_that_can_be_read():
    made = replace(made_up_adaptation(), left=LEFT, fate=FATE)
    assert screen_of_adaptation(made).publish.startswith("Yes, certified at 95%")
    read = replace(made, left=(LEFT[0], replace(LEFT[1], together=0.82, upper=0.85)))
    screen = screen_of_adaptation(read)
    assert screen.state == "undecided"
    assert screen.publish.startswith("Not yet")
    assert "82% of the PoII words" in screen.publish
    common = replace(made, left=(LEFT[0], replace(LEFT[1], before=0.8, together=0.82)))
    assert screen_of_adaptation(common).state == "certified"  # nobody needs the release for that
    most = replace(made, left=(LEFT[0], replace(LEFT[1], before=0.6, together=0.85)))
    assert 'advantage = {"PoII" = 0.10}' in screen_of_adaptation(most).publish  # a cap below 60% cannot be kept


def test_a_tier_that_nearly_all_guess_anyway_is_not_the_worst():
    known = replace(LEFT[1], tier="CITY", before=0.99, alone=0.99, together=0.99, upper=None)
    assert screen_of_adaptation(replace(made_up_adaptation(), left=(*LEFT, known))).worst.tier == "PII"
    assert screen_of_adaptation(replace(made_up_adaptation(), left=(known,))).worst.tier == "CITY"


def test_what_is_proved_says_what_is_guessed_without_it():
    """Marks say nothing, and what stands beside them may still give most of the words away."""
    tiers = tuple(TierRelease(tier=row.tier, form="mark", losses={}, units=90, needed=63) for row in LEFT)
    beside = tuple(replace(row, public=0.2, alone=row.before, together=0.2, upper=None, worst=0.0) for row in LEFT)
    made = replace(made_up_adaptation(), tiers=tiers, proof="marks say nothing", left=beside, fate=FATE)
    screen = screen_of_adaptation(made)
    assert screen.publish.startswith("Yes, proved")
    assert "20%" in screen.learned[0]
    assert screen_of_adaptation(replace(made, left=())).steps == ()
    told = replace(made, left=(beside[0], replace(beside[1], public=0.82, together=0.82)))
    assert screen_of_adaptation(told).publish.startswith("Not yet")


def test_guesses_from_the_public_words_alone_are_a_column_of_their_own():
    made = replace(made_up_adaptation(), left=LEFT)
    screen = screen_of_adaptation(replace(made, left=(replace(LEFT[0], public=0.3), LEFT[1])))
    place = screen.guess_head.index("the public words alone")
    assert [row[place] for row in screen.guess_rows] == ["30%", "-"]
    assert [row[1] for row in screen.guess_rows] == ["2%", "3%"]  # before any release stays what it was


def test_marks_of_a_made_up_kind_are_counted_as_names():
    person = TierRelease(tier="PERSON", form="surrogate", losses={}, units=9, needed=63)
    screen = screen_of_adaptation(replace(made_up_adaptation(), fate=FATE, tiers=(person,)))
    assert screen.fate.kinds[0] == replace(PERSON, perturbed=95, marked=0)
    assert screen.fate.kinds[1] == CITY


def test_tiers_without_noise_are_named_with_the_reason_next_to_those_that_have_it():
    losses = {"noise": 0.31, "mark": 0.3, "surrogate": 0.4}
    rows = [("PERSON", "mark", {}), ("ORG", "mark", {"is_named": True}), ("GPE", "noise", {}), ("CARD", "mark", {})]
    tiers = tuple(TierRelease(tier=name, form=form, losses=losses, units=90, needed=63, **more)
                  for name, form, more in rows)  # fmt: skip
    made = replace(made_up_adaptation(), tiers=tiers)
    said = [line for line in screen_of_adaptation(made).worth if "PERSON" in line]
    assert len(said) == 1
    assert all(part in said[0] for part in ("PERSON, CARD", "marks", "noise"))
    assert "ORG" not in said[0]  # as asked
    table = screen_of_adaptation(replace(made, detector="none (columns PERSON, ORG, GPE, CARD)")).worth
    assert any("PERSON, CARD are empty" in line for line in table)
    cheap = replace(tiers[0], losses={**losses, "noise": 0.2})
    assert "0.3" not in cheap.why  # noise would pay, and none keeps the goals
    nowhere = replace(made, tiers=tuple(row for row in tiers if row.form == "mark"))
    assert not any("PERSON" in line for line in screen_of_adaptation(nowhere).worth)


def test_an_adaptation_names_its_worst_tier_and_its_kind_of_guarantee():
    made = replace(made_up_adaptation(), left=LEFT, fate=FATE)
    assert all(part in screen_of_adaptation(made).learned[0] for part in ("11%", "at most 18%", "PII"))
    alone = replace(made, left=tuple(replace(row, tier="all") for row in LEFT))
    assert "all words" in screen_of_adaptation(alone).learned[0]
    proposed = screen_of_adaptation(replace(made, chosen=None, proposed=made.chosen))
    assert proposed.state == "undecided"
    assert "measured only" in proposed.publish
    assert "at most" not in proposed.learned[0]  # a bound is claimed only where it is certified
    nothing = screen_of_adaptation(replace(made, chosen=None, left=()))
    assert "no policy" in nothing.publish


def test_found_points_count_what_a_mechanism_leaves_unchanged():
    corpus = people(60)
    found = replace(
        corpus.codec.found_points(corpus.encoded, corpus.records.split(rng=np.random.default_rng(0))),
        recall=PlantedRecall(found=9, planted=10),
    )
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

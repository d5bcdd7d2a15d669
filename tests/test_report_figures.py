"""Figures of the report: what each says and where it draws it, for values at their edges and for made-up audits."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.app.report.bars import attacker_rates, belief_update, subgroup_rates
from oddshift.app.report.figures import frontier, histogram, learning_curve, loop_rounds, reliability
from oddshift.app.report.markup import NARROW, WIDE
from oddshift.app.report.numbers import largest_known
from oddshift.app.report.wording import number, percent
from oddshift.attackers.training import Curve
from oddshift.audit.beliefs import Belief, Candidate
from oddshift.audit.calibration import Bin, Calibration
from oddshift.audit.result import AttackerResult, PairSplit, SubgroupRate, TierRates
from oddshift.audit.scan import BINS, HISTOGRAM_SPAN
from oddshift.audit.settings import AuditSettings
from reports import TIERS, made_up_adaptation, point

EDGE = round(BINS / HISTOGRAM_SPAN)


def numbers_of(drawn):
    """All coordinates of a drawing."""
    places = re.findall(r' (?:x|y|x1|x2|y1|y2|cx|cy|r|width|height)="([^"]*)"', drawn)
    places += [part for points in re.findall(r' points="([^"]*)"', drawn) for part in re.split(r"[ ,]", points) if part]
    return [float(place) for place in places]


def tier_rates(tier, anchored, uniform=0.01, split=None):
    return TierRates(
        tier=tier, documents=100, positions=300, uniform=uniform, anchored=anchored, diagnostic=0.0, worst=None,
        worst_documents=0, top1=0.5, before=0.0, mean=0.3, pair_split=split,
    )  # fmt: skip


def attacker_row(name, rates, *, learned=True, largest=2.0, counts=None, split=None):
    """One attacker with an anchored rate for every tier, and a histogram of its pairs."""
    histogram_counts = np.zeros((2, len(TIERS), BINS + 1)) if counts is None else counts
    tiers = tuple(tier_rates(tier, rate, split=split) for tier, rate in zip(TIERS, rates, strict=True))
    return AttackerResult(
        name=name, with_context=False, log_score=1.0, gain=0.1, gain_error=0.01, joint_gain=0.1,
        joint_gain_error=0.01, learned=learned, largest=largest, tiers=tiers,
        histogram=histogram_counts, curve=Curve(),
    )  # fmt: skip


def certificate(tier, lower, upper, law="anchored", attacker="counts"):
    claim = SimpleNamespace(tier=tier, pair_law=law, attacker=attacker)
    return SimpleNamespace(claim=claim, lower=lower, upper=upper, mean=(lower + upper) / 2)


BOUNDS = (certificate("PII", 0.08, 0.17), certificate("PoII", 0.2, 0.4))


def made_audit(*rows, strongest="counts", counting=BOUNDS, further=(), **other):
    """The part of an audit that figures read."""
    by_name = {row.name: row for row in rows}
    given = {
        "settings": AuditSettings(epsilon=1.5, delta=0.05), "tier_names": TIERS, "attackers": rows,
        "strongest": strongest, "counting_rates": counting, "further_rates": further, "counted": (strongest,),
        "row": by_name.__getitem__, "exact_epsilon": 1.2,
        "witness": None, "witness_needs": "", "upper_bound": None, "upper_basis": "", "subgroups": (),
    }  # fmt: skip
    return SimpleNamespace(**{**given, **other})


NULL, OWN = attacker_row("null", (0.0, 0.0)), attacker_row("own", (0.0, 0.0))
COUNTS, IDLE = attacker_row("counts", (0.12, 0.3)), attacker_row("idle", (0.2, 0.2), learned=False)
OTHER = attacker_row("other", (0.11, 0.1))


def test_each_attacker_has_the_shape_of_what_it_is():
    drawn = attacker_rates(made_audit(NULL, OWN, COUNTS, OTHER, IDLE)).draw(WIDE, "x")
    assert drawn.count('class="hollow"') == 2 * len(TIERS)  # null and own, square
    assert drawn.count('class="solid cross"') == len(TIERS)  # idle
    assert len(re.findall(r'<circle[^>]*class="solid"', drawn)) == len(TIERS)  # other
    assert len(re.findall(r'<polygon[^>]*class="bad"', drawn)) == len(TIERS)  # counts, the worst bound


def test_those_that_count_have_certified_bounds_and_the_others_bounds_on_their_mean():
    other = [certificate("PII", 0.9, 1.0, "uniform")]
    rows = {row[0]: row for row in attacker_rates(made_audit(OWN, COUNTS, OTHER, further=other)).rows}
    assert rows["PII: counts (worst bound)"][2] == "8% to 17%"
    assert rows["PoII: counts (worst bound)"][2] == "20% to 40%"
    low, high = (float(end.rstrip("%")) for end in rows["PII: other (attacker)"][2].split(" to "))
    assert low < 11.0 < high


def test_the_worst_bound_may_be_that_of_an_attacker_with_a_weaker_score_or_of_a_recalibrated_one():
    calmer = certificate("PoII", 0.3, 0.5, attacker="other, recalibrated")
    counting = (*BOUNDS, calmer, certificate("PII", 0.1, 0.2, attacker="other"))
    found = attacker_rates(made_audit(OWN, COUNTS, OTHER, counting=counting))
    rows = {row[0]: row for row in found.rows}
    assert rows["PII: other (worst bound)"][2] == "10% to 20%"
    assert rows["PII: counts (attacker)"][2] == "8% to 17%"
    assert rows["PoII: other, recalibrated (worst bound)"][1:4] == ["40%", "30% to 50%", "-"]
    assert "PII 11% (10% to 20%) by other; PoII 40% (30% to 50%) by other, recalibrated." in found.says


def test_the_law_of_the_verdict_decides_which_rate_is_shown():
    uniform = AuditSettings(epsilon=1.5, delta=0.05, law="uniform")
    rows = attacker_rates(made_audit(OWN, COUNTS, settings=uniform)).rows
    assert {row[1] for row in rows} == {"1%"}
    worst = AuditSettings(epsilon=1.5, delta=0.05, law="worst")
    assert attacker_rates(made_audit(OWN, COUNTS, settings=worst)).rows[1][1] == "12%"


def test_pairs_across_tiers_are_a_dash_where_tiers_are_public():
    split = PairSplit(anchored_within=0.1, anchored_across=0.25, uniform_within=0.3, uniform_across=0.75)
    secret = attacker_row("counts", (0.12, 0.3), split=split)
    rows = attacker_rates(made_audit(OWN, secret)).rows
    assert [row[4] for row in rows[:2]] == ["-", "25%"]
    uniform = AuditSettings(epsilon=1.5, delta=0.05, law="uniform")
    assert attacker_rates(made_audit(OWN, secret, settings=uniform)).rows[1][4] == "75%"


def test_what_one_release_gives_away_is_said_next_to_the_strongest():
    says = attacker_rates(made_audit(attacker_row("own", (0.0, 0.02)), COUNTS)).says
    assert says.endswith("From one release alone the share is 2%.")
    assert "PII 12% (8% to 17%) by counts" in says


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("rate", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize("delta", [None, 0.05])
def test_rates_at_their_ends_stay_inside_the_drawing(width, rate, delta):
    rows = (OWN, attacker_row("counts", (rate, rate)))
    settings = AuditSettings(epsilon=1.5, delta=delta)
    drawn = attacker_rates(made_audit(*rows, settings=settings)).draw(width, "x")
    assert all(math.isfinite(place) for place in numbers_of(drawn))
    across = [float(x) for x in re.findall(r' cx="([^"]*)"', drawn)]
    assert all(0 <= x <= width for x in across)
    assert ("δ = " in drawn) == (delta is not None)


def counted(beyond, within):
    """A histogram with some pairs within ε and some beyond, the same in every tier and law."""
    counts = np.zeros((2, len(TIERS), BINS + 1))
    counts[..., 0], counts[..., EDGE] = within, beyond
    return counts


def test_the_table_of_a_histogram_adds_up_to_all_pairs():
    row = attacker_row("counts", (0.25, 0.25), counts=counted(beyond=25, within=75))
    own = attacker_row("own", (0.0, 0.0), counts=counted(beyond=0, within=10))
    figure = histogram(made_audit(own, row))
    columns = list(zip(*(line[1:] for line in figure.rows[:-1]), strict=True))
    for column in columns:
        assert sum(float(cell.rstrip("%")) for cell in column) == pytest.approx(100.0)
    assert figure.rows[0] == ["0 to 0.375", "75%", "100%", "75%", "100%"]
    beyond = next(line for line in figure.rows if line[0].startswith("1.5 to"))
    assert beyond[1:] == ["25%", "0%", "25%", "0%"]


def test_a_histogram_without_pairs_is_drawn_too():
    drawn = histogram(made_audit(OWN, COUNTS)).draw(NARROW, "x")
    assert all(math.isfinite(place) for place in numbers_of(drawn))


def test_what_is_known_of_the_largest_leakage_comes_with_how_or_with_why_not():
    shown = SimpleNamespace(game="two_arm", lower_bound=1.75)
    audit = made_audit(OWN, COUNTS, witness=shown, upper_bound=math.inf, upper_basis="under a chain")
    known = dict(largest_known(audit))
    assert known["one release alone"].startswith("1.2, ")
    assert known["witnessed"].startswith("at least 1.75, ")
    assert known["estimated"] == "2, by attacker counts"
    assert known["proven"] == "at most ∞, under a chain"
    bare = dict(largest_known(made_audit(OWN, COUNTS, witness_needs="needs 900 guesses, has 12")))
    assert bare["witnessed"] == "none: needs 900 guesses, has 12"
    assert bare["proven"].startswith("none: ")


def test_subgroups_name_the_one_that_is_affected_most():
    groups = (SubgroupRate("PII", "a", 40, 0.1, 0.05, 0.2), SubgroupRate("PoII", "b", 60, 0.3, 0.2, 0.45))
    figure = subgroup_rates(made_audit(OWN, COUNTS, subgroups=groups))
    assert "most affected subgroup is b in tier PoII, with a rate of 30% (20% to 45%)" in figure.says
    assert figure.rows[1] == ["PoII: b", "30%", "20% to 45%", "60"]
    drawn = figure.draw(WIDE, "x")
    assert drawn.index(">PII<") < drawn.index(">a<") < drawn.index(">PoII<") < drawn.index(">b<")
    places = [float(x) for x in re.findall(r'<circle cx="([^"]*)"', drawn)]
    assert places == sorted(places)
    assert places[0] < places[1]


def calibrated(temperature, bins=((10, 0.5, 0.4), (30, 0.9, 0.9))):
    return Calibration(
        attacker="counts", documents=20, positions=sum(b[0] for b in bins), log_score=1.0, prior_score=3.0,
        own_score=2.0, temperature=temperature, reliability=tuple(Bin(*b) for b in bins),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("temperature", "lean"),
    [
        (1.0, "about as sure as it should be"),
        (1.04, "about as sure as it should be"),
        (0.96, "about as sure as it should be"),
        (1.2, "surer than it should be"),
        (0.5, "less sure than it could be"),
    ],
)
def test_the_temperature_says_which_way_an_attacker_leans(temperature, lean):
    figure = reliability(calibrated(temperature))
    assert f"counts is {lean}: " in figure.says
    assert "differ by 2.5% on average" in figure.says  # (10·.1 + 30·0)/40
    assert figure.rows == [["50%", "40%", "10"], ["90%", "90%", "30"]]


def network(train, validation):
    return replace(attacker_row("lstm", (0.1, 0.1)), curve=Curve(train=train, validation=validation))


def test_a_learning_curve_starts_untrained_and_ends_at_the_best_epoch():
    figure = learning_curve(network((3.0, 2.0, 1.5), (4.0, 3.0, 2.5, 2.75)))
    assert figure.says == "3 epochs; validation loss from 4 untrained to 2.5 after epoch 2, whose state was used."
    rows = [(name, float(epoch), float(loss)) for name, epoch, loss in figure.rows]
    assert rows[:4] == [("validation", k, loss) for k, loss in enumerate((4.0, 3.0, 2.5, 2.75))]
    assert rows[4:] == [("training", k, loss) for k, loss in enumerate((3.0, 2.0, 1.5), 1)]


@pytest.mark.parametrize(("train", "validation"), [((), (1.0,)), ((2.0,), (2.0, 2.0))])
def test_a_network_that_learned_nothing_is_drawn_too(train, validation):
    figure = learning_curve(network(train, validation))
    assert "after epoch 0" in figure.says
    assert all(math.isfinite(place) for place in numbers_of(figure.draw(NARROW, "x")))


def believed(leakage, truth=0, other=1):
    rows = (Candidate(name="w1", prior=0.25, alone=0.4, together=0.9),
            Candidate(name="w2", prior=0.5, alone=0.3, together=0.05))  # fmt: skip
    return Belief(attacker="counts", tier="PII", documents=5, positions=20, candidates=rows, remaining=3, truth=truth,
                  other=other, leakage=leakage, distance=0.5)  # fmt: skip


@pytest.mark.parametrize(
    ("leakage", "said"), [(1.5, "within"), (1.51, "beyond"), (0.0, "within"), (math.inf, "beyond")]
)
def test_a_belief_says_whether_its_worst_pair_exceeds_the_budget(leakage, said):
    figure = belief_update(believed(leakage), 1.5)
    assert f"mPL is {number(leakage)} at distance 0.5, which is {said} ε = 1.5." in figure.says


def test_a_belief_moves_from_prior_to_its_own_release_to_all():
    figure = belief_update(believed(1.0, truth=1, other=0), 1.5)
    assert "the true value, w2, is 50% before any release, 30% after its own release, and 5% after all" in figure.says
    assert [row[0] for row in figure.rows] == ["w1", "w2 (the truth)"]
    assert "3 less likely candidates are not shown" in figure.key
    widths = [
        float(w) for w in re.findall(r'<rect[^>]* width="([^"]*)"[^>]*class="(?:bad|quiet)"', figure.draw(WIDE, "x"))
    ]
    legend, first, second = widths
    assert legend == 22.0
    assert first / second == pytest.approx(0.9 / 0.05, rel=1e-2)


def test_rounds_tell_the_way_of_every_scale():
    found = made_up_adaptation()
    figure = loop_rounds(found)
    assert "4 rounds moved the scales: PII 1 to 0.7, PoII 1 to 0.9." in figure.says
    assert "from 1 to 0.7" in figure.says
    assert [figure.rows[3], figure.rows[-1]] == [["PII", "3", "0.7"], ["PoII", "3", "0.9"]]


def test_scales_above_one_stay_in_the_picture():
    found = made_up_adaptation()
    beyond = replace(found, rounds=(*found.rounds, replace(found.rounds[-1], number=4, outcome=point((1.5, 2.0)))))
    circles = re.findall(r'<circle[^>]*cy="([^"]*)"', loop_rounds(beyond).draw(WIDE, "x"))
    assert all(30.0 <= float(y) <= 230.0 for y in circles)


def test_the_frontier_names_each_choice_with_its_rate_and_loss():
    found = made_up_adaptation()
    says = frontier(found).says
    em, chosen, alike = (found.choice(f"{name}, remapped") for name in ("EM", "AmPL", "uniform"))
    for outcome in (em, chosen, alike):
        assert f"{percent(outcome.rate)} of pairs at a loss of {number(outcome.loss)}" in says
    assert says.endswith("The share must stay below δ = 5%.")


def test_a_search_that_failed_shows_no_chosen_point():
    figure = frontier(made_up_adaptation(chosen=None))
    assert "with the chosen scales" not in figure.says
    assert not any(line.endswith(": chosen") for line in figure.key)


def test_every_admissible_point_of_the_grid_is_drawn_with_the_limit():
    found = made_up_adaptation()
    figure = frontier(found)
    drawn = figure.draw(WIDE, "x")
    assert drawn.count('class="dot first"') == sum(point.admissible for point in found.grid) > 0
    assert drawn.count('class="limit"') == 1
    assert figure.key[3].endswith(": chosen")

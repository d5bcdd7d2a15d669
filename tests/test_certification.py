"""Selection and certification by hand: which trials pass, in which order, where a sequence stops, and what it says."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.adapt import certification, result
from oddshift.adapt.certification import LONGEST, SAFER, Trial, failed_goal, sequence, trials
from oddshift.adapt.conclusion import choices
from oddshift.adapt.evaluation import is_admissible
from oddshift.adapt.goals import MARGIN, Goals, Strain
from oddshift.adapt.notes import FEW_OUTPUTS, basis_in_words, warnings
from oddshift.adapt.proved import check_documents, countable
from oddshift.adapt.result import ScaledOutcome, TierOutcome
from oddshift.adapt.rounds import levels_of
from oddshift.adapt.search import equal_utility, front, hypervolume
from oddshift.adapt.settings import AdaptSettings
from oddshift.audit.claims import CROSSED, NOTHING_LEARNED, TierCaps
from oddshift.audit.verdict import Basis
from oddshift.base.errors import InvalidInput
from oddshift.bounds import METHODS, zero_failures
from oddshift.evidence.certificates import Claim, SuccessClaim, certify, certify_joint
from oddshift.evidence.certificates.certificate import joint_state
from oddshift.model.records import Records
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

NEVER, OFTEN, SOME = np.zeros(300), np.full(300, 0.5), np.full(12, 0.05)
"""Values that certify δ = .1, violate it, and decide nothing."""


def rate_claim(tier="PII", attacker="counts", withheld="", delta=0.1):
    return Claim(epsilon=1.0, delta=delta, tier=tier, pair_law="anchored", attacker=attacker, attacker_hash=attacker,
                 with_context=False, detector="list", withheld=withheld,
                 may_violate=withheld == NOTHING_LEARNED)  # fmt: skip


def cap_claim(tier="PII", cap=0.3, over_prior=False):
    return SuccessClaim(cap=cap, tier=tier, attacker="counts", attacker_hash="counts", with_context=False,
                        detector="list", over_prior=over_prior)  # fmt: skip


def outcome(scales=(0.5, 0.5), *, rate=0.0, loss=0.5, top1=0.1, before=0.0, gain=1.0, outputs=50.0):
    """Some scales with the same numbers in both tiers."""
    tiers = tuple(
        TierOutcome(tier=name, rate=rate, rate_error=0.0, top1=top1, top1_error=0.01, loss=loss, before=before)
        for name in ("PII", "PoII")
    )
    return ScaledOutcome(scales=scales, admissible=is_admissible(scales), tiers=tiers, loss=loss, plain_loss=loss,
                         effective_outputs=outputs, gain=gain, gain_error=0.1)  # fmt: skip


def test_bounds_that_cross_are_never_passed_over():
    """A cap whose bounds contradict each other is not one of the goals that only lack an attacker."""
    crossed = SuccessClaim(cap=0.3, tier="PII", attacker="counts", attacker_hash="counts", with_context=False,
                           detector="list", withheld=CROSSED)  # fmt: skip
    nothing = Basis((), 1, withheld=NOTHING_LEARNED)
    claims = [rate_claim(withheld=NOTHING_LEARNED)]
    assert trial([NEVER, NEVER], [*claims, cap_claim()], basis=nothing, keeps=True).passes
    assert not trial([NEVER, NEVER], [*claims, crossed], basis=nothing, keeps=True).passes


def trial(values, claims, *, basis=None, keeps=False, vacuous="", made=None):
    """A trial whose verdict follows from these values."""
    verdict = certify_joint(values, claims, 0.05)
    chosen = basis or Basis((1,), 1)
    tested = result.Tested(scales=(0.5, 0.5), loss=0.5, state=verdict.state, upper=(), lower=(), failed="a goal")
    judgement = SimpleNamespace(verdict=verdict)
    return Trial(tested, made or outcome(), chosen, judgement, keeps,
                 vacuous)  # fmt: skip


IDLE = Basis((), 0, withheld=NOTHING_LEARNED)
"""No attacker learned anything, and nothing else supports a verdict."""


@pytest.mark.parametrize(
    ("values", "claims", "state"),
    [
        ([NEVER], [rate_claim()], "certified"),
        ([OFTEN], [rate_claim()], "violated"),
        ([SOME], [rate_claim()], "undecided"),
        ([NEVER, NEVER], [rate_claim(), cap_claim()], "certified"),
        ([NEVER, OFTEN], [rate_claim(), cap_claim()], "violated"),
        ([NEVER, SOME], [rate_claim("PII"), rate_claim("PoII")], "undecided"),
        ([OFTEN, SOME], [rate_claim("PII"), rate_claim("PoII")], "violated"),
        ([NEVER], [rate_claim(withheld="nobody learned")], "undecided"),
        ([OFTEN], [rate_claim(withheld="nobody learned")], "undecided"),
        ([NEVER, OFTEN], [rate_claim(withheld="nobody learned"), cap_claim()], "violated"),
        ([NEVER, NEVER], [rate_claim(withheld="nobody learned"), cap_claim()], "undecided"),
    ],
)
def test_the_state_of_a_verdict_follows_from_its_parts(values, claims, state):
    verdict = certify_joint(values, claims, 0.05)
    assert verdict.state == state
    assert joint_state(verdict.parts, verdict.lowers) == state
    assert trial(values, claims).is_certified == (state == "certified")


@pytest.mark.parametrize(
    ("basis", "keeps", "vacuous", "withheld", "cap", "passes"),
    [
        (Basis((1,), 1), False, "", "", NEVER, True),  # certified: nothing else is asked
        (Basis((1,), 1), True, "", "", OFTEN, False),
        (IDLE, True, "", NOTHING_LEARNED, NEVER, True),  # proposed: the single release keeps ε, the caps hold
        (IDLE, True, "", NOTHING_LEARNED, SOME, False),  # a cap that is not certified
        (IDLE, True, "", NOTHING_LEARNED, OFTEN, False),
        (IDLE, False, "", NOTHING_LEARNED, NEVER, False),  # the single release exceeds ε
        (IDLE, True, "first guesses are right too often", NOTHING_LEARNED, NEVER, False),
        (Basis((1,), 1), True, "", "not saturated", NEVER, False),  # withheld, though somebody learned
    ],
)
def test_what_passes_is_certified_or_lacks_only_an_attacker_that_learned(basis, keeps, vacuous, withheld, cap, passes):
    claims = [rate_claim(withheld=withheld), cap_claim()]
    assert trial([NEVER, cap], claims, basis=basis, keeps=keeps, vacuous=vacuous).passes == passes
    assert not trial([OFTEN, cap], claims, basis=basis, keeps=keeps, vacuous=vacuous).passes  # shown to exceed delta


def test_a_sequence_is_tried_up_to_the_first_that_does_not_pass(monkeypatch):
    states = {0.1: True, 0.2: True, 0.3: False, 0.4: True}
    tried = []

    def pretended(candidate, made):
        tried.append(candidate.scales[0])
        return SimpleNamespace(passes=states[candidate.scales[0]], scales=candidate.scales, unread=unread)

    unread = ""
    monkeypatch.setattr(certification, "_tried", pretended)
    found = list(trials([outcome((s, s)) for s in states], SimpleNamespace()))
    assert tried == [0.1, 0.2, 0.3]  # what comes later would be a second chance
    unread = "select documents rule it out, and certify documents were not asked"
    assert len(list(trials([outcome((s, s)) for s in states], SimpleNamespace()))) == 4
    assert [row.passes for row in found] == [True, True, False]


def ladder(*rows, gain=1.0):
    """Outcomes of (scale, rate, loss)."""
    return [outcome((s, s), rate=rate, loss=loss, gain=gain) for s, rate, loss in rows]


def test_a_sequence_goes_from_much_noise_to_little_and_leaves_out_what_exceeds_delta():
    rows = ladder((0.2, 0.001, 0.9), (0.4, 0.02, 0.7), (0.6, 0.05, 0.5), (0.8, 0.2, 0.3))
    found = sequence(rows, Goals(0.1, {}))
    assert [p.scales[0] for p in found] == [0.2, 0.4, 0.6]
    losses = [p.loss for p in found]
    assert losses == sorted(losses, reverse=True)


def test_a_sequence_begins_at_the_most_daring_point_that_should_surely_pass():
    rows = ladder((0.1, 0.001, 0.9), (0.2, 0.002, 0.8), (0.3, 0.009, 0.7), (0.4, 0.05, 0.6))
    found = sequence(rows, Goals(0.1, {}))
    assert (0.3, 0.3) in [p.scales for p in found]  # a tenth of δ: safe
    assert found[-1].scales == (0.4, 0.4)
    before = [p for p in found if p.loss > 0.7]
    assert len(before) <= SAFER


def test_what_costs_more_than_a_constant_output_is_not_tested_before_what_costs_less():
    """One stays to fall back on; where even the first of a sequence costs more, all do."""
    rows = ladder((0.1, 0.001, 0.9), (0.2, 0.002, 0.8), (0.3, 0.009, 0.7), (0.4, 0.05, 0.6))
    for constant, first in ((1.0, 0.1), (0.85, 0.2), (0.75, 0.2), (0.65, 0.1)):
        found = sequence(rows, Goals(0.1, {}), constant=constant)
        assert [found[0].scales[0], found[-1].scales[0]] == [first, 0.4]


def test_what_should_pass_stays_to_fall_back_on_although_a_later_one_strains_the_goals_less():
    """At .4 the rate is smaller by chance and the loss too, so that .3 is not on the front."""
    rows = ladder((0.3, 0.009, 0.7), (0.4, 0.008, 0.6), (0.5, 0.05, 0.5))
    assert [p.scales[0] for p in sequence(rows, Goals(0.1, {}))] == [0.3, 0.4, 0.5]


def test_what_lies_between_two_candidates_is_tested_although_chance_put_it_behind_the_front():
    found = sequence(ladder((0.2, 0.01, 0.5), (0.3, 0.02, 0.4), (0.4, 0.015, 0.3)), Goals(0.05, {}))
    assert [row.scales[0] for row in found] == [0.2, 0.3, 0.4]


def test_a_long_front_is_thinned_and_keeps_both_ends():
    rows = ladder(*((0.2 + 0.01 * k, 0.011 + 0.001 * k, 0.9 - 0.01 * k) for k in range(60)))
    found = sequence(rows, Goals(0.1, {}))
    assert len(found) <= LONGEST + SAFER
    assert found[0].scales == rows[0].scales
    assert found[-1].scales == rows[59].scales


def test_where_nobody_learned_the_front_of_all_is_tested_and_declared_independence_needs_nobody():
    idle = ladder((0.5, 0.0, 0.5), (1.0, 0.05, 0.2), gain=0.0)
    assert [p.scales[0] for p in sequence(idle, Goals(0.1, {}))][-1] == 1.0
    keen = [*idle, *ladder((0.4, 0.01, 0.6))]
    assert [p.scales[0] for p in sequence(keen, Goals(0.1, {}))] == [0.4]
    assert [p.scales[0] for p in sequence(keen, Goals(0.1, {}), carried=True)][-1] == 1.0


def test_nothing_within_the_goals_is_an_empty_sequence():
    assert sequence(ladder((0.1, 0.5, 0.9)), Goals(0.1, {})) == ()
    assert sequence([outcome((0.9, 0.1))], Goals(0.1, {})) == ()  # less noise for what is more sensitive


def test_the_goal_that_failed_is_named_with_its_bound():
    part = certify(OFTEN, rate_claim("PoII"), 0.05)
    assert failed_goal(part) == (
        f"Pr[mPL > 1] in tier PoII by attacker counts: the upper bound is {part.upper:.4f} > 0.1 over 300 units, "
        "the mean 0.5000"
    )
    held = certify(NEVER, rate_claim(withheld="nobody learned"), 0.05)
    assert failed_goal(held) == "Pr[mPL > 1] in tier PII: nobody learned"


def test_an_advantage_is_stated_in_its_own_units():
    """Values are (after − before + 1)/2; the sentence speaks of after − before."""
    part = certify(np.full(300, 0.75), cap_claim(cap=0.2, over_prior=True), 0.05)
    said = failed_goal(part)
    assert "> 0.2 over 300 units, the mean 0.5000" in said
    assert f"the upper bound is {2 * part.upper - 1:.4f}" in said


def check(records, delta, tiers, method="betting"):
    settings = AdaptSettings(epsilon=1.0, delta=delta, method=method, forms={"*": "noise"})
    check_documents(countable(settings, tiers, records, records), tiers, settings)


@pytest.mark.parametrize("method", METHODS)
def test_documents_are_enough_from_the_number_on_that_the_method_needs(method):
    space = Space([[0.0], [1.0]])
    tiers = one_tier(space)
    needs = zero_failures(0.1, 0.05, method)
    enough, few = (Records.from_documents(space, [[0]] * n) for n in (needs, needs - 1))
    check(enough, 0.1, tiers, method)
    with pytest.raises(
        InvalidInput, match=rf"{method} needs {needs} independent units there at level .* has {needs - 1};"
    ):
        check(few, 0.1, tiers, method)


def test_each_tier_needs_its_own_documents():
    space = Space([[0.0], [1.0]])
    tiers = Tiers([0, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    records = Records.from_documents(space, [[1]] * 500 + [[0]])
    with pytest.raises(InvalidInput, match=r"cannot be certified in tier PII: .* the certify split has 1"):
        check(records, 0.1, tiers)


def test_the_tier_with_the_fewest_documents_is_named_and_a_delta_only_where_one_helps():
    space = Space([[0.0], [1.0]])
    tiers = Tiers([0, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    records = Records.from_documents(space, [[0]] * 12 + [[1]] * 8)
    with pytest.raises(InvalidInput, match=r"in tier PoII: .* has 8; the smallest delta they can certify is 0\.\d+ at"):
        check(records, 0.01, tiers, "clopper_pearson")
    few = Records.from_documents(space, [[0]] * 4 + [[1]] * 4)
    with pytest.raises(InvalidInput, match=r"has 4; no delta can be certified on so few, only more data help$"):
        check(few, 0.05, tiers, "betting_plugin")


def test_a_strain_is_what_was_measured_and_its_margin_over_the_limit():
    strain = Strain("PII", "right first guesses", value=0.2, margin=0.05, limit=0.5)
    assert strain.ratio == pytest.approx(0.5)
    assert strain.sentence == "right first guesses in tier PII: 0.2000, asked for at most 0.5"


def test_every_tier_and_every_cap_is_a_goal():
    goals = Goals(0.1, {"PII": TierCaps(success=0.5, advantage=0.4), "PoII": TierCaps()})
    rows = list(goals.strains(outcome(rate=0.02, top1=0.2, before=0.1)))
    assert [(row.tier, row.limit) for row in rows] == [("PII", 0.1), ("PII", 0.5), ("PII", 0.4), ("PoII", 0.1)]
    assert [row.value for row in rows] == pytest.approx([0.02, 0.2, 0.1, 0.02])
    assert [row.margin for row in rows] == pytest.approx([0.0, MARGIN * 0.01, MARGIN * 0.01, 0.0])
    assert goals.strain(outcome(rate=0.02, top1=0.2)) == pytest.approx(max(row.ratio for row in goals.strains(
        outcome(rate=0.02, top1=0.2))))  # fmt: skip
    assert goals.strain(outcome(rate=0.05), share=0.5) == pytest.approx(1.0)


def test_levels_have_the_scale_of_their_first_tier():
    tiers = Tiers([0, 1, 2], names=("PERSON", "ORG", "DATE"), scales=(1.0, 1.0, 1.0), is_public=True, levels=(0, 0, 1))
    assert levels_of((0.4, 0.4, 0.9), tiers).tolist() == [0.4, 0.9]


@pytest.mark.parametrize("loss", [0.2, 0.5, 0.75])
def test_one_scale_of_equal_utility_is_found_by_halving(loss):
    class Losing:
        settings = AdaptSettings(epsilon=1.0, delta=0.1, grid=(0.1, 1.0))
        known = SimpleNamespace(tiers=("PII", "PoII"))

        def loss(self, scales, remap=None):
            return 1.0 - scales[0]

        @property
        def without_forms(self):
            return self

    first, second = equal_utility(SimpleNamespace(experiment=Losing()), loss)
    assert first == second
    assert first == pytest.approx(1.0 - loss, abs=0.9 / 2**8 + 1e-3)
    assert 1.0 - first <= loss + 1e-3  # never a larger loss than the one it stands next to


def test_one_scale_for_all_tiers_is_its_own_baseline():
    chosen = trial([NEVER], [rate_claim()])
    tiers = Tiers([0, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    experiment = SimpleNamespace(known=SimpleNamespace(tiers=tiers), family=lambda tiers: None)
    found = {row.name: row.scales for row in choices(SimpleNamespace(experiment=experiment), chosen)}
    assert found == {"EM": (1.0, 1.0), "AmPL": (0.5, 0.5), "uniform": (0.5, 0.5)}


@pytest.mark.parametrize("seed", range(3))
def test_the_hypervolume_is_what_a_shower_of_points_hits(seed):
    rng = np.random.default_rng(seed)
    rows = [outcome((0.5, 0.5), rate=r, loss=loss) for r, loss in rng.random((6, 2))]
    shower = rng.random((4_000, 2))
    hit = np.any([(shower[:, 0] > p.loss) & (shower[:, 1] > p.rate) for p in rows], axis=0).mean()
    assert hypervolume(rows, (1.0, 1.0)) == pytest.approx(hit, abs=0.04)
    assert hypervolume(front(rows), (1.0, 1.0)) == pytest.approx(hypervolume(rows, (1.0, 1.0)))


def noted(rows, taken, outcomes=(), *, constant=1.0, kinds=1, goals=None, loss=None):
    made = SimpleNamespace(
        known=dict(enumerate(outcomes)),
        experiment=SimpleNamespace(
            settings=AdaptSettings(epsilon=1.0, delta=0.1),
            constant_loss=constant,
            constant_outputs=kinds,
            known=SimpleNamespace(tiers=("a", "b")),
            without_forms=SimpleNamespace(loss=loss or (lambda scales, remap: 1.0)),
        ),
    )
    return warnings(rows, taken, made, goals or Goals(0.1, {}), "nobody learned")


def test_a_good_result_has_no_warning():
    assert noted([], trial([NEVER], [rate_claim()])) == ()


def test_proposed_scales_are_said_to_be_proposed():
    proposed = trial([NEVER], [rate_claim(withheld=NOTHING_LEARNED)], basis=IDLE, keeps=True)
    assert noted([], proposed) == ("these scales are proposed, not certified: nobody learned",)


def test_a_release_that_says_next_to_nothing_is_said_to():
    nearly = trial([NEVER], [rate_claim()], made=outcome(outputs=FEW_OUTPUTS - 0.1))
    assert "the release is nearly constant: 4.9 effective outputs" in noted([], nearly)[0]
    assert noted([], trial([NEVER], [rate_claim()], made=outcome(outputs=FEW_OUTPUTS))) == ()


@pytest.mark.parametrize(
    ("kinds", "said"), [(1, "one constant output costs"), (3, "one constant output of each kind costs")]
)
def test_a_release_that_costs_as_much_as_a_constant_is_said_to(kinds, said):
    (note,) = noted([], trial([NEVER], [rate_claim()], made=outcome(loss=0.5)), constant=0.5, kinds=kinds)
    assert note.startswith(f"{said} no more (0.5000) than this release (0.5000)")
    assert note.endswith("up to 64 times this budget, values as they are drawn never cost less than that")


def test_it_is_said_from_which_budget_on_noise_costs_less_than_a_constant():
    costly, asked = trial([NEVER], [rate_claim()], made=outcome(loss=0.5)), []

    def loss(scales, remap):
        asked.append((len(scales), len(set(scales)), remap))
        return 1.0 / scales[0]

    (note,) = noted([], costly, constant=0.3, loss=loss)
    assert "cost less than that from about 3.4 times this budget on (epsilon = 3.4)" in note
    assert set(asked) == {(2, 1, False)}


def test_a_failed_certification_says_where_and_what_helps():
    (note,) = noted([trial([OFTEN], [rate_claim()])], None)
    assert note.startswith("no scales were certified; at scales 0.5, 0.5 it failed on a goal; more data to certify on")
    assert "because these have been used" in note


def test_where_no_outcome_keeps_the_goals_the_closest_is_named_although_scale_1_was_tested():
    tested = trial([OFTEN], [rate_claim()])
    tested = replace(tested, tested=replace(tested.tested, scales=(1.0, 1.0)))
    (note,) = noted([tested], None, [outcome((0.1, 0.1), rate=0.3)])
    assert note.startswith("no scales of the grid keep every goal; the closest are 0.1, 0.1")


def test_a_failure_before_scale_1_is_said():
    passed, failed = trial([NEVER], [rate_claim()]), trial([OFTEN], [rate_claim()])
    (note,) = noted([passed, failed], passed)
    assert note.startswith("less noise, scale 1 included, was not tested: the tests end at scales 0.5, 0.5, where it f")
    assert noted([passed], passed) == ()


def test_goals_out_of_reach_name_the_closest_scales():
    (note,) = noted([], None, [outcome((0.1, 0.1), rate=0.3), outcome((0.2, 0.2), rate=0.6)])
    assert note.startswith("no scales of the grid keep every goal; the closest are 0.1, 0.1, with pairs beyond epsilon")
    assert "smaller scales than 0.1 in the grid" in note


def test_a_cap_below_what_is_guessed_without_any_release_cannot_be_kept_by_noise():
    goals = Goals(0.9, {"PII": TierCaps(success=0.2)})
    (note,) = noted([], None, [outcome(top1=0.5, before=0.4)], goals=goals)
    assert note.endswith("40.0% are guessed already before any release, so no noise keeps this cap: raise it")


@pytest.mark.parametrize(
    ("basis", "said"),
    [
        (Basis((1,), 1), "every attacker that learned something stays within the limits: counts, network"),
        (
            Basis((0,), 0, carrier="declared"),
            "with this noise a, b learned nothing from what is read together; declared",
        ),
        (
            IDLE,
            "with this noise a, b learned nothing from what is read together; the single release keeps epsilon exactly",
        ),
    ],
)
def test_what_a_result_rests_on_is_said_in_words(basis, said):
    claims = [rate_claim(), rate_claim(attacker="network"), rate_claim("PoII"), cap_claim()]
    taken = trial([NEVER] * 4, claims, basis=basis)
    assert basis_in_words(taken, [SimpleNamespace(name="a"), SimpleNamespace(name="b")]) == said
    assert basis_in_words(None, []) == ""

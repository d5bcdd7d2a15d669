"""Goals of an adaptation: levels that share a scale, caps on right guesses, forms of a release, no joint structure."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt import (
    PRESETS,
    AdaptSettings,
    AdaptTask,
    Experiment,
    Goals,
    Measuring,
    ScaledOutcome,
    TierOutcome,
    adapt,
    goals_of,
    rounds,
    weighted,
)
from oddshift.adapt.certification import sequence
from oddshift.adapt.goals import SingleRelease
from oddshift.adapt.readers import Readers
from oddshift.adapt.search import diagonal, first_scales, front
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import Retrained, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import Combination, as_weights
from oddshift.attackers.controls import Own
from oddshift.audit.claims import TierCaps
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import load, save
from oddshift.evidence.certificates import verify
from oddshift.mechanisms import Mask, Tiered
from oddshift.model.records import Records, Split
from oddshift.model.tiers import Tiers
from worlds import ring

EPSILON = 3.0
KINDS = Tiers(
    [0, 0, 0, 1, 1, 1, 2, 2],
    names=("PERSON", "ORG", "DATE"),
    scales=(1.0, 1.0, 1.0),
    is_public=True,
    levels=(0, 0, 1),
)


def task(strength=0.9, tiers=KINDS, documents=400, attackers=("plugin",), **asked):
    """A ring of words whose neighbours tell, in three public kinds of two levels."""
    parts = [
        ring(documents=documents, strength=strength, tiers=tiers, epsilon=EPSILON, seed=seed).known.fit
        for seed in range(3)
    ]
    split = Split(fit=parts[0], select=parts[1], certify=parts[2], by="document")
    space = parts[0].space

    def family(scaled):
        return Tiered(space, scaled, EPSILON)

    known = knowledge(family(tiers), tiers, split.fit)
    settings = AdaptSettings(
        **{
            "epsilon": EPSILON,
            "delta": 0.1,
            "documents": 200,
            "rounds": 2,
            "remap": "never",
            "forms": {"*": "noise"},
            **asked,
        }
    )
    fitted = tuple(ATTACKERS[name](known, np.random.default_rng(0)) for name in attackers)
    return AdaptTask(split=split, known=known, family=family, attackers=fitted, settings=settings)


def measuring(made):
    records = made.split.select.take(np.arange(100))
    uniforms = np.random.default_rng(5).random(len(records.points))
    return Measuring(Experiment(made.known, made.family, records, uniforms, made.settings), made.attackers[0].against)


def point(scales, *, rate=0.0, top1=0.1, error=0.0, loss=0.5, before=0.05, gain=1.0):
    tiers = tuple(
        TierOutcome(tier=name, rate=rate, rate_error=0.0, top1=top1, top1_error=error, loss=loss, before=before)
        for name in ("PII", "PoII")
    )
    return ScaledOutcome(
        scales=scales,
        admissible=True,
        tiers=tiers,
        loss=loss,
        plain_loss=loss,
        effective_outputs=10.0,
        gain=gain,
        gain_error=0.1,
    )


# levels


def test_scales_move_level_by_level():
    made = measuring(task(objective="weighted", rate_weight=5.0))
    steps = list(rounds(made, weighted(made.experiment.settings)))
    assert all(step.outcome.scales[0] == step.outcome.scales[1] for step in steps)
    assert {len(step.gradient) for step in steps} == {2}
    assert steps[-1].outcome.scales != steps[0].outcome.scales


def test_one_tier_for_each_level_changes_nothing():
    """The same search over tiers that name their levels and over tiers that do not."""
    two = Tiers(np.arange(8) // 4, names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    named = Tiers(np.arange(8) // 4, names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True, levels=(0, 1))
    found = [adapt(task(tiers=tiers)) for tiers in (two, named)]
    assert found[0].grid == found[1].grid
    assert found[0].sequence == found[1].sequence


def test_a_preset_of_the_first_tier_moves_its_whole_level():
    made = task(rate_weight=5.0, rounds=3)
    preset = PRESETS["AmPL-1"]
    steps = list(preset.rounds(measuring(replace(made, settings=preset.settings(made.settings)))))
    assert all(step.outcome.scales[0] == step.outcome.scales[1] for step in steps)
    assert {step.outcome.scales[2] for step in steps} == {1.0}


def test_certificates_stay_by_tier_while_levels_share_a_scale():
    found = adapt(task())
    assert found.state == "certified"
    assert found.chosen[0] == found.chosen[1]
    assert {e.certificate.claim.tier for e in found.evidence} == {"PERSON", "ORG", "DATE"}
    assert all(p.scales[0] == p.scales[1] for p in found.grid)


def test_a_search_begins_with_few_scales_however_many_levels():
    grid = AdaptSettings(epsilon=1.0, delta=0.1).grid
    for levels in range(1, 9):
        points = first_scales(grid, levels)
        assert len(points) == len(set(points)) <= 2 * len(grid) - 1
        assert all(a <= b for p in points for a, b in itertools.pairwise(p))
        assert set(diagonal(grid, levels)) <= set(points)
    assert (0.1,) * 7 + (1.0,) in first_scales(grid, 8)


# caps


def test_a_goal_is_kept_with_its_margin():
    goals = Goals(0.1, {"PII": TierCaps(success=0.2, advantage=0.1)})
    calm = point((0.5, 0.5), rate=0.05, top1=0.1, error=0.02)
    assert goals.strain(calm) == pytest.approx((0.05 + 3 * 0.02) / 0.1)  # the advantage, 0.1 less 0.05 before
    assert goals.strain(calm, errors=0.0) == pytest.approx(0.5)
    assert goals.strain(point((1.0, 1.0), rate=0.3)) == pytest.approx(3.0)
    hardest = goals.hardest(point((1.0, 1.0), top1=0.6))
    assert hardest.sentence == (
        "right first guesses beyond those before any release in tier PII: 0.5500, asked for at most 0.1"
    )


def test_settings_state_goals_for_tiers_and_levels():
    settings = AdaptSettings(epsilon=1.0, delta=0.1, success={"PII": 0.2, "ORG": 0.1})
    goals = goals_of(settings, KINDS)
    assert [goals.caps[name].success for name in KINDS.names] == [0.2, 0.1, None]
    with pytest.raises(InvalidInput, match="success names 'CITY'"):
        goals_of(AdaptSettings(epsilon=1.0, delta=0.1, success={"CITY": 0.2}), KINDS)


def test_a_sequence_leaves_out_what_guesses_too_often():
    goals = Goals(0.1, {"PII": TierCaps(success=0.2)})
    points = [point((0.1 * k, 0.1 * k), top1=0.05 * k, loss=1.0 - 0.1 * k) for k in range(1, 9)]
    found = sequence(points, goals)
    assert [p.scales[0] for p in found][-1] == pytest.approx(0.4)
    assert front(points, goals.strain)[0] == points[0]


def test_a_cap_costs_noise_and_is_certified_in_the_same_sequence():
    free, cap = adapt(task(delta=0.3)), 0.75
    assert free.choice("AmPL").tiers[2].top1 > cap
    found = adapt(task(delta=0.3, success={"DATE": cap}))
    assert found.state == "certified"
    assert found.choice("AmPL").loss > free.choice("AmPL").loss
    parts = [e.certificate for e in found.evidence if e.certificate.claim.pair_law == "success"]
    assert {(p.claim.tier, p.claim.attacker) for p in parts} == {("DATE", "own"), ("DATE", "plugin")}
    assert all(p.state == "certified" and p.upper <= cap for p in parts)
    assert all(verify(e).holds for e in found.evidence)
    assert found.verdict.state == "certified"
    assert max(found.sequence[0].guesses) <= cap


def test_a_cap_below_the_guess_before_any_release_says_so():
    found = adapt(task(delta=0.3, success={"PII": 0.02}))
    assert found.scales is None
    assert "no noise keeps this cap: raise it" in found.warnings[0]
    assert "right first guesses in tier" in found.warnings[0]


def test_a_rate_that_cannot_be_reached_says_which_goal_failed_and_by_how_much():
    found = adapt(task(delta=0.03, grid=(0.95, 1.0)))
    assert found.scales is None
    assert "pairs beyond epsilon in tier" in found.warnings[0]
    assert "asked for at most 0.03" in found.warnings[0]


def test_an_advantage_is_a_goal_of_its_own():
    found = adapt(task(delta=0.3, advantage={"*": 0.15}))
    assert found.state == "certified"
    laws = {e.certificate.claim.pair_law for e in found.evidence}
    assert laws == {"anchored", "advantage"}
    released = found.choice("AmPL")
    assert all(tier.advantage <= 0.15 for tier in released.tiers)


def test_every_attacker_that_learned_is_part_of_the_certificate():
    found = adapt(task(attackers=("plugin", "counts"), documents=600, delta=0.3))
    assert found.state == "certified"
    counted = {e.certificate.claim.attacker for e in found.evidence}
    assert {"plugin", "counts"} <= counted
    assert found.basis.startswith("every attacker that learned something stays within the limits: ")


# forms of a release


@pytest.mark.parametrize(("given", "meant"), [(True, "always"), (False, "never"), ("auto", "auto")])
def test_older_files_say_true_and_false(given, meant, tmp_path):
    settings = AdaptSettings(epsilon=1.0, delta=0.1, remap=given, success={"PII": 0.2})
    assert settings.remap == meant
    save(tmp_path / "asked.json", settings)
    assert load(tmp_path / "asked.json", AdaptSettings) == settings


def test_the_result_says_in_which_form_it_is_released():
    found = adapt(task(remap="auto"))
    assert found.remap_reason
    row = found.choice("AmPL, remapped" if found.remapped else "AmPL")
    assert row.scales == found.chosen
    assert row.remapped is found.remapped
    assert found.mechanism.startswith("Remap(") is found.remapped


# no joint structure


def test_where_nobody_learns_the_single_release_is_proposed():
    found = adapt(task(strength=0.0, attackers=("plugin", "cooccurrence"), grid=(0.5, 0.75, 1.0)))
    assert (found.state, found.chosen) == ("undecided", None)
    assert found.proposed == found.scales == (1.0, 1.0, 1.0)
    assert found.basis == (
        "with this noise plugin, cooccurrence learned nothing from what is read together; "
        "the single release keeps epsilon exactly"
    )
    assert found.exact_epsilon <= EPSILON
    assert any("proposed, not certified" in note for note in found.warnings)
    assert all(part.state == "undecided" for part in found.verdict.parts)


def test_declared_independence_certifies_it():
    found = adapt(task(strength=0.0, independent=True))
    assert found.state == "certified"
    assert "independent" in found.basis
    assert {e.certificate.claim.attacker for e in found.evidence} == {"own"}


def test_one_secret_in_a_document_needs_no_declaration():
    """The bound without a law is the exact epsilon of one release there."""
    made = task(strength=0.0)

    def first(records):
        return Records.from_documents(records.space, [[int(records.points[k])] for k in records.offsets[:-1]])

    split = Split(**{name: first(getattr(made.split, name)) for name in ("fit", "select", "certify")}, by="document")
    known = knowledge(made.known.mechanism, made.known.tiers, split.fit)
    attacker = fit_plugin(known)
    found = adapt(replace(made, split=split, known=known, attackers=(attacker,)))
    assert found.state == "certified"
    assert "a proven bound on the joint leakage is at most epsilon" in found.basis


def test_a_bound_without_a_law_certifies_more_noise_and_less_is_proposed():
    """At most four secrets in a document: the budget is kept at a smaller scale whatever their law is."""
    found = adapt(task(strength=0.0, grid=(0.02, 0.25, 0.5, 1.0)))
    assert found.state == "certified"
    assert "a proven bound on the joint leakage is at most epsilon" in found.basis
    assert found.proposed == (1.0, 1.0, 1.0)
    assert found.scales == found.chosen
    made = task(strength=0.0)
    single = SingleRelease(made.split, made.family, made.settings)
    at, whole = (measuring(made).experiment.at((scale,) * 3) for scale in (found.chosen[0], 1.0))
    assert single.carrier(at)
    assert not single.carrier(whole)
    assert single.keeps(whole)


def test_a_proposal_keeps_the_caps_all_the_same():
    grid = (0.4, 0.6, 0.8, 1.0)
    free = adapt(task(strength=0.0, grid=grid))
    assert free.proposed == (1.0, 1.0, 1.0)
    cap = round(0.9 * max(tier.top1 for tier in free.choice("EM").tiers[:2]), 2)
    found = adapt(task(strength=0.0, success={"PII": cap}, grid=grid))
    assert found.proposed is not None
    assert max(found.proposed[:2]) < 1.0
    guesses = [e.certificate for e in found.evidence if e.certificate.claim.pair_law == "success"]
    assert guesses
    assert all(certificate.state == "certified" for certificate in guesses)


# what is done once


def test_weights_are_fitted_at_anchors_and_kept_between():
    made = task(attackers=("counts",))
    counts = made.attackers[0]
    fits = []

    def weigh(known):
        fits.append(known.tiers.scales)
        return counts.weights

    counted = replace(counts, weigh=weigh)
    experiment = measuring(made).experiment
    readers = Readers(experiment)
    assert readers.anchors == (1.0, 0.5, 0.25, 0.1)
    for scales in ((1.0, 1.0, 1.0), (0.9, 0.9, 0.95), (0.55, 0.55, 0.6), (0.5, 0.5, 0.5)):
        read = readers.read(counted, experiment.at(scales).known)
        assert read.known.tiers.scales == scales
        assert read.weights == counts.weights
    assert fits == [(0.5,) * 3]  # at scale 1 the attacker was fitted already


def test_weights_lie_between_those_of_the_anchors_around_the_largest_scale():
    """Weights 1 at scale 1 and 3 at scale ½: the tier with the least noise says which of them suit."""
    made = task(attackers=("counts",))
    counts = made.attackers[0]
    shape = np.shape(counts.weights)

    def rows(value):
        return as_weights(np.full(shape, value))

    mine = replace(counts, weights=rows(1.0), weigh=lambda known: rows({0.5: 3.0}.get(known.tiers.scales[0], 0.0)))
    readers = Readers(measuring(made).experiment)
    for scales, weight in (
        ((0.25, 0.25, 1.0), 1.0),
        ((0.1, 0.1, 0.5), 3.0),
        ((0.1, 0.1, 0.5**0.5), 2.0),
        ((0.125**0.5,) * 3, 1.5),
        ((0.05, 0.05, 0.05), 0.0),
    ):
        read = readers.read(mine, readers.experiment.at(scales).known)
        np.testing.assert_allclose(read.weights, weight, atol=1e-12)


def counting(attacker, fits, weights):
    """The attacker with these weights at scale 1 and wherever they are fitted, which is written down."""
    return replace(attacker, weights=weights, weigh=lambda known: fits.append(known.tiers.scales) or weights)


def test_what_is_tested_has_weights_fitted_at_its_very_scales_once():
    made, fits = task(attackers=("counts",)), []
    mine = counting(made.attackers[0], fits, (((1.0, 0.0), (2.0, 0.5)),) * 3)
    readers = Readers(measuring(made).experiment)
    for scales in ((0.6, 0.6, 0.8), (0.6, 0.6, 0.8), (1.0, 1.0, 1.0), (0.5, 0.5, 0.5)):
        found = readers.fitted(mine, readers.experiment.at(scales).known)
        assert (found.known.tiers.scales, found.weights) == (scales, mine.weights)
    assert fits == [(0.6, 0.6, 0.8), (0.5, 0.5, 0.5)]  # at scale 1 the attacker was fitted already
    readers.read(mine, readers.experiment.at((0.5, 0.5, 0.5)).known)
    assert len(fits) == 2  # an anchor is fitted once, for the search and for tests


def test_where_no_part_has_weight_nothing_is_fitted_for_a_test_either():
    made, fits = task(attackers=("counts",)), []
    mine = counting(made.attackers[0], fits, (((0.0, 0.0),) * 2,) * 3)
    readers = Readers(measuring(made).experiment)
    assert not readers.fitted(mine, readers.experiment.at((0.6, 0.6, 0.8)).known).has_weights
    assert fits == []


def test_every_test_of_an_adaptation_is_read_with_weights_fitted_for_it(monkeypatch):
    fits, weighed = [], Combination.against

    def against(self, known):
        fits.append(known.tiers.scales)
        return weighed(self, known)

    monkeypatch.setattr(Combination, "against", against)
    found = adapt(task(attackers=("counts",), grid=(0.5, 1.0), delta=0.3))
    assert found.chosen is not None
    assert {row.scales for row in found.sequence} <= {*fits, (1.0,) * 3}  # at scale 1 it was fitted already


def test_weights_that_were_fitted_under_another_mechanism_are_fitted_again():
    made = task(attackers=("counts",))
    fits, mine = [], made.attackers[0]
    counted = replace(mine, weigh=lambda known: fits.append(known.tiers.scales) or mine.weights)
    elsewhere = replace(counted, known=replace(made.known, mechanism=Mask(made.known.mechanism.space)))
    readers = Readers(measuring(made).experiment)
    for attacker in (counted, elsewhere):
        readers.made.clear()
        readers.read(attacker, readers.experiment.at((1.0,) * 3).known)
        assert len(fits) == (attacker is elsewhere)


def test_an_attacker_that_is_trained_for_every_mechanism_is_trained_once_for_each():
    made, fits = task(), []

    def fit(known):
        fits.append(known.tiers.scales)
        return Own(known)

    select = measuring(made).experiment
    certifying = replace(select, records=made.split.certify, uniforms=np.zeros(len(made.split.certify.points)))
    attacker, readers = Retrained(fit, Own(made.known)), Readers(select)
    for scales in ((1.0, 1.0, 1.0), (0.5, 0.5, 1.0)):
        seen = {id(readers.read(attacker, experiment.at(scales).known)) for experiment in (select, certifying, select)}
        assert len(seen) == 1
    assert fits == [(1.0, 1.0, 1.0), (0.5, 0.5, 1.0)]


def test_where_no_part_has_weight_at_the_largest_scale_none_is_weighed_at_smaller_ones():
    made = task(strength=0.0, attackers=("counts",))
    none = (((0.0, 0.0),) * len(made.attackers[0].parts),) * 3
    blind = replace(made.attackers[0], weights=none)
    weighed = []

    def weigh(known):
        weighed.append(known.tiers.scales)
        return none

    readers = Readers(measuring(made).experiment)
    for scales in ((0.5, 0.5, 0.5), (0.1, 0.1, 0.1), (1.0, 1.0, 1.0)):
        read = readers.read(replace(blind, weigh=weigh), readers.experiment.at(scales).known)
        assert not read.has_weights
        assert read.known.tiers.scales == scales
    assert not blind.has_weights
    assert weighed == []

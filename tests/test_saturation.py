"""Saturation: the rule by hand, nested smaller fits, and an attacker that still learns certifies nothing.

The choice among certified scales: an attacker that still learns from more documents certifies none of them.
"""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt import adapt
from oddshift.attackers.attacker import Retrained, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.controls import Own
from oddshift.attackers.learning_size import LearningOfSize, Refittable, SizeStep, half_of, smaller_fits
from oddshift.audit import AuditSettings, audit, calibration
from oddshift.audit.calibration import Recalibrated
from oddshift.audit.trials import saturation_stream
from oddshift.evidence.certificates import verify
from oddshift.model.records import Records, Split
from test_adapt import task
from worlds import ring

WORLD = ring(documents=400, length=4)


def learning(half, full, quarter=0.0):
    return LearningOfSize(
        "counts", ("all",), (SizeStep(100, 0.1, (quarter,)), SizeStep(200, 0.2, (half,)), SizeStep(400, 0.3, (full,)))
    )


@pytest.mark.parametrize(
    ("half", "full", "expected"),
    [(0.02, 0.04, 0.08), (0.04, 0.04, 0.04), (0.06, 0.04, 0.06), (0.0, 0.01, np.inf), (0.0, 0.0, 0.0)],
)
def test_the_rate_of_twice_as_many_documents(half, full, expected):
    found = learning(half, full)
    assert found.expected_rates == (pytest.approx(expected),)
    assert found.is_saturated(0.05) == (expected <= 0.05)


def test_one_lucky_doubling_does_not_hide_the_growth_of_two():
    """The rate doubled and then stood still: by √(.04/.02) for each doubling it reaches .057."""
    found = learning(0.039, 0.04, quarter=0.02)
    assert found.expected_rates == (pytest.approx(0.04 * np.sqrt(2.0)),)
    assert not found.is_saturated(0.05)
    assert learning(0.039, 0.04, quarter=0.038).is_saturated(0.05)


def test_the_sentence_names_attacker_sizes_and_rates():
    sentence = learning(0.02, 0.04).sentence
    assert "attacker counts" in sentence
    assert (
        "200 training records: gain +0.200, rate all 0.02; 400 training records: gain +0.300, rate all 0.04" in sentence
    )
    reason = "attacker counts has not settled: all 0 from 100 training records, 0.02 from 200, 0.04 from 400"
    assert learning(0.02, 0.04).reason(0.05) == f"{reason}; 800 might reach 0.08"
    assert "800 might exceed the limit" in learning(0.0, 0.04).reason(0.05)


def test_smaller_fits_are_nested_and_keep_users_whole():
    fit = Records.from_documents(WORLD.known.fit.space, WORLD.known.fit.documents, users=[k // 4 for k in range(400)])
    known = knowledge(WORLD.known.mechanism, WORLD.known.tiers, fit)
    parts = []
    sizes = [
        size
        for size, _ in smaller_fits(lambda part: parts.append(part.fit) or Own(part), known, np.random.default_rng(0))
    ]
    assert sizes == [100, 200]
    quarter, half = (set(part.sources) for part in parts)
    assert quarter < half
    assert all(np.bincount(part.users)[np.unique(part.users)].min() == 4 for part in parts)


def fitted(known):
    return fit_plugin(known)


def audited(refit, delta, law="anchored", epsilon=3.0):
    split = Split(fit=WORLD.known.fit, select=ring(seed=5).secrets, certify=ring(seed=6).secrets, by="document")
    attacker = fitted(WORLD.known)
    given = attacker if refit is None else Refittable(attacker, refit)
    asked = AuditSettings(epsilon=epsilon, delta=delta, worst_positions=200, law=law)
    return audit(split, WORLD.known, [given], asked)


def own_named_plugin(part):
    """Fewer documents teach nothing at all: the rate of the full fit came out of nothing."""
    return Own(part, name="plugin")


def test_an_attacker_that_still_learns_certifies_nothing():
    plain = audited(None, 0.9)
    assert plain.state == "certified"
    assert plain.learning == ()
    growing = audited(own_named_plugin, 0.9)
    assert growing.state == "undecided"
    assert [step.documents for step in growing.learning[0].steps] == [100, 200, 400]
    wording = "certified for an attacker with 400 training records, not for a better one"
    assert growing.state_in_words == growing.verdict.state_in_words == wording
    assert growing.verdict.sentence.startswith(f"Joint claim {wording} (counts as not certified)")
    part = growing.verdict.parts[0]
    assert (part.state, part.state_in_words, part.claim.unsaturated) == ("undecided", wording, 400)
    assert part.sentence.startswith(
        f"{wording.capitalize()} (counts as not certified): attacker plugin has not settled: all 0"
    )


def test_what_no_bound_certifies_is_not_called_certified_for_anybody():
    """The bounds lie on both sides of delta: not saturated, and undecided whatever more documents would teach."""
    first = audited(own_named_plugin, 0.9).verdict.parts[0]
    found = audited(own_named_plugin, first.mean)
    assert found.state == found.state_in_words == "undecided"
    assert found.verdict.parts[0].sentence.startswith(
        "Undecided (counts as not certified): attacker plugin has not settled"
    )


def test_evidence_of_an_attacker_that_still_learns_verifies_and_is_the_only_one():
    found = audited(own_named_plugin, 0.9)
    mine = [e for e in found.evidence if e.certificate.claim.pair_law == "anchored"]
    assert [e.certificate.state_in_words.startswith("certified for an attacker") for e in mine] == [True]
    assert verify(mine[0]).holds
    assert not any(e.certificate.state == "certified" for e in found.evidence)


def test_the_law_of_the_verdict_is_the_one_whose_growth_counts():
    """With fewer documents it trusts its context less: worst pairs grow beyond delta, anchored ones do not."""

    def timid(part):
        return Recalibrated(part.mechanism, fitted(part), 0.7)

    settled = audited(fitted, 0.5, law="worst", epsilon=6.0)
    growing = audited(timid, 0.5, law="worst", epsilon=6.0)
    anchored = audited(timid, 0.5, epsilon=6.0)
    assert (settled.state, anchored.state) == ("certified", "certified")
    assert anchored.learning[0].expected_rates[0] < 0.5 < growing.learning[0].expected_rates[0]
    worst = growing.verdict.parts[0]
    assert worst.claim.pair_law == "worst"
    assert growing.learning[0].steps[-1].rates == (worst.mean,)
    assert growing.learning[0].steps[-1].gain == anchored.learning[0].steps[-1].gain
    assert growing.state_in_words == "certified for an attacker with 400 training records, not for a better one"


def test_a_saturated_attacker_certifies_as_before():
    found = audited(fitted, 0.9)
    assert found.state == "certified"
    steps = found.learning[0].steps
    assert steps[-1].rates[0] == pytest.approx(steps[-2].rates[0], rel=0.2)


def test_one_that_still_learns_may_show_a_violation():
    assert audited(None, 0.001).state == "violated"
    assert audited(own_named_plugin, 0.001).state == "violated"


def plugin(known):
    return fit_plugin(known)


def nothing(known):
    """Half of the documents teach nothing: whatever the full fit finds came out of nothing."""
    return Retrained(lambda there: Own(there, name="plugin"), Own(known, name="plugin"))


@pytest.fixture(scope="module")
def plain():
    return adapt(task(**ASKED))


ASKED = {"grid": (0.2, 1.0), "documents": 200, "delta": 0.3}


def with_refit(refit, **asked):
    return adapt(replace(task(**{**ASKED, **asked}), refits={"plugin": refit}))


def test_without_a_way_to_fit_again_nothing_changes(plain):
    assert plain.state == "certified"
    assert plain.learning == ()


def test_an_attacker_that_still_learns_certifies_no_scales():
    found = with_refit(nothing, grid=(1.0,), delta=0.9)
    assert (found.state, found.chosen, found.proposed) == ("undecided", None, (1.0, 1.0))
    wording = "certified for an attacker with 200 training records, not for a better one"
    assert wording in found.basis
    assert "attacker plugin has not settled" in found.basis
    assert (found.verdict.state, found.verdict.state_in_words) == ("undecided", wording)
    assert all(part.state_in_words == wording for part in found.verdict.parts)
    assert any("these scales are proposed, not certified" in line for line in found.warnings)
    assert "certified" not in {row.state for row in found.sequence}


def test_every_attacker_that_learned_accuses_and_a_recalibrated_one_only_as_such(monkeypatch):
    made = task(**{**ASKED, "grid": (1.0,), "delta": 0.9})
    other = replace(made.attackers[0], name="other")

    def calmer(attacker, release, truth, budget, *, alike):
        return Recalibrated(budget.mechanism, attacker, 0.9) if attacker.name == "other" else attacker

    monkeypatch.setattr(calibration, "recalibrated", calmer)
    verdict = adapt(replace(made, attackers=(*made.attackers, other))).verdict
    accusing = [part.claim.attacker for part, may in zip(verdict.parts, verdict.accusing, strict=True) if may]
    assert accusing == ["plugin", "plugin", "other, recalibrated", "other, recalibrated"]  # in two tiers
    assert {part.claim.attacker for part in verdict.parts} == {"plugin", "other", "other, recalibrated"}


def test_scales_where_nothing_exceeds_are_taken_instead(plain):
    found = with_refit(nothing)
    assert found.state == "certified"
    assert found.learning[0].steps[-1].rates == (0.0, 0.0)
    assert max(found.chosen) < max(plain.chosen)
    assert {row.state for row in found.sequence if row.scales == plain.chosen} == {"undecided"}


def test_a_saturated_attacker_certifies_and_its_sizes_are_said():
    found = with_refit(plugin, grid=(1.0,), delta=0.9)
    assert found.state == "certified"
    assert [step.documents for step in found.learning[0].steps] == [100, 200]
    assert found.learning[0].is_saturated(found.settings.delta)
    assert found.learning[0].sentence in found.warnings


def test_the_half_is_the_one_of_an_audit_with_the_same_seed():
    known = task().known
    sizes = dict(smaller_fits(lambda part: part, known, saturation_stream(7)))
    half = half_of(known, saturation_stream(7))
    assert half.fit.sources.tolist() == sizes[200].fit.sources.tolist()


@pytest.mark.parametrize(("half", "full", "growth"), [(0.01, 0.02, 2.0), (0.02, 0.01, 2.0), (0.0, 0.0, 1.0)])
def test_growth_is_from_what_was_found_to_what_is_expected(half, full, growth):
    steps = (SizeStep(50, 0.1, (half,)), SizeStep(100, 0.2, (full,)))
    assert LearningOfSize("counts", ("all",), steps).growth == pytest.approx(growth)

"""The choice among certified scales: an attacker that still learns from more documents certifies none of them."""

from dataclasses import replace

import pytest

from oddshift.adapt import adapt
from oddshift.attackers.attacker import Retrained
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.controls import Own
from oddshift.attackers.learning_size import LearningOfSize, SizeStep, half_of, smaller_fits
from oddshift.audit import calibration
from oddshift.audit.calibration import Recalibrated
from oddshift.audit.trials import saturation_stream
from test_adapt import task


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

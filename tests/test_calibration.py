"""Calibration against numbers that can be worked out by hand, and against attackers whose fault is known.

Attackers scanned together find exactly what each finds alone, and what one recalibrates is read once.
"""

import sys
from dataclasses import asdict, dataclass, replace

import numpy as np
import pytest

from oddshift.attackers.attacker import Beliefs, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import Combination
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.cooccurrence import Cooccurrence, fit_cooccurrence
from oddshift.audit.calibration import Bin, Recalibrated, calibration, joint_scan, joint_scores
from oddshift.audit.scan import Budget, scan, scores
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import log_score, ring, two_tiers


@dataclass(frozen=True)
class Sharpened:
    """Another attacker whose beliefs are raised to a power."""

    attacker: object
    power: float
    name: str = "sharpened"
    with_context: bool = False

    def beliefs(self, release):
        for block in self.attacker.beliefs(release):
            total = self.power * (block.shift + block.log_prior)
            yield Beliefs(block.positions, total - block.log_prior, block.log_prior)


def test_by_hand():
    space = Space([[1.0], [2.0], [4.0]])
    fit = Records.from_documents(space, [[0, 1, 2]])
    known = knowledge(Exponential(space, 1.0), one_tier(space), fit)
    secrets = Records.from_documents(space, [[0], [2, 1]])

    @dataclass(frozen=True)
    class Fixed:
        name: str = "fixed"
        with_context: bool = False

        def beliefs(self, release):
            rows = np.log([[0.8, 0.1, 0.1], [0.25, 0.25, 0.5], [0.6, 0.3, 0.1]])
            yield Beliefs(np.array([2, 0, 1]), rows[[2, 0, 1]], known.log_prior)

    release = perturb(secrets, known.mechanism, known.tiers, np.random.default_rng(0))
    found = calibration(Fixed(), known, secrets, release)
    assert found.log_score == pytest.approx(-np.log([0.8, 0.5, 0.3]).mean())
    assert found.prior_score == pytest.approx(np.log(3))
    assert found.reliability == (
        Bin(1, pytest.approx(0.5), 1.0),
        Bin(1, pytest.approx(0.6), 0.0),
        Bin(1, pytest.approx(0.8), 1.0),
    )
    assert found.calibration_error == pytest.approx((0.5 + 0.6 + 0.2) / 3)


def test_controls_gain_what_they_must():
    world = ring()
    own = calibration(Own(world.known), world.known, world.secrets, world.release)
    assert own.log_score == pytest.approx(own.own_score)
    null = calibration(Null(world.known), world.known, world.secrets, world.release)
    assert null.log_score == pytest.approx(null.prior_score)
    assert null.log_score > null.own_score
    assert null.own_score == pytest.approx(own.log_score)


@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_the_plugin_learned_and_is_calibrated(tiers):
    world = ring(tiers=tiers)
    plugin = fit_plugin(world.known)
    found = calibration(plugin, world.known, world.secrets, world.release)
    assert found.log_score < found.own_score
    assert found.log_score == pytest.approx(log_score(plugin, world))
    assert 0.7 < found.temperature < 1.4
    assert found.calibration_error < 0.1


def test_the_temperature_undoes_sharpening():
    world = ring()
    plain = calibration(Own(world.known), world.known, world.secrets, world.release)
    sharp = calibration(Sharpened(Own(world.known), 3.0), world.known, world.secrets, world.release)
    assert sharp.temperature == pytest.approx(3.0 * plain.temperature, rel=1e-3)
    assert sharp.calibration_error > plain.calibration_error


def test_many_positions_are_fitted_on_some(monkeypatch):
    world = ring()
    monkeypatch.setattr(sys.modules["oddshift.audit.calibration"], "TEMPERATURE_ENTRIES", 8 * 100)
    assert calibration(Own(world.known), world.known, world.secrets, world.release).positions == 480


def test_what_cannot_be_used_is_refused():
    world = ring()
    with pytest.raises(InvalidInput, match="secrets"):
        calibration(Own(world.known), world.known, world.secrets.take([0]), world.release)


def test_empty_documents_are_not_counted():
    world = ring(length=None)
    found = calibration(Own(world.known), world.known, world.secrets, world.release)
    assert found.documents == int((world.secrets.lengths > 0).sum())
    assert replace(found, positions=1) != found


@pytest.mark.parametrize("is_public", [True, False])
def test_beliefs_over_candidates_alone_are_judged_as_beliefs_over_all_points(is_public):
    world = ring(documents=60, length=3, strength=0.6, tiers=two_tiers(is_public=is_public))
    parts = (fit_plugin(world.known), fit_cooccurrence(world.known))
    rows = (((0.7, 0.5), (0.2, 0.3)),) * (2 if is_public else 1)
    few = Combination(world.known, parts, rows)
    everything = Sharpened(few, 1.0, name=few.name)
    assert hasattr(few, "candidate_beliefs")
    one, two = (calibration(each, world.known, world.secrets, world.release) for each in (few, everything))
    numbers = [name for name, value in asdict(one).items() if isinstance(value, float)]
    assert len(numbers) == 4
    for name in numbers:
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-6), name
    assert [b.positions for b in one.reliability] == [b.positions for b in two.reliability]


@pytest.fixture(params=["one tier", "public tiers", "secret tiers"])
def case(request):
    tiers = {"one tier": None, "public tiers": two_tiers(), "secret tiers": two_tiers(is_public=False)}[request.param]
    world = ring(length=None, documents=40, tiers=tiers)
    known = world.known
    rows = len(known.tiers) if known.tiers.is_public else 1
    plugin = fit_plugin(known)
    pairs = Combination(known, (fit_cooccurrence(known),), (((0.7, 0.4),),) * rows, name="pairs")
    counts = Combination(known, (plugin, fit_cooccurrence(known)), (((0.4, 0.4), (0.5, 0.9)),) * rows, name="counts")
    attackers = [Own(known), pairs, counts, Recalibrated(known.mechanism, counts, 0.6)]
    return world, attackers, Budget(known.mechanism, known.tiers, 0.8)


@pytest.mark.parametrize("law", ["anchored", "uniform"])
def test_every_scan_is_that_of_the_attacker_alone(case, law):
    world, attackers, budget = case
    together = joint_scan(attackers, world.release, world.secrets, budget, np.random.default_rng(4), law=law)
    for attacker, found in zip(attackers, together, strict=True):
        alone = scan(
            attacker, world.release, world.secrets, budget, np.random.default_rng(4), laws=(law,), detailed=False
        )
        np.testing.assert_array_equal(found.rate(law), alone.rate(law))
        np.testing.assert_array_equal(found.rank, alone.rank)
        np.testing.assert_array_equal(found.prior_hit, alone.prior_hit)
        np.testing.assert_allclose(found.scores.log_score, alone.scores.log_score, rtol=1e-12)
    assert len({found.scores.log_score.sum() for found in together}) == len(attackers)  # they do differ


def test_recalibrated_attackers_read_one_that_is_not_among_them_once(case, monkeypatch):
    world, (_, _, counts, calmer), budget = case
    bolder, calls, terms = Recalibrated(world.known.mechanism, counts, 1.4), [], Cooccurrence.terms
    alone = [scores(attacker, world.release, world.secrets, budget) for attacker in (calmer, bolder)]
    monkeypatch.setattr(Cooccurrence, "terms", lambda *three: calls.append(len(three[2])) or terms(*three))
    together = joint_scores([calmer, bolder], world.release, world.secrets, budget)
    assert sum(calls) == len(world.release)
    for found, mine in zip(together, alone, strict=True):
        np.testing.assert_allclose(found.log_score, mine.log_score, rtol=1e-12)


def test_scores_are_those_of_the_attackers_alone(case):
    world, attackers, budget = case
    together = joint_scores(attackers, world.release, world.secrets, budget)
    for attacker, found in zip(attackers, together, strict=True):
        alone = scores(attacker, world.release, world.secrets, budget)
        np.testing.assert_allclose(found.log_score, alone.log_score, rtol=1e-12)
        np.testing.assert_allclose(found.own_score, alone.own_score, rtol=1e-12)

"""What an audit shows beside its rates: pairs across secret tiers, calibration, how a network learned."""

import sys
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from rich.console import Console

from oddshift.app.display import show_audit
from oddshift.attackers.attacker import Beliefs, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import Combination
from oddshift.attackers.controls import Own
from oddshift.attackers.training import Curve
from oddshift.audit import AuditSettings, audit
from oddshift.audit.measurement import worst_exceeds
from oddshift.audit.result import tier_rates
from oddshift.audit.scan import Budget, scan
from oddshift.base.storage import load, save
from oddshift.leakage.mpl import mpl
from oddshift.mechanisms import Tiered
from oddshift.model.release import perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from worlds import hinted, ring

K = 6
LABELS = np.array([0, 0, 1, 1, 1, 1])
CURVE = Curve((2.0, 1.5), (2.1, 1.6, 1.7))


def world(is_public):
    """Words of two tiers, one larger than the other, and a mechanism that keeps no promise across them."""
    tiers = Tiers(LABELS, names=("PII", "PoII"), scales=(0.5, 1.0), is_public=is_public)
    base = ring(words=K, documents=1500, tiers=tiers).known
    split = base.fit.split(rng=np.random.default_rng(1))
    known = knowledge(Tiered(base.mechanism.space, tiers, 2.0), tiers, split.fit)
    return split, known, fit_plugin(known)


@pytest.fixture(scope="module")
def secret():
    return world(is_public=False)


@pytest.fixture(scope="module")
def public():
    return world(is_public=True)


def by_hand(beyond, truth, tier):
    """The four rates from every pair of every position: mean over pairs, positions, documents."""
    other, apart = LABELS[:, None] != LABELS[None, :], ~np.eye(K, dtype=bool)
    rates = {}
    for kind, mask in (("within", ~other & apart), ("across", other)):
        anchored, uniform = [], []
        for document in range(len(truth)):
            here = np.arange(truth.offsets[document], truth.offsets[document + 1])
            here = [p for p in here if LABELS[truth.points[p]] == tier]
            if here:
                anchored.append(np.mean([beyond[p, truth.points[p]][mask[truth.points[p]]].mean() for p in here]))
                uniform.append(np.mean([beyond[p][mask].mean() for p in here]))
        rates[f"anchored_{kind}"], rates[f"uniform_{kind}"] = np.mean(anchored), np.mean(uniform)
    return rates


def test_pairs_within_and_across_secret_tiers_are_those_of_the_definition(secret):
    split, known, plugin = secret
    truth, space = split.certify.take(np.arange(25)), known.mechanism.space
    release = perturb(truth, known.mechanism, known.tiers, np.random.default_rng(0))
    beyond = np.empty((len(truth.points), K, K), dtype=bool)
    for block in plugin.beliefs(release):
        for position, shift in zip(block.positions, block.shift, strict=True):
            beyond[position] = mpl(np.zeros(K), shift, space.distances) > 1.5
    budget = Budget(known.mechanism, known.tiers, 1.5)
    runs = [scan(plugin, release, truth, budget, np.random.default_rng(seed)) for seed in range(400)]
    found = [tier_rates(run, truth, known.tiers, {}) for run in runs]
    for tier in (0, 1):
        expected = by_hand(beyond, truth, tier)
        for name, value in expected.items():
            mean = np.mean([getattr(rates[tier].pair_split, name) for rates in found])
            exact = name.startswith("anchored")  # uniform pairs are sampled
            assert mean == pytest.approx(value, abs=1e-12 if exact else 0.01), (tier, name)
        assert abs(expected["anchored_across"] - expected["anchored_within"]) > 0.1  # so that a mix-up would show


def test_an_audit_of_secret_tiers_shows_pairs_across(secret, capsys):
    split, known, plugin = secret
    result = audit(split, known, [plugin], AuditSettings(epsilon=1.5))
    rates = result.row("plugin").tiers[0]
    everyone, across = K - 1, 4  # the other values of a PII secret, and those of another tier
    together = across * rates.pair_split.anchored_across + (everyone - across) * rates.pair_split.anchored_within
    assert together / everyone == pytest.approx(rates.anchored)
    assert any("PII" in note and "across secret tiers exceed" in note for note in result.warnings)
    show_audit(result, Console(width=250))
    assert f"{rates.pair_split.anchored_across:.2%}" in capsys.readouterr().out


def test_public_tiers_have_no_pairs_across(public):
    split, known, plugin = public
    result = audit(split, known, [plugin], AuditSettings(epsilon=1.5))
    assert all(rates.pair_split is None for row in result.attackers for rates in row.tiers)


def test_the_strongest_attacker_is_calibrated_on_documents_it_never_saw(public):
    split, known, plugin = public
    found = audit(split, known, [plugin], AuditSettings(epsilon=1.5)).calibration
    assert found.attacker == "plugin"
    assert found.documents == len(split.certify)
    assert sum(b.positions for b in found.reliability) == found.positions == len(split.certify.points)
    assert found.temperature == pytest.approx(1.0, abs=0.3)
    assert found.calibration_error < 0.1


def test_many_documents_are_calibrated_on_some(public, monkeypatch):
    split, known, plugin = public
    monkeypatch.setattr(sys.modules["oddshift.audit.auditing"], "CALIBRATED", 40 * K)
    assert audit(split, known, [plugin], AuditSettings(epsilon=1.5)).calibration.positions == 40


@dataclass(frozen=True)
class Learned:
    """Somebody's network that learned nothing, slowly."""

    known: object
    name: str = "mine"
    with_context: bool = False
    curve: Curve = field(default_factory=lambda: CURVE)

    def beliefs(self, release):
        return Own(self.known).beliefs(release)


def test_how_a_network_learned_is_kept_also_inside_a_combination(public, tmp_path):
    split, known, plugin = public
    both = Combination(known, (plugin, Learned(known)), (((1.0, 1.0), (0.0, 0.0)),))
    result = audit(split, known, [plugin, Learned(known), both], AuditSettings(epsilon=1.5))
    save(tmp_path / "audit.npz", result)
    again = load(tmp_path / "audit.npz", type(result))
    assert again.row("mine").curve == again.row("combination").curve == CURVE
    assert again.row("plugin").curve == Curve()
    assert again.calibration == result.calibration


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_pair_is_found_however_few_are_compared(seed):
    rng = np.random.default_rng(seed)
    space = Space(rng.normal(size=(40, 3)))
    index = np.flatnonzero(rng.random(40) < 0.7)
    shift = rng.normal(size=(60, len(index))) * rng.uniform(0.05, 0.6, size=(60, 1))
    shift[::7, 3] = -1e30  # an impossible value
    gaps = np.abs(shift[:, :, None] - shift[:, None, :])
    expected = (gaps > 0.9 * space.distances[np.ix_(index, index)]).any(axis=(1, 2))
    assert 5 < expected.sum() < 55
    np.testing.assert_array_equal(worst_exceeds(shift, space, index, 0.9), expected)


@dataclass(frozen=True)
class Told:
    """Reads the public words, which hint at every secret; reads positions together only if `joint` does."""

    known: object
    joint: object = None
    name: str = "told"
    with_context: bool = True

    def beliefs(self, release):
        hint = release.context.tokens[1::2]  # one behind each slot
        for block in (self.joint or Own(self.known)).beliefs(release):
            agrees = np.arange(K) % 2 == hint[block.positions][:, None]
            yield Beliefs(block.positions, block.shift, block.log_prior + np.log(np.where(agrees, 0.75, 0.25)))


def test_what_the_context_alone_tells_is_no_joint_gain_and_certifies_nothing(public, capsys):
    split, known, plugin = public
    split = replace(split, select=hinted(split.select, 1), certify=hinted(split.certify, 2))
    told, both = Told(known), Told(known, plugin, "told and joint")
    alone = audit(split, known, [told], AuditSettings(epsilon=1.5, delta=0.5))
    assert alone.row("told").gain > 0.05
    assert alone.row("told").joint_gain == 0.0
    assert not alone.row("told").learned
    assert alone.state == "undecided"
    result = audit(split, known, [told, plugin, both], AuditSettings(epsilon=1.5, delta=0.5))
    assert result.strongest == "told and joint"
    assert result.row("told and joint").gain > result.row("told and joint").joint_gain + 0.05 > 0.1
    assert result.row("own").gain == result.row("own").joint_gain == 0.0
    show_audit(result, Console(width=250))
    assert f"{result.row('told and joint').joint_gain:+.3f}" in capsys.readouterr().out

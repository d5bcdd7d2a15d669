"""The audit against brute force, its verdict rules, its refusals, and its repeatability."""

import os
import signal
import threading
from dataclasses import dataclass, replace

import numpy as np
import pytest

import oddshift as od
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.controls import Own, exact_attacker
from oddshift.audit import AuditSettings, audit
from oddshift.audit.proven import Proven
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution
from oddshift.base.storage import digest
from oddshift.evidence.certificates import certify
from oddshift.model.records import Records
from oddshift.model.release import one_tier

K, LENGTH = 6, 4


def chain(strength):
    """A ring: the next value follows the last with probability `strength`, otherwise any value comes."""
    step = np.full((K, K), (1 - strength) / K) + strength * np.roll(np.eye(K), 1, axis=1)
    return od.Markov(np.full(K, 1 / K), step, LENGTH)


def records(prior, n, seed=0):
    rng = np.random.default_rng(seed)
    values = np.empty((n, LENGTH), dtype=np.int64)
    values[:, 0] = rng.integers(0, K, n)
    for t in range(1, LENGTH):
        row = prior.transitions[t - 1][values[:, t - 1]].cumsum(axis=1)
        values[:, t] = np.minimum((rng.random(n)[:, None] >= row).sum(axis=1), K - 1)
    return Records.from_documents(SPACE, list(values))


SPACE = od.Space(np.random.default_rng(4).normal(size=(K, 2)))
EM = od.Exponential(SPACE, 1.0)


@pytest.fixture(scope="module")
def strong():
    prior = chain(0.9)
    split = records(prior, 1500).split(rng=np.random.default_rng(1))
    known = knowledge(EM, one_tier(SPACE), split.fit)
    exact = exact_attacker(known, lambda length: prior)
    plugin = fit_plugin(known)
    return split, known, plugin, exact


def test_controls_are_always_there_and_own_never_exceeds_its_exact_epsilon(strong):
    split, known, plugin, _ = strong
    result = audit(split, known, [plugin], AuditSettings(epsilon=1.0, delta=0.05))
    assert [row.name for row in result.attackers] == ["null", "own", "plugin"]
    assert result.exact_epsilon <= 1.0
    for name in ("null", "own"):
        for rates in result.row(name).tiers:
            assert rates.anchored == rates.uniform == 0.0
    assert result.row("own").gain == 0.0
    assert result.row("null").gain < 0


def test_a_broken_mechanism_is_found_out(strong):
    split, known, plugin, exact = strong
    result = audit(split, known, [plugin, exact], AuditSettings(epsilon=1.0, delta=0.05))
    assert result.state == "violated"
    assert result.row("plugin").learned
    assert result.row("plugin").gain == pytest.approx(result.row("exact").gain, abs=0.1)
    estimated, true = (result.row(name).tiers[0].anchored for name in ("plugin", "exact"))
    assert true > 0.1
    assert estimated == pytest.approx(true, abs=0.1)
    assert result.strongest == "exact"


def test_independent_secrets_do_not_leak_and_are_not_certified_by_attackers_that_learned_nothing():
    prior = chain(0.0)
    split = records(prior, 1500).split(rng=np.random.default_rng(1))
    known = knowledge(EM, one_tier(SPACE), split.fit)
    plugin = fit_plugin(known)
    result = audit(
        split, known, [plugin, exact_attacker(known, lambda length: prior)], AuditSettings(epsilon=1.0, delta=0.05)
    )
    assert result.row("exact").tiers[0].anchored == 0.0
    assert result.state == "undecided"
    assert "no attacker beat the single-release one" in result.certificates[0].sentence
    assert any("did not significantly beat" in note for note in result.warnings)
    assert any("no attacker learned anything" in note for note in result.warnings)
    declared = audit(split, known, [plugin], AuditSettings(epsilon=1.0, delta=0.05, independent=True))
    assert declared.state == "certified"
    assert not any("no attacker learned anything" in note for note in declared.warnings)
    assert any("independent" in said for said in declared.assumptions)
    proved = audit(split, known, [plugin], AuditSettings(epsilon=1.0, delta=0.05), proven=Proven(0.9, "by hand"))
    assert proved.state == "certified"
    assumed = Proven(0.9, "under a model", is_estimated=True)
    assert audit(split, known, [plugin], AuditSettings(epsilon=1.0, delta=0.05), proven=assumed).state == "undecided"


def test_certificates_are_of_one_value_for_each_document(strong):
    split, known, plugin, _ = strong
    result = audit(split, known, [plugin], AuditSettings(epsilon=1.0, delta=0.05))
    laws = [c.claim.pair_law for c in result.certificates]
    assert laws == ["anchored", "uniform", "worst"]  # what decides comes first
    assert all(c.documents == len(split.certify) for c in result.certificates)
    for evidence in result.evidence:
        certificate = evidence.certificate
        again = certify(evidence.values, certificate.claim, certificate.alpha, certificate.method)
        assert again.upper == certificate.upper


def test_a_user_is_one_value_when_users_are_known():
    base = records(chain(0.9), 600)
    users = replace(base, users=np.arange(600) // 3)
    split = users.split(rng=np.random.default_rng(1))
    known = knowledge(EM, one_tier(SPACE), split.fit)
    result = audit(split, known, [fit_plugin(known)], AuditSettings(epsilon=1.0, delta=0.05))
    assert result.certificates[0].documents == len(np.unique(split.certify.users))


def test_the_same_seed_gives_the_same_audit_on_any_kind_of_worker(strong):
    split, known, plugin, exact = strong
    settings = AuditSettings(epsilon=1.0, delta=0.05, seed=3)
    serial = audit(split, known, [plugin, exact], settings)
    spread = audit(split, known, [plugin, exact], settings, execution=Execution("processes", 2))
    assert digest(serial) == digest(spread)


def test_an_interrupted_audit_continues_where_it_was(strong, tmp_path):
    split, known, plugin, _ = strong
    settings = AuditSettings(epsilon=1.0, delta=0.05)
    whole = audit(split, known, [plugin], settings)

    @dataclass(frozen=True)
    class Interrupted:
        inner: object
        name: str = "plugin"
        with_context: bool = False

        def beliefs(self, release):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(split, known, [Interrupted(plugin)], settings, folder=tmp_path)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(kept) == 2
    resumed = audit(split, known, [plugin], settings, folder=tmp_path)
    assert digest(resumed) == digest(whole)
    assert all((tmp_path / name).stat().st_mtime_ns == moment for name, moment in kept.items())


@dataclass(frozen=True)
class Mine:
    """An attacker of a user's own."""

    known: object
    name: str = "mine"
    with_context: bool = False

    def beliefs(self, release):
        return Own(self.known).beliefs(release)


def test_a_users_own_attacker_is_one_class(strong):
    split, known, _, _ = strong
    result = audit(split, known, [Mine(known)], AuditSettings(epsilon=1.0))
    assert result.row("mine").log_score == result.row("own").log_score
    assert not result.row("mine").learned


def test_mismatches_are_refused(strong):
    split, known, plugin, _ = strong
    with pytest.raises(InvalidInput, match="two attackers share a name"):
        audit(split, known, [plugin, plugin], AuditSettings(epsilon=1.0))
    with pytest.raises(InvalidInput, match="epsilon=0"):
        audit(split, known, [plugin], AuditSettings(epsilon=0))
    with pytest.raises(InvalidInput, match="law='best'"):
        audit(split, known, [plugin], AuditSettings(epsilon=1.0, law="best"))
    smaller = od.Exponential(od.Space([[0.0], [1.0]]), 1.0)
    with pytest.raises(InvalidInput, match="records over 6 points"):
        knowledge(smaller, one_tier(smaller.space), split.fit)


def test_without_delta_bounds_are_reported_and_nothing_is_certified(strong):
    split, known, plugin, _ = strong
    result = audit(split, known, [plugin], AuditSettings(epsilon=1.0))
    assert result.verdict is None
    assert result.state == "undecided"
    assert 0 < result.certificates[1].upper < 1


def test_rates_by_subgroup_hold_together(strong):
    split, known, plugin, _ = strong
    certify = replace(split.certify, subgroups=np.arange(len(split.certify)) % 2, subgroup_names=("even", "odd"))
    result = audit(replace(split, certify=certify), known, [plugin], AuditSettings(epsilon=1.0, delta=0.05))
    assert [(row.subgroup, row.documents) for row in result.subgroups] == [("even", 150), ("odd", 150)]
    whole = next(c for c in result.counting_rates if c.claim.attacker == result.strongest)
    assert np.mean([row.mean for row in result.subgroups]) == pytest.approx(whole.mean)
    assert all(row.lower < row.mean < row.upper for row in result.subgroups)


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_worker_killed_in_the_middle_does_not_stop_the_audit(strong):
    """Loky replaces a dead worker only for the next call; a Dask cluster takes its task up again."""
    distributed = pytest.importorskip("distributed")
    split, known, plugin, exact = strong
    settings = AuditSettings(epsilon=1.0, delta=0.05)
    alone = audit(split, known, [plugin, exact], settings)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
        killer.start()
        spread = audit(
            split, known, [plugin, exact], settings, execution=Execution("cluster", address=cluster.scheduler_address)
        )
        killer.join()
    assert digest(spread) == digest(alone)

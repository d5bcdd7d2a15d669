"""Everything registered is named by its content: other behaviour is another fingerprint, equal content the same."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import identities
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import against, knowledge
from oddshift.attackers.controls import Own
from oddshift.audit import AuditSettings, audit
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import VectorCodec, VectorSettings
from oddshift.evidence.certificates import Claim, certify, evidence_of
from oddshift.mechanisms import MECHANISMS, Exponential, Tiered
from oddshift.model.cost import COSTS
from oddshift.model.metric import METRICS
from oddshift.model.records import Split
from oddshift.model.tiers import Tiers
from oddshift.protect import Sanitizer
from oddshift.protect.policies import Policy, certificate_terms, load_policy, make_policy, save_policy
from worlds import gather

NETWORKS = "paper-"
HEX = set("0123456789abcdef")


@cache
def world():
    return identities.world()


@cache
def fitted(name, seed=0, otherwise=False):
    if name.startswith(NETWORKS):
        pytest.importorskip("torch").set_num_threads(1)
    known = identities.other_knowledge(world().known) if otherwise else world().known
    return identities.fitted(name, known, seed)


def alike(left, right):
    return left.shape == right.shape and np.array_equal(left, right)


def believes_alike(one, two):
    return all(alike(a, b) for a, b in zip(gather(one, world().release), gather(two, world().release), strict=True))


def test_every_registered_mechanism_has_examples():
    assert set(identities.MECHANISM_EXAMPLES) == set(MECHANISMS)


def test_another_matrix_is_another_fingerprint():
    made = identities.mechanisms()
    for (one, a), (two, b) in combinations(made.items(), 2):
        if not alike(a.log_matrix, b.log_matrix):
            assert a.fingerprint != b.fingerprint, f"{one} and {two}"
    assert any(alike(a.log_matrix, b.log_matrix) for a, b in combinations(made.values(), 2))


def test_the_same_content_is_the_same_fingerprint():
    once, again = identities.everything(), identities.everything()
    for name, value in once.items():
        mark = fingerprint(value)
        assert len(mark) == 64
        assert set(mark) <= HEX
        assert fingerprint(again[name]) == mark, name
        assert getattr(value, "fingerprint", mark) == mark


def test_all_examples_differ():
    marks = {name: fingerprint(value) for name, value in identities.everything().items()}
    assert len(set(marks.values())) == len(marks)


def test_every_metric_and_cost_has_a_name_of_its_own():
    assert len({fingerprint(metric) for metric in METRICS.values()}) == len(METRICS)
    assert len({fingerprint(cost) for cost in COSTS.values()}) == len(COSTS)


def test_another_process_gives_the_same():
    """Other string hashes, another order of imports, another folder."""
    here = {name: fingerprint(value) for name, value in identities.everything().items()}
    file = Path(identities.__file__)
    paths = [str(file.parent), *(path for path in sys.path if path)]
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": os.pathsep.join(paths)}
    called = "import identities, json; from oddshift.base.identity import fingerprint as f; " + (
        "print(json.dumps({n: f(v) for n, v in identities.everything().items()}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", called], env=environment, cwd=file.parent, capture_output=True, text=True, check=True
    )
    assert json.loads(found.stdout) == here


SINGLE_MECHANISM = {"paper-rnn", "paper-lstm", "paper-transformer"}
"""Attackers that were trained against one mechanism and refuse any other, unless they were trained for a range."""


@pytest.mark.parametrize("name", ATTACKERS)
def test_other_beliefs_are_another_fingerprint(name):
    attacker, otherwise = fitted(name), fitted(name, otherwise=True)
    if not believes_alike(attacker, otherwise):
        assert fingerprint(attacker) != fingerprint(otherwise)
    noisier = replace(world().known, mechanism=Exponential(world().known.mechanism.space, 1.0))
    if name in SINGLE_MECHANISM:
        with pytest.raises(InvalidInput, match="one mechanism"):
            against(attacker, noisier)
    elif hasattr(attacker, "against"):
        assert fingerprint(attacker.against(noisier)) != fingerprint(attacker)


@pytest.mark.parametrize("name", ATTACKERS)
def test_an_attacker_fitted_again_is_the_same(name):
    again = identities.fitted(name, world().known)
    assert believes_alike(again, fitted(name))
    assert fingerprint(again) == fingerprint(fitted(name))


@pytest.mark.parametrize("name", ["paper-rnn", "paper-lstm"])
def test_weights_decide(name):
    """One weight of a network changed in place: other beliefs, so another fingerprint, also of what wraps it."""
    torch = pytest.importorskip("torch")
    attacker = identities.fitted(name, world().known, seed=5)
    before = fingerprint(attacker)
    with torch.no_grad():
        next(p for p in attacker.model.parameters() if p.requires_grad).view(-1)[0] += 1e-3
    assert fingerprint(attacker) != before


@pytest.mark.parametrize("name", ["paper-rnn", "paper-lstm"])
def test_how_training_went_does_not_count(name):
    attacker = fitted(name)
    longer = replace(attacker, curve=replace(attacker.curve, train=(9.0, *attacker.curve.train)))
    assert fingerprint(longer) == fingerprint(attacker)


def test_two_attackers_of_one_name_differ():
    """A name is not an identity: the same kind of attacker from other records."""
    weak, strong = fitted("plugin", otherwise=True), fitted("plugin")
    assert weak.name == strong.name
    assert fingerprint(weak) != fingerprint(strong)


def test_wrapped_attackers_with_other_beliefs_differ():
    made = identities.wrapped(world().known)
    for (one, a), (two, b) in combinations(made.items(), 2):
        if not believes_alike(a, b):
            assert fingerprint(a) != fingerprint(b), f"{one} and {two}"


def test_knowledge_counts_prior_records_and_mechanism():
    known = world().known
    smoothed = knowledge(known.mechanism, known.tiers, known.fit, smoothing=0.7)
    fewer = identities.other_knowledge(known)
    noisier = replace(known, mechanism=Exponential(known.mechanism.space, 1.0))
    assert len({fingerprint(k) for k in (known, smoothed, fewer, noisier)}) == 4


def test_records_count_every_secret_and_the_context():
    records = world().secrets
    moved = records.points.copy()
    moved[-1] = (moved[-1] + 1) % 8
    variants = [
        records,
        replace(records, points=moved),
        replace(records, context=None),
        replace(records, users=np.zeros(len(records), dtype=np.int64)),
        records.take(np.arange(len(records) - 1)),
    ]
    assert len({r.fingerprint for r in variants}) == len(variants)
    assert records.take(np.arange(len(records))).fingerprint == records.fingerprint


# what once collided: the same description and the same points, another channel


def collisions():
    made = identities.mechanisms()
    pairs = [("channel 0", "channel 1"), ("tiered 0", "tiered 1"), ("remap 0", "remap 1")]
    return [(made[one], made[two]) for one, two in pairs]


@pytest.mark.parametrize(
    ("one", "two"), collisions(), ids=["channels", "tiers with swapped labels", "priors of a remap"]
)
def test_what_looks_alike_is_told_apart(one, two):
    assert repr(one) == repr(two)
    np.testing.assert_array_equal(one.space.points, two.space.points)
    assert not np.array_equal(one.log_matrix, two.log_matrix)
    assert one.fingerprint != two.fingerprint


def certificate_about(mechanism):
    claim = Claim(
        epsilon=2.0,
        delta=0.1,
        tier="PII",
        pair_law="anchored",
        attacker="plugin",
        attacker_hash="ab",
        with_context=False,
        detector="none",
    )
    values = np.zeros(80)
    found = certify(values, claim, 0.05)
    evidence = evidence_of(found, values, mechanism_hash=mechanism.fingerprint, split_hash="documents")
    return certificate_terms(found, [evidence])


def test_a_policy_with_a_certificate_about_another_mechanism_is_refused():
    """The two differ in which point is in which tier, and in nothing that is printed."""
    audited, applied = (Tiered(identities.CLOUD, t, 2.0) for t in (identities.PUBLIC, identities.SWAPPED))
    certificate = certificate_about(audited)
    made = made_policy(audited, identities.PUBLIC, certificate=certificate)
    assert made.mechanism().fingerprint == audited.fingerprint
    with pytest.raises(InvalidInput, match="the certificate is about another mechanism"):
        made_policy(applied, identities.SWAPPED, certificate=certificate)


def test_protect_computes_the_fingerprint_of_what_it_applies(tmp_path):
    """A policy that was put together by hand, around the certificate of another mechanism."""
    certificate = certificate_about(Tiered(identities.CLOUD, identities.PUBLIC, 2.0))
    other = made_policy(Tiered(identities.CLOUD, identities.SWAPPED, 2.0), identities.SWAPPED)
    save_policy(tmp_path, Policy(replace(other.terms, certificate=certificate), other.vocabulary))
    with pytest.raises(InvalidInput, match="the certificate is about another mechanism"):
        Sanitizer(load_policy(tmp_path)).rows(identities.CLOUD.points)


def test_a_policy_that_would_apply_another_mechanism_is_refused():
    """The terms of a policy say nothing of the names of a mechanism's own tiers, which its identity counts."""
    renamed = Tiers(identities.PUBLIC.labels, names=("x", "y"), scales=identities.PUBLIC.scales, is_public=True)
    with pytest.raises(InvalidInput, match="cannot be a policy"):
        made_policy(Tiered(identities.CLOUD, identities.PUBLIC, 2.0), renamed)


def test_an_interrupted_audit_continues_only_with_the_same_attacker(tmp_path):
    """A weak attacker's kept scan is not the strong one's, though their names are the same."""
    known, secrets = world().known, world().secrets
    split = Split(
        fit=known.fit, select=secrets.take(np.arange(60)), certify=secrets.take(np.arange(60, 120)), by="document"
    )
    weak, strong = replace(Own(known), name="one"), replace(fitted("plugin"), name="one")
    settings = AuditSettings(epsilon=3.0)
    stale = audit(split, known, [weak], settings, folder=tmp_path)
    continued = audit(split, known, [strong], settings, folder=tmp_path)
    fresh = audit(split, known, [strong], settings)
    assert row(continued, "one") == row(fresh, "one")
    assert row(continued, "one") != row(stale, "one")
    kept = len(list(tmp_path.iterdir()))
    assert row(audit(split, known, [strong], settings, folder=tmp_path), "one") == row(fresh, "one")
    assert len(list(tmp_path.iterdir())) == kept, "the same attacker is read, not run again"


def row(found, name):
    """What one attacker found, as plain text."""
    return repr(next(result for result in found.attackers if result.name == name))


def made_policy(mechanism, tiers, **more):
    return make_policy(VectorCodec(VectorSettings(), mechanism.space, tiers), mechanism, tiers, **more)

"""A policy is the mechanism that was certified, and refuses to be anything else."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import SCHEMA, digest
from oddshift.data.codecs import VectorCodec, VectorSettings
from oddshift.evidence.certificates import Claim, certify, certify_joint, evidence_of
from oddshift.mechanisms import (
    Channel,
    Exponential,
    Geometric,
    Laplace,
    Mask,
    PathExponential,
    RandomizedResponse,
    Tiered,
    Truncated,
)
from oddshift.mechanisms.remap import Remap
from oddshift.model.metric import scaled, summed
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from oddshift.protect.policies import (
    POLICY,
    UNCERTIFIED,
    VOCABULARY,
    Policy,
    certificate_terms,
    load_policy,
    make_policy,
    save_policy,
)

SPACE = Space(np.random.default_rng(3).normal(size=(12, 4)))
TIERS = Tiers([0] * 5 + [1] * 7, names=("PII", "PoII"), scales=(0.4, 0.9), is_public=False)
PRIOR = np.arange(1, 13) / 78.0

MECHANISMS = {
    "exponential": Exponential(SPACE, 1.7),
    "truncated": Truncated(SPACE, 1.7, 2.5),
    "tiered": Tiered(SPACE, TIERS, 1.7),
    "path": PathExponential(SPACE, TIERS, 1.7),
    "mask": Mask(SPACE),
}
REMAPPED = {f"{name}, remapped": Remap(MECHANISMS[name], PRIOR, "cosine") for name in MECHANISMS if name != "mask"}
ALL = MECHANISMS | REMAPPED


def policy_of(mechanism, tiers=TIERS, **settings):
    return make_policy(VectorCodec(VectorSettings(), mechanism.space, tiers), mechanism, tiers, **settings)


def evidence(mechanism, tier="PII", violations=0):
    claim = Claim(
        epsilon=1.7,
        delta=0.1,
        tier=tier,
        pair_law="anchored",
        attacker="plugin",
        attacker_hash="ab12",
        with_context=True,
        detector="a list",
    )
    values = [1.0] * violations + [0.0] * (200 - violations)
    return evidence_of(
        certify(values, claim, 0.05), values, mechanism_hash=mechanism.fingerprint, split_hash="documents"
    )


@pytest.mark.parametrize("name", ALL)
def test_the_mechanism_comes_back_exactly(name, tmp_path):
    mechanism = ALL[name]
    path = save_policy(tmp_path, policy_of(mechanism))
    again = load_policy(path).mechanism()
    assert type(again) is type(mechanism)
    assert np.array_equal(again.log_matrix, mechanism.log_matrix)
    assert again.claimed_epsilon == mechanism.claimed_epsilon
    assert again.fingerprint == mechanism.fingerprint


@pytest.mark.parametrize("name", REMAPPED)
def test_the_remapping_is_read_and_equals_what_would_be_computed(name, tmp_path, monkeypatch):
    mechanism = REMAPPED[name]
    save_policy(tmp_path, policy_of(mechanism))
    monkeypatch.setattr("oddshift.mechanisms.remap._destinations", lambda *_: pytest.fail("computed again"))
    again = load_policy(tmp_path).mechanism()
    assert np.array_equal(again.destination, mechanism.destination)
    assert np.array_equal(again.prior, mechanism.prior)
    assert again.cost.name == "cosine"


def test_a_remapped_policy_says_how(tmp_path):
    terms = policy_of(REMAPPED["path, remapped"]).terms
    assert terms.remap.cost == "cosine"
    assert terms.remap.outputs_left == len(np.unique(REMAPPED["path, remapped"].destination))
    assert policy_of(MECHANISMS["path"]).terms.remap is None


@pytest.mark.parametrize(
    "metric",
    [
        "angular",
        "manhattan",
        scaled("euclidean", 2.5),
        summed([("euclidean", [0, 1]), (scaled("hamming", 3.0), [2, 3])]),
    ],
)
def test_metrics_come_back(metric, tmp_path):
    em = Exponential(Space(SPACE.points, metric), 1.0)
    save_policy(tmp_path, policy_of(em))
    assert np.array_equal(load_policy(tmp_path).space.distances, em.space.distances)


def test_what_cannot_be_stored_is_refused():
    own = Space(SPACE.points, lambda a, b: float(np.abs(a - b).sum()))
    with pytest.raises(InvalidInput, match="callable metric cannot be stored"):
        policy_of(Exponential(own, 1.0))
    with pytest.raises(InvalidInput, match="Laplace cannot be a policy"):
        policy_of(Laplace(SPACE, 1.0))
    with pytest.raises(InvalidInput, match="releases points other than its own"):
        policy_of(Exponential(SPACE, 1.0, Space(SPACE.points[:3])))
    with pytest.raises(InvalidInput, match="a remap by matrix cannot be stored"):
        policy_of(Remap(MECHANISMS["path"], PRIOR, np.ones((12, 12))))
    with pytest.raises(InvalidInput, match="are not the tiers of the mechanism"):
        policy_of(MECHANISMS["tiered"], TIERS.with_scales((0.4, 0.8)))


def test_scales_above_one_need_calibration(tmp_path):
    wide = TIERS.with_scales((0.4, 1.3))
    with pytest.raises(InvalidInput, match=r"scales=\(0\.4, 1\.3\), expected in \(0, 1\]: .*calibrated"):
        policy_of(Tiered(SPACE, wide, 1.0), wide)
    made = policy_of(Tiered(SPACE, wide, 1.0), wide, calibrated=True)
    save_policy(tmp_path, made)
    assert load_policy(tmp_path).tiers.scales == (0.4, 1.3)


def test_a_certificate_is_named_by_its_evidence():
    mechanism = MECHANISMS["tiered"]
    behind = [evidence(mechanism, "PII"), evidence(mechanism, "PoII")]
    other = evidence(mechanism, "other")
    joint = certify_joint([e.values for e in behind], [e.certificate.claim for e in behind], 0.05)
    terms = certificate_terms(joint, [other, *behind])
    assert terms.state == "certified"
    assert terms.holds
    assert terms.evidence == tuple(digest(e) for e in behind)
    assert (terms.delta, terms.alpha, terms.pair_law, terms.attacker) == (0.1, 0.05, "anchored", "plugin")
    assert policy_of(mechanism, certificate=terms).terms.certificate == terms
    with pytest.raises(InvalidInput, match="evidence for 1 of 2 parts"):
        certificate_terms(joint, behind[:1])


def test_a_certificate_about_another_mechanism_is_refused():
    one = evidence(MECHANISMS["tiered"])
    terms = certificate_terms(one.certificate, [one])
    with pytest.raises(InvalidInput, match="about another mechanism"):
        policy_of(MECHANISMS["path"], certificate=terms)


def test_without_a_certificate_the_state_says_so():
    policy = policy_of(MECHANISMS["path"])
    assert policy.terms.certificate == UNCERTIFIED
    assert not policy.terms.certificate.holds
    violated = evidence(MECHANISMS["path"], violations=150)
    assert not certificate_terms(violated.certificate, [violated]).holds


def test_only_the_owner_can_read_it(tmp_path):
    save_policy(tmp_path, policy_of(MECHANISMS["path"]))
    for name in (POLICY, VOCABULARY):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert "confidential" in (tmp_path / POLICY).read_text()


def test_a_vocabulary_of_another_policy_is_refused(tmp_path):
    save_policy(tmp_path / "a", policy_of(MECHANISMS["path"]))
    save_policy(tmp_path / "b", policy_of(Exponential(Space(SPACE.points + 1.0), 1.0)))
    (tmp_path / "b" / VOCABULARY).replace(tmp_path / "a" / VOCABULARY)
    with pytest.raises(InvalidInput, match="the vocabulary is not the one that the policy names"):
        load_policy(tmp_path / "a")


def test_files_that_are_no_policy_are_refused(tmp_path):
    path = save_policy(tmp_path, policy_of(MECHANISMS["path"]))
    stored = json.loads(path.read_text())
    with pytest.raises(InvalidInput, match=r"nothing\.json is not a file"):
        load_policy(tmp_path / "nothing.json")
    for text, words in (
        ("{", "is not a policy: not a complete document"),
        ("[]", "is not a policy: expected exactly the entries"),
        (
            json.dumps({**stored, "schema": SCHEMA + 1}),
            f"schema {SCHEMA + 1}, expected {SCHEMA}: a newer oddshift wrote",
        ),
        (json.dumps(stored).replace('"epsilon": 1.7', '"epsilon": 17.0'), "is not a policy: contents hash to"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidInput, match=words):
            load_policy(path)
    path.write_text(json.dumps(stored))
    (tmp_path / VOCABULARY).write_bytes(b"PK")
    with pytest.raises(InvalidInput, match=r"vocabulary\.npz is not the vocabulary of a policy, or is damaged"):
        load_policy(path)
    (tmp_path / VOCABULARY).unlink()
    with pytest.raises(InvalidInput, match=r"vocabulary\.npz is missing"):
        load_policy(path)


def test_terms_of_an_unknown_mechanism_are_refused():
    policy = policy_of(MECHANISMS["path"])
    other = replace(policy.terms, mechanism=replace(policy.terms.mechanism, name="laplace"))
    with pytest.raises(InvalidInput, match=r"mechanism='laplace', expected one of .*exponential"):
        Policy(other, policy.vocabulary)


def test_a_mechanism_that_settings_cannot_describe_is_refused():
    with pytest.raises(InvalidInput, match="mechanism 'channel' cannot be asked for by name"):
        policy_of(Channel(SPACE, np.full((12, 12), -np.log(12.0)), outputs=SPACE))


def test_a_registered_mechanism_needs_no_table_of_the_policy(tmp_path):
    line = Space(np.arange(4.0)[:, None])
    tiers = Tiers([0] * 4, names=("all",), scales=(1.0,), is_public=True)
    for mechanism in (Geometric(line, 0.8), RandomizedResponse(line, 0.8)):
        save_policy(tmp_path, policy_of(mechanism, tiers))
        assert load_policy(tmp_path).mechanism().fingerprint == mechanism.fingerprint


def test_its_repr_and_its_digest_name_it():
    policy = policy_of(MECHANISMS["path"])
    assert repr(policy) == "Policy(vectors, 12 points, path, not certified)"
    assert policy.sha256 == policy_of(PathExponential(SPACE, TIERS, 1.7)).sha256
    assert policy.sha256 != policy_of(PathExponential(SPACE, TIERS, 1.8)).sha256


OLD = Path(__file__).parent / "fixtures" / "schema2"


def test_an_older_policy_with_a_certificate_is_refused_by_its_version():
    """Its certificate names the mechanism by a description that other mechanisms share."""
    with pytest.raises(
        InvalidInput, match=r"has schema 2 and policy layout 1, expected 3 and 4: an older oddshift wrote it"
    ) as found:
        load_policy(OLD / "policy")
    assert "\n" not in str(found.value)


def test_a_policy_of_another_layout_is_one_line_that_names_it(tmp_path):
    """Before layout 2 a policy had rules of its own instead of the settings of a codec."""
    path = save_policy(tmp_path, policy_of(MECHANISMS["tiered"]))
    stored = json.loads(path.read_text())
    old = {key: value for key, value in stored["value"].items() if key not in ("layout", "data")}
    old["rules"] = {"kind": "VectorRules", "columns": ["vectors"]}
    path.write_text(json.dumps({**stored, "value": old}))
    with pytest.raises(
        InvalidInput, match=r"policy\.json has schema 3 and policy layout 1, expected 3 and 4: an older"
    ):
        load_policy(tmp_path)
    path.write_text(json.dumps({**stored, "value": {**stored["value"], "layout": 9}}))
    with pytest.raises(InvalidInput, match=r"and policy layout 9, expected 3 and 4: a newer oddshift wrote it"):
        load_policy(tmp_path)

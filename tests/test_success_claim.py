"""Caps on what an attacker achieves: the claim that first guesses are right for at most a stated share of secrets."""

import numpy as np
import pytest

from oddshift import InvalidInput, SuccessClaim, certify, certify_joint
from oddshift.base.errors import TamperedEvidence
from oddshift.base.storage import load, save
from oddshift.bounds import betting_lower, betting_upper
from oddshift.evidence.certificates import Certificate, Evidence, evidence_of, load_evidence, save_evidence, verify

ABOUT = {"tier": "PERSON", "attacker": "counts", "attacker_hash": "ab12", "with_context": False, "detector": "list"}


def claim(cap=0.2, **changes):
    return SuccessClaim(cap=cap, **{**ABOUT, **changes})


def test_few_right_guesses_certify_the_cap():
    values = np.array([0.0] * 180 + [1.0] * 20)
    found = certify(values, claim(), 0.05)
    assert found.state == "certified"
    assert found.upper == pytest.approx(betting_upper(values, 0.05))
    assert found.mean == pytest.approx(0.1)
    assert found.sentence.startswith("Certified: Pr[first guess right] <= 0.2, ")
    assert "for the first guesses of attacker counts" in found.sentence


def test_many_right_guesses_violate_it_and_a_few_documents_decide_nothing():
    assert certify([1.0] * 60 + [0.0] * 60, claim(), 0.05).state == "violated"
    assert certify([0.0] * 5, claim(), 0.05).state == "undecided"


def test_an_advantage_is_counted_from_the_guess_before_any_release():
    after, before = np.array([1.0] * 30 + [0.0] * 170), np.array([1.0] * 20 + [0.0] * 180)
    values = (after - before + 1.0) / 2.0
    found = certify(values, claim(cap=0.2, over_prior=True), 0.05)
    assert found.state == "certified"
    assert found.claim.stated(found.mean) == pytest.approx(0.05)
    assert found.claim.stated(betting_lower(values, 0.05)) <= 0.05 <= found.claim.stated(found.upper) <= 0.2
    assert "Pr[first guess right] - Pr[right before any release] <= 0.2" in found.sentence
    assert "mean 0.05 over 200" in found.sentence


def test_a_withheld_claim_is_undecided_whatever_the_values():
    found = certify([0.0] * 500, claim(withheld="nothing was measured"), 0.05)
    assert found.state == "undecided"
    assert found.sentence.startswith("Undecided (counts as not certified): nothing was measured.")


def test_rates_and_caps_are_certified_together():
    from oddshift import Claim

    rate = Claim(epsilon=1.0, delta=0.05, pair_law="anchored", **ABOUT)
    calm, often = [0.0] * 300, [1.0] * 120 + [0.0] * 180
    assert certify_joint([calm, calm], [rate, claim()], 0.05).state == "certified"
    broken = certify_joint([calm, often], [rate, claim()], 0.05)
    assert broken.state == "violated"
    assert [part.claim.pair_law for part in broken.parts] == ["anchored", "success"]


def test_evidence_of_a_cap_is_stored_and_verified(tmp_path):
    values = np.array([0.0] * 190 + [0.5] * 10)
    certificate = certify(values, claim(), 0.05)
    kept = evidence_of(certificate, values, mechanism_hash="m" * 64, split_hash="s" * 64)
    save_evidence(tmp_path / "success-PERSON.npz", kept)
    again = load_evidence(tmp_path / "success-PERSON.npz")
    assert isinstance(again, Evidence)
    assert again.certificate == certificate
    assert verify(again).holds


def test_a_certificate_of_a_cap_is_not_read_as_one_of_a_rate(tmp_path):
    save(tmp_path / "c.json", certify([0.0] * 99, claim(), 0.05))
    assert isinstance(load(tmp_path / "c.json", Certificate).claim, SuccessClaim)
    with pytest.raises(TamperedEvidence):
        load(tmp_path / "c.json", SuccessClaim)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cap": 0.0}, "cap"),
        ({"cap": 1.0}, "cap"),
        ({"tier": ""}, "tier='', expected a name"),
        ({"attacker_hash": ""}, "expected a name"),
        ({"with_context": 1}, "expected True or False"),
    ],
)
def test_a_claim_that_leaves_something_out_is_refused(changes, said):
    with pytest.raises(InvalidInput, match=said):
        claim(**changes)


def test_the_subject_names_what_the_attacker_reads():
    assert claim().subject == "tier PERSON, attacker counts (hash ab12), sensitive positions only, detector list"
    assert "with context W" in claim(with_context=True).subject

"""What is reported about a release: counts and sentences that follow from a claim, and a sidecar without secrets."""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import KindCounts, VectorSettings
from oddshift.evidence.certificates import Claim, certify_joint
from oddshift.protect.ledger.terms import NOISIER, Claimed, UserLimit
from oddshift.protect.policies.terms import (
    CONFIDENTIAL,
    UNCERTIFIED,
    CertificateTerms,
    MechanismTerms,
    PolicyTerms,
    TierTerms,
)
from oddshift.protect.record_identity import KnownBy
from oddshift.protect.report import Protected, ProtectSettings, claim_notes, claim_report, in_short, sidecar

NONE = np.zeros(0, dtype=np.int64)
CERTIFIED = CertificateTerms(state="certified", sentence="At most 5 % of pairs.")
BY_ID, BY_ROW = KnownBy("id", ("id",)), KnownBy("row", ("age",))
TERMS = PolicyTerms(
    data=VectorSettings(),
    mechanism=MechanismTerms(
        name="exponential", epsilon=1.0, radius=None, calibrated=False, claimed_epsilon=1.5, keeps_tier=False
    ),
    remap=None,
    tiers=TierTerms(names=("PII",), scales=(1.0,), is_public=True, levels=(0,)),
    vocabulary="0" * 64,
    certificate=CERTIFIED,
)


def claimed(**changes):
    plain = Claimed(
        release=4,
        records=10,
        repeated=NONE,
        copies=NONE.reshape(-1, 2),
        kept=NONE,
        past=NONE,
        noisier=NONE,
        composed=1.5,
    )
    return replace(plain, **changes)


def protected(**changes):
    said = claim_report(claimed(), TERMS, BY_ID)
    plain = Protected(
        out="/home/ann/out.csv",
        records=10,
        dropped=0,
        positions={"PERSON": 7, "ORG": 2},
        masked=1,
        unseen=1,
        kinds={"PERSON": KindCounts(found=7)},
        as_they_are=("id",),
        policy="p" * 64,
        input="i" * 64,
        notes=(),
        is_dry_run=False,
        **said,
    )
    return replace(plain, **changes)


def test_a_first_release_has_the_certificate_of_the_policy():
    said = claim_report(claimed(), TERMS, BY_ID)
    assert (said["state"], said["sentence"], said["release"]) == ("certified", "At most 5 % of pairs.", 4)
    assert (said["known_by"], said["composed_epsilon"]) == ("id", 1.5)


def test_a_dry_run_spends_what_the_mechanism_claims():
    said = claim_report(None, TERMS, BY_ROW)
    assert (said["release"], said["composed_epsilon"], said["state"]) == (0, 1.5, "certified")
    assert {said[name] for name in ("copies", "kept", "repeated", "past_budget", "noisier")} == {0}


def test_a_repeated_release_is_never_called_certified():
    said = claim_report(claimed(repeated=np.array([2, 3]), composed=3.0), TERMS, BY_ID)
    assert said["state"] == UNCERTIFIED.state
    assert said["sentence"] == (
        "Not certified: 2 records were released before; together the releases of one record spend a metric budget of "
        "up to 3, and no certificate covers that."
    )
    assert claim_report(claimed(rows_again=1), TERMS, BY_ROW)["state"] == UNCERTIFIED.state


def test_every_count_of_a_claim_is_reported():
    found = claimed(
        copies=np.array([[2, 1]]), kept=np.array([3, 4]), past=np.array([5, 6, 7]), noisier=np.array([8]), share=0.5
    )
    said = claim_report(found, TERMS, BY_ID)
    assert (said["copies"], said["kept"], said["past_budget"], said["noisier"]) == (1, 2, 3, 1)
    assert (said["repeated_share"], said["chance_share"]) == (0.5, 0.0)


def test_nothing_to_warn_of_says_nothing():
    assert list(claim_notes(claimed(), BY_ID, UserLimit(budget=1.0))) == []


@pytest.mark.parametrize(
    ("changes", "known", "limit", "note"),
    [
        (
            {"repeated": np.array([1]), "composed": 3.0},
            BY_ID,
            None,
            "NOT CERTIFIED: 1 records were released before; the composed metric budget of a record is up to 3",
        ),
        (
            {"copies": np.array([[2, 1], [3, 1]])},
            BY_ID,
            None,
            "2 records occur more than once in this input; each has one released value",
        ),
        (
            {"share": 0.25, "chance": 0.2},
            BY_ROW,
            None,
            "25.0% of the rows were released before (20.0% by chance); rows without an id cannot be recognised one by "
            "one",
        ),
        (
            {"past": np.array([4])},
            BY_ID,
            UserLimit(budget=2.5, past="drop"),
            "1 records are beyond the budget 2.5 of their user and were left out",
        ),
        (
            {"past": np.array([4])},
            BY_ID,
            UserLimit(budget=2.5, past="mask"),
            "1 records are beyond the budget 2.5 of their user and were masked",
        ),
        (
            {"noisier": np.array([4, 5])},
            BY_ID,
            UserLimit(budget=2.5, past="noise"),
            f"2 records would exceed the budget of their user and were drawn with {NOISIER} times the noise, which no "
            "certificate covers",
        ),
    ],
    ids=["repeated", "copies", "rows", "left out", "masked", "noisier"],
)
def test_each_warning_in_its_own_sentence(changes, known, limit, note):
    assert list(claim_notes(claimed(**changes), known, limit)) == [note]


def test_rows_that_are_named_are_not_said_to_repeat_by_chance():
    assert list(claim_notes(claimed(share=0.25), BY_ID, None)) == []


def test_the_sidecar_says_how_many_and_never_which_tier_or_where():
    note = json.loads(sidecar(protected()))
    assert note["replaced"] == 9
    assert not {"positions", "kinds", "out", "table", "is_dry_run"} & set(note)
    assert "/home/ann" not in json.dumps(note)
    assert note["policy_is"] == CONFIDENTIAL
    assert (note["records"], note["state"], note["schema"]) == (10, "certified", 2)


def test_an_infinite_budget_is_written_in_a_way_that_json_can_say():
    text = sidecar(protected(composed_epsilon=inf)).decode()
    assert json.loads(text, parse_constant=pytest.fail)["composed_epsilon"] == "inf"


def test_a_budget_of_users_needs_their_column():
    with pytest.raises(InvalidInput, match=r"a budget of users was given without their column, expected both"):
        ProtectSettings(limit=UserLimit(budget=1.0))
    assert ProtectSettings(limit=UserLimit(budget=1.0), user="who").user == "who"


def test_scales_beyond_one_need_a_calibrated_epsilon():
    larger = replace(TERMS.tiers, scales=(1.2,))
    with pytest.raises(InvalidInput, match=r"scales=\(1\.2,\), expected in \(0, 1\]: larger ones need a calibrated"):
        replace(TERMS, tiers=larger)
    assert replace(TERMS, tiers=larger, mechanism=replace(TERMS.mechanism, calibrated=True)).tiers.scales == (1.2,)


@pytest.mark.parametrize(("state", "holds"), [("certified", True), ("violated", False), ("undecided", False)])
def test_only_a_certified_state_holds(state, holds):
    assert CertificateTerms(state=state, sentence="").holds is holds
    assert not UNCERTIFIED.holds


@pytest.mark.parametrize("columns", [1, 30])
def test_the_sentence_about_many_columns_is_shown_in_short(columns):
    asked = Claim(
        epsilon=1.0,
        delta=0.5,
        tier="c",
        pair_law="anchored",
        attacker="portfolio",
        attacker_hash="ab12",
        with_context=False,
        detector="none (columns c)",
    )
    claims = [replace(asked, tier=f"c{number}") for number in range(columns)]
    found = certify_joint([np.zeros(50)] * columns, claims, 0.05)
    said = in_short(found.sentence)
    if columns == 1:
        assert said == found.sentence
    else:
        assert all(part in said for part in ("certified", "0.05", "(30 claims"))
        assert len(said) < 200

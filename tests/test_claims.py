"""The claim builder and the values that claims rest on: the same for an audit and for an adaptation.

Caps on right guesses: which tier each name is about, and what is refused.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.adapt import AdaptSettings
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.controls import Own
from oddshift.audit import AuditSettings, audit
from oddshift.audit.claims import NOTHING_LEARNED, ClaimBuilder, TierCaps, caps_of_tiers, values_by_tier
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.model.records import Records, Split
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from worlds import ring

SPACE = Space([[0.0], [1.0], [2.0]])
TIERS = Tiers([0, 0, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)


def test_a_claim_says_what_was_asked_of_whom_and_where_the_data_came_from():
    attacker = Own(ring().known)
    builder = ClaimBuilder(AuditSettings(epsilon=2.0, delta=0.1, independent=True), "a list", "user")
    claim = builder.claim(attacker, "PII", "anchored", withheld=NOTHING_LEARNED)
    assert (claim.epsilon, claim.delta, claim.tier, claim.pair_law) == (2.0, 0.1, "PII", "anchored")
    assert (claim.attacker, claim.attacker_hash) == ("own", fingerprint(attacker))
    assert (claim.detector, claim.unit, claim.with_context) == ("a list", "user", False)
    assert claim.assumptions == ("secrets are independent of each other (declared)",)
    assert claim.withheld == NOTHING_LEARNED


def test_an_audit_and_an_adaptation_that_ask_the_same_claim_the_same():
    attacker, common = Own(ring().known), {"epsilon": 2.0, "delta": 0.1}
    claims = [
        ClaimBuilder(settings, "a list", "document").claim(attacker, "PII", "anchored")
        for settings in (AuditSettings(**common), AdaptSettings(**common))
    ]
    assert claims[0] == claims[1]


def test_values_are_one_for_each_unit_that_has_the_tier():
    records = Records.from_documents(SPACE, [[0, 2, 1], [2], [1]])
    rows = values_by_tier(np.array([1.0, 0.5, 0.0, 0.25, 1.0]), records, TIERS)
    assert [(row.tier, row.values.tolist(), row.excluded) for row in rows] == [(0, [0.5, 1.0], 1), (1, [0.5, 0.25], 1)]


def test_users_are_the_units_where_they_are_known():
    records = replace(Records.from_documents(SPACE, [[0, 2, 1], [2], [1]]), users=np.array([3, 3, 8]))
    rows = values_by_tier(np.array([1.0, 0.5, 0.0, 0.25, 1.0]), records, TIERS)
    assert [(row.tier, row.values.tolist(), row.excluded) for row in rows] == [(0, [0.5, 1.0], 0), (1, [0.375], 1)]


def test_the_worst_law_counts_users_and_not_their_documents():
    """Thirty users with ten documents each are thirty independent units, whatever the pair law."""
    parts = [ring(documents=300, seed=seed).known.fit for seed in range(3)]
    users = np.arange(300) // 10
    fit, select, certifying = (replace(part, users=users) for part in parts)
    known = replace(ring().known, fit=fit)
    split = Split(fit=fit, select=select, certify=certifying, by="user")
    plugin = fit_plugin(known)
    found = audit(split, known, [plugin], AuditSettings(epsilon=3.0, delta=0.5))
    assert {c.claim.pair_law: c.documents for c in found.certificates} == {"uniform": 30, "anchored": 30, "worst": 30}
    assert found.row("plugin").tiers[0].worst_documents == 30
    few = audit(split, known, [plugin], AuditSettings(epsilon=3.0, delta=0.5, worst_positions=12))
    assert few.row("plugin").tiers[0].worst_documents == 12


@pytest.mark.parametrize("law", ["anchored", "uniform"])
def test_certificates_rest_on_the_scanned_rate(law):
    parts = [ring(documents=200, seed=seed).known.fit for seed in range(3)]
    known = replace(ring().known, fit=parts[0])
    split = Split(fit=parts[0], select=parts[1], certify=parts[2], by="document")
    plugin = fit_plugin(known)
    found = audit(split, known, [plugin], AuditSettings(epsilon=2.0, law=law))
    rates = found.row("plugin").tiers[0]
    certificate = next(c for c in found.certificates if c.claim.pair_law == law)
    assert certificate.mean == pytest.approx(getattr(rates, law))


KINDS = Tiers(
    [0, 1, 2, 3],
    names=("PERSON", "ORG", "NORP", "DATE"),
    scales=(0.5, 0.5, 1.0, 1.0),
    is_public=True,
    levels=(0, 0, 1, 1),
)


def caps(success, tiers=KINDS, advantage=None):
    found = caps_of_tiers(SimpleNamespace(success=success, advantage=advantage or {}), tiers)
    return [row.success for row in found]


def test_a_tier_a_level_and_everything_by_name():
    assert caps({}) == [None] * 4
    assert caps({"ORG": 0.1}) == [None, 0.1, None, None]
    assert caps({"PII": 0.2}) == [0.2, 0.2, None, None]
    assert caps({"PoII": 0.2}) == [None, None, 0.2, 0.2]
    assert caps({"*": 0.3}) == [0.3] * 4


def test_the_most_specific_name_decides():
    assert caps({"*": 0.5, "PII": 0.2, "ORG": 0.1}) == [0.2, 0.1, 0.5, 0.5]


def test_a_tier_of_that_name_comes_before_a_level():
    two = Tiers([0, 1], names=("names", "PII"), scales=(1.0, 1.0), is_public=True)
    assert caps({"PII": 0.2}, two) == [None, 0.2]


def test_success_and_advantage_stand_side_by_side():
    found = caps_of_tiers(SimpleNamespace(success={"PII": 0.2}, advantage={"DATE": 0.1}), KINDS)
    assert (found[0], found[3]) == (TierCaps(0.2, None), TierCaps(None, 0.1))


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(InvalidInput, match="success names 'CITY', expected some of PERSON, ORG, NORP, DATE, PII"):
        caps({"CITY": 0.2})


@pytest.mark.parametrize("wrong", [{"PII": 0.0}, {"PII": 1.0}, {"PII": "0.2"}, {"": 0.2}, 0.2, {1: 0.2}])
def test_what_is_not_a_share_by_name_is_refused(wrong):
    for name in ("success", "advantage"):
        with pytest.raises(InvalidInput, match=name):
            AuditSettings(epsilon=1.0, **{name: wrong})

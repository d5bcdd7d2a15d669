"""The claim builder and the values that claims rest on: the same for an audit and for an adaptation."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt import AdaptSettings
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.controls import Own
from oddshift.audit import AuditSettings, audit
from oddshift.audit.claims import NOTHING_LEARNED, ClaimBuilder, values_by_tier
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

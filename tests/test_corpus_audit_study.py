"""The page of a corpus audit: what decides the verdict stands apart from what is shown for information."""

from dataclasses import replace

from studies.corpus_audit import Clock, page

from reports import small_audit


def test_the_page_lists_the_worst_bound_of_each_claim_and_no_state_of_what_decides_nothing():
    found = small_audit()[0]
    mine = [e for e in found.evidence if e.certificate.claim.pair_law == "anchored"]
    worse = [
        replace(e, certificate=replace(e.certificate, upper=0.9, claim=replace(e.certificate.claim, attacker="other")))
        for e in mine
    ]
    two = replace(found, evidence=(*found.evidence, *worse))
    text = page(two, Clock())
    decides, further = text.split("For information, not part of the verdict")
    assert two.strongest != "other"
    for certificate in two.deciding_rates:
        assert certificate.claim.attacker == "other"
        assert certificate.sentence in decides
    assert "Verdict: undecided, by plugin, other." in decides
    assert "certified: pr[" not in further.lower()
    assert all(
        f"{made.claim.tier}, {made.claim.pair_law} pairs: {made.mean:.4f}" in further for made in two.further_rates
    )

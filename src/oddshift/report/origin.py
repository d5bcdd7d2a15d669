"""Where the numbers come from: what was asked, versions, hashes, and the lines that check and repeat it."""

from __future__ import annotations

from oddshift.files import digest, sha256
from oddshift.report.markup import Html, items, join, table, tag
from oddshift.report.sources import Sources
from oddshift.runs import CONFIG, EVIDENCE
from oddshift.runs import file_name as named


def origin(sources: Sources) -> Html:
    """All that another person needs to reach the same numbers."""
    return join([_asked(sources), _versions(sources), _hashes(sources), _reproduce(sources)])


def _asked(sources: Sources) -> Html:
    rows = []
    audit, found = sources.audit, sources.adaptation
    if audit is not None:
        fit, select, certify = audit.documents
        rows += [
            ["mechanism", audit.mechanism],
            ["documents", f"{fit} to learn from, {select} to choose with, {certify} to certify on"],
            ["tiers", f"{', '.join(audit.tier_names)}; {'public' if audit.tiers_are_public else 'secret'}"],
            ["detector", audit.settings.detector],
            ["attackers", ", ".join(_attacker(row.name, row.with_context) for row in audit.attackers)],
        ]
    if found is not None:
        rows += [
            ["adapted mechanism", found.mechanism],
            ["adapted with", _attacker(found.attacker, found.with_context)],
            ["cost", f"{found.settings.cost}, {'remapped' if found.settings.remap else 'not remapped'}"],
        ]
    return _block("What was asked", table(("", "value"), rows, "What was asked"))


def _attacker(name: str, with_context: bool) -> str:
    return f"{name} ({'with context W' if with_context else 'sensitive positions only'})"


def _versions(sources: Sources) -> Html:
    if not sources.versions:
        return Html("")
    return _block("Versions", tag("p", None, ", ".join(f"{name} {version}" for name, version in sources.versions)))


def _hashes(sources: Sources) -> Html:
    """The digests that `oddshift verify` prints, with the file each one belongs to."""
    rows = []
    for part, prefix in ((sources.audit, ""), (sources.adaptation, "adapted-")):
        for evidence in part.evidence if part is not None else ():
            claim = evidence.certificate.claim
            file = f"{EVIDENCE}/{prefix}{claim.pair_law}-{named(claim.tier)}.npz"
            rows.append([file, digest(evidence)])
    first = next((e for part in (sources.audit, sources.adaptation) if part for e in part.evidence), None)
    if first is not None:
        rows += [["mechanism", first.mechanism_hash], ["documents", first.split_hash]]
        rows.append(["attacker", first.certificate.claim.attacker_hash])
    rows.append([CONFIG, sha256(sources.config.encode())])
    return _block("Hashes", table(("what", "SHA-256"), rows, "Hashes"))


def _reproduce(sources: Sources) -> Html:
    steps = [f"oddshift audit {sources.name}/{CONFIG} --out again"] if sources.audit is not None else []
    if sources.adaptation is not None:
        steps.append(f"oddshift adapt {sources.name}/{CONFIG} --out again")
    if sources.audit is not None and sources.audit.evidence:
        claim = sources.audit.evidence[0].certificate.claim
        steps.append(f"oddshift verify {sources.name}/{EVIDENCE}/{claim.pair_law}-{named(claim.tier)}.npz")
    lines = items([tag("code", None, step) for step in steps])
    shown = tag("details", None, tag("summary", None, CONFIG), tag("pre", {"tabindex": 0}, sources.config))
    return _block("Repeat and verify", join([lines, shown]))


def _block(title: str, *content: str) -> Html:
    return tag("div", {"class": "tabled"}, tag("h3", None, title), *content)

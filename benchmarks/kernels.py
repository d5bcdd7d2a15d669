"""What large audits rest on: path closure of 11,000 points, memory that does not follow documents, AG News by plug-in.

Memory is the peak of a process of its own. Exact ε and remapping of 11,000 points are in `core`; the
default attackers on all of AG News are quoted in `stored_studies`.
"""

from __future__ import annotations

from benchmarks.core import MEASURED, WORDS, in_new_process
from benchmarks.table import Line, cpu
from oddshift.base.errors import InvalidInput

POINTS, FEW, MANY = 2_000, 200, 800
MOST_SECONDS, MOST_MEGABYTES, NEWS_SECONDS = 120, 2_048, 45
FLAT = 1.1

CLOSURE = MEASURED.format(
    prepare=f"""
from oddshift.mechanisms.path import closed_space
space = Space(rng.normal(size=({WORDS}, 100)) * rng.gamma(8.0, 0.125, size=({WORDS}, 1)))
scales = rng.choice([0.4, 0.7, 0.9], {WORDS})
""",
    work="closed_space(space, scales)",
)

AUDIT = f"""
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import knowledge
from oddshift.audit import AuditSettings, audit
from oddshift.model.records import Records, Split
from oddshift.model.tiers import Tiers
space = Space(rng.normal(size=({POINTS}, 20)))
tiers = Tiers(np.zeros({POINTS}, dtype=np.int64), names=("all",), scales=(1.0,), is_public=True)
def part(n):
    return Records.from_documents(space, rng.integers(0, {POINTS}, (n, 6)))
fit = part(400)
split = Split(fit=fit, select=part(DOCUMENTS), certify=part(DOCUMENTS), by="document")
known = knowledge(Exponential(space, 1.0), tiers, fit)
attacker = ATTACKERS["plugin"](known, rng)
"""


def audit_of(documents: int) -> tuple[float, float]:
    """Peak memory and CPU seconds of an audit with that many documents to select and to certify on."""
    work = "audit(split, known, [attacker], AuditSettings(epsilon=1.0, delta=0.1, attackers=('plugin',)))"
    return in_new_process(MEASURED.format(prepare=AUDIT.replace("DOCUMENTS", str(documents)), work=work))


def audit_memory() -> Line:
    (few, _), (many, seconds) = audit_of(FEW), audit_of(MANY)
    return Line(
        f"audit of {MANY} documents, {POINTS:,} points ({seconds:.1f} s), peak memory",
        f"{many:.0f} MB",
        f"{FEW} documents: {few:.0f} MB",
        f"{many / few:.2f}x",
        f"<= {FLAT}x",
        many <= FLAT * few,
    )


def closure() -> Line:
    """Points whose norms differ as those of words do: one way in ten has a shorter one through a stop."""
    megabytes, seconds = in_new_process(CLOSURE)
    return Line(
        f"path closure, {WORDS:,} points, 3 tiers",
        f"{seconds:.0f} s, {megabytes:,.0f} MB",
        limit=f"<= {MOST_SECONDS} s, {MOST_MEGABYTES:,} MB",
        holds=seconds <= MOST_SECONDS and megabytes <= MOST_MEGABYTES,
    )


def news() -> Line:
    """AG News loaded, fitted and audited; the names that its pipeline finds are kept from earlier runs."""
    from studies.corpus_audit import Clock, audited  # noqa: PLC0415 - needs the real data

    what = "audit of AG News by plug-in"
    try:
        _, seconds = cpu(lambda: audited(("plugin",), Clock()))
    except InvalidInput:
        return Line(what, "left out: no real data here")
    limit = f"<= {NEWS_SECONDS} s"
    return Line(what, f"{seconds:.0f} s", limit=limit, holds=seconds <= NEWS_SECONDS)


def run() -> list[Line]:
    return [audit_memory(), closure(), news()]

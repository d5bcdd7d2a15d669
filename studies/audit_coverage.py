"""Coverage of an audit's certificates on the embedded corpus, where the true violation rate can be computed.

The exact attacker's rate is estimated from a very large number of fresh documents; then 200 independent audits are run
on corpora of the usual size. A certificate errs when its upper bound lies below the true rate (less 3 standard errors).
"""

from __future__ import annotations

import time

import numpy as np

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import exact_attacker
from oddshift.attackers.paired_log_score import standard_error, units_of
from oddshift.audit import AuditSettings, audit
from oddshift.audit.scan import Budget, scan
from oddshift.data.embedded import LENGTHS, People, draw_sequences, people
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import perturb
from studies.tables import table, write

EPSILON, ALPHA, RUNS, DOCUMENTS, FRESH = 1.5, 0.05, 200, 1_500, 200_000
LAWS = ("uniform", "anchored")


def draw(corpus: People, n: int, rng: np.random.Generator) -> Records:
    """Fresh secrets from the corpus's own law, without the texts."""
    values = draw_sequences(corpus.prior, n, rng)
    lengths = rng.choice(LENGTHS, size=n)
    return Records.from_documents(corpus.space, [row[:k] for row, k in zip(values, lengths, strict=True)])


def main() -> None:
    """Measure the truth, repeat the audit, count the errors."""
    start = time.process_time()
    corpus = people(100, by_kind=False)
    em = Exponential(corpus.space, EPSILON)
    rng = np.random.default_rng(2026)
    known = knowledge(em, corpus.tiers, draw(corpus, 1_000, rng))
    exact = exact_attacker(known, corpus.prior_of)
    truth: dict[tuple[str, int], list[np.ndarray]] = {(law, t): [] for law in LAWS for t in range(2)}
    for _ in range(FRESH // 5_000):
        secrets = draw(corpus, 5_000, rng)
        found = scan(exact, perturb(secrets, em, corpus.tiers, rng), secrets, Budget(em, corpus.tiers, EPSILON), rng)
        labels, units = secrets.tier_of_position(corpus.tiers), units_of(secrets)
        for (law, tier), values in truth.items():
            values.append(units.means(found.rate(law), labels == tier))
    errors = dict.fromkeys(truth, 0)
    uppers: dict[tuple[str, int], list[float]] = {key: [] for key in truth}
    rates = {key: (float(np.concatenate(v).mean()), standard_error(np.concatenate(v))) for key, v in truth.items()}
    for run in range(RUNS):
        split = draw(corpus, DOCUMENTS, rng).split(rng=rng)
        local = exact_attacker(knowledge(em, corpus.tiers, split.fit), corpus.prior_of)
        settings = AuditSettings(epsilon=EPSILON, alpha=ALPHA, worst_positions=5, seed=run)
        result = audit(split, local.known, [local], settings)
        for certificate in result.certificates:
            key = (certificate.claim.pair_law, corpus.tiers.names.index(certificate.claim.tier))
            if key in errors:
                rate, spread = rates[key]
                errors[key] += certificate.upper < rate - 3 * spread
                uppers[key].append(certificate.upper)
    rows = [
        [
            law,
            corpus.tiers.names[tier],
            f"{rates[law, tier][0]:.5f} ± {rates[law, tier][1]:.5f}",
            f"{np.median(uppers[law, tier]):.5f}",
            f"{errors[law, tier]} of {RUNS}",
        ]
        for law, tier in truth
    ]
    text = table(["pair law", "tier", "true rate (s.e.)", "median upper bound", "bounds below the truth"], rows)
    about = " ".join((__doc__ or "").split())
    write(
        "audit_coverage",
        "Coverage of an audit's certificates",
        f"{about}\n\n{text}\n\nEpsilon {EPSILON}, level {ALPHA}, {DOCUMENTS} documents an audit "
        f"(a fifth of them certify), {FRESH:,} fresh documents for the truth; {time.process_time() - start:.0f} CPU s.",
    )


if __name__ == "__main__":
    main()

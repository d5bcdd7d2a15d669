"""The audit of AG News at ε = 2.5: what each attacker that counts gains over a single release.

Tiers come from the shared NER (PII) and from similarity (PoII); vocabulary and tiers are built from the fit documents
only. The run folder is kept outside the repository, and a finished run is read, not repeated.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from oddshift.modalities import data_folder
from oddshift.workflow import run_audit
from studies.tables import table, write

ATTACKERS = ("plugin", "plugin-topics", "cooccurrence", "counts")

CONFIG = """\
[data]
kind = "text"
path = "{data}/ag_news.csv"
text = ["title", "text"]
vectors = "{data}/glove.6B.100d.npz"
is_public = true
detectors = [{{kind = "pipeline", path = "{data}/ner/en_core_web_sm_ner"}}]

[mechanism]
epsilon = 2.5

[audit]
delta = 0.05
attackers = {attackers}
"""


def main() -> None:
    """Run the audit and write the table."""
    start, cpu = time.time(), time.process_time()
    text = CONFIG.format(data=data_folder().resolve(), attackers=list(ATTACKERS))
    found = run_audit(text, Path(tempfile.gettempdir()) / "oddshift-ag-news")
    rows = []
    for row in found.attackers:
        rates = [
            cell for tier in row.tiers for cell in (f"{tier.top1:.1%}", f"{tier.anchored:.2%}", f"{tier.uniform:.3%}")
        ]
        gain = f"{row.gain:+.3f} ± {1.96 * row.gain_error:.3f}"
        rows.append([row.name, "yes" if row.with_context else "no", f"{row.log_score:.3f}", gain, *rates])
    header = ["attacker", "reads W", "log score", "gain over own (95 %)"]
    header += [f"{tier} {name}" for tier in found.tier_names for name in ("top-1", "anchored", "uniform")]
    lines = [
        f"Documents: {found.documents}. One release alone: exact epsilon {found.exact_epsilon:.4f}.",
        table(header, rows),
        "Log scores and gains in nats, means over the certify documents; the interval is by document.",
        f"Strongest on the select documents: {found.strongest}. Verdict: {found.state}.",
        *(f"- {certificate.sentence}" for certificate in found.certificates),
        f"- {found.witness.sentence}" if found.witness else "- Witness: undecided, no pair occurs often enough.",
        *(f"- note: {note}" for note in found.warnings),
        f"{time.time() - start:.0f} s elapsed, {time.process_time() - cpu:.0f} CPU s, peak memory "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB (entity spans cached).",
    ]
    write("ag_news_audit", "An audit of AG News", "\n\n".join(lines))


if __name__ == "__main__":
    main()

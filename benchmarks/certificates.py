"""CPU times of certificates, streams and verification."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.table import Line, cpu
from oddshift.evidence.certificates import DEFAULT_METHOD, Claim, certify, evidence_of, save_evidence, verify_file

DOCUMENTS = 1_000_000
CLAIM = Claim(
    epsilon=1.0,
    delta=0.1,
    tier="PII",
    pair_law="anchored",
    attacker="plugin",
    attacker_hash="ab12",
    with_context=True,
    detector="gazetteer",
)


def samples() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "fractions of 20 pairs": rng.binomial(20, 0.05, DOCUMENTS) / 20,
        "all values distinct": rng.random(DOCUMENTS) * 0.1,
        "mostly tiny values": rng.beta(0.1, 5, DOCUMENTS),
    }


def certificates(data: dict[str, np.ndarray]) -> Iterator[Line]:
    certify(data["all values distinct"][:100], CLAIM, 0.05)  # imports what it needs
    for name, values in data.items():
        for method in ("betting", "betting_plugin"):
            _, seconds = cpu(lambda v=values, m=method: certify(v, CLAIM, 0.05, m))
            what = f"certificate of 1e6 documents, {name}, {method}"
            is_default = method == DEFAULT_METHOD
            limit, holds = ("< 2 s", seconds < 2.0) if is_default else ("", None)
            yield Line(what, f"{seconds:.2f} s", limit=limit, holds=holds)


def evidence(values: np.ndarray) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "evidence.npz"
        made = evidence_of(certify(values, CLAIM, 0.05), values, mechanism_hash="m", split_hash="s")
        yield Line("evidence of 1e6 documents saved", f"{cpu(lambda: save_evidence(path, made))[1]:.2f} s")
        yield Line("evidence of 1e6 documents verified", f"{cpu(lambda: verify_file(path))[1]:.2f} s")


def run() -> list[Line]:
    """Every time beside its limit."""
    data = samples()
    return [*certificates(data), *evidence(data["fractions of 20 pairs"])]

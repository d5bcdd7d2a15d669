"""CPU times of certificates, streams and verification."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from oddshift.bounds import BettingStream, RobbinsStream
from oddshift.certificate import Claim, certify, evidence_of, save_evidence, verify_file

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


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def samples() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "fractions of 20 pairs": rng.binomial(20, 0.05, DOCUMENTS) / 20,
        "all values distinct": rng.random(DOCUMENTS) * 0.1,
        "mostly tiny values": rng.beta(0.1, 5, DOCUMENTS),
    }


def stream(start: BettingStream | RobbinsStream, values: np.ndarray, block: int) -> None:
    state = start
    for begin in range(0, len(values), block):
        state = state.update(values[begin : begin + block])


def run() -> None:
    """Print every time beside its limit."""
    data = samples()
    certify(data["all values distinct"][:100], CLAIM, 0.05)
    for name, values in data.items():
        for method in ("betting", "betting_plugin"):
            seconds = cpu(lambda v=values, m=method: certify(v, CLAIM, 0.05, m))
            print(f"certificate, 1e6 documents, {name}, {method}: {seconds:.2f} CPU s (limit 2 for the default)")
    for block in (10_000, 100_000):
        for name, values in data.items():
            seconds = cpu(lambda v=values, b=block: stream(BettingStream(0.1, "model"), v, b))
            print(f"betting stream, blocks of {block}, {name}: {DOCUMENTS / seconds:.3g} updates/s (limit 1e6)")
    zero_one = (np.random.default_rng(1).random(DOCUMENTS) < 0.05).astype(float)
    seconds = cpu(lambda: stream(RobbinsStream(0.05, "model"), zero_one, 10_000))
    print(f"Robbins stream, blocks of 10000: {DOCUMENTS / seconds:.3g} updates/s (limit 1e6)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "evidence.npz"
        values = data["fractions of 20 pairs"]
        made = evidence_of(certify(values, CLAIM, 0.05), values, mechanism_hash="m", split_hash="s")
        print(f"evidence of 1e6 documents saved: {cpu(lambda: save_evidence(path, made)):.2f} CPU s")
        print(f"verified again: {cpu(lambda: verify_file(path)):.2f} CPU s")


if __name__ == "__main__":
    run()

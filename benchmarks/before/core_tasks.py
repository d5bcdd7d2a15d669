"""Tasks of the exact core, of certificates and of the optimal mechanism."""

from __future__ import annotations

from benchmarks.before.task import Task, command

EXPONENTIAL = """
from oddshift.mechanisms import Exponential
space = Space(rng.normal(size=(11_000, 100)))
"""

CHANNELS = """
from oddshift.mechanisms.epsilon import true_epsilon
random, far = np.log(rng.dirichlet(np.ones(1_000), 1_000)), Space(rng.normal(size=(1_000, 10))).distances
line = np.abs(np.subtract.outer(np.arange(1_000), np.arange(1_000))).astype(float)
ties = -0.3 * line - np.log(np.exp(-0.3 * line).sum(axis=1, keepdims=True))
"""

SAMPLER = f"""{EXPONENTIAL}
sampler = Exponential(space, 2.5).sampler()
index, zipf = rng.integers(0, 11_000, 5_000_000), np.minimum(rng.zipf(1.3, 5_000_000) - 1, 10_999)
"""

REMAP = f"""{EXPONENTIAL}
from oddshift.mechanisms.remap import Remap
prior = np.full(11_000, 1.0 / 11_000)
"""

CLOSURE = """
from oddshift.mechanisms.path import path_closure
distances, scales = Space(rng.normal(size=(2_000, 100))).distances, rng.choice([0.4, 0.7, 0.9], 2_000)
"""

CORE = (
    Task("import oddshift", command("'-c'", "'import oddshift'"), times=5),
    Task("oddshift --help, 14 commands, before 10", command("'-m'", "'oddshift'", "'--help'"), times=5),
    Task("true_epsilon, random channel, n = m = 1,000", "true_epsilon(random, far)", CHANNELS, times=5),
    Task("true_epsilon, geometric channel, n = m = 1,000", "true_epsilon(ties, line)", CHANNELS, times=3),
    Task(
        "exact epsilon of the exponential mechanism, n = 11,000",
        "Exponential(space, 2.5).exact_epsilon",
        EXPONENTIAL,
        has_memory=True,
    ),
    Task("remap by cosine cost, n = 11,000", "Remap(Exponential(space, 2.5), prior, 'cosine')", REMAP),
    Task("rows of a sampler, 11,000 candidates", "Exponential(space, 2.5).sampler()", EXPONENTIAL),
    Task("5,000,000 draws from 11,000 candidates, uniform secrets", "sampler.sample(index, rng)", SAMPLER, times=2),
    Task("5,000,000 draws from 11,000 candidates, Zipf secrets", "sampler.sample(zipf, rng)", SAMPLER, times=2),
    Task(
        "2,000 secrets among 60,000 candidates",
        "Exponential(space, 2.5).sample(rng.integers(0, 60_000, 2_000), rng)",
        EXPONENTIAL.replace("11_000", "60_000"),
        has_memory=True,
    ),
    Task("path closure, 2,000 points, 3 tiers", "path_closure(distances, scales)", CLOSURE, times=3),
    Task(
        "triangle check of a distance matrix, 2,000 points",
        "Space.from_distances(distances)",
        "distances = Space(rng.normal(size=(2_000, 3))).distances",
    ),
)

CERTIFICATES = """
from oddshift.evidence.certificates import Claim, certify, evidence_of, save_evidence, verify_file
claim = Claim(epsilon=1.0, delta=0.1, tier="PII", pair_law="anchored", attacker="plugin", attacker_hash="ab12",
              with_context=True, detector="gazetteer")
fractions, distinct = rng.binomial(20, 0.05, 1_000_000) / 20, rng.random(1_000_000) * 0.1
tiny = rng.beta(0.1, 5, 1_000_000)
certify(distinct[:100], claim, 0.05)
"""

EVIDENCE = f"""{CERTIFICATES}
made = evidence_of(certify(fractions, claim, 0.05, "betting"), fractions, mechanism_hash="m", split_hash="s")
save_evidence(home / "evidence.npz", made)
"""

VALUES = {"fractions": "fractions of 20 pairs", "distinct": "all values distinct", "tiny": "mostly tiny values"}


def certificate(values: str, method: str) -> Task:
    what = f"certificate of 1e6 documents, {VALUES[values]}, {method}"
    return Task(what, f"certify({values}, claim, 0.05, '{method}')", CERTIFICATES, times=3)


CERTIFIED = (
    *(certificate(values, method) for values in VALUES for method in ("betting", "betting_plugin")),
    Task("evidence of 1e6 documents saved", "save_evidence(home / f'{turn}.npz', made)", EVIDENCE, times=5),
    Task("evidence of 1e6 documents verified", "verify_file(home / 'evidence.npz')", EVIDENCE, times=5),
)

GRID = """
from oddshift.mechanisms.laplace import ProjectedLaplace
from oddshift.mechanisms.optimal import Optimal
def grid(side):
    return Space([[i, j] for i in range(side) for j in range(side)])
def solve(side, spanner=None):
    return Optimal(grid(side), 1.0, np.full(side**2, side**-2.0), "euclidean", spanner=spanner)
"""

OPTIMAL = (
    Task("optimal, n = 25", "solve(5)", GRID, times=3),
    Task("optimal, n = 64", "solve(8)", GRID),
    Task("optimal, n = 100, 1.5-spanner", "solve(10, 1.5)", GRID),
    Task("planar Laplace projected on 400 points", "ProjectedLaplace(grid(20), 1.0).exact_epsilon", GRID, times=2),
)

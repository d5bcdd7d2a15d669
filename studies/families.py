"""Families of noise at equal joint leakage: plain, weighted and optimal, before and after what repairs them.

The embedded corpus, whose exact attacker is known. Every family is scaled, kind by kind alike; the exact attacker reads
whole documents, and losses are looked up where its rate, or its share of right first guesses, is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.controls import exact_attacker
from oddshift.attackers.repair import LEAST, DocumentLaw, Repair, fit_law
from oddshift.audit.scan import Budget, scan
from oddshift.base.arrays import FloatArray
from oddshift.data.embedded import People, people
from oddshift.mechanisms import Exponential, Mechanism, Optimal
from oddshift.mechanisms.exponential import balanced_weights
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.tiered import KindChannel
from oddshift.mechanisms.utility import constant_of_each_kind, expected_loss
from oddshift.model.cost import cost_of
from oddshift.model.prior import Markov
from oddshift.model.release import perturb
from oddshift.model.space import Space
from studies.tables import table, write

FIT, TEST, EPSILON, MOST = 2_000, 1_500, 1.5, 60
"""Documents that priors and laws are learned from, and that are released; ε of the rate; points of an optimal kind."""

RATE, GUESSED = 0.05, 0.4
"""The joint leakage at which families are compared."""

Family = Callable[[Space, float, FloatArray], Mechanism]

MEASURES = ("exact ε", "rate", "first guess", "noise", "paper's remap", "best")


def plain(space: Space, epsilon: float, _: FloatArray) -> Mechanism:
    """The exponential mechanism."""
    return Exponential(space, epsilon)


def weighted(space: Space, epsilon: float, law: FloatArray) -> Mechanism:
    """The exponential mechanism with balanced weights."""
    weights = balanced_weights(space, epsilon, law)
    return Exponential(space, epsilon, weights=np.maximum(weights, 1e-12 * weights.max()))


def optimal(space: Space, epsilon: float, law: FloatArray) -> Mechanism:
    """The channel of least expected cost; plain noise where a kind has too many points."""
    return plain(space, epsilon, law) if len(space) > MOST else Optimal(space, epsilon, law, "cosine")


FAMILIES: dict[str, tuple[Family, tuple[float, ...]]] = {
    "exponential": (plain, (0.7, 0.8, 0.9, 1.0, 1.1, 1.2)),
    "weighted": (weighted, (0.7, 0.8, 0.9, 1.0, 1.1, 1.2)),
    "optimal": (optimal, (0.25, 0.35, 0.45, 0.55)),
}
"""Each with the nominal ε of one release that it is tried at."""


def measured(made: Mechanism, known: Knowledge, law: DocumentLaw, corpus: People) -> tuple[float, ...]:
    """What the exact attacker learns from whole documents, and the losses: exact before repair, counted after it."""
    rng = np.random.default_rng(3)
    known = replace(known, mechanism=made)
    secrets = corpus.encoded.records.take(np.arange(FIT, FIT + TEST))
    release = perturb(secrets, made, known.tiers, rng)
    attacker = exact_attacker(known, lambda length: Markov(corpus.prior.initial, corpus.prior.transitions[0], length))
    budget = Budget(made, known.tiers, EPSILON)
    found = scan(attacker, release, secrets, budget, rng, laws=("anchored",), detailed=False)
    labels = secrets.tier_of_position(known.tiers)
    worst = max(float(found.anchored[labels == tier].mean()) for tier in range(len(known.tiers)))
    shown = Repair(law, ("best",) * len(known.tiers), cost_of("cosine"))(known, release, rng)
    points = known.mechanism.space.points
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    after = float(((1.0 - (unit[secrets.points] * unit[shown]).sum(axis=1)) / 2.0).mean())
    before = (expected_loss(each, known.weights, "cosine") for each in (made, Remap(made, known.weights, "cosine")))
    return (made.exact_epsilon, worst, float(found.hit.mean()), *before, after)


def main() -> None:
    """Measure every family, and write the page."""
    corpus = people(FIT + TEST)
    space, tiers = corpus.codec.space, corpus.codec.tiers
    tiers = tiers.with_scales((1.0,) * len(tiers))
    members = tuple(np.flatnonzero(tiers.labels == tier) for tier in range(len(tiers)))
    parts = tuple(space.part(mine) for mine in members)
    known = knowledge(
        KindChannel(space, members, tuple(Exponential(part, 1.0) for part in parts)),
        tiers,
        corpus.encoded.records.take(np.arange(FIT)),
    )
    laws, rows, at = [known.weights[mine] / known.weights[mine].sum() for mine in members], [], []
    law = fit_law(known, LEAST)
    for name, (family, scales) in FAMILIES.items():
        found = []
        for epsilon in scales:
            kinds = tuple(family(part, epsilon, mine) for part, mine in zip(parts, laws, strict=True))
            found.append(measured(KindChannel(space, members, kinds), known, law, corpus))
            rows.append([name, f"{epsilon:g}", *(f"{value:.3f}" for value in found[-1])])
            print(*rows[-1], file=sys.stderr, flush=True)
        values = np.array(found).T
        for place, limit in ((1, RATE), (2, GUESSED)):
            losses = [float(np.interp(limit, values[place], values[k])) for k in (3, 4, 5)]
            at.append([f"{MEASURES[place]} {limit:g}", name, *(f"{loss:.3f}" for loss in losses)])
    constant = constant_of_each_kind(space, known.weights, "cosine", known.mechanism.output_kinds)[1]
    said = (
        f"{FIT:,} documents to learn from, {TEST:,} released; one constant of each kind costs {constant:.3f}. Rate: "
        f"the share of pairs with the truth beyond ε = {EPSILON:g} in the kind where it is largest. An optimal channel "
        f"has kinds of at most {MOST} points, plain noise of that ε stands for the others."
    )
    text = [" ".join((__doc__ or "").split()), said, "## At equal leakage",
            table(["exact attacker", "family", *MEASURES[3:]], sorted(at, key=lambda row: row[0])),
            "## Measured", table(["family", "ε", *MEASURES], rows)]  # fmt: skip
    write("families", "Families of noise at equal leakage", "\n\n".join(text))


if __name__ == "__main__":
    main()

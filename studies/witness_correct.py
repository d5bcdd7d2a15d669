"""How often the search for violations accuses a correct mechanism, floats included, and what its last bits say.

Every mechanism keeps ε = 1, some of them with equality. `witness_mdp` compares floats in steps of 1e-9 of the distance;
`witness_bits` compares every bit, and what it finds there is true: floats do leak through their last bits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from oddshift.evidence.witness import ACCUSING, witness_bits, witness_mdp
from oddshift.mechanisms import Exponential, Geometric, Laplace, PathExponential, ProjectedLaplace, calibrate
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from studies.tables import table, write
from studies.witness_false_positives import ALPHA, EPSILON, respond

HOME = Path(__file__).resolve().parent / ".work" / "witness_correct"
RUNS = 200
LINE = Space(np.random.default_rng(0).uniform(0, 5, 40)[:, None])
PLANE = Space(np.random.default_rng(1).normal(size=(40, 2)))
WORDS = Space(np.random.default_rng(2).normal(size=(60, 12)))
WHOLE = Space(np.arange(20.0)[:, None])
SECRET = Tiers(np.arange(40) % 2, names=("a", "b"), scales=(0.4, 1.0), is_public=False)


def radial(space: Space) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    """Laplace noise in as many dimensions as the points have: a uniform direction and a gamma radius."""
    size = space.points.shape[1]

    def sample(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        way = rng.normal(size=(len(x), size))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        return space.points[x] + way * rng.gamma(size, 1 / EPSILON, len(x))[:, None]

    return sample


def projected(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise in twelve dimensions, and the nearest of the points."""
    noisy = radial(WORDS)(x, rng)
    return np.argmin((WORDS.points**2).sum(axis=1) - 2 * noisy @ WORDS.points.T, axis=1)


CORRECT = {
    "Laplace on the line, floats": (lambda x, rng: LINE.points[x, 0] + rng.laplace(scale=1.0, size=len(x)), LINE),
    "Laplace in the plane, floats": (radial(PLANE), PLANE),
    "Laplace in 12 dimensions, floats": (radial(WORDS), WORDS),
    "Laplace in 12 dimensions, nearest word": (projected, WORDS),
    "exponential mechanism": (Exponential(WORDS, EPSILON).sample, WORDS),
    "exponential mechanism, calibrated to its exact epsilon": (
        calibrate(lambda e: Exponential(LINE, e), EPSILON).sample,
        LINE,
    ),
    "randomized response": (lambda x, rng: respond(x, 8, rng), Space.from_distances(1.0 - np.eye(8))),
    "our planar Laplace, floats": (Laplace(PLANE, EPSILON).perturb, PLANE),
    "our planar Laplace, projected": (ProjectedLaplace(PLANE, EPSILON).sampler().sample, PLANE),
    "our path metric for two secret tiers": (PathExponential(PLANE, SECRET, EPSILON).sample, PLANE),
    "our geometric mechanism": (Geometric(WHOLE, EPSILON).sample, WHOLE),
}
"""Mechanisms that keep ε = 1, some of them exactly, and the points they are for."""


def accused(name: str, runs: int = RUNS) -> tuple[int, int]:
    """Of `runs` searches of a correct mechanism, those that show a violation; and the same by every bit."""
    sample, space = CORRECT[name]
    terms = {"explore": 500, "confirm": 5_000, "pairs": 16}
    seeds = [np.random.SeedSequence([12, list(CORRECT).index(name), run]) for run in range(runs)]
    return tuple(
        sum(search(sample, space, EPSILON, rng=np.random.default_rng(seed), **terms).shown for seed in seeds)
        for search in (witness_mdp, witness_bits)
    )


def kept(name: str, runs: int = RUNS) -> list[int]:
    """The same and the number of searches, computed once and kept, so that an interrupted study continues."""
    file = HOME / f"{list(CORRECT).index(name):02d}.json"
    if not file.is_file():
        HOME.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([runs, *accused(name, runs)]), encoding="utf-8")
    found: list[int] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Search every mechanism (the argument is how often), or read what an earlier run kept, and write the page."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    rows = [[name, *kept(name, runs)] for name in CORRECT]
    searches, shown = (sum(int(row[k]) for row in rows) for k in (1, 2))
    text = (
        f"{' '.join((__doc__ or '').split())}\n\n"
        f"{table(['mechanism', 'searches', 'accused', 'accused by bits'], rows)}\n\n"
        f"{shown} of {searches:,} searches accuse a correct mechanism; each may do so with probability at most "
        f"{ACCUSING:g}, whatever the mechanism, while its lower bound has the level {ALPHA}. A search draws 500 "
        "outputs of every point of 16 pairs to choose what to test, and 5,000 to test it."
    )
    write("witness_correct", "How often a correct mechanism is accused", text)


if __name__ == "__main__":
    main()

"""Draws from mechanisms of other packages, in an environment of their own: python wall_worker.py NAME EPSILON FILE.

FILE is an .npz with `words` and `vectors`. Each line of standard input holds a point and a number of draws; each line
of standard output is a JSON list of outputs: words, numbers or vectors. oddshift itself is not imported here.
"""

# ruff: noqa: PLC0415 (every package is there in its own environment only)
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

Draw = Callable[[int, int], list[Any]]


def mldp(name: str, epsilon: float, words: list[str], vectors: np.ndarray) -> Draw:
    """A mechanism of mldp-text on these words, with its exhaustive search in place of the approximate one."""
    import mldp_text.mechanisms as package
    from gensim.models import KeyedVectors

    table = KeyedVectors(vectors.shape[1])
    table.add_vectors(words, vectors.astype(np.float32))
    given = {"embedding_matrix": table, "dim": vectors.shape[1], "use_faiss": False, "vocab": set(words)}
    if name == "TruncatedGumbel":
        gaps = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
        given |= {"max_inter_dist": float(gaps.max()), "min_inter_dist": float(gaps[gaps > 0].min())}
    mechanism = getattr(package, name)(epsilon, **given)

    def once(word: str) -> str:
        try:
            return str(mechanism.replace_word(word))
        except ValueError:  # TEM fails when it wants a word beyond its radius and there is none
            return "(failed)"

    return lambda point, n: [once(words[point]) for _ in range(n)]


def diffprivlib(name: str, epsilon: float, _words: list[str], vectors: np.ndarray) -> Draw:
    """A mechanism of diffprivlib at sensitivity 1: epsilon per unit of distance on the line."""
    from diffprivlib import mechanisms

    mechanism = getattr(mechanisms, name)(epsilon=epsilon, sensitivity=1)
    whole = name == "Geometric"
    line = vectors[:, 0].astype(int).tolist() if whole else vectors[:, 0].astype(float).tolist()
    return lambda point, n: [mechanism.randomise(line[point]) for _ in range(n)]


def opendp(name: str, epsilon: float, _words: list[str], vectors: np.ndarray) -> Draw:
    """Laplace noise of OpenDP on integers or floats, at scale 1/epsilon."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    kind = int if name == "integers" else float
    space = dp.atom_domain(T=kind) if kind is int else dp.atom_domain(T=float, nan=False)
    measure = dp.m.make_laplace(space, dp.absolute_distance(T=kind), scale=1 / epsilon)
    line = [kind(v) for v in vectors[:, 0]]
    return lambda point, n: [measure(line[point]) for _ in range(n)]


def qif(name: str, epsilon: float, _words: list[str], vectors: np.ndarray) -> Draw:
    """A channel of libqif over these points: a draw is a column, and -1 draws ask for all rows."""
    from qif import mechanism

    gaps = epsilon * np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    if name == "planar_laplace_grid":
        side = round(math.sqrt(len(vectors)))
        channel = np.asarray(mechanism.geo_ind.planar_laplace_grid(side, side, 1.0, epsilon))
    else:
        made = getattr(mechanism.d_privacy, name)
        channel = np.asarray(made(len(vectors), lambda a, b: float(gaps[a, b])))
    rows, rng = np.cumsum(channel, axis=1), np.random.default_rng(0)

    def draw(point: int, n: int) -> list[Any]:
        if n < 0:
            return channel.tolist()
        return np.minimum(np.searchsorted(rows[point], rng.random(n)), rows.shape[1] - 1).tolist()

    return draw


def privkit(_name: str, epsilon: float, _words: list[str], vectors: np.ndarray) -> Draw:
    """Planar Laplace of privkit at (latitude, longitude); epsilon per metre, outputs in degrees.

    Packages for faces and maps, which it imports and this mechanism does not use, are replaced by empty ones.
    """
    for real in ("pandas", "scipy.special", "pyproj"):  # before the empty ones: these look around when imported
        importlib.import_module(real)
    sys.meta_path.append(_Empty())
    from privkit.ppms.planar_laplace import PlanarLaplace

    mechanism = PlanarLaplace(epsilon)
    return lambda point, n: [list(mechanism.get_obfuscated_point(*vectors[point])[:2]) for _ in range(n)]


UNUSED = {
    "deepface",
    "keras",
    "matplotlib",
    "networkx",
    "open3d",
    "osmnx",
    "requests",
    "retinaface",
    "skimage",
    "torch",
    "sklearn",
}
"""Packages that privkit imports and its planar Laplace noise does not use."""


class _Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An empty module for each of these imports that finds none."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        if name.partition(".")[0] not in UNUSED:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        found = MagicMock(name=spec.name)
        found.__path__, found.__spec__ = [], spec
        return found

    def exec_module(self, _module: Any) -> None:
        return None


PACKAGES = SimpleNamespace(mldp=mldp, diffprivlib=diffprivlib, opendp=opendp, qif=qif, privkit=privkit)


def main() -> None:
    """Answer requests until standard input ends."""
    package, _, name = sys.argv[1].partition(".")
    data = np.load(sys.argv[3])
    draw = getattr(PACKAGES, package)(name, float(sys.argv[2]), data["words"].tolist(), data["vectors"])
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a package prints must not mix with the answers
    for line in sys.stdin:
        point, n = map(int, line.split())
        print(json.dumps(draw(point, n)), file=answers, flush=True)


if __name__ == "__main__":
    main()

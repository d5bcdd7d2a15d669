"""One or more examples of everything that has a fingerprint, for contracts about identity."""

from dataclasses import replace

import numpy as np

from oddshift.attackers import ATTACKERS, FitOptions
from oddshift.attackers.attacker import Retrained, knowledge
from oddshift.attackers.controls import exact_attacker
from oddshift.base.logarithms import log
from oddshift.mechanisms import MECHANISMS, Exponential, Laplace
from oddshift.mechanisms.remap import Remap
from oddshift.model.cost import COSTS, Matrix
from oddshift.model.metric import METRICS, scaled, summed
from oddshift.model.prior import Independent, Joint, Markov
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from worlds import ring, two_tiers, with_words

CLOUD = Space(np.random.default_rng(3).normal(size=(6, 2)))
LINE = Space(1.5 * np.arange(6.0)[:, None])
PUBLIC = Tiers([0, 0, 0, 1, 1, 1], names=("PII", "PoII"), scales=(0.4, 0.9), is_public=True)
SWAPPED = Tiers([0, 1, 0, 0, 1, 1], names=("PII", "PoII"), scales=(0.4, 0.9), is_public=True)
SECRET = Tiers(PUBLIC.labels, names=PUBLIC.names, scales=PUBLIC.scales, is_public=False)
WORDS = ("an", "at", "cat", "car", "tea", "eat")


def chain_of(strength):
    """The law of a ring's documents, by length."""
    follow = np.roll(np.eye(8), 1, axis=1)
    step = strength * follow + (1.0 - strength) / 8

    def prior_of(length):
        return Markov(np.full(8, 1 / 8), step, length)

    return prior_of


SMALL = FitOptions(epochs=1, width=8, prior_of=chain_of(0.9))

MECHANISM_EXAMPLES = {
    "channel": lambda new: [new(CLOUD, log(_rows(seed))) for seed in (1, 2)],
    "deletion": lambda new: [new(CLOUD, p) for p in (0.3, 0.4)],
    "exponential": lambda new: [
        new(CLOUD, 1.3),
        new(CLOUD, 1.3 + 1e-12),
        new(LINE, 1.3),
        new(CLOUD, 1.3, _some(CLOUD)),
    ],
    "geometric": lambda new: [new(LINE, e) for e in (0.4, 0.5)],
    "mask": lambda new: [new(CLOUD), new(LINE)],
    "noise_character": lambda new: [new(CLOUD, WORDS, 0.4, "abct"), new(CLOUD, WORDS[::-1], 0.4, "abct")],
    "optimal": lambda new: [new(LINE, e, np.full(6, 1 / 6), "euclidean") for e in (0.8, 0.9)],
    "path": lambda new: [new(CLOUD, tiers, 2.0) for tiers in (SECRET, SWAPPED)],
    "projected_laplace": lambda new: [new(LINE, e) for e in (0.7, 0.8)],
    "randomized_response": lambda new: [new(CLOUD, e) for e in (1.1, 1.2)],
    "substitution": lambda new: [new(CLOUD, 0.6, n) for n in (2, 3)],
    "tiered": lambda new: [
        *(new(CLOUD, tiers, 2.0) for tiers in (PUBLIC, SWAPPED, SECRET)),
        new(CLOUD, PUBLIC, 2.0, keeps_tier=True),
    ],
    "tem": lambda new: [new(CLOUD, 2.0, radius) for radius in (2.5, 2.4)],
    "truncated": lambda new: [new(CLOUD, 2.0, radius) for radius in (1.5, 1.4)],
}


def mechanisms():
    """Every registered mechanism under parameters that differ, remaps of one, and the continuous Laplace."""
    made = {
        f"{name} {k}": mechanism
        for name, new in MECHANISMS.items()
        for k, mechanism in enumerate(MECHANISM_EXAMPLES[name](new))
    }
    inner = Exponential(CLOUD, 1.3)
    for k, prior in enumerate((np.full(6, 1 / 6), np.arange(1, 7) / 21)):
        made[f"remap {k}"] = Remap(inner, prior, "euclidean")
    return made


def spaces():
    """The same points under every metric, and other points."""
    points = np.random.default_rng(4).uniform(1.0, 9.0, size=(6, 2))
    made = {f"space {name}": Space(points, metric) for name, metric in METRICS.items()}
    made["space scaled"] = Space(points, scaled("euclidean", 2.0))
    made["space summed"] = Space(points, summed([("euclidean", [0]), ("hamming", [1])]))
    made["space summed otherwise"] = Space(points, summed([("euclidean", [1]), ("hamming", [0])]))
    made["space given"] = Space.from_distances(1.0 - np.eye(3))
    made["space of other points"] = Space(points + 1e-9)
    return made


def values():
    """Tiers, priors, costs, and the mechanism that has no matrix."""
    made = {"public": PUBLIC, "swapped": SWAPPED, "secret": SECRET, "laplace": Laplace(CLOUD, 1.0)}
    made |= {f"cost {name}": cost for name, cost in COSTS.items()}
    made |= {f"metric {name}": metric for name, metric in METRICS.items()}
    made["cost table"] = Matrix(np.eye(3))
    made["independent"] = Independent([[0.3, 0.7], [0.6, 0.4]])
    made["joint"] = Joint([[0.18, 0.12], [0.42, 0.28]])
    made["markov"] = Markov([0.3, 0.7], [[0.6, 0.4], [0.6, 0.4]], 2)
    return made


def world():
    """Two public tiers, documents of several lengths, words between the secrets."""
    return with_words(ring(length=None, documents=40, tiers=two_tiers()))


def other_knowledge(known):
    """The same mechanism and tiers, with fewer fit records."""
    return knowledge(known.mechanism, known.tiers, known.fit.take(np.arange(30)))


def fitted(name, known, seed=0):
    """A small fit of a registered attacker."""
    return ATTACKERS[name](known, np.random.default_rng(seed), SMALL)


def wrapped(known):
    """Attackers that no registry holds: around another one, with another parameter, under another law."""
    plain = fitted("plugin", known)
    return {
        "exact": exact_attacker(known, chain_of(0.9)),
        "exact, another chain": exact_attacker(known, chain_of(0.8)),
        "retrained": Retrained(_plugin, plain),
        "retrained otherwise": Retrained(_plugin, fitted("counts", known)),
        "counts, other weights": replace(fitted("counts", known), weights=(((0.25, 0.5), (0.5, 0.25)),) * 2),
    }


def _plugin(known):
    return fitted("plugin", known)


def _rows(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(5), 6)


def _some(space):
    return Space(space.points[:4])


def everything():
    """All of the above by name, networks apart."""
    made = world()
    quick = {name: fitted(name, made.known) for name in ("null", "own", "plugin", "cooccurrence", "counts")}
    data = {"records": made.secrets, "release": made.release, "knowledge": made.known}
    return {**mechanisms(), **spaces(), **values(), **data, **quick, **wrapped(made.known)}

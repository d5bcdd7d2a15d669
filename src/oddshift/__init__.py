"""oddshift: how far do several perturbed records, seen together, shift an attacker's odds about each secret?

The exact core is imported at once. Evidence (`certify`, `witness`, ...) and the front door (`texts`, `audit`, `adapt`,
...) are imported when they are first used, so that `import oddshift` stays light.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from oddshift import bounds
from oddshift.base.errors import InvalidInput, OddshiftError
from oddshift.leakage.exact import Leakage, exact_leakage, log_posterior, most_likely
from oddshift.leakage.mpl import mpl
from oddshift.leakage.upper import upper_bound
from oddshift.mechanisms import (
    Channel,
    Composition,
    Deletion,
    Exponential,
    Geometric,
    Laplace,
    Mask,
    Mechanism,
    NoiseCharacter,
    Optimal,
    PathExponential,
    ProjectedLaplace,
    RandomizedResponse,
    Substitution,
    Tiered,
    Truncated,
    balanced_weights,
    calibrate,
)
from oddshift.mechanisms.epsilon import WorstCase, true_epsilon, worst_case
from oddshift.mechanisms.remap import Remap
from oddshift.model.mahalanobis import mahalanobis
from oddshift.model.metric import scaled, summed
from oddshift.model.prior import Independent, Joint, Markov, estimate_independent, estimate_joint, estimate_markov
from oddshift.model.records import Records
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

if TYPE_CHECKING:
    from oddshift.app.api import StoredRun, adapt, audit, load_policy, load_run
    from oddshift.app.datasets import embeddings, read, table, texts, trajectories
    from oddshift.app.results import AdaptRun, AuditRun, Verdict
    from oddshift.app.watch.series import Watch
    from oddshift.app.watch.watching import watch
    from oddshift.data.dataset import Dataset
    from oddshift.evidence import witness
    from oddshift.evidence.certificates import Certificate, Claim, SuccessClaim, certify, certify_joint, verify_file
    from oddshift.evidence.witness import Witness, witness_mdp
    from oddshift.protect.channel_inversion import estimate
    from oddshift.protect.release import ReleasePolicy, repair

__version__ = "0.1.0"

_EVIDENCE = ("Certificate", "Claim", "SuccessClaim", "certify", "certify_joint", "verify_file")

_ON_DEMAND = {
    **dict.fromkeys(_EVIDENCE, "oddshift.evidence.certificates"),
    **dict.fromkeys(("Witness", "witness", "witness_mdp"), "oddshift.evidence.witness"),
    **dict.fromkeys(("AdaptRun", "AuditRun", "Verdict"), "oddshift.app.results"),
    **dict.fromkeys(("embeddings", "read", "table", "texts", "trajectories"), "oddshift.app.datasets"),
    **dict.fromkeys(("StoredRun", "adapt", "audit", "load_policy", "load_run"), "oddshift.app.api"),
    "Dataset": "oddshift.data.dataset",
    "ReleasePolicy": "oddshift.protect.release",
    "repair": "oddshift.protect.release",
    "estimate": "oddshift.protect.channel_inversion",
    "Watch": "oddshift.app.watch.series",
    "watch": "oddshift.app.watch.watching",
}
"""Names that are imported when they are first used, and the module of each; one of them is a module itself."""


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module 'oddshift' has no attribute {name!r}")
    module = import_module(_ON_DEMAND[name])
    return module if module.__name__.endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _question(name: str) -> property:
    """`oddshift.audit` is the question, also after the room of the same name was imported as a module."""
    return property(lambda package: __getattr__(name), lambda package, room: None)


class _Package(ModuleType):
    """This package, whose two questions have the names of the rooms that answer them."""

    audit = _question("audit")
    adapt = _question("adapt")


sys.modules[__name__].__class__ = _Package

__all__ = [
    "AdaptRun",
    "AuditRun",
    "Certificate",
    "Channel",
    "Claim",
    "Composition",
    "Dataset",
    "Deletion",
    "Exponential",
    "Geometric",
    "Independent",
    "InvalidInput",
    "Joint",
    "Laplace",
    "Leakage",
    "Markov",
    "Mask",
    "Mechanism",
    "NoiseCharacter",
    "OddshiftError",
    "Optimal",
    "PathExponential",
    "ProjectedLaplace",
    "RandomizedResponse",
    "Records",
    "ReleasePolicy",
    "Remap",
    "Space",
    "StoredRun",
    "Substitution",
    "SuccessClaim",
    "Tiered",
    "Tiers",
    "Truncated",
    "Verdict",
    "Watch",
    "Witness",
    "WorstCase",
    "adapt",
    "audit",
    "balanced_weights",
    "bounds",
    "calibrate",
    "certify",
    "certify_joint",
    "embeddings",
    "estimate",
    "estimate_independent",
    "estimate_joint",
    "estimate_markov",
    "exact_leakage",
    "load_policy",
    "load_run",
    "log_posterior",
    "mahalanobis",
    "most_likely",
    "mpl",
    "read",
    "repair",
    "scaled",
    "summed",
    "table",
    "texts",
    "trajectories",
    "true_epsilon",
    "upper_bound",
    "verify_file",
    "watch",
    "witness",
    "witness_mdp",
    "worst_case",
]

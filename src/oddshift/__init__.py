"""oddshift: how far do several perturbed records, seen together, shift an attacker's odds about each secret?"""

from oddshift import bounds
from oddshift.base.errors import InvalidInput, OddshiftError
from oddshift.evidence import witness
from oddshift.evidence.certificates import Certificate, Claim, SuccessClaim, certify, certify_joint, verify_file
from oddshift.evidence.witness import Witness, witness_mdp
from oddshift.leakage.exact import Leakage, exact_leakage, log_posterior, most_likely
from oddshift.leakage.mpl import mpl
from oddshift.leakage.upper import upper_bound
from oddshift.mechanisms import (
    Channel,
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
    calibrate,
)
from oddshift.mechanisms.epsilon import WorstCase, true_epsilon, worst_case
from oddshift.mechanisms.remap import Remap
from oddshift.model.metric import scaled, summed
from oddshift.model.prior import Independent, Joint, Markov, estimate_independent, estimate_joint, estimate_markov
from oddshift.model.records import Records
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Channel",
    "Claim",
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
    "Remap",
    "Space",
    "Substitution",
    "SuccessClaim",
    "Tiered",
    "Tiers",
    "Truncated",
    "Witness",
    "WorstCase",
    "bounds",
    "calibrate",
    "certify",
    "certify_joint",
    "estimate_independent",
    "estimate_joint",
    "estimate_markov",
    "exact_leakage",
    "log_posterior",
    "most_likely",
    "mpl",
    "scaled",
    "summed",
    "true_epsilon",
    "upper_bound",
    "verify_file",
    "witness",
    "witness_mdp",
    "worst_case",
]

"""oddshift: how far do several perturbed records, seen together, shift an attacker's odds about each secret?"""

from oddshift import bounds, witness
from oddshift.certificate import Certificate, Claim, certify, certify_joint, verify_file
from oddshift.epsilon import WorstCase, true_epsilon, worst_case
from oddshift.errors import InvalidInput, OddshiftError
from oddshift.exact import Leakage, exact_leakage, log_posterior, most_likely
from oddshift.leakage import mpl
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
from oddshift.metric import scaled, summed
from oddshift.prior import Independent, Joint, Markov, estimate_independent, estimate_joint, estimate_markov
from oddshift.records import Records
from oddshift.remap import Remap
from oddshift.space import Space
from oddshift.tiers import Tiers
from oddshift.upper import upper_bound
from oddshift.witness import Witness, witness_mdp

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

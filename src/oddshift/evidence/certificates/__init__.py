"""Certificates: what independent documents say about Pr[mPL > ε] ≤ δ or about right guesses, and its evidence."""

from oddshift.evidence.certificates.certificate import (
    DEFAULT_METHOD,
    Certificate,
    JointCertificate,
    certify,
    certify_joint,
    joint_state,
)
from oddshift.evidence.certificates.claim import AnyClaim, Claim, SuccessClaim
from oddshift.evidence.certificates.stored import (
    Evidence,
    Verification,
    WitnessEvidence,
    evidence_name,
    evidence_of,
    load_evidence,
    save_evidence,
    verify,
    verify_file,
)

__all__ = [
    "DEFAULT_METHOD",
    "AnyClaim",
    "Certificate",
    "Claim",
    "Evidence",
    "JointCertificate",
    "SuccessClaim",
    "Verification",
    "WitnessEvidence",
    "certify",
    "certify_joint",
    "evidence_name",
    "evidence_of",
    "joint_state",
    "load_evidence",
    "save_evidence",
    "verify",
    "verify_file",
]

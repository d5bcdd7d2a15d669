"""Certificates: what independent documents say about Pr[mPL > ε] ≤ δ, and the evidence to check it again."""

from oddshift.certificate.certify import (
    DEFAULT_METHOD,
    Certificate,
    JointCertificate,
    certify,
    certify_joint,
    joint_state,
    passing,
)
from oddshift.certificate.claim import Claim
from oddshift.certificate.evidence import (
    Evidence,
    JointEvidence,
    Verification,
    WitnessEvidence,
    evidence_of,
    load_evidence,
    save_evidence,
    verify,
    verify_file,
)
from oddshift.certificate.paper import REASONS, PaperCertificate, paper_certificate

__all__ = [
    "DEFAULT_METHOD",
    "REASONS",
    "Certificate",
    "Claim",
    "Evidence",
    "JointCertificate",
    "JointEvidence",
    "PaperCertificate",
    "Verification",
    "WitnessEvidence",
    "certify",
    "certify_joint",
    "evidence_of",
    "joint_state",
    "load_evidence",
    "paper_certificate",
    "passing",
    "save_evidence",
    "verify",
    "verify_file",
]

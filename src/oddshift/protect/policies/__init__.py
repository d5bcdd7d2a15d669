"""Policies: what `protect` applies, as plain terms, a vocabulary, and the mechanism that they describe."""

from oddshift.protect.policies.policy import Policy, make_policy, noisier_policy, stored_codec
from oddshift.protect.policies.store import POLICY, VOCABULARY, load_policy, save_policy
from oddshift.protect.policies.terms import (
    CONFIDENTIAL,
    UNCERTIFIED,
    CertificateTerms,
    PolicyTerms,
    PolicyVocabulary,
    certificate_terms,
)

__all__ = [
    "CONFIDENTIAL",
    "POLICY",
    "UNCERTIFIED",
    "VOCABULARY",
    "CertificateTerms",
    "Policy",
    "PolicyTerms",
    "PolicyVocabulary",
    "certificate_terms",
    "load_policy",
    "make_policy",
    "noisier_policy",
    "save_policy",
    "stored_codec",
]

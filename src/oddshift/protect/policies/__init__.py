"""Policies: what `protect` applies, as plain terms, a vocabulary beside them, and the mechanism they describe."""

from oddshift.protect.policies.policy import Blueprint, Policy, make_policy
from oddshift.protect.policies.policy_store import POLICY, VOCABULARY, load_policy, save_policy
from oddshift.protect.policies.policy_terms import (
    CONFIDENTIAL,
    UNCERTIFIED,
    CertificateTerms,
    LocationRules,
    PolicyTerms,
    TableRules,
    TextRules,
    VectorRules,
    certificate_terms,
)
from oddshift.protect.policies.vocabulary import Bare, Cells, Forms, NameList, Vocabulary, WordReading

__all__ = [
    "CONFIDENTIAL",
    "POLICY",
    "UNCERTIFIED",
    "VOCABULARY",
    "Bare",
    "Blueprint",
    "Cells",
    "CertificateTerms",
    "Forms",
    "LocationRules",
    "NameList",
    "Policy",
    "PolicyTerms",
    "TableRules",
    "TextRules",
    "VectorRules",
    "Vocabulary",
    "WordReading",
    "certificate_terms",
    "load_policy",
    "make_policy",
    "save_policy",
]

"""Policies: what `protect` applies, as plain terms, a vocabulary beside them, and the mechanism they describe."""

from oddshift.policy.policy import Blueprint, Policy, make_policy
from oddshift.policy.store import POLICY, VOCABULARY, load_policy, save_policy
from oddshift.policy.terms import (
    CONFIDENTIAL,
    UNCERTIFIED,
    CertificateTerms,
    LocationRules,
    TableRules,
    Terms,
    TextRules,
    VectorRules,
    certificate_terms,
)
from oddshift.policy.vocabulary import Bare, Cells, Forms, NameList, Vocabulary, Words

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
    "TableRules",
    "Terms",
    "TextRules",
    "VectorRules",
    "Vocabulary",
    "Words",
    "certificate_terms",
    "load_policy",
    "make_policy",
    "save_policy",
]

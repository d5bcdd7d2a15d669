"""A policy on disk: policy.json and vocabulary.npz in one folder, readable by their owner alone."""

from __future__ import annotations

import json
from pathlib import Path

from oddshift.attackers.repair import DocumentLaw
from oddshift.base.errors import InvalidInput, NotInstalled, TamperedEvidence
from oddshift.base.safe_serialization import load_graph, save_graph
from oddshift.base.storage import SCHEMA, load, save, schema_of
from oddshift.protect.policies.policy import Policy
from oddshift.protect.policies.terms import LAYOUT, PolicyTerms, PolicyVocabulary

POLICY = "policy.json"
VOCABULARY = "vocabulary.npz"
REPAIR = "repair.npz"


def save_policy(folder: str | Path, policy: Policy) -> Path:
    """Write both files into `folder` and return the path of policy.json, which comes last."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    save(home / VOCABULARY, policy.vocabulary, mode=0o600)
    if policy.law is not None:
        save_graph(home / REPAIR, policy.law)
    save(home / POLICY, policy.terms, mode=0o600)
    return home / POLICY


def load_policy(path: str | Path) -> Policy:
    """Read the policy of a policy.json (or of the folder that holds one), with its vocabulary.

    A codec or detector of another package is looked up by its registered name.

    **Guarantee**: a vocabulary that is not the one the policy was written with is refused, and so is a damaged file, or
    a policy whose codec or detector is not installed in the version that it was made with.
    """
    file = Path(path) / POLICY if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file, expected a policy.json; `adapt` writes one where it found a policy")
    _refuse_other_version(file)
    companion = file.with_name(VOCABULARY)
    if not companion.is_file():
        raise InvalidInput(f"{companion} is missing, expected the vocabulary in the folder of {file.name}")
    try:
        terms, vocabulary = _terms(file), _vocabulary(companion)
    except NotInstalled as error:
        raise NotInstalled(f"{file}: {error}") from error
    try:
        return Policy(terms, vocabulary, _law(file, terms))
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error


def _terms(file: Path) -> PolicyTerms:
    try:
        terms: PolicyTerms = load(file, PolicyTerms)
    except TamperedEvidence as error:
        raise InvalidInput(f"{file} is not a policy: {error}") from error
    return terms


def _law(file: Path, terms: PolicyTerms) -> DocumentLaw | None:
    if terms.repair is None or not terms.repair.law:
        return None
    companion = file.with_name(REPAIR)
    if not companion.is_file():
        raise InvalidInput(f"{REPAIR} is missing, expected the law of repair in the folder of {file.name}")
    try:
        law: DocumentLaw = load_graph(companion)
    except TamperedEvidence as error:
        raise InvalidInput(f"{REPAIR} is not a law of repair, or is damaged") from error
    return law


def _vocabulary(companion: Path) -> PolicyVocabulary:
    try:
        vocabulary: PolicyVocabulary = load(companion, PolicyVocabulary)
    except TamperedEvidence as error:
        raise InvalidInput(f"{companion} is not the vocabulary of a policy, or is damaged") from error
    return vocabulary


def _refuse_other_version(file: Path) -> None:
    """Say so when another version wrote the file; anything else that is wrong with it shows when it is read.

    Before schema 3 a certificate named its mechanism by a description that other mechanisms share; before layout 2 a
    policy had rules of its own instead of the settings of a codec.
    """
    stated = schema_of(file)
    if stated is not None and stated > SCHEMA:
        raise InvalidInput(f"{file} has schema {stated}, expected {SCHEMA}: a newer oddshift wrote it")
    layout = _layout_of(file)
    if stated is not None and (stated < SCHEMA or layout not in (None, LAYOUT)):
        found = f"schema {stated} and policy layout {layout}"
        age = "a newer" if (layout or 0) > LAYOUT else "an older"
        raise InvalidInput(
            f"{file} has {found}, expected {SCHEMA} and {LAYOUT}: {age} oddshift wrote it; adapt and certify again"
        )


def _layout_of(file: Path) -> int | None:
    """The layout that a policy says it has, 1 if it says nothing; None for anything but a policy."""
    try:
        value = json.loads(file.read_bytes()).get("value")
    except (ValueError, AttributeError, RecursionError):
        return None
    return (
        int(value.get("layout", 1)) if isinstance(value, dict) and value.get("kind") == PolicyTerms.__name__ else None
    )

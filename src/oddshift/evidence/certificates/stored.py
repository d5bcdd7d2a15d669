"""Evidence: a certificate or witness stored with the numbers it rests on, so that anyone can compute it again.

The stored hash reveals damage and careless edits. It is not a signature: somebody who can rewrite values, bounds and
hash together can forge it. Compare the digest with one that was published elsewhere, or sign it (see `signatures`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.identity import fingerprint
from oddshift.base.storage import digest, load, save
from oddshift.evidence.certificates.certificate import Certificate, certify
from oddshift.evidence.certificates.claim import AnyClaim, SuccessClaim  # noqa: F401  (the second for the example)
from oddshift.evidence.signatures import UNSIGNED, check_signature
from oddshift.evidence.witness import AnyWitness, recheck


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """A certificate, its value for each document in the order they came, and hashes of what was audited.

    The values are fractions of violating pairs: no secret, but computed from secrets; treat them as confidential.
    """

    certificate: Certificate
    values: FloatArray
    trials: IntArray | None
    mechanism_hash: str
    split_hash: str

    def __post_init__(self) -> None:
        """Refuse evidence that does not say what mechanism and split it is about."""
        _check_hashes(self.mechanism_hash, self.split_hash)


@dataclass(frozen=True, kw_only=True, eq=False)
class WitnessEvidence:
    """A witness, which carries its own counts, and hashes of what was witnessed."""

    witness: AnyWitness
    mechanism_hash: str
    split_hash: str

    def __post_init__(self) -> None:
        """Refuse evidence that does not say what mechanism and split it is about."""
        _check_hashes(self.mechanism_hash, self.split_hash)


AnyEvidence = Evidence | WitnessEvidence


@dataclass(frozen=True)
class Verification:
    """Whether a stored result follows from its stored numbers, why not, what it says, and who signed it."""

    holds: bool
    reason: str
    state: str = ""
    sentence: str = ""
    sha256: str = ""
    signature: str = UNSIGNED


def evidence_of(
    certificate: Certificate,
    values: npt.ArrayLike,
    *,
    trials: npt.ArrayLike | None = None,
    mechanism_hash: str,
    split_hash: str,
) -> Evidence:
    """Make the evidence for a certificate, refused at once when the values do not give it.

    **Guarantee**: what is stored verifies.
    """
    sizes = None if trials is None else finite(trials, "trials", 1).astype("int64")
    array = finite(values, "values", 1)
    result = Evidence(
        certificate=certificate, values=array, trials=sizes, mechanism_hash=mechanism_hash, split_hash=split_hash
    )
    _recheck(result)
    return result


def evidence_name(claim: AnyClaim) -> str:
    """Return the name of the file that keeps the evidence of a claim: readable, safe on every system, and unique.

    The digits at its end distinguish claims whose names differ only in characters that a file name cannot have.

    >>> claim = SuccessClaim(cap=0.2, tier="rate %", attacker="counts", attacker_hash="ab12", with_context=False,
    ...                      detector="gazetteer")
    >>> evidence_name(claim)
    'success-rate__-counts-4526be.npz'
    """
    across = getattr(claim, "other_tier", "")
    words = [claim.pair_law, claim.tier, *([across] if across else []), claim.attacker]
    readable = "-".join("".join(c if c.isascii() and c.isalnum() else "_" for c in word)[:40] for word in words)
    return f"{readable}-{fingerprint((*words, claim.attacker_hash))[:6]}.npz"


def save_evidence(path: str | Path, evidence: AnyEvidence) -> str:
    """Store evidence (`.npz`; a witness may be `.json`) for its owner alone, and return the digest to publish."""
    return save(path, evidence, mode=0o600)


def load_evidence(path: str | Path) -> AnyEvidence:
    """Read stored evidence; raises TamperedEvidence for anything that is not complete and consistent in form."""
    result: AnyEvidence = load(path, Evidence, WitnessEvidence)
    return result


def verify(evidence: AnyEvidence) -> Verification:
    """Compute the certificate or witness again from the stored numbers and compare every field.

    **Guarantee**: `holds` only if the stated bounds, state and counts follow from the stored numbers. It cannot know
    whether those numbers came from the named mechanism, attacker and split; the hashes say what to compare.
    """
    try:
        _recheck(evidence)
    except (ValueError, ArithmeticError) as error:  # InvalidInput, or a number no bound can take
        return Verification(False, str(error))
    if isinstance(evidence, WitnessEvidence):
        shown = "shown" if evidence.witness.shown else "undecided"
        return Verification(True, "recomputed from counts", shown, evidence.witness.sentence, digest(evidence))
    certificate, reason = evidence.certificate, f"recomputed from {len(evidence.values)} stored values"
    return Verification(True, reason, certificate.state, certificate.sentence, digest(evidence))


def verify_file(
    path: str | Path, *, expect: str = "", require: str = "", key: str | Path | None = None
) -> Verification:
    """Read and verify stored evidence; a damaged file does not hold. A missing file raises OSError.

    With `expect` the digest must be that one (the first 12 characters are enough); with `require` so must the state;
    with `key`, a public key, the file must be signed by its holder.

    **Guarantee**: that of `verify`; nothing in the file is executed.
    """
    try:
        evidence = load_evidence(path)
    except TamperedEvidence as error:
        return Verification(False, str(error))
    signed = check_signature(path, key)
    found = replace(verify(evidence), signature=signed.reason)
    if found.holds and key is not None and not signed.holds:
        return replace(found, holds=False, reason=signed.reason)
    if found.holds and expect and (len(expect) < 12 or not found.sha256.startswith(expect.lower())):
        return replace(found, holds=False, reason=f"the digest is {found.sha256}, expected {expect}")
    if found.holds and require and found.state != require:
        return replace(found, holds=False, reason=f"the state is {found.state}, required is {require}")
    return found


def _recheck(evidence: AnyEvidence) -> None:
    if isinstance(evidence, WitnessEvidence):
        recheck(evidence.witness)
        return
    stated = evidence.certificate
    asked = (stated.claim, stated.alpha, stated.method)
    again = certify(evidence.values, *asked, trials=evidence.trials, excluded=stated.excluded)
    for field in fields(Certificate):
        said, found = getattr(stated, field.name), getattr(again, field.name)
        if not _same(said, found):
            raise TamperedEvidence(f"values give {field.name} = {found}, the certificate says {said}")


def _same(said: object, found: object) -> bool:
    if isinstance(said, float) and isinstance(found, float):
        return math.isclose(said, found, rel_tol=1e-9, abs_tol=1e-12)
    return said == found


def _check_hashes(mechanism_hash: str, split_hash: str) -> None:
    for name, value in (("mechanism_hash", mechanism_hash), ("split_hash", split_hash)):
        if not value:
            raise InvalidInput(f"{name}={value!r}, expected a hash of what was audited")

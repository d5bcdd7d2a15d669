"""Evidence: a certificate or witness stored with the numbers it rests on, so that anyone can compute it again.

The stored hash reveals damage and careless edits. It is not a signature: somebody who can rewrite values, bounds and
hash together can forge it. Compare the digest with one that was published elsewhere, or sign it (see `signatures`).

Signatures: a file named by its hash under an Ed25519 key (RFC 8032), kept next to it as FILE.sig.

A stored certificate can be computed again by anyone, and therefore forged by anyone who writes other numbers and
hashes them again. A signature shows that the holder of the private key signed these bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.identity import fingerprint
from oddshift.base.storage import digest, load, save, write_atomic
from oddshift.evidence.certificates.certificate import Certificate, certify
from oddshift.evidence.certificates.claim import AnyClaim, SuccessClaim  # noqa: F401  (the second for the example)
from oddshift.evidence.witness import AnyWitness, recheck

SIGNATURE = ".sig"
"""What is added to the name of a file for its signature."""

PUBLIC = ".pub"
"""What is added to the name of a private key for the public one."""

UNSIGNED = "not signed"
"""What is said about a file without a signature."""

_SCHEMA = 1
_PURPOSE = b"oddshift signature 1\n"
_LONGEST = 1 << 16  # bytes of a key or of a signature
_FIELDS = {"schema", "sha256", "public_key", "signature"}


@dataclass(frozen=True)
class SignatureCheck:
    """Whether a file is signed with a key, and what a report should say about it."""

    holds: bool
    reason: str


def new_key(path: str | Path) -> Path:
    """Make a key pair: the private key at `path`, readable by its owner alone, the public one next to it as PATH.pub.

    A name that is taken is refused. Returns the path of the public key.
    """
    crypto = _library()
    private, public = Path(path), Path(f"{path}{PUBLIC}")
    for taken in (private, public):
        if taken.exists() or taken.is_symlink():
            raise InvalidInput(f"{taken} exists, expected a new name: a key is never overwritten")
    key = crypto.ed25519.Ed25519PrivateKey.generate()
    forms = crypto.serialization
    secret = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    with open(os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as stream:
        stream.write(secret)
    shown = key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    write_atomic(public, shown)
    return public


def sign_file(path: str | Path, key: str | Path) -> Path:
    """Sign the bytes of a file with a private key, and return the path of the signature next to it.

    **Guarantee**: `check_signature` with the public key holds for these bytes, and for no others that anyone without
    the private key can find.
    """
    file, private = Path(path), _private_key(Path(key))
    forms = _library().serialization
    mark = _sha256(file)
    note = {
        "schema": _SCHEMA,
        "sha256": mark,
        "public_key": private.public_key().public_bytes(forms.Encoding.Raw, forms.PublicFormat.Raw).hex(),
        "signature": private.sign(_PURPOSE + bytes.fromhex(mark)).hex(),
    }
    signature = Path(f"{file}{SIGNATURE}")
    write_atomic(signature, json.dumps(note, indent=1).encode())
    return signature


def check_signature(path: str | Path, key: str | Path | None = None) -> SignatureCheck:
    """Whether a file has a signature that a public key verifies; without a key nothing is verified, and that is said.

    **Guarantee**: with a key, `holds` only if the holder of its private key signed exactly these bytes. The key that a
    signature names is not believed; the one that is given decides.
    """
    signature = Path(f"{path}{SIGNATURE}")
    if key is None:
        found = "there is a signature, which was not checked: name the public key" if signature.is_file() else UNSIGNED
        return SignatureCheck(False, found)
    public = _public_key(Path(key))
    if not signature.is_file():
        return SignatureCheck(False, UNSIGNED)
    note = _note(signature)
    if note is None:
        return SignatureCheck(False, f"{signature.name} is not a signature")
    mark = _sha256(Path(path))
    if note["sha256"] != mark:
        return SignatureCheck(False, "the file was changed after it was signed")
    try:
        public.verify(bytes.fromhex(note["signature"]), _PURPOSE + bytes.fromhex(mark))
    except (_library().InvalidSignature, ValueError):
        return SignatureCheck(False, "it was signed with another key, or the signature was changed")
    return SignatureCheck(True, f"signed with the key {Path(key).name}")


def _note(path: Path) -> dict[str, Any] | None:
    """What a signature says; None for anything else."""
    try:
        note = json.loads(_short(path))
    except (ValueError, RecursionError):
        return None
    if not isinstance(note, dict) or set(note) != _FIELDS or note["schema"] != _SCHEMA:
        return None
    return note if all(isinstance(note[name], str) for name in _FIELDS - {"schema"}) else None


def _private_key(path: Path) -> Any:
    crypto = _library()
    try:
        key = crypto.serialization.load_pem_private_key(_short(path), password=None)
    except (ValueError, TypeError, crypto.UnsupportedAlgorithm):
        raise InvalidInput(f"{path} is not a private key without a password, expected one of sign --new-key") from None
    if not isinstance(key, crypto.ed25519.Ed25519PrivateKey):
        raise InvalidInput(f"{path} is a key of another kind, expected Ed25519")
    return key


def _public_key(path: Path) -> Any:
    crypto = _library()
    try:
        key = crypto.serialization.load_pem_public_key(_short(path))
    except (ValueError, TypeError, crypto.UnsupportedAlgorithm):
        raise InvalidInput(f"{path} is not a public key, expected the .pub file of the one who signed") from None
    if not isinstance(key, crypto.ed25519.Ed25519PublicKey):
        raise InvalidInput(f"{path} is a key of another kind, expected Ed25519")
    return key


def _short(path: Path) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise InvalidInput(f"{path} has over {_LONGEST} bytes, expected a key or a signature")
    return data


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True)
class _Crypto:
    """What is used of the package `cryptography`."""

    ed25519: Any
    serialization: Any
    InvalidSignature: type[Exception]
    UnsupportedAlgorithm: type[Exception]


def _library() -> _Crypto:
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise InvalidInput("cryptography is not installed; get it with: pip install 'oddshift[sign]'") from error
    return _Crypto(ed25519, serialization, InvalidSignature, UnsupportedAlgorithm)


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

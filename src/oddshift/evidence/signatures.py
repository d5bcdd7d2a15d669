"""Signatures: a file named by its hash under an Ed25519 key (RFC 8032), kept next to it as FILE.sig.

A stored certificate can be computed again by anyone, and therefore forged by anyone who writes other numbers and
hashes them again. A signature shows that the holder of the private key signed these bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import write_atomic

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

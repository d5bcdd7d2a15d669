"""Signatures: a forged certificate that was hashed anew is caught by the key; without one nothing is claimed."""

import builtins
import json
import stat

import numpy as np
import pytest

from command_line import run_here
from oddshift.base.errors import InvalidInput
from oddshift.evidence.certificates import save_evidence, verify_file
from oddshift.evidence.certificates.stored import UNSIGNED, check_signature, new_key, sign_file
from test_verify import evidence, witnessed


@pytest.fixture
def signed(tmp_path):
    """Stored evidence, signed, and the public key."""
    file = tmp_path / "e.npz"
    save_evidence(file, evidence())
    public = new_key(tmp_path / "key")
    sign_file(file, tmp_path / "key")
    return file, public


def test_a_signed_certificate_holds_with_its_key(signed):
    file, public = signed
    assert check_signature(file, public).holds
    found = verify_file(file, key=public)
    assert found.holds
    assert found.signature == "signed with the key key.pub"


def test_without_a_signature_or_a_key_the_sentence_says_so(tmp_path, signed):
    save_evidence(tmp_path / "plain.npz", evidence())
    assert verify_file(tmp_path / "plain.npz").signature == UNSIGNED == "not signed"
    assert "was not checked" in verify_file(signed[0]).signature
    ended = run_here("verify", tmp_path / "plain.npz")
    assert ended.code == 0
    assert "signature: not signed" in ended.out


def test_a_key_is_asked_for_and_there_is_no_signature(tmp_path, signed):
    save_evidence(tmp_path / "plain.npz", evidence())
    ended = run_here("verify", tmp_path / "plain.npz", "--key", signed[1])
    assert ended.problem == ""
    assert ended.code == 2
    assert "no: not signed" in ended.out


def test_a_forgery_that_was_hashed_anew_is_caught(signed):
    """Other values, a certificate that follows from them, and a fresh hash: it verifies, but nobody signed it."""
    file, public = signed
    save_evidence(file, evidence(np.zeros(300)))
    assert verify_file(file).holds
    found = verify_file(file, key=public)
    assert not found.holds
    assert found.reason == "the file was changed after it was signed"
    assert run_here("verify", file, "--key", public).code == 2


def test_a_forgery_that_the_forger_signed_is_caught(tmp_path, signed):
    file, public = signed
    save_evidence(file, evidence(np.zeros(300)))
    forger = new_key(tmp_path / "forger")
    sign_file(file, tmp_path / "forger")
    assert verify_file(file, key=forger).holds
    found = verify_file(file, key=public)
    assert not found.holds
    assert "another key" in found.reason


def test_the_signature_of_another_file_does_not_carry_over(tmp_path, signed):
    file, public = signed
    other = tmp_path / "w.json"
    save_evidence(other, witnessed())
    (tmp_path / "w.json.sig").write_bytes((tmp_path / "e.npz.sig").read_bytes())
    assert not verify_file(other, key=public).holds
    note = json.loads((tmp_path / "e.npz.sig").read_bytes())
    note["sha256"] = json.loads(sign_file(other, tmp_path / "key").read_bytes())["sha256"]
    (tmp_path / "w.json.sig").write_text(json.dumps(note))
    assert "another key, or the signature was changed" in verify_file(other, key=public).reason
    assert verify_file(file, key=public).holds


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"{}", b"[]", b"[" * 50_000, b'{"schema": 1, "sha256": 5, "public_key": "", "signature": ""}', None],
)
def test_a_damaged_signature_is_a_no(data, signed):
    file, public = signed
    beside = file.with_name("e.npz.sig")
    note = json.loads(beside.read_bytes())
    beside.write_bytes(json.dumps({**note, "signature": "zz"}).encode() if data is None else data)
    assert not check_signature(file, public).holds
    ended = run_here("verify", file, "--key", public)
    assert ended.problem == ""
    assert ended.code == 2


def test_every_bit_of_a_signature_counts(signed):
    file, public = signed
    beside = file.with_name("e.npz.sig")
    note = json.loads(beside.read_bytes())
    for place in range(0, 128, 9):
        letter = "0" if note["signature"][place] != "0" else "1"
        wrong = note["signature"][:place] + letter + note["signature"][place + 1 :]
        beside.write_text(json.dumps({**note, "signature": wrong}))
        assert not check_signature(file, public).holds


def test_keys_are_files_for_their_owner_and_never_written_over(tmp_path):
    new_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert b"PRIVATE" in (tmp_path / "key").read_bytes()
    assert b"PRIVATE" not in (tmp_path / "key.pub").read_bytes()
    with pytest.raises(InvalidInput, match="never overwritten"):
        new_key(tmp_path / "key")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="never overwritten"):
        new_key(tmp_path / "link")


@pytest.mark.parametrize("data", [b"", b"nothing", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_what_is_not_a_key_is_refused(data, tmp_path, signed):
    (tmp_path / "odd").write_bytes(data)
    with pytest.raises(InvalidInput, match="is not a private key"):
        sign_file(signed[0], tmp_path / "odd")
    with pytest.raises(InvalidInput, match="is not a public key"):
        check_signature(signed[0], tmp_path / "odd")


def test_keys_of_another_kind_or_role_are_refused(tmp_path, signed):
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "ec").write_bytes(
        key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    )
    shown = key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "ec.pub").write_bytes(shown)
    with pytest.raises(InvalidInput, match="expected Ed25519"):
        sign_file(signed[0], tmp_path / "ec")
    with pytest.raises(InvalidInput, match="expected Ed25519"):
        check_signature(signed[0], tmp_path / "ec.pub")
    with pytest.raises(InvalidInput, match="is not a private key"):
        sign_file(signed[0], signed[1])
    (tmp_path / "long").write_bytes(b"a" * 70_000)
    with pytest.raises(InvalidInput):
        check_signature(signed[0], tmp_path / "long")


def test_a_run_folder_is_signed_whole(tmp_path):
    home = tmp_path / "run" / "evidence"
    home.mkdir(parents=True)
    save_evidence(home / "a.npz", evidence())
    save_evidence(home / "witness.json", witnessed())
    ended = run_here("sign", tmp_path / "run", "--new-key", tmp_path / "key")
    assert ended.problem == ""
    assert ended.code == 0
    assert "to publish" in ended.out
    for name in ("a.npz", "witness.json"):
        assert run_here("verify", home / name, "--key", tmp_path / "key.pub").code == 0
    again = run_here("sign", tmp_path / "run", "--key", tmp_path / "key", "--json")
    assert len(json.loads(again.out)["signatures"]) == 2
    assert not list(home.glob("*.sig.sig"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sign"], "either --key or --new-key"),
        (["sign", "a.npz", "--key", "k", "--new-key", "n"], "either --key or --new-key"),
        (["sign", "--key", "k"], "no file"),
        (["sign", "missing.npz", "--key", "k"], "is not a file"),
        (["sign", "missing.npz", "--new-key", "n"], "is not a file"),
        (["sign", ".", "--key", "k"], "holds no evidence/"),
    ],
)
def test_sign_refuses_in_one_line(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run_here(*arguments)
    assert ended.problem == ""
    assert ended.code == 1
    assert message in ended.err
    assert not list(tmp_path.iterdir())


def test_without_the_package_it_says_what_to_install(monkeypatch, tmp_path):
    real = builtins.__import__

    def missing(name, *arguments, **options):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InvalidInput, match=r"oddshift\[sign\]"):
        new_key(tmp_path / "key")

"""The ledger of earlier versions is read: an input that it holds is refused, and a damaged one is one line."""

import hmac
import json

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect.old_ledger import OLD_LEDGER, earlier_releases

KEY = bytes(range(32))


def mark(*contents):
    marks = sorted(hmac.new(KEY, content, "sha256").digest() for content in contents)
    return hmac.new(KEY, b"".join(marks), "sha256").hexdigest()


def lines(*entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a").write_bytes(b"alpha")
    (tmp_path / "b").write_bytes(b"beta")
    return tmp_path / OLD_LEDGER


def test_inputs_are_found_whatever_the_order_of_their_files(path, tmp_path):
    entry = {"input": mark(b"alpha", b"beta"), "policy": "p", "part": "x"}
    gone = {"input": mark(b"alpha"), "policy": "p", "part": "y"}
    path.write_text(lines({"key": KEY.hex()}, entry, entry, gone, {"withdrawn": "y"}) + '{"input": "half')
    assert earlier_releases(path, [tmp_path / "b", tmp_path / "a"]) == 2
    assert earlier_releases(path, [tmp_path / "a"]) == 0
    assert earlier_releases(path, [tmp_path / "b"]) == 0


def test_no_ledger_and_no_key_hold_nothing(path, tmp_path):
    assert earlier_releases(path, [tmp_path / "a"]) == 0
    path.write_text("")
    assert earlier_releases(path, [tmp_path / "a"]) == 0
    assert path.read_text() == ""


@pytest.mark.parametrize(
    "content",
    [b"5\n", b"[]\n", b"null\n", b"no json\n", b"\xff\xfe\n", b'{"key": "zz"}\n', b"[" * 100_000 + b"\n", b'{"key"}\n'],
)
def test_a_damaged_one_is_one_line(path, tmp_path, content):
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="is damaged, expected"):
        earlier_releases(path, [tmp_path / "a"])

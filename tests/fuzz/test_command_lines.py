"""Every command against hostile files: no traceback, no hang, one line for a refusal, exit codes as documented."""

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from fuzz_cases import FIXED, fuzz_settings
from hostile_files import PLAIN, bent, data_files
from hypothesis import given
from hypothesis import strategies as st

import oddshift as od
from command_line import run_here
from oddshift.data.codecs import VectorCodec, VectorSettings
from oddshift.evidence.certificates import save_evidence
from oddshift.evidence.certificates.stored import new_key, sign_file
from oddshift.mechanisms import Exponential
from oddshift.protect.policies import make_policy, save_policy
from test_verify import evidence, witnessed

SHARES = {"protect": 120, "policy": 40, "ledger": 40, "init": 50, "configuration": 140, "evidence": 110}
"""How the FIXED cases are shared out."""


def test_the_shares_are_all_the_cases():
    assert sum(SHARES.values()) == FIXED


@contextmanager
def folder_with(files):
    """A fresh folder with some files."""
    home = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for name, data in files.items():
            (home / name).write_bytes(data)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def check(home, *arguments):
    """Run a command; whatever it says is as documented, and what it refuses leaves no output behind."""
    ended = run_here(*arguments)
    assert ended.problem == ""
    assert not (ended.code == 1 and any(home.glob("out*")))
    assert not list(home.glob(".oddshift-*[0-9a-f]"))
    return ended


def text_policy():
    """A few names, found by their capitals, and numbers of fixed forms."""
    people, places = ("Ann", "Bob", "Cid", "Dora"), ("Oslo", "Rome")
    texts = [f"Then {a} met {b} in {c} again." for a in people for b in people for c in places]
    data = od.texts(texts, vectors="from-text", detectors=["capitals", "patterns"])
    codec = data.fit(np.ones(len(texts), dtype=bool))
    return make_policy(codec, Exponential(codec.space, 2.0), codec.tiers)


@pytest.fixture(scope="module")
def policies():
    """The files of a policy for texts and of one for vectors."""
    rows = np.random.default_rng(0).normal(size=(40, 3))
    codec = VectorCodec.fit({"vectors": list(rows)}, VectorSettings())
    made = {"text": text_policy(), "vectors": make_policy(codec, Exponential(codec.space, 2.0), codec.tiers)}
    found = {}
    with folder_with({}) as home:
        for kind, policy in made.items():
            save_policy(home / kind, policy)
            found[kind] = {path.name: path.read_bytes() for path in (home / kind).iterdir()}
    return found


OPTIONS = st.lists(
    st.sampled_from(
        [
            *(("--text", "text"), ("--text", "id"), ("--id", "id"), ("--id", "none"), ("--user", "id"), ("--dry-run",)),
            *(("--user", "id", "--user-budget", "3"), ("--user-budget", "nan"), ("--keep-releases",), ("--json",)),
            *(("--past-budget", "mask"), ("--past-budget", "odd"), ("--clear", "id"), ("--allow-new-keys",)),
            *(("--allow-repeat",), ("--take-over",), ("--allow-uncertified",), ("--allow-uncertified",)),
        ]
    ),
    max_size=4,
)


@given(file=data_files(), kind=st.sampled_from(["text", "text", "vectors"]), options=OPTIONS, again=st.booleans())
@fuzz_settings(SHARES["protect"])
def test_protect(policies, file, kind, options, again):
    name, data = file
    with folder_with({**policies[kind], name: data}) as home:
        chosen = ["--policy", home, "--allow-uncertified", *(word for option in options for word in option)]
        first = check(home, "protect", home / name, home / f"out{Path(name).suffix}", *chosen)
        if again and first.code == 0:
            run = run_here("protect", home / name, home / f"again{Path(name).suffix}", *chosen)
            assert run.problem == ""


@given(data=st.data(), which=st.sampled_from(["policy.json", "vocabulary.npz"]))
@fuzz_settings(SHARES["policy"])
def test_damaged_policies(policies, data, which):
    files = {**policies["vectors"], "in.npy": b""}
    files[which] = data.draw(bent([files[which]]))
    with folder_with(files) as home:
        np.save(home / "in.npy", np.zeros((2, 3)))
        check(home, "protect", home / "in.npy", home / "out.npy", "--policy", home, "--allow-uncertified")


@given(data=st.data(), command=st.sampled_from(["show", "check", "protect"]))
@fuzz_settings(SHARES["ledger"])
def test_damaged_ledgers(policies, ledgers, data, command):
    which = data.draw(st.sampled_from(sorted(ledgers)))
    files = {**policies["vectors"], **ledgers, which: data.draw(bent([ledgers[which]]))}
    with folder_with(files) as home:
        if command != "protect":
            check(home, "ledger", command, home)
            return
        np.save(home / "in.npy", np.ones((2, 3)))
        check(home, "protect", home / "in.npy", home / "out.npy", "--policy", home, "--allow-uncertified")


@pytest.fixture(scope="module")
def ledgers(policies):
    """A ledger with a release, its counter, and a ledger of an earlier version."""
    with folder_with(policies["vectors"]) as home:
        np.save(home / "in.npy", np.zeros((4, 3)))
        assert run_here("protect", home / "in.npy", home / "a.npy", "--policy", home, "--allow-uncertified").code == 0
        found = {name: (home / name).read_bytes() for name in ("releases.db", "releases.count")}
    return {**found, "releases.jsonl": b'{"key": "ab12"}\n{"input": "00", "part": "a"}\n'}


@given(file=data_files(), as_json=st.booleans())
@fuzz_settings(SHARES["init"])
def test_init(file, as_json):
    name, data = file
    with folder_with({name: data}) as home:
        check(home, "init", home / name, "--out", home / "out.toml", *(["--json"] if as_json else []))


KEYS = {
    "data": ("kind", "path", "text", "user", "numeric", "detectors", "vectors", "is_public", "repeats", "odd"),
    "mechanism": ("name", "epsilon", "scales", "remap", "outputs", "odd"),
    "audit": ("epsilon", "delta", "alpha", "law", "method", "attackers", "epochs", "seed", "success", "upper", "odd"),
    "adapt": ("rounds", "seed", "presets", "odd"),
    "execution": ("mode", "workers", "odd"),
    "odd": ("a",),
}


def toml_value(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(c if c.isprintable() and c not in '"\\' else "?" for c in value) + '"'
    return str(value if value is not None else "[]")


@st.composite
def configurations(draw):
    """The text of a configuration whose keys are known and whose values are anything; its data are not there."""
    values = st.one_of(PLAIN, st.sampled_from(["text", "table", "people", "missing.csv", "exponential", "[[1]]"]))
    lines = ['[data]\nkind = "text"\npath = "missing.csv"\n'] if draw(st.booleans()) else []
    for table in draw(st.lists(st.sampled_from(sorted(KEYS)), unique=True, max_size=4)):
        if not (lines and table == "data"):
            lines.append(f"[{table}]")
            for key in draw(st.lists(st.sampled_from(KEYS[table]), unique=True, max_size=4)):
                lines.append(f"{key} = {toml_value(draw(values))}")
    return "\n".join(lines).encode("utf-8", "surrogatepass")


WHOLE = b'[data]\nkind = "text"\npath = "missing.csv"\n[mechanism]\nepsilon = 2.0\n[audit]\ndelta = 0.05\nseed = 3\n'


@given(text=configurations() | bent([WHOLE]), command=st.sampled_from(["audit", "adapt"]))
@fuzz_settings(SHARES["configuration"])
def test_configurations(text, command):
    if b'"people"' in text:
        text = text.replace(b'"people"', b'"people"\ndocuments = 1')
    with folder_with({"a.toml": text}) as home:
        check(home, command, home / "a.toml", "--out", home / "out")


@pytest.fixture(scope="module")
def stored():
    """Evidence of every kind, a signature and its keys."""
    with folder_with({}) as home:
        for name, made in (("e.npz", evidence()), ("w.json", witnessed())):
            save_evidence(home / name, made)
        new_key(home / "key")
        sign_file(home / "e.npz", home / "key")
        return {path.name: path.read_bytes() for path in home.iterdir()}


@given(data=st.data(), which=st.sampled_from(["e.npz", "w.json", "e.npz.sig", "key.pub", "key"]))
@fuzz_settings(SHARES["evidence"])
def test_evidence_and_signatures(stored, data, which):
    with folder_with({**stored, which: data.draw(bent([stored[which]]))}) as home:
        if which == "key":
            check(home, "sign", home / "e.npz", "--key", home / "key")
            return
        if which == "w.json":
            check(home, "verify", home / which, *data.draw(VERIFY_OPTIONS))
            return
        signed = check(home, "verify", home / "e.npz", "--key", home / "key.pub")
        is_whole = all((home / name).read_bytes() == stored[name] for name in ("e.npz", "e.npz.sig", "key.pub"))
        assert signed.code == 0 or not is_whole
        assert signed.code != 0 or (home / "e.npz").read_bytes() == stored["e.npz"]


VERIFY_OPTIONS = st.sampled_from([(), ("--json",), ("--require", "certified"), ("--expect", "abc")])

"""The lock file: every pin with hashes, nothing else, and the functions that write it."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import write_lock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = (ROOT / "requirements.lock").read_text()
A, B = "a" * 64, "b" * 64


def test_the_lock_file_has_the_pins_of_the_constraints():
    wanted = write_lock.pins((ROOT / "constraints.txt").read_text())
    assert re.findall(r"^([^\s#=]+)==(\S+) \\$", LOCK, re.MULTILINE) == wanted, "run `make lock`"


def test_every_pin_has_hashes_and_nothing_names_an_index():
    for block in re.split(r"\n(?=\S)", LOCK.split("-e .\n")[1].strip()):
        lines = block.splitlines()
        assert len(lines) > 1
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line) for line in lines[1:])
    assert "://" not in LOCK
    assert "index" not in LOCK


def test_what_the_project_asks_for_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    pins = write_lock.pins((ROOT / "constraints.txt").read_text())
    pinned = {canonicalize_name(name): version for name, version in pins}
    for text in asked:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


def test_names_and_versions():
    assert write_lock.pins("# nothing\nPyYAML==6.0.3  # yes\n\nruff==0.17.4\n") == [
        ("PyYAML", "6.0.3"),
        ("ruff", "0.17.4"),
    ]
    assert write_lock.normal("ruamel.yaml_Clib") == "ruamel-yaml-clib"


@pytest.mark.parametrize(
    ("filename", "belongs"),
    [
        ("pyyaml-6.0.3-cp311-cp311-manylinux2014_x86_64.whl", True),
        ("PyYAML-6.0.3.tar.gz", True),
        ("pyyaml-6.0.3-py3-none-any.whl", True),
        ("pyyaml-6.0.3-cp39-abi3-macosx_11_0_arm64.whl", True),
        ("pyyaml-6.0.3-cp38-cp38-win32.whl", False),
        ("pyyaml-6.0.30-py3-none-any.whl", False),
        ("pyyaml-6.0-py3-none-any.whl", False),
        ("pyyaml_ft-6.0.3-py3-none-any.whl", False),
    ],
)
def test_which_files_belong_to_a_pin(filename, belongs):
    assert write_lock.is_file_of(filename, "PyYAML", "6.0.3") is belongs


def test_an_index_is_read_in_both_of_its_forms():
    files = [{"filename": "a-1.tar.gz", "hashes": {"sha256": A}}, {"filename": "b", "hashes": {}}]
    as_json = json.dumps({"files": files})
    assert write_lock.listed(as_json, "application/vnd.pypi.simple.v1+json") == {"a-1.tar.gz": A}
    page = f'<a href="../../x/a-1.tar.gz#sha256={A}">a</a><a href="../b-2.whl">b</a>'
    assert write_lock.listed(page, "text/html") == {"a-1.tar.gz": A}


def test_an_entry_lists_each_hash_once_and_needs_one():
    files = {"a-1.tar.gz": B, "a-1-py3-none-any.whl": A, "a-1-cp311-cp311-win32.whl": A, "a-2.tar.gz": "c" * 64}
    assert write_lock.entry("a", "1", files) == f"a==1 \\\n    --hash=sha256:{A} \\\n    --hash=sha256:{B}"
    with pytest.raises(SystemExit, match="no file of a 3"):
        write_lock.entry("a", "3", files)

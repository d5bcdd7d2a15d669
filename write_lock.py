"""Write requirements.lock: every pin of constraints.txt with the SHA-256 of its files, as pip asks for with hashes.

Run `make lock` after constraints.txt has changed. The hashes come from the package index that pip is set up to use (the
simple API, PEP 691); its address is not written into the file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINS = HERE / "constraints.txt"
LOCK = HERE / "requirements.lock"
KINDS = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"

HEAD = """\
# Every pin of constraints.txt with the hashes of its files; written by `make lock`, never by hand.
# pip install --require-hashes --no-deps -r requirements.lock
# pip install --no-deps --no-build-isolation -e .
"""

WANTED = re.compile(r"-(?:cp31[1-4]|py3|py2\.py3|cp3\d+-abi3)(?:[.-]|$)|-cp3\d+-abi3-|\.tar\.gz$|\.zip$")
"""Files for Python 3.11 to 3.14 on any system, and sources."""


def pins(text: str) -> list[tuple[str, str]]:
    """Names and versions, in order."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [(name.strip(), version.strip()) for name, _, version in (line.partition("==") for line in lines if line)]


def normal(name: str) -> str:
    """A name as an index spells it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def index() -> str:
    """The address of the index that pip uses, as pip's own help states it."""
    wide = {**os.environ, "COLUMNS": "1000"}  # so that an address is not cut into lines
    command = [sys.executable, "-m", "pip", "install", "--help"]
    helped = subprocess.run(command, capture_output=True, text=True, check=True, env=wide)
    found = re.search(r"--index-url\s.*?\(default\s+(\S+?)\)", helped.stdout, flags=re.DOTALL)
    if found is None:
        raise SystemExit("pip does not say which index it uses, expected its address in `pip install --help`")
    return found[1].rstrip("/")


def listed(text: str, kind: str) -> dict[str, str]:
    """The files that an index lists for a project, with their hashes; those without one are left out."""
    if "json" in kind:
        files = json.loads(text)["files"]
        return {file["filename"]: file["hashes"]["sha256"] for file in files if "sha256" in file["hashes"]}
    return dict(re.findall(r'href="[^"#]*?/([^"/#]+)#sha256=([0-9a-f]{64})"', text))


def is_file_of(filename: str, name: str, version: str) -> bool:
    """Whether a file belongs to this version and may be installed by a Python that we support."""
    stem = normal(re.split(r"\.(?:whl|tar\.gz|zip)$", filename)[0])
    start = f"{normal(name)}-{normal(version)}"
    return (stem == start or stem.startswith(f"{start}-")) and WANTED.search(filename.removesuffix(".whl")) is not None


def entry(name: str, version: str, files: dict[str, str]) -> str:
    """One pin as pip reads it; a pin without a file is refused."""
    hashes = sorted({mark for filename, mark in files.items() if is_file_of(filename, name, version)})
    if not hashes:
        raise SystemExit(f"the index has no file of {name} {version}, expected some with a hash")
    return " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{mark}" for mark in hashes)])


def fetched(address: str, name: str) -> dict[str, str]:
    """What the index lists for one project."""
    asked = urllib.request.Request(f"{address}/{normal(name)}/", headers={"Accept": KINDS})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return listed(answer.read().decode("utf-8"), answer.headers.get_content_type())


def main() -> None:
    """Write the file."""
    address = index()
    found = [entry(name, version, fetched(address, name)) for name, version in pins(PINS.read_text())]
    LOCK.write_text(HEAD + "\n".join(found) + "\n")
    print(f"wrote {LOCK.name}: {len(found)} pins")


if __name__ == "__main__":
    main()

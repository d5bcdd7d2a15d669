"""The documentation site: it builds without a warning, holds every page, and asks no other computer for anything."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytest.importorskip("mkdocs", reason="the site needs the extra: pip install -e '.[docs]'")
sys.path.insert(0, str(ROOT / "docs" / "site"))

import doctests  # noqa: E402
import pages  # noqa: E402

FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=\"?(https?:)?//|<link[^>]+href=\"?(https?:)?//", re.IGNORECASE
)


def built(folder):
    """A strict build: a broken link, a missing heading or a page outside the navigation is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    asked = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": path}
    run = subprocess.run(command, cwd=ROOT, env=asked, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}


def requests_of_a_browser(site):
    """Everything that Chromium asks for while it opens a few pages; nothing where it is not installed."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return []
    playwright = pytest.importorskip("playwright.sync_api")
    asked = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        for name in ("index", "reference/mechanisms", "decisions/index"):
            tab.goto((site / f"{name}.html").as_uri())
        browser.close()
    assert len(asked) > 6, "style sheets and scripts are requests too"
    return asked


@pytest.mark.slow
def test_the_site_builds_holds_every_page_and_asks_no_other_computer(tmp_path):
    """One test, because a build takes several seconds."""
    made = built(tmp_path)
    written = {
        page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in (ROOT / "docs").rglob("*.md")
    }
    assert {name.replace("README.html", "index.html") for name in written} <= set(made)
    assert {f"reference/{room}.html" for room in pages.rooms()} <= set(made)
    assert [name for name, text in made.items() if FETCHED.search(text)] == []
    assert "fonts.googleapis.com" not in "".join(made.values())
    reference = made["reference/mechanisms.html"]
    assert 'id="module-mechanisms-exponential"' in reference
    assert reference.count('id="oddshift.mechanisms.exponential.Exponential"') == 1
    assert "<blockquote>" not in reference, "a Python prompt was taken for a quotation"
    asked = requests_of_a_browser(tmp_path)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[e](../src/oddshift/base/errors.py)", "[e](reference/base.md#module-base-errors)"),
        ("[m](../src/oddshift/mechanisms)", "[m](reference/mechanisms.md)"),
        ("[w](../src/oddshift/evidence/witness)", "[w](reference/evidence.md#module-evidence-witness)"),
        ("[t](../tests/test_docs.py)", "t"),
        ("[q](../examples/quickstart_text.py)", "[q](examples/quickstart_text.md)"),
        ("[c](../CHANGELOG.md)", "[c](CHANGELOG.md)"),
        ("[d](decisions)", "[d](decisions/README.md)"),
        ("[a](audit.md#attackers) ![p](images/report.png)", "[a](audit.md#attackers) ![p](images/report.png)"),
        ("[o](https://example.org/a)", "[o](https://example.org/a)"),
        ("```\n[t](../tests/x.py)\n```", "```\n[t](../tests/x.py)\n```"),
    ],
)
def test_links_that_leave_the_folder_stay_inside_the_site(written, shown):
    assert pages.rewritten(written, PurePosixPath(".")) == shown


def test_links_are_seen_from_the_folder_of_their_page():
    assert pages.rewritten("[e](../../src/oddshift/base/errors.py)", PurePosixPath("decisions")) == (
        "[e](../reference/base.md#module-base-errors)"
    )
    assert pages.moved("[n](docs/notions.md) [l](LICENSE) [k](https://x.org)") == (
        "[n](notions.md) [l](../LICENSE) [k](https://x.org)"
    )


def test_every_room_has_a_page_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.findall(r"reference/(\w+)\.md", navigation) == [
        "base", "model", "mechanisms", "leakage", "bounds", "evidence",
        "attackers", "audit", "adapt", "data", "protect", "app",
    ]  # fmt: skip
    assert len(pages.rooms()) == 12


def test_examples_of_a_docstring_become_code():
    text = "What it is.\n\n>>> 1 + 1\n2\n>>> 2\n2\n\nMore words."
    assert doctests.fenced(text) == "What it is.\n\n```pycon\n>>> 1 + 1\n2\n>>> 2\n2\n```\n\nMore words."
    assert doctests.fenced("No example.") == "No example."

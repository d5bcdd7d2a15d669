"""The code in README.md and docs/ runs, its relative links resolve, and the examples in the source are true."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import oddshift

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [page for name in ("CONTRIBUTING.md", "CHANGELOG.md") if (page := ROOT / name).is_file()]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
names = [str(page.relative_to(ROOT)) for page in PAGES]
pages = pytest.mark.parametrize("page", PAGES, ids=names)

FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")

# A page whose blocks need data or a library that not everyone has says so in its fence: ```python no-run
# What a stranger runs first is run by tests/test_install.py, from an installed wheel: ```python installed


def blocks(page):
    text = page.read_text()
    for match in FENCE.finditer(text):
        fence = match.group(0).splitlines()[0]
        if "no-run" not in fence and "installed" not in fence:
            yield text[: match.start()].count("\n") + 2, match.group(1)


@pages
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """All blocks of a page in order, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    if page.name == "README.md":  # as for a newcomer, who has no folder of real data
        monkeypatch.setenv("ODDSHIFT_DATA", str(tmp_path / "none"))
    namespace = {"__name__": "__docs__"}
    parser = doctest.DocTestParser()
    for line, code in blocks(page):
        if ">>>" in code:
            test = parser.get_doctest(code, namespace, page.name, str(page), line)
            runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
            said = []
            runner.run(test, out=said.append, clear_globs=False)
            namespace.update(test.globs)
            assert runner.failures == 0, "".join(said)
        else:
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


def anchors(page):
    """What can be linked to in a page: its headings, as they read in an address."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pages
def test_links_lead_somewhere(page):
    """Relative links to a file that is there, and to a heading that it has; no link to this machine."""
    for match in LINK.finditer(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        target, anchor = match.group(1) or "", (match.group(2) or "").removeprefix("#")
        assert not target.startswith(("/", "file:", "http://localhost")), f"{page.name} links to {target}"
        if "://" in target or target.startswith("mailto:"):
            continue
        assert target != "docs/images/report.png" or (ROOT / target).stat().st_size > 20_000, "an empty picture"
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.name} links to {target}#{anchor}"


@pages
def test_a_link_with_the_name_of_a_file_leads_to_that_file(page):
    for label, target in re.findall(r"\[([\w/]+\.py)\]\(([^)#]+)", page.read_text()):
        assert target.endswith(label), f"{page.name} calls {target} {label}"


def test_every_page_is_reached_from_the_index():
    """From the README over links: no page that nobody finds."""
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        if page.is_dir():
            waiting += page.glob("*.md")
        elif page.suffix == ".md":
            waiting += [page.parent / match.group(1) for match in LINK.finditer(page.read_text()) if match.group(1)]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in seen] == []


MODULES = [m.name for m in pkgutil.walk_packages(oddshift.__path__, "oddshift.") if not m.name.endswith("__main__")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_source_are_true(name):
    """Doctests of every module; one whose library is not installed is skipped, and says which."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("oddshift"):
            raise
        pytest.skip(f"{name} needs {missing.name}")
    said = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_the_architecture_page_lists_the_rooms_in_their_order():
    """Its table is what the test of imports enforces, so that a reader can rely on it."""
    from test_architecture import ROOMS, TREES, imported, part

    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| [")]
    assert [re.sub(r" \[(\w+)\].*", r"\1", row[0]) for row in rows] == ROOMS
    source = Path(oddshift.__file__).resolve().parent
    for room, _, used in rows:
        name = re.sub(r" \[(\w+)\].*", r"\1", room)
        above = ROOMS[: ROOMS.index(name)]
        said = set(above) - set(used.split("but ")[1].split()) if "but" in used else set(above)
        said = said if "everything" in used else set(used.replace(",", " ").split()) & set(ROOMS)
        files = [path for path in TREES if path.is_relative_to(source / name)]
        found = {part(other) for path in files for other in imported(TREES[path])} - {name}
        assert found <= said <= set(above), f"{name} uses {sorted(found)}, the page says {sorted(said)}"

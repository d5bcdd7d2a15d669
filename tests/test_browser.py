"""The report in a real browser: silent, readable on a telephone and a desk, and complete in print.

Where ODDSHIFT_SHOTS is set, screenshots are kept in build/report/. Without Chromium these tests are skipped; where CI
is set they fail.
"""

import os
import shutil
from pathlib import Path

import pytest

from oddshift.app.report import page
from reports import hostile, small_audit, sources
from requirements import lacking

pytestmark = pytest.mark.browser
SHOTS = Path(__file__).resolve().parent.parent / "build" / "report"
SIZES = {"phone": {"width": 375, "height": 812}, "desk": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium")
    if chromium is None:
        lacking("Chromium is not installed (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("playwright is not installed (pip install -e '.[dev]')")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, audited = tmp_path_factory.mktemp("report"), small_audit()
    for name, made in (("plain", sources(audited)), ("hostile", hostile(audited))):
        (folder / f"{name}.html").write_text(page(made), encoding="utf-8")
    return folder


@pytest.fixture
def visit(browser, files):
    """Open a page, and at the end see that it asked for nothing and complained about nothing."""
    contexts, asked, said = [], [], []

    def opened(name="plain", size="desk", **options):
        context = browser.new_context(viewport=SIZES[size], **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: said.append(dialog.message))
        tab.goto((files / f"{name}.html").as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:,"))] == []
    assert sum(url.startswith("file:") for url in asked) == len(contexts)
    assert said == []


def kept(tab, name):
    if "ODDSHIFT_SHOTS" not in os.environ:
        return
    SHOTS.mkdir(parents=True, exist_ok=True)
    tab.screenshot(path=SHOTS / f"{name}.png", full_page=True)


WIDER = """() => [...document.querySelectorAll("body *")]
    .filter((e) => !e.closest(".scroll") || e.matches(".scroll"))
    .map((e) => [e.getBoundingClientRect(), e.outerHTML.slice(0, 120)])
    .filter(([box]) => box.width && (box.right > innerWidth + 1 || box.left < -1))
    .map(([box, text]) => text)"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_nothing_overflows(visit, name, size):
    tab = visit(name, size)
    for details in tab.query_selector_all("details"):
        details.evaluate("e => { e.open = true; }")
    assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    assert tab.evaluate(WIDER) == []
    kept(tab, f"{name}-{size}")


@pytest.mark.parametrize("size", SIZES)
def test_letters_of_drawings_can_be_read(visit, size):
    tab = visit(size=size)
    smallest = """() => Math.min(...[...document.querySelectorAll("svg text")].filter((e) => e.getClientRects().length)
        .map((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))"""
    assert tab.evaluate(smallest) >= 11


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_issue(visit, scheme):
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        lacking("axe-playwright-python is not installed (pip install -e '.[dev]')")
    tab = visit(color_scheme=scheme)
    for details in tab.query_selector_all("details"):
        details.evaluate("e => { e.open = true; }")
    found = Axe().run(tab).response["violations"]
    serious = [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in {"serious", "critical"}]
    assert serious == []


def test_dark_mode_changes_paper_and_ink(visit):
    light, dark = (visit(color_scheme=scheme) for scheme in ("light", "dark"))
    style = "() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]; }"
    assert light.evaluate(style) == ["rgb(255, 253, 248)", "rgb(28, 30, 33)"]
    assert dark.evaluate(style) == ["rgb(21, 23, 26)", "rgb(233, 230, 223)"]
    kept(dark, "dark")


def test_print_shows_every_table_and_no_navigation(visit):
    tab = visit()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    assert tab.locator("details:not([open])").count() == 0
    assert not tab.locator("nav").is_visible()
    SHOTS.mkdir(parents=True, exist_ok=True)
    printed = tab.pdf(path=SHOTS / "report.pdf", format="A4")
    assert printed.startswith(b"%PDF")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details[open]").count() == 0

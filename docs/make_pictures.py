"""Take the picture of the report that the README shows: `python docs/make_pictures.py`.

It runs the demo in a temporary folder, opens its report in headless Chromium, and keeps the top of the page as
docs/images/report.png. Name a folder that the demo wrote before, and it is not run again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
SIZE = {"width": 1180, "height": 880}


def demo(folder: Path) -> Path:
    """A report of the demo without its examples, in a folder; the demo runs only if it is not there yet."""
    page = folder / "report-without-examples.html"
    if not (folder / "run").is_dir():
        _oddshift("demo", "--out", str(folder))
    _oddshift("report", str(folder / "run"), "--no-with-examples", "--out", str(page))
    return page


def _oddshift(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "oddshift", *arguments], check=True)


def photograph(page: Path, picture: Path) -> None:
    """The first screen of a page, in light colours and without animations."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        tab.goto(page.resolve().as_uri())
        picture.parent.mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=picture)
        browser.close()


def main() -> None:
    """Run the demo if needed and keep the picture."""
    with tempfile.TemporaryDirectory() as folder:
        photograph(demo(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "demo"), PICTURE)
    print(f"wrote {PICTURE.name}")


if __name__ == "__main__":
    main()

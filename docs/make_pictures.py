"""Take the pictures of first screens: `python docs/make_pictures.py`.

It runs the demo in a temporary folder, opens its report in headless Chromium, and keeps the top of the page as
docs/images/report.png; what the terminal shows of its audit and its adaptation becomes audit.png and adapt.png. Name a
folder that the demo wrote before, and it is not run again.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright
from rich.console import Console

from oddshift.app.display import show_first_screen
from oddshift.app.report.first_screen import FirstScreen, screen_of_adaptation, screen_of_audit
from oddshift.app.run_folder import read_adaptation, read_run

IMAGES = Path(__file__).resolve().parent / "images"
REPORT: ViewportSize = {"width": 1180, "height": 1330}
TERMINAL: ViewportSize = {"width": 1180, "height": 100}


def demo(folder: Path) -> Path:
    """The folder of the demo, which runs only if it is not there yet; the people in its examples are made up."""
    if not (folder / "run").is_dir():
        subprocess.run([sys.executable, "-m", "oddshift", "demo", "--out", str(folder)], check=True)
    return folder


def terminal(screen: FirstScreen, page: Path) -> Path:
    """What a terminal shows of a first screen, as a page."""
    console = Console(record=True, width=110, file=io.StringIO(), force_terminal=True)
    show_first_screen(screen, console)
    code = "<pre style=\"font: 15px/1.35 'DejaVu Sans Mono'; padding: 18px\">{code}</pre>"
    page.write_text(f"<body>{console.export_html(inline_styles=True, code_format=code)}</body>", encoding="utf-8")
    return page


def photograph(page: Path, picture: Path, size: ViewportSize, *, is_whole: bool = False) -> None:
    """The top of a page or all of it, in light colours and without animations."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport=size, color_scheme="light", reduced_motion="reduce")
        tab.goto(page.resolve().as_uri())
        picture.parent.mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=picture, full_page=is_whole)
        browser.close()


def main() -> None:
    """Run the demo if needed and keep the pictures."""
    with tempfile.TemporaryDirectory() as home:
        folder = demo(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(home) / "demo")
        photograph(folder / "report.html", IMAGES / "report.png", REPORT)
        run = folder / "run"
        for name, screen in (
            ("audit", screen_of_audit(read_run(run))),
            ("adapt", screen_of_adaptation(read_adaptation(run))),
        ):
            photograph(terminal(screen, Path(home) / f"{name}.html"), IMAGES / f"{name}.png", TERMINAL, is_whole=True)
    print(f"wrote {', '.join(sorted(picture.name for picture in IMAGES.iterdir()))}")


if __name__ == "__main__":
    main()

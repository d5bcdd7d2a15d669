"""The page: verdict first, then what leaks, how sure that is, how it was repaired, and how to check it.

A pure function of what the run folder holds: no date, no network, and nothing that differs when it is made again.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from oddshift.app.report.markup import NOTHING, Html, tag
from oddshift.app.report.page_head import page_head
from oddshift.app.report.page_sections import SECTIONS
from oddshift.app.report.sources import Sources


def page(sources: Sources) -> str:
    """The whole page as one string that needs no other file.

    **Guarantee**: it makes no network request, its content policy forbids every script but its own, and text from
    the run is always shown as text. Secrets are in it only where `sources` holds some.
    """
    made = [(key, title, content) for key, title, make in SECTIONS if (content := make(sources))]
    foot = "Made by oddshift report from the run folder alone."
    return page_frame(made, name=sources.name, foot=foot, opening=page_head(sources))


def page_frame(made: Sequence[tuple[str, str, Html]], *, name: str, foot: str, opening: Html = NOTHING) -> str:
    """Sections (key, title, content) as one self-contained page in the report's style, behind what opens it.

    **Guarantee**: it makes no network request, and its content policy forbids every script but the report's own.
    """
    sections = [
        tag(
            "section", {"id": key, "aria-labelledby": f"{key}-title"}, tag("h2", {"id": f"{key}-title"}, title), content
        )
        for key, title, content in made
    ]
    links = [tag("li", None, tag("a", {"href": f"#{key}"}, title)) for key, title, _ in made]
    top = tag(
        "header",
        None,
        tag("h1", None, tag("span", {"class": "brand"}, "oddshift"), " ", tag("span", {"class": "run"}, name)),
        tag("nav", {"aria-label": "Contents"}, tag("ul", None, *links)),
    )
    tip = tag("div", {"id": "tip", "aria-hidden": "true", "hidden": ""})
    script = tag("script", None, Html(_asset("hover.js")))
    main = tag("main", None, opening, *sections)
    body = tag("body", None, top, main, tag("footer", None, tag("p", None, foot)), _STRIPES, tip, script)
    return f"<!doctype html>\n{tag('html', {'lang': 'en'}, _head(name), body)}\n"


def _head(name: str) -> Html:
    """Title, style, and a policy that forbids every request, and every script and style but our own."""
    style = _asset("style.css")
    policy = f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(_asset('hover.js'))}'"
    return tag(
        "head",
        None,
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "color-scheme", "content": "light dark"}),
        tag("link", {"rel": "icon", "href": "data:,"}),
        tag("title", None, f"oddshift report: {name}"),
        tag("style", None, Html(style)),
    )


def _asset(name: str) -> str:
    return resources.files("oddshift.app.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """How a policy names an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


_STRIPES = tag(
    "svg",
    {"class": "stripes", "aria-hidden": "true", "width": 0, "height": 0},
    tag(
        "pattern",
        {"id": "stripes", "width": 5, "height": 5, "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"},
        tag("rect", {"width": 5, "height": 5, "class": "stripe-ground"}),
        tag("line", {"x1": 0, "y1": 0, "x2": 0, "y2": 5, "class": "stripe"}),
    ),
)
"""Violated parts are striped, so that they do not differ by colour alone."""

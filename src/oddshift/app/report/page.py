"""The page: verdict first, then what leaks, how sure that is, how it was repaired, and how to check it.

A pure function of what the run folder holds: no date, no network, and nothing that differs when it is made again.

The head of the page: the first screen, the numbers behind it, and then the certificates.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib import resources

from oddshift.adapt.result import Adaptation
from oddshift.app.report.bars import guess_steps, kept_bar
from oddshift.app.report.first_screen import FirstScreen, screen_of_adaptation, screen_of_audit
from oddshift.app.report.markup import NOTHING, Html, items, tag
from oddshift.app.report.numbers import screen_tables
from oddshift.app.report.page_sections import SECTIONS, Sources, first_text
from oddshift.app.report.wording import (
    SIGNS,
    TITLES,
    adaptation_sentence,
    estimated_by,
    level,
    level_sentence,
    verdict_sentence,
)
from oddshift.audit import Audit
from oddshift.audit.released_table import ReleasedTable, release_headline
from oddshift.model.nouns import nouns_of


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
    script = tag("script", None, Html(_asset("print.js")))
    main = tag("main", None, opening, *sections)
    body = tag("body", None, top, main, tag("footer", None, tag("p", None, foot)), _STRIPES, script)
    return f"<!doctype html>\n{tag('html', {'lang': 'en'}, _head(name), body)}\n"


def _head(name: str) -> Html:
    """Title, style, and a policy that forbids every request, and every script and style but our own."""
    style = _asset("style.css")
    policy = f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(_asset('print.js'))}'"
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


SECRETS_SHOWN = "This page shows secrets, because the run kept examples. Treat it as you treat the data."


def page_head(sources: Sources) -> Html:
    """The three answers, a text before and after, the numbers behind them, then the certificates."""
    first = [tag("p", {"class": "private"}, SECRETS_SHOWN)] if sources.has_secrets else []
    audit, found = sources.audit, sources.adaptation
    cards = [] if audit is None else [_audit_card(audit)]
    if found is not None:
        screen, title = screen_of_adaptation(found), "The release under the policy"
        cards.insert(0, _adaptation_card(found))
    elif audit is not None:
        screen, title = screen_of_audit(audit), "The mechanism as audited"
    shown = [] if not sources.passages else [tag("h2", {"class": "small"}, "Before and after"), first_text(sources)]
    parts = (
        *first,
        _answers(screen, title, shown),
        *(figure.html for figure in screen_tables(screen)),
        *cards,
        _about(sources),
    )
    return tag("section", {"class": "verdict", "aria-label": "Verdict"}, *parts)


def _answers(screen: FirstScreen, title: str, shown: Sequence[Html]) -> Html:
    """One card that everyone can read: three questions and their answers, two bars, and a text before and after."""
    (publish, (first, *limits)), (learned, (guessed, *rest)), (worth, said) = screen.answers
    parts = [_question(publish), tag("p", {"class": "sentence"}, first), *_sentences(limits), _question(learned)]
    if screen.steps:
        parts.append(guess_steps(screen.steps, guessed.removesuffix(":") + ".").html)
    else:
        parts += _sentences([guessed])
    parts += [*_sentences(rest), *shown, _question(worth)]
    if screen.kept is None:
        parts += _sentences(said)
    else:
        parts += [kept_bar(screen.kept, said[0].removesuffix(":") + ".").html, *_sentences(said[1:])]
    return tag("div", {"class": f"card {screen.state}"}, _over(screen.state, title), *parts)


def _question(words: str) -> Html:
    return tag("h2", {"class": "small"}, words)


def _sentences(lines: Iterable[str]) -> list[Html]:
    return [tag("p", {"class": "certified-claim"}, line) for line in lines]


def _certificate_card(state: str, title: str, sentence: str, *rest: str, words: str = "") -> Html:
    """A card below the first one: the same, in smaller print; `words` may stand for the state."""
    claim = tag("p", {"class": "certified-claim"}, sentence)
    return tag("div", {"class": f"card {state}"}, _over(state, title, words), claim, *rest)


def _over(state: str, title: str, words: str = "") -> Html:
    said = words[:1].upper() + words[1:] if words and words != state else TITLES[state]
    badge = tag("span", {"class": "badge"}, tag("span", {"aria-hidden": "true"}, SIGNS[state]), f" {said}")
    return tag("p", {"class": "over"}, badge, title)


def _audit_card(audit: Audit) -> Html:
    witness = [tag("p", {"class": "level"}, f"Witness: {audit.witness.sentence}")] if audit.witness is not None else []
    level = tag("p", {"class": "level"}, level_sentence(audit))
    rest = (*_released(audit.release), level, *witness)
    title = "Certificate of the mechanism as audited, before any adaptation"
    return _certificate_card(audit.state, title, verdict_sentence(audit), *rest, words=audit.state_in_words)


def _released(release: ReleasedTable | None) -> list[Html]:
    """What goes out of a table, in one sentence."""
    return [] if release is None else [tag("p", {"class": "certified-claim"}, release_headline(release))]


def _adaptation_card(found: Adaptation) -> Html:
    if found.proof:
        return _certificate_card(
            found.state, "Proof of the policy", adaptation_sentence(found), *_released(found.release)
        )
    tested = (
        f"The candidate scales were chosen on some {nouns_of(found.detector).records} and tested on "
        f"{found.documents[2]} others. "
        f"This procedure errs with probability at most {level(found.settings.alpha)}. "
        f"{estimated_by(found.counted, f'under the {found.settings.law} pair law')}"
    )
    rest = (*_released(found.release), tag("p", {"class": "level"}, tested))
    title = "Certificate of the policy"
    return _certificate_card(found.state, title, adaptation_sentence(found), *rest, words=found.state_in_words)


def _about(sources: Sources) -> Html:
    """Assumptions and notes of both, without repetition."""
    found = [part for part in (sources.audit, sources.adaptation) if part is not None]
    assumed = dict.fromkeys(line for part in found for line in part.assumptions)
    noted = dict.fromkeys(line for part in found for line in part.warnings)
    blocks = [tag("div", None, tag("h2", None, "What this rests on"), items(list(assumed)))]
    if noted:
        blocks.append(tag("div", None, tag("h2", None, "Notes"), items(list(noted))))
    return tag("div", {"class": "about"}, *blocks)

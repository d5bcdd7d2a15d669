"""Sections of the page: what leaks, how it reads, how sure that is, and how it was repaired.

What a report is made from: all that a run folder holds, read once; secrets only where the run kept some.

Where the numbers come from: what was asked, versions, hashes, and the commands that check and repeat it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oddshift.adapt.result import Adaptation
from oddshift.app.configuration import read_config
from oddshift.app.report.markup import NOTHING, Html, items, join, pairs, tag
from oddshift.app.report.numbers import certainty_figures, leakage_figures, repair_figures
from oddshift.app.report.wording import number
from oddshift.app.run_folder import (
    ADAPTATION,
    AUDIT,
    CONFIG,
    EVIDENCE,
    EXAMPLES,
    VERSIONS,
    read_adaptation,
    read_belief,
    read_passages,
    read_run,
    refuse_no_run,
)
from oddshift.audit import Audit
from oddshift.audit.beliefs import Belief
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import digest, sha256
from oddshift.data.codecs.text.passages import Passage, Passages, Piece
from oddshift.evidence.certificates import evidence_name
from oddshift.model.nouns import nouns_of


@dataclass(frozen=True, eq=False, repr=False)
class Sources:
    """The parts of a run; an audit or an adaptation is there, or both. `passages` and a named belief hold SECRETS.

    `passages_are` says by which mechanism they were released.
    """

    name: str
    audit: Audit | None = None
    adaptation: Adaptation | None = None
    belief: Belief | None = None
    passages: tuple[Passage, ...] = ()
    passages_are: str = ""
    config: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    has_secrets: bool = False


def read_sources(folder: str | Path, *, with_examples: bool = True) -> Sources:
    """Read a run folder; examples, where the run kept them, unless `with_examples` is False."""
    home = Path(folder)
    if not home.is_dir():
        raise InvalidInput(f"{folder} is not a folder, expected a run folder")
    refuse_no_run(folder)
    has_audit, is_adapted = (home / AUDIT).is_file(), (home / ADAPTATION).is_file()
    secrets = with_examples and (home / EXAMPLES).is_dir()
    shown = read_passages(home) if secrets else Passages(())
    return Sources(
        name=home.resolve().name,
        audit=read_run(home) if has_audit else None,
        adaptation=read_adaptation(home) if is_adapted else None,
        belief=read_belief(home, with_secrets=secrets),
        passages=shown.passages,
        passages_are=shown.release,
        config=_text(home / CONFIG),
        versions=_versions(home / VERSIONS),
        has_secrets=secrets,
    )


def _text(path: Path) -> str:
    return read_config(path) if path.is_file() else ""


def _versions(path: Path) -> tuple[tuple[str, str], ...]:
    """What a run was computed with; a file that says something else is refused."""
    try:
        found = json.loads(_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON, expected versions by name") from error
    if not isinstance(found, dict) or not all(isinstance(version, str) for version in found.values()):
        raise InvalidInput(f"{path} holds something else than versions by name")
    return tuple(found.items())


def origin(sources: Sources) -> Html:
    """Everything that another person needs to get the same numbers."""
    return join(
        [
            _block("What was asked", pairs(_asked(sources))),
            _block("Versions", tag("p", None, ", ".join(map(" ".join, sources.versions)))) if sources.versions else "",
            _block("Repeat and verify", items([tag("code", None, step) for step in _steps(sources)])),
            _folded(CONFIG, tag("pre", {"tabindex": 0}, sources.config)),
            _folded("Hashes (SHA-256)", pairs([(what, tag("code", None, mark)) for what, mark in _hashes(sources)])),
        ]
    )


def _asked(sources: Sources) -> list[tuple[str, str]]:
    rows = []
    audit, found = sources.audit, sources.adaptation
    if audit is not None:
        fit, select, certify = audit.documents
        rows += [
            ("mechanism", audit.mechanism),
            ("claimed ε of one release", number(audit.claimed_epsilon)),
            (
                nouns_of(audit.detector).records,
                f"{fit} to learn from, {select} to choose with, {certify} to certify on",
            ),
            ("tiers", f"{', '.join(audit.tier_names)}; {'public' if audit.tiers_are_public else 'secret'}"),
            ("detector", audit.detector),
            ("attackers", ", ".join(_attacker(row.name, row.with_context) for row in audit.attackers)),
            ("seed", str(audit.settings.seed)),
        ]
    if found is not None:
        rows += [
            ("adapted mechanism", found.mechanism),
            ("adapted with", _attacker(found.attacker, found.with_context)),
            ("cost", f"{found.settings.cost}, {'remapped' if found.remapped else 'not remapped'}"),
        ]
    return rows


def _attacker(name: str, with_context: bool) -> str:
    return f"{name} ({'with context W' if with_context else 'sensitive positions only'})"


def _steps(sources: Sources) -> list[str]:
    steps = [f"oddshift audit {sources.name}/{CONFIG} --out again"] if sources.audit is not None else []
    if sources.adaptation is not None:
        steps.append(f"oddshift adapt {sources.name}/{CONFIG} --out again")
    return steps + [f"oddshift verify {sources.name}/{file}" for file, _ in _digests(sources)]


def _hashes(sources: Sources) -> list[tuple[str, str]]:
    """What `oddshift verify` prints for each evidence file, and what the evidence is about."""
    found = [part for part in (sources.audit, sources.adaptation) if part is not None]
    rows = _digests(sources)
    for evidence in [e for part in found for e in part.evidence][:1]:
        rows += [("mechanism", evidence.mechanism_hash), ("records", evidence.split_hash)]
        rows.append(("attacker", evidence.certificate.claim.attacker_hash))
    return [*rows, (CONFIG, sha256(sources.config.encode()))]


def _digests(sources: Sources) -> list[tuple[str, str]]:
    rows = []
    for part, prefix in ((sources.audit, ""), (sources.adaptation, "adapted-")):
        for evidence in part.evidence if part is not None else ():
            rows.append((f"{EVIDENCE}/{prefix}{evidence_name(evidence.certificate.claim)}", digest(evidence)))
    return rows


def _block(title: str, *content: str) -> Html:
    return tag("div", {"class": "tabled"}, tag("h3", None, title), *content)


def _folded(title: str, content: Html) -> Html:
    return tag("details", {"class": "tabled"}, tag("summary", None, title), content)


TIER_MARKS = 6
"""Number of different tier marks in a text; further tiers share them."""


def leaks(sources: Sources) -> Html:
    """How much leaks, for whom, and what an attacker comes to believe."""
    figures = [] if sources.audit is None else leakage_figures(sources.audit, sources.belief)
    return join([figure.html for figure in figures])


def texts(sources: Sources) -> Html:
    """Further documents as they were and as released; only where examples were kept."""
    if len(sources.passages) < 2:
        return NOTHING
    return _shown(sources, sources.passages[1:])


def first_text(sources: Sources) -> Html:
    """One document before and after, its replaced words coloured by kind."""
    return _shown(sources, sources.passages[:1])


def _shown(sources: Sources, passages: Sequence[Passage]) -> Html:
    everything = [piece for p in sources.passages for piece in (*p.before, *p.after)]
    shown = dict.fromkeys(piece.tier for piece in everything if piece.tier)
    found = sources.adaptation or sources.audit
    tiers = list(dict.fromkeys((*(() if found is None else found.tier_names), *shown)))  # a tier keeps its colour
    legend = [tag("mark", {"class": f"tier{k % TIER_MARKS}"}, tier) for k, tier in enumerate(tiers) if tier in shown]
    rows = [
        tag(
            "div",
            {"class": "passage"},
            *(
                tag("div", None, tag("h3", None, title), _marked(pieces, tiers))
                for title, pieces in (("Before", p.before), ("Released", p.after))
            ),
        )
        for p in passages
    ]
    said = tag("p", None, sources.passages_are) if sources.passages_are else NOTHING
    return join([said, tag("p", {"class": "legend"}, "Coloured by kind: ", join(legend, " ")), *rows])


def _marked(pieces: Sequence[Piece], tiers: list[str]) -> Html:
    marked = [
        tag("mark", {"class": f"tier{tiers.index(piece.tier) % TIER_MARKS}", "title": piece.tier}, piece.text)
        if piece.tier
        else piece.text
        for piece in pieces
    ]
    return tag("blockquote", None, *marked)


def sure(sources: Sources) -> Html:
    """What is witnessed, certified and proven, and whether the attacker is calibrated."""
    figures = [] if sources.audit is None else certainty_figures(sources.audit)
    return join([figure.html for figure in figures])


def repair(sources: Sources) -> Html:
    """The frontier, what was chosen, what it costs, and how the loop got there."""
    figures = [] if sources.adaptation is None else repair_figures(sources.adaptation)
    return join([figure.html for figure in figures])


SECTIONS: tuple[tuple[str, str, Callable[[Sources], Html]], ...] = (
    ("leaks", "What leaks", leaks),
    ("texts", "Further texts before and after", texts),
    ("sure", "How sure is that?", sure),
    ("repair", "Repair", repair),
    ("origin", "Check it yourself", origin),
)
"""Key, title and content of every section; one without content is left out."""

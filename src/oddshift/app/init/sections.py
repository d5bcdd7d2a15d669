"""The sections of a first configuration, each line with the reason for it.

Texts need word vectors and a way to find the sensitive words: what was given, otherwise what is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill

from oddshift.adapt.settings import AdaptSettings
from oddshift.app.init.columns import MOST_CATEGORIES
from oddshift.app.init.roles import Roles
from oddshift.app.init.suggestion import Suggestion
from oddshift.audit.settings import DEFAULT_ATTACKERS
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import FROM_TEXT, data_folder

ALPHA = 0.05
"""The error level of a first configuration."""

DELTA = 0.05
"""How often the budget may be exceeded, in a first configuration."""

COMMENT_WIDTH = 110

MANY_UNITS = 300
"""Units to certify on from which on a bound on right guesses is narrow enough for ADVANTAGE; WIDER is for fewer."""

ADVANTAGE = 0.2
"""The share of right first guesses that a first configuration lets a release add to those before it."""

WIDER = 0.35
"""The same with few units."""


@dataclass(frozen=True, kw_only=True)
class SectionChoice:
    """What a text needs in addition to its file: word vectors, and a way to find the sensitive words."""

    vectors: str = ""
    vectors_why: str = ""
    pipeline: str = ""
    words: str = ""


def data_section(path: str, roles: Roles, choice: SectionChoice) -> str:
    """The [data] table of a kind of data."""
    written = {"text": _text, "table": _table, "location": _location, "vectors": _vectors}[roles.kind](roles, choice)
    left = [
        f"# column {quoted(name)} is not protected ({why}): it would be released unchanged"
        for name, why in roles.left_out
        if roles.kind != "table"
    ]
    return "\n".join(["[data]", f'kind = "{roles.kind}"', f"path = {quoted(path)}", *written, *left])


def rest(
    suggestion: Suggestion, roles: Roles, levels: int, *, alone: bool, units: int = MANY_UNITS, use: str = ""
) -> str:
    """The sections after [data]: mechanism, audit and adapt; `alone` says that a row is one secret and nothing else.

    `use` is what the noise within this budget is worth.
    """
    hidden = "\nvacuous = [0.5, 0.5]   # not certified where half of the guesses are right, half of the doubt gone"
    declared = "\nindependent = true   # every row is one secret and nothing else: there is nothing to read together"
    per = {"text": "unit of distance between word vectors", "location": "kilometre"}
    epsilon, nearest = f"{suggestion.epsilon:g}", f"{suggestion.nearest:.3g}"
    where = "median, in the column where that is largest" if suggestion.every_tier else "median"
    return f"""
[mechanism]
name = "exponential"   # also truncated, tiered, path, mask
epsilon = {epsilon}
# Per {per.get(roles.kind, "unit of distance")}. The budget comes from distances alone: the nearest other value is
# {nearest} away ({where}), so within this budget everything released together multiplies the odds between a value and
# its nearest alternative by at most exp({epsilon} * {nearest}) = {suggestion.factor:.3g}.
# A place to start from, not a recommendation: smaller is more private.{_comment(use)}
calibrated = true   # one release spends this budget exactly, and no more

[audit]
delta = {DELTA:g}   # leakage may exceed epsilon in at most this share of cases
alpha = {ALPHA:g}   # each certificate is wrong with at most this probability{hidden if roles.kind == "table" else ""}
attackers = {json.dumps(list(DEFAULT_ATTACKERS))}   # others: docs/audit.md
seed = 0   # the same file, configuration and seed give the same result{declared if alone else ""}

[adapt]
{_goal(units)}
grid = {json.dumps(_grid(levels))}   # shares of epsilon tried for all tiers; the search refines them by tier
remap = "auto"   # after the noise, release the value of least expected loss
"""


def _comment(sentence: str) -> str:
    """A sentence in lines of a comment, each after a line break."""
    lines = fill(sentence[:1].upper() + sentence[1:], COMMENT_WIDTH, break_on_hyphens=False).splitlines()
    return "".join(f"\n# {line}" for line in lines)


def _goal(units: int) -> str:
    """A second goal that is easy to state, and that some noise always reaches: what a release adds to right guesses."""
    cap = ADVANTAGE if units >= MANY_UNITS else WIDER
    return f'advantage = {{"*" = {cap:g}}}   # a release may raise the share of right first guesses by at most this'


def _grid(levels: int) -> list[float]:
    """The shares that a search begins with; more of them where a single level makes each cheap."""
    return [round(0.1 * k, 1) for k in range(1, 11)] if levels == 1 else list(AdaptSettings.grid)


def quoted(text: str) -> str:
    """A TOML string: JSON quotes it the same way, except that TOML does not accept a bare delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, names))}]"


def _text(roles: Roles, choice: SectionChoice) -> list[str]:
    lines = [] if not roles.text else [f"text = {_list(roles.text)}   # joined by a line break"]
    if roles.user:
        lines.append(f"# {quoted(roles.user)}: {roles.user_why}. Its rows are not independent, so they are one unit:")
        lines.append(f"user = {quoted(roles.user)}   # certificates count its values, not rows")
    lines += [
        f"vectors = {quoted(choice.vectors)}   # {choice.vectors_why}",
        "detectors = [",
        '    {kind = "patterns"},   # e-mail, phone, card, IBAN, IP, ... by Presidio',
        '    {kind = "handles"},   # @names, hashtags, profile pages and addresses',
        *_who(choice),
        '    {kind = "occupations"},   # what people do for a living, from a list',
        "]",
        "# What no detector finds is released in the clear. What they find becomes another word of its kind, or a mark",
        "# such as [PERSON] where the vocabulary lacks it.",
        "trials = 200   # sentences of your texts into which public names are put, to measure how many are found",
        "similar_percent = 0   # share of the other words, those most like found ones, that forms one more tier",
        "is_public = true   # the attacker is told the tier of each replaced word, so it knows more. With false",
        "                   # the tier is a secret too, pairs across tiers count, and the mechanism should be path",
        'unknown = "mark"   # found words that the vocabulary lacks become a mark of their kind; or "refuse"',
        'repeats = "once"   # the same word of a document is always replaced by the same word; or "each"',
        _read_together(roles),
    ]
    return lines


def _read_together(roles: Roles) -> str:
    """What an attacker reads together: all rows of a group where there is one."""
    if roles.user:
        return (
            f'joint_by = "user"   # what is read together: all rows of one {quoted(roles.user)}; or document, sentence'
        )
    return 'joint_by = "document"   # what is read together: document, sentence or user'


def _who(choice: SectionChoice) -> list[str]:
    found = []
    if choice.words:
        found.append(f'    {{kind = "gazetteer", path = {quoted(choice.words)}}},   # names, one on each line')
    if choice.pipeline:
        found.append(f'    {{kind = "pipeline", path = {quoted(choice.pipeline)}}},   # people, organisations, places')
    else:
        found.append('    {kind = "capitals"},   # a guess: capitalised words inside sentences. No spaCy pipeline is')
        found.append("    # installed; one finds more: oddshift init --pipeline NAME_OR_FOLDER")
    return found


def _table(roles: Roles, choice: SectionChoice) -> list[str]:
    lines = [
        "# Each cell is a secret and stays in its column; the cells of a row are read together.",
        f"numeric = {_list(roles.numeric)}   # 1 is one standard deviation; released as points of a grid",
    ]
    if roles.dates:
        lines.append(f"dates = {_list(roles.dates)}   # the same, in days")
    lines.append(f"categorical = {_list(roles.categorical)}   # two different values are `weight` = 1 apart")
    if roles.wide:
        lines.append(
            f"most_categories = {MOST_CATEGORIES}   # {_named(roles.wide)}: the most frequent; others left empty"
        )
    lines += [
        'binning = "auto"   # grids of equal steps, of equal shares where a column is skewed; or equal, log, quantile',
        "# domains = {age = {low = 0, high = 120, step = 5}}   # values that are public anyway are better than the",
        "#                                                       fit part's, which then count as public",
        'missing = "keep"   # empty, NA, N/A, null: such a cell stays as it is, which is public; or "value"',
    ]
    if roles.blank:
        lines.append(f"blank_values = {_list(roles.blank)}   # so often missing that it says something: a secret value")
    if roles.user:
        lines.append(f"group = {quoted(roles.user)}   # rows with the same value are read together: {roles.user_why}")
    if roles.once:
        lines.append(f"once = {_list(roles.once)}   # rows of one {roles.user} agree: one draw for all of them")
    hidden = [*roles.masked, *([(roles.user, "")] if _is_clear(roles) else [])]
    lines += [f"# {quoted(name)}: {why}" for name, why in hidden if why]
    lines.append(f"masked = {_list([name for name, _ in hidden])}   # left empty on release")
    lines += [f"# {quoted(name)}: {why}" for name, why in roles.left_out]
    lines.append(
        f"public = {_list([name for name, _ in roles.left_out])}   # released unchanged, and read by attackers"
    )
    return lines


def _is_clear(roles: Roles) -> bool:
    """Whether the column that groups rows would be released as it is."""
    return bool(roles.user) and roles.user not in {name for name, _ in roles.masked}


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _location(roles: Roles, choice: SectionChoice) -> list[str]:
    return [
        f"lat = {quoted(roles.lat)}",
        f"lon = {quoted(roles.lon)}",
        f"user = {quoted(roles.user)}   # certificates count users; empty: every trip stands for itself",
        f"timestamp = {quoted(roles.timestamp)}   # ISO 8601, DD/MM/YYYY or since 1970; empty: the order of the file",
        f"trip = {quoted(roles.trip)}   # what is read together; empty: a user's day (without times, all of a user)",
        '# joint_by = "user"   # read all trips of a user together; a place of a user is then drawn once (repeats)',
        f"cell_km = {roles.steps.cell_km:g}   # places become cells of about this size: that of the steps in the file",
        f"every = {roles.steps.every:g}   # seconds between kept fixes, less often for large cells; 0 keeps all",
        *(f"# {quoted(name)}: {why}" for name, why in roles.masked),
        f"masked = {_list([name for name, _ in roles.masked])}   # left empty on release",
        *([_CLEAR] if roles.user or roles.trip else []),
    ]


_CLEAR = "clear = []   # users and trips are released as pseudonyms, new ones every time; those named here as they are"


def _vectors(roles: Roles, choice: SectionChoice) -> list[str]:
    return [
        'metric = "euclidean"   # also angular, manhattan',
        "is_public = true   # where the file has tiers: the attacker is told them",
    ]


def written_path(path: Path, config: Path) -> str:
    """A path as the configuration names it: relative when it lies in the same folder or below."""
    target, home = path.resolve(), config.resolve().parent
    return str(target.relative_to(home)) if target.is_relative_to(home) else str(target)


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Files of the user that texts may need: word vectors, a spaCy pipeline (name or folder), a list of names."""

    vectors: Path | None = None
    pipeline: str = ""
    words: Path | None = None


def text_choice(own: OwnFiles | None = None, out: Path | None = None) -> SectionChoice:
    """What was given; otherwise what is installed or in the data folder; paths are written relative to `out`."""
    if find_spec("spacy") is None or find_spec("presidio_analyzer") is None:
        raise InvalidInput("text needs spaCy and Presidio; get them with: pip install 'oddshift[text]'")
    files, config = own or OwnFiles(), out or Path("oddshift.toml")
    vectors, why = _word_vectors(files.vectors, config)
    pipeline = files.pipeline or _pipeline()
    folder = Path(pipeline)
    return SectionChoice(
        vectors=vectors,
        vectors_why=why,
        pipeline=written_path(folder, config) if pipeline and folder.is_dir() else pipeline,
        words=written_path(files.words, config) if files.words else "",
    )


def _word_vectors(given: Path | None, out: Path) -> tuple[str, str]:
    """A file that was given, otherwise GloVe from the data folder, otherwise the texts themselves."""
    if given is not None:
        return written_path(given, out), "GloVe .txt, fastText .vec, word2vec .bin or .npz"
    found = sorted(data_folder().glob("glove*.npz"))
    if found:
        return str(found[0].resolve()), "found in the data folder (ODDSHIFT_DATA)"
    return FROM_TEXT, "made from your texts, so they are rough: a file of GloVe vectors is better"


def _pipeline() -> str:
    """An installed spaCy pipeline, English ones first; otherwise one in the data folder."""
    names = sorted((e.name for e in entry_points(group="spacy_models")), key=lambda n: (not n.startswith("en_"), n))
    folders = sorted(path.parent for path in data_folder().glob("ner/*/config.cfg"))
    return names[0] if names else str(folders[0].resolve()) if folders else ""

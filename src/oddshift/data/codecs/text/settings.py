"""What is asked of texts: where they are, who looks for sensitive words, and which tiers those enter.

Casing of released words: it follows a rule of the tier and the public words around, not the secret's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray, one_of, whole
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.data.codecs.codec import Columns, length_of
from oddshift.data.codecs.text.cells import TextCells
from oddshift.data.codecs.text.own_vectors import FROM_TEXT
from oddshift.data.codecs.text.tokens import TOKENISERS, Tokens
from oddshift.data.detectors.kinds import default_rule
from oddshift.data.detectors.tagging import NAME_LABELS, TierRule
from oddshift.data.formats.cells import strings
from oddshift.model.metric import METRICS
from oddshift.model.records import numbered
from oddshift.model.release import REPEATS
from oddshift.model.tiers import Tiers

PAPER_TIERS: dict[str, Any] = {"tier_names": ("PII",), "similar_percent": 10.0, "repeats": "each"}
"""Settings of the paper's case study: all names in one tier, similar words in a second, a draw for each occurrence."""


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How texts become secrets; `is_public` has no default."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    kind: ClassVar[str] = "text"

    is_public: bool
    """Whether the attacker is told the tier of each secret."""
    vectors: str = FROM_TEXT
    """The path of a file of word vectors, "pipeline" for those of the pipeline that finds the names, or "from-text" for
    vectors made from the fit texts, which are rougher."""
    detectors: tuple[Any, ...] = ()
    """The detectors that look for sensitive words: settings of `DETECTORS`."""
    text: tuple[str, ...] = ("text",)
    """The columns that hold text; those of one row are read as one document, joined by a line break."""
    label: str | None = None
    """A column with the class of each text."""
    user: str | None = None
    """A column that says who wrote it; certificates then count users."""
    subgroup: str | None = None
    """A column of subgroups, for which rates are reported separately."""
    header: tuple[str, ...] | None = None
    """The names of the columns of a CSV or TSV file without a header row."""
    tier_names: tuple[str, ...] = ()
    """The tiers of detected words, most sensitive first; none named: each kind of name is a tier (PERSON, ORG, GPE),
    and the other kinds are one more."""
    tier_of: Mapping[str, str] = field(default_factory=dict)
    """The tier of a detector's label, where tiers are named; labels that are not listed belong to the first tier."""
    fewest: int = 5
    """The number of words that a kind needs to be a tier, where no tiers are named and some kind has that many; words
    of smaller kinds become marks.
    """
    tier_rule: Literal["most", "any"] = "most"
    """When a word enters its tier, so that its undetected occurrences are secrets too: `most` asks for the `share` and
    the `count` below and leaves out stop words; `any` takes every word that was detected at least once, stop words
    included, as the paper does."""
    share: float = 0.5
    """The share of a word's occurrences that must be detected for the undetected ones to be secrets too."""
    count: int = 2
    """The number of occurrences that must be detected for that, unless the detector is exact."""
    similar_percent: float = 0.0
    """The share (percent) of the other words, most similar to detected ones, that form one more tier; 0: none."""
    similar_variant: Literal["max", "mean"] = "max"
    """Similar to the closest detected word, or to all of them on average."""
    similar_name: str = "PoII"
    """The name of the tier of similar words."""
    unknown: Literal["mark", "refuse"] = "mark"
    """What becomes of detected words without a point: a mark of their kind, or the data are refused."""
    marks: Literal["kind", "substitute"] = "kind"
    """How a mark is shown: as its kind ([PERSON]), or as a surrogate: a public name, date or number of that kind and of
    the same shape (how many words, which digits and separators), which is then public."""
    repeats: Literal["once", "each"] = "once"
    """Whether a secret is drawn once within what is read together, or once for each of its occurrences."""
    casing: tuple[str, ...] | None = None
    """How released words of each tier are written; by default as the fit texts mostly write them."""
    metric: str = "euclidean"
    """The distance between word vectors: a name of `METRICS`."""
    tokeniser: Literal["spacy", "plain"] = "spacy"
    """How texts are cut into words: by spaCy's English rules, or by letters, digits and marks alone."""
    joint_by: Literal["document", "sentence", "user"] = "document"
    """What attackers read together."""
    near_duplicates: bool = True
    """Whether texts that nearly repeat each other count as one independent unit; say false if the texts are
    templates that differ in their secrets alone."""
    trials: int = 0
    """Sentences of the fit texts into which public names are put to measure the recall of the detectors; 0: none."""

    def __post_init__(self) -> None:
        """Check what can be checked without data."""
        if not self.text or len(set(self.text)) != len(self.text):
            raise InvalidInput(f"text={self.text}, expected at least one column, each named once")
        for chosen in self.detectors:
            if not callable(getattr(chosen, "detector", None)):
                raise InvalidInput(f"detectors has {a_kind(chosen)}, expected settings of a detector")
        if len(set(self.tier_names)) != len(self.tier_names):
            raise InvalidInput(f"tier_names={self.tier_names}, expected distinct names")
        unknown = sorted(set(self.tier_of.values()) - set(self.tier_names))
        if unknown:
            known = ", ".join(self.tier_names) or "names in tier_names"
            raise InvalidInput(f"tier_of names {unknown[0]!r}, expected one of {known}")
        whole(self.fewest, "fewest", 1)
        whole(self.trials, "trials", 0)
        if not 0.0 <= self.similar_percent < 100.0:
            raise InvalidInput(f"similar_percent={self.similar_percent}, expected at least 0 and below 100")
        one_of(self.tier_rule, "tier_rule", ("most", "any"))
        if self.tier_rule == "any" and (self.share, self.count) != (0.5, 2):
            raise InvalidInput("tier_rule='any' takes words detected once, expected no share and no count with it")
        one_of(self.unknown, "unknown", ("mark", "refuse"))
        one_of(self.marks, "marks", ("kind", "substitute"))
        one_of(self.repeats, "repeats", REPEATS)
        one_of(self.tokeniser, "tokeniser", tuple(TOKENISERS))
        one_of(self.metric, "metric", tuple(METRICS))
        one_of(self.joint_by, "joint_by", ("document", "sentence", "user"))
        if self.casing is not None and not set(self.casing) <= set(CASINGS):
            raise InvalidInput(f"casing={self.casing}, expected some of {', '.join(CASINGS)}")

    @property
    def renamed(self) -> tuple[str, ...]:
        """The column whose names are replaced by pseudonyms on release: who wrote a text, unless it is text itself."""
        return (self.user,) if self.user and self.user not in self.text else ()

    def documents(self, columns: Columns) -> list[str]:
        """One text for each row."""
        return TextCells.of(columns, self.text).documents

    def wanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are read."""
        named = (*self.text, self.label, self.user, self.subgroup)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def units(self, columns: Columns) -> tuple[IntArray, str]:
        """A number for each row, equal for texts that are not independent, and the name of such a unit."""
        rows = length_of(columns, self.wanted(()))
        if self.user is None:
            return np.arange(rows, dtype=np.int64), "document"
        return numbered(strings(columns, self.user))[0], "user"


ONE_OCCURRENCE = 1e-9
"""A share that a single occurrence always reaches."""


def tier_rule(settings: TextSettings, labels: Sequence[str]) -> TierRule:
    """Labels and their tiers: by kind, or, where tiers are named, as `tier_of` says and otherwise to the first."""
    if not labels:
        raise InvalidInput("none of 0 sensitive word types has a vector (the detectors found nothing), expected some")
    share, count = (ONE_OCCURRENCE, 1) if settings.tier_rule == "any" else (settings.share, settings.count)
    if not settings.tier_names:
        return default_rule(labels, share, count)
    first = dict.fromkeys((*NAME_LABELS, *labels), settings.tier_names[0])
    tier_of = {**first, **settings.tier_of}
    return TierRule(names=settings.tier_names, tier_of=tier_of, share=share, count=count)


MASK = "[MASKED]"
"""The mark in a released text for a word whose kind is not revealed."""

WRITTEN = "written"
"""The rule that keeps a word as the lexicon writes it ("McCarthy", "PAC", "nurse")."""

_FEWEST_WORDS = 2  # number of public words in capitals that make a heading


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


CASINGS: dict[str, Callable[[str, bool], str]] = {
    WRITTEN: lambda word, opens: _first_upper(word) if opens else word,
    "lower": lambda word, opens: word,
    "upper": lambda word, opens: word.upper(),
    "title": lambda word, opens: " ".join(_first_upper(part) for part in word.split(" ")),
    "sentence": lambda word, opens: _first_upper(word) if opens else word,
}
"""Rules by name: as mostly written; or lower case, capitals, title case, or sentence case."""


def cased(word: str, rule: str, opens_sentence: bool) -> str:
    """A lexicon word in the casing of a rule.

    >>> cased("new york", "title", False), cased("nurse", "sentence", True)
    ('New York', 'Nurse')
    """
    return CASINGS[rule](word, opens_sentence)


def in_capitals(tokens: Tokens, is_public: BoolArray) -> BoolArray:
    """Which tokens stand in a sentence whose public words are all in capitals, at least two of them (a heading).

    `is_public` says which tokens are released as they are: only those decide.
    """
    is_upper = np.array(list(map(is_upper_word, tokens.forms)), dtype=np.bool_)[tokens.form]
    is_cased = np.array(list(map(is_cased_word, tokens.forms)), dtype=np.bool_)
    counted = is_cased[tokens.form] & is_public
    sentence = np.cumsum(tokens.breaks)
    words = np.bincount(sentence[counted], minlength=int(sentence.max(initial=0)) + 1)
    upper = np.bincount(sentence[counted & is_upper], minlength=len(words))
    heading: BoolArray = is_heading(words, upper)[sentence]
    return heading


def is_upper_word(form: str) -> bool:
    """Whether a word is written in capitals."""
    return len(form) > 1 and form.isupper()


def is_cased_word(form: str) -> bool:
    """Whether a word could be written in capitals or not, which a single letter does not show."""
    return len(form) > 1 and form.upper() != form.lower()


def is_heading(words: Any, upper: Any) -> Any:
    """Whether a sentence with that many public words, and that many of them in capitals, is a heading."""
    return (words >= _FEWEST_WORDS) & (upper == words)


def shown_word(word: str | None, rule: str, opens_sentence: bool, in_heading: bool) -> str | None:
    """What a release shows for an output: its word in the casing of a rule, MASK where there is none, None for ""."""
    said = MASK if word is None else cased(word, rule, opens_sentence)
    return (said.upper() if rule == WRITTEN and in_heading else said) or None


def casing_rules(tiers: Tiers, casing: Sequence[str] | None) -> tuple[str, ...]:
    """The casing of each tier: by default every word as it is mostly written."""
    rules = tuple(casing or (WRITTEN,) * len(tiers))
    if len(rules) != len(tiers) or not set(rules) <= set(CASINGS):
        raise InvalidInput(f"casing={rules}, expected {len(tiers)} of {', '.join(CASINGS)}")
    return rules

"""Surrogates: public names, dates and numbers in place of marks, of the same kind and shape, so that a release reads as
text.

**Guarantee**: a surrogate is drawn from public lists with the given randomness. Of what it stands for it depends on the
shape alone (`shape_of`: how many words, which digits and separators, the form of a date), which is part of the public
context W, and on which secrets of a document are equal, which is public as well. Agreement with the words around it
("an", "Mrs.", capitals) looks at public words only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

import numpy as np
import numpy.typing as npt

from oddshift.data.codecs.text.tokens import Tokens
from oddshift.data.detectors.gazetteer import FAMILY_NAMES, GIVEN_NAMES, PLACE_NAMES
from oddshift.data.detectors.kinds import OCCUPATIONS, plural
from oddshift.data.detectors.patterns import RECOGNISERS

MOST_WORDS = 4
"""Words of a name above which its shape says no more."""

_FEMALE = (
    "Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Lisa Nancy Betty Sandra Ashley "
    "Emily Kimberly Donna Michelle Carol Amanda Melissa Deborah Stephanie Fatima Aisha Leila Amina Wei Mei "
    "Jing Yuki Sakura Priya Ananya Deepa Sofia Camila Valentina Lucia Olga Natasha Katarzyna Zofia Giulia "
    "Chiara Ingrid Astrid Amara Ngozi"
)
_WOMEN = frozenset(_FEMALE.split())
_HERS, _HIS = frozenset(["mrs", "ms", "miss", "madam", "lady"]), frozenset(["mr", "sir", "lord"])
_FIRMS = ("Group", "Partners", "Works", "Foods", "Supplies", "Systems", "Bank", "Press", "Motors", "Services")
_PEOPLES = ["Dutch", "Spanish", "Polish", "Greek", "Kenyan", "Japanese", "Brazilian", "Canadian", "Swedish", "Turkish"]
_THINGS_WORDS = "River Garden Harbour Winter Lantern Summit Meadow Compass Orchard Bridge Island Autumn Ember Willow"
_THINGS = _THINGS_WORDS.split()
_STREETS = ["Mill", "Church", "Station", "Park", "Hill", "School", "Garden", "Bridge", "Orchard", "Chapel"]
_NUMBERS = frozenset(RECOGNISERS) - {"DATE"}
_DATE_FORMS = (
    *("%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d %B %Y", "%B %d, %Y"),
    *("%d %B", "%B %d", "%B %Y", "%Y", "%A", "%B"),
)
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_FORMS = {
    r"\d{4}-\d{1,2}-\d{1,2}.*": "%Y-%m-%d",
    r"\d{1,2}/\d{1,2}/\d{2,4}": "%d/%m/%Y",
    r"\d{1,2}\.\d{1,2}\.\d{2,4}": "%d.%m.%Y",
    r"\d{1,2}-\d{1,2}-\d{2,4}": "%d-%m-%Y",
    rf"\d{{1,2}}\w* (?:of )?(?:{_MONTH}),? \d{{4}}": "%d %B %Y",
    rf"(?:{_MONTH}) \d{{1,2}}\w*,? \d{{4}}": "%B %d, %Y",
    rf"\d{{1,2}}\w* (?:of )?(?:{_MONTH})": "%d %B",
    rf"(?:{_MONTH}) \d{{1,2}}\w*": "%B %d",
    rf"(?:{_MONTH}),? \d{{4}}": "%B %Y",
    r"\d{4}": "%Y",
    r"\w+day": "%A",
    _MONTH: "%B",
}


def shape_of(kind: str, text: str) -> str:
    """What a surrogate keeps of the text that it stands for: part of the public context.

    >>> shape_of("PERSON", "Norma Kamali"), shape_of("PHONE_NUMBER", "(212) 555-01"), shape_of("DATE", "May 5, 1971")
    ('2', '(000) 000-00', '%B %d, %Y')
    """
    if kind in _NUMBERS:
        return re.sub(r"[^\W\d_]", "A", re.sub(r"\d", "0", text))
    if kind == "DATE":
        plain = " ".join(text.lower().split())
        return next((form for pattern, form in _FORMS.items() if re.fullmatch(pattern, plain)), "%B %Y")
    if kind not in _NAMED:
        return ""
    several = "s" if kind == "OCCUPATION" and re.search(r"[^s]s$|men$", text) else ""
    return f"{min(len(text.split()), MOST_WORDS)}{several}"


@dataclass(frozen=True)
class Around:
    """Public words that a surrogate agrees with: the one before it, and how its surroundings are written."""

    before: str = ""
    is_small: bool = False
    is_loud: bool = False


def surrogate(kind: str, shape: str, around: Around, draw: Random) -> str:
    """A text of a kind and shape; the mark of the kind where none can be made.

    >>> surrogate("PHONE_NUMBER", "+00 000", Around(), Random(3))
    '+39 825'
    """
    if kind in _NUMBERS:
        made = re.sub(
            "A", lambda _: chr(65 + draw.randrange(26)), re.sub("0", lambda _: str(draw.randrange(10)), shape)
        )
    elif kind == "DATE":
        day = date(1950, 1, 1) + timedelta(days=draw.randrange(27_000))
        made = day.strftime(shape if shape in _DATE_FORMS else "%B %Y")
    elif kind in _NAMED:
        count = int(shape.rstrip("s") or 1)
        made = _agreeing(lambda: _NAMED[kind](count, around, draw), around)
        made = plural(made) if shape.endswith("s") else made
    elif kind in _FREE:
        made = _FREE[kind](draw)
    else:
        return f"[{kind}]"
    return made.upper() if around.is_loud else made.lower() if around.is_small else made


def _agreeing(make: Callable[[], str], around: Around) -> str:
    """One of several draws that fits "a" or "an" before it."""
    made = make()
    for _ in range(20):
        if around.before not in {"a", "an"} or (made[0].lower() in "aeiou") == (around.before == "an"):
            break
        made = make()
    return made


def _person(words: int, around: Around, draw: Random) -> str:
    given = [
        name
        for name in GIVEN_NAMES
        if around.before not in _HERS | _HIS or (name in _WOMEN) == (around.before in _HERS)
    ]
    if words == 1:
        return draw.choice(FAMILY_NAMES if around.before in _HERS | _HIS else given)
    return " ".join([*(draw.choice(given) for _ in range(words - 1)), draw.choice(FAMILY_NAMES)])


def _of(first: Sequence[str], last: Sequence[str], alone: Sequence[str] = ()) -> Callable[[int, Around, Random], str]:
    """Names whose last word is of one list and whose other words are of another; a single word is of the first."""

    def make(words: int, around: Around, draw: Random) -> str:
        if words == 1:
            return draw.choice(alone or first)
        return " ".join([*(draw.choice(first) for _ in range(words - 1)), draw.choice(last)])

    return make


def _occupation(words: int, around: Around, draw: Random) -> str:
    return draw.choice([noun for noun in OCCUPATIONS if len(noun.split()) == min(words, 2)])


_NAMED: dict[str, Callable[[int, Around, Random], str]] = {
    "PERSON": _person,
    "NAME": _person,
    "CAPITALISED": _person,
    "ORG": _of(FAMILY_NAMES, _FIRMS),
    "GPE": _of(("New", "North", "South", "East", "West"), PLACE_NAMES, PLACE_NAMES),
    "LOC": _of(_THINGS, _THINGS),
    "FAC": _of(_THINGS, ("Hall", "Bridge", "Station", "Tower")),
    "EVENT": _of(_THINGS, ("Fair", "Festival", "Cup", "Summit")),
    "PRODUCT": _of(_THINGS, _THINGS),
    "WORK_OF_ART": _of(_THINGS, _THINGS),
    "NORP": _of(_PEOPLES, _PEOPLES),
    "OCCUPATION": _occupation,
}
NAMES = frozenset(["PERSON", "NAME", "CAPITALISED", "ORG", "GPE", "LOC", "FAC"])
"""Kinds whose surrogates are names, whatever the form of what they stand for: only these take the place of secrets."""

_FREE: dict[str, Callable[[Random], str]] = {
    "ADDRESS": lambda draw: f"{draw.randrange(1, 200)} {draw.choice(_STREETS)} Road, {draw.choice(PLACE_NAMES)}",
    "EMAIL_ADDRESS": lambda draw: f"{draw.choice(GIVEN_NAMES)}.{draw.randrange(1000)}@example.org".lower(),
    "URL": lambda draw: f"https://example.org/{draw.randrange(10_000)}",
    "HANDLE": lambda draw: f"@{draw.choice(_THINGS)}{draw.randrange(1000)}".lower(),
    "HASHTAG": lambda draw: f"#{draw.choice(_THINGS)}",
    "AGE": lambda draw: f"{draw.randrange(18, 90)} years old",
}


@dataclass(frozen=True, eq=False, repr=False)
class Surrogates:
    """Surrogates for the tokens of some documents; equal words of a document get the same one.

    `words` has the number of words of a surrogate whose token may not show its own; such tokens share a surrogate only
    where they are `alike`: where it is public which of them are equal.
    """

    tokens: Tokens
    draw: Random
    words: Mapping[int, int] = field(default_factory=dict)
    alike: frozenset[int] = frozenset()
    _chosen: dict[tuple[int, str, str], str] = field(default_factory=dict)

    def of(self, kinds: Mapping[int, str], loud: npt.NDArray[np.bool_]) -> dict[int, str]:
        """The text shown for each token, by its kind; `loud` says which tokens stand in capitals."""
        small = self._small(kinds)
        return {token: self._one(token, kinds, bool(loud[token]), small) for token in sorted(kinds)}

    def _one(self, token: int, kinds: Mapping[int, str], is_loud: bool, small: frozenset[int]) -> str:
        seen, kind = self.tokens.occurrences, kinds[token]
        document = int(seen.document[token])
        text = seen.types[seen.type[token]]
        before = "" if token == 0 or token - 1 in kinds else seen.types[seen.type[token - 1]]
        if before == "." and token > 1 and token - 2 not in kinds:
            before = seen.types[seen.type[token - 2]]
        around = Around(before.rstrip("."), document in small, is_loud)
        if kind not in _NAMED or kind == "OCCUPATION":
            return self._known((document, kind, text), lambda: surrogate(kind, shape_of(kind, text), around, self.draw))
        words = text.split()[:MOST_WORDS]
        if token in self.words:
            own = text if token in self.alike else f"{text} {token}"
            words = [own if k == 0 else f"{own} {k}" for k in range(max(1, self.words[token]))]
        ends = kinds.get(token + 1) != kind
        is_part = len(words) > 1 or not ends or kinds.get(token - 1) == kind
        last = len(words) - 1
        return " ".join(
            self._word(document, kind, word, around, is_last=(ends and k == last) if is_part else None)
            for k, word in enumerate(words)
        )

    def _word(self, document: int, kind: str, word: str, around: Around, *, is_last: bool | None) -> str:
        """One word of a name, the same wherever the document has it; `is_last` is None for a name of one word."""
        is_family = is_last or (is_last is None and around.before in _HERS | _HIS)

        def make() -> str:
            if is_last is None and not is_family:
                return surrogate(kind, "1", around, self.draw)
            first, _, last = surrogate(kind, "2", around, self.draw).partition(" ")
            return last if is_family else first

        return self._known((document, kind, word), make)

    def _known(self, key: tuple[int, str, str], make: Callable[[], str]) -> str:
        if key not in self._chosen:
            self._chosen[key] = make()
        return self._chosen[key]

    def _small(self, kinds: Mapping[int, str]) -> frozenset[int]:
        """Documents whose public words have no capital letter."""
        is_capital = [form != form.lower() for form in self.tokens.forms]
        seen = self.tokens.occurrences
        loud = {
            int(seen.document[token])
            for token, form in enumerate(self.tokens.form.tolist())
            if is_capital[form] and token not in kinds
        }
        return frozenset(range(len(self.tokens))) - loud

"""The paper's numbers: every printed table by its label, and the claims of its prose, as they were transcribed.

Labels with the suffix `#commented` stand in commented-out text of the source. `text` holds the claims of the prose, and
`left_open` what the paper does not state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from oddshift.base.errors import InvalidInput

VIOLATIONS = "Tb:exp:mPL"
THRESHOLDS = "Tb:recomdelta"
FAILURE_BOUNDS = "Tb:recomdelta_prob"
MISMATCH = "tab:matched_mismatched_leakage"
WDBC = "tab:wdbc_violation"

CORPORA = {"ag_news": "AG News", "imdb": "IMDB", "amazon": "Amazon"}
"""The corpora by the name of their file, with the paper's name of each."""

ATTACKERS = {"rnn": "RNN", "lstm": "LSTM", "transformer": "Transformer"}
"""The paper's networks by our name, with the paper's."""

EPSILONS = (2.4, 2.5, 2.6)
METHODS = ("EM", "AmPL", "AmPL-U", "AmPL-P", "AmPL-1")


@dataclass(frozen=True)
class PaperTable:
    """One printed table: its label, caption, unit, and cells with `mean`, mostly `sd`, and what names them."""

    label: str
    caption: str
    unit: str
    commented_out: bool
    cells: tuple[Mapping[str, Any], ...]

    def cell(self, **names: object) -> Mapping[str, Any]:
        """The one cell that has these names.

        >>> paper_table(VIOLATIONS).cell(row="AmPL", dataset="IMDB", attacker="RNN", epsilon=2.4)["mean"]
        8.71
        """
        found = [c for c in self.cells if all(c.get(key) == value for key, value in names.items())]
        if len(found) != 1:
            raise InvalidInput(f"{self.label} has {len(found)} cells named {names}, expected 1")
        return found[0]


@cache
def _everything() -> dict[str, Any]:
    source = resources.files("studies.paper").joinpath("paper_numbers.json")
    found: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return found


def paper_labels() -> tuple[str, ...]:
    """The labels of all tables."""
    return tuple(label for label in _everything() if not label.startswith("_"))


def paper_table(label: str) -> PaperTable:
    """A table by its label."""
    if label not in paper_labels():
        raise InvalidInput(f"table {label!r}, expected one of {', '.join(paper_labels())}")
    raw = _everything()[label]
    return PaperTable(label, raw["caption"], raw["unit"], raw["commented_out"], tuple(raw["cells"]))


def paper_text(claim: str) -> Mapping[str, Any]:
    """The numbers of a claim of the prose, with the lines of the source that hold them."""
    claims = _everything()["_text"]
    if claim not in claims:
        raise InvalidInput(f"claim {claim!r}, expected one of {', '.join(claims)}")
    found: Mapping[str, Any] = claims[claim]
    return found


def left_open() -> Mapping[str, Any]:
    """What the paper does not state, by subject."""
    found: Mapping[str, Any] = _everything()["_open"]
    return found


def audit_samples() -> Mapping[str, int]:
    """S of every corpus: the number of triples behind a printed rate."""
    found: Mapping[str, int] = _everything()[FAILURE_BOUNDS]["S"]
    return found


def violation(method: str, corpus: str, attacker: str, epsilon: float) -> tuple[float, float]:
    """Mean and standard deviation of a printed violation ratio, in percent, by our names."""
    row = "EM (mDP)" if method == "EM" else method
    names = {"dataset": CORPORA[corpus], "attacker": ATTACKERS[attacker], "epsilon": epsilon}
    found = paper_table(VIOLATIONS).cell(row=row, **names)
    return float(found["mean"]), float(found["sd"])

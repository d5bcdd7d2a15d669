"""The table of claims: what the paper says, its own tables, paper mode and controls, sound mode, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from studies.paper.further_claims import FURTHER_CLAIMS
from studies.paper.page_blocks import Entry, Judged, OpeningCounts, Section, TableBlock, linked_files
from studies.paper.paper_claims import FAILS, HOLDS, UNKNOWN, PaperClaim, Results
from studies.paper.statement_claims import STATEMENT_CLAIMS
from studies.paper.table_claims import TABLE_CLAIMS
from studies.paper.utility_claims import UTILITY_CLAIMS

ALL_CLAIMS = (*TABLE_CLAIMS, *UTILITY_CLAIMS, *FURTHER_CLAIMS, *STATEMENT_CLAIMS)
"""Every claim, in the order of the page."""

MANY = {HOLDS: "hold", FAILS: "do not hold", UNKNOWN: "cannot be told"}
"""Each verdict as it is said of several claims."""

SIGNS = {HOLDS: ("✓", "kept"), FAILS: ("✗", "broken"), UNKNOWN: ("?", "open")}
"""The sign of each verdict and its style, so that none is told by colour alone."""

CLAIM_HEAD = (
    "claim",
    "paper",
    "from its own tables",
    "paper mode",
    "null, own",
    "sound, 95 % bounds",
    "as stated",
    "as used, and why",
    "cells",
)
CLAIM_SHARES = (13, 8, 11, 14, 11, 11, 7, 18, 7)
"""How much of the width of the page each column has, in percent."""


def claims_section(results: Results) -> Section:
    """The claims, theirs next to ours, and how many of them hold."""
    made = [make(results) for make in ALL_CLAIMS]
    rows = [_row(number, claim) for number, claim in enumerate(made, 1)]
    counts = [
        (sum(verdict == state for verdict in verdicts), f"{many} {how}")
        for how, verdicts in (
            ("as stated", [claim.verdict for claim in made]),
            ("as used", [claim.as_used for claim in made]),
        )
        for state, many in MANY.items()
    ]
    return Section(
        "claims",
        "What the paper claims, and what we find",
        [
            OpeningCounts([(len(made), "claims of the paper"), *counts]),
            "Paper mode is the paper's own estimate, a reconstruction with a softmax of temperature T. Next to it "
            "stand two attackers that cannot violate anything, at the same T: null ignores the release, and own is the "
            "exact posterior mean of one release. Sound mode is our strongest attacker with an exact likelihood of the "
            "release, and bounds over documents. No verdict rests on a temperature that was matched to the paper. "
            "A claim is judged twice: as it is stated, under its own conditions, and as the paper uses it.",
            TableBlock("All claims", CLAIM_HEAD, rows, wraps=True, shares=CLAIM_SHARES),
        ],
    )


def _row(number: int, claim: PaperClaim) -> Sequence[Entry]:
    return [
        f"{number}. {claim.says}",
        claim.paper,
        claim.recomputed,
        claim.paper_mode,
        claim.controls,
        claim.sound,
        Judged(claim.verdict, ""),
        Judged(claim.as_used, claim.why),
        linked_files(claim.files),
    ]

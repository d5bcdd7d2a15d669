"""Tables of what needs no corpus: single records of Breast Cancer Wisconsin, and the certificates of all 27 cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from studies.paper.page_blocks import Block, Entry, Section, TableBlock, linked_files, linked_seeds
from studies.paper.paper_claims import NOT_RUN, Results
from studies.paper.paper_numbers import ATTACKERS

LAYOUTS = {"one": "one tier", "diagnosis": "two tiers, by diagnosis"}
"""How the records are put into tiers, by the start of the key of a cell."""


def records_section(results: Results) -> Section:
    """Single records, for which the truth is known, by tiers; ratios are means over seeds."""
    blocks: list[Block] = [
        "Every record is released alone, so that by the paper's own proposition no mPL exceeds ε: the exact ε is the "
        "largest that any pair and any release reach, and no triple lies beyond. Ratios in percent, means over seeds. "
        "At a T that is matched to the printed ratio of EM, networks, own and null all have that ratio."
    ]
    blocks += [_records(results, layout) for layout in LAYOUTS]
    return Section("records", "Breast Cancer Wisconsin", blocks)


def _records(results: Results, layout: str) -> Block:
    cells = [cell for key, cell in results.cells["wdbc"].items() if key.startswith(layout)]
    title = f"WDBC, {LAYOUTS[layout]}"
    if not cells:
        return f"{title}: {NOT_RUN}."
    found: dict[tuple[float, str, str], list[Mapping[str, Any]]] = {}
    for cell in cells:
        for row in cell.values["rows"]:
            for method, values in row["methods"].items():
                found.setdefault((row["epsilon"], row["attacker"], method), []).append(values)
    files = linked_seeds([cell.file for cell in cells])
    rows = [_record_row(place, values, files) for place, values in found.items()]
    head = (
        "ε",
        "network",
        "method",
        "paper",
        "scale",
        "exact ε",
        "exact",
        "T = 1",
        "fitted T",
        "matched T",
        "null",
        "own",
    )
    return TableBlock(title, (*head, "cells"), rows)


def _record_row(place: tuple[float, str, str], values: Sequence[Mapping[str, Any]], files: Entry) -> Sequence[Entry]:
    epsilon, attacker, method = place

    def mean(rule: str, what: str) -> str:
        return f"{100 * float(np.mean([v['rules'][rule][what] for v in values])):.2f}"

    return [
        f"{epsilon:g}",
        ATTACKERS[attacker],
        method,
        f"{values[0]['printed']:.2f}",
        ", ".join(f"{scale:g}" for scale in sorted({v["scale"] for v in values})),
        f"{max(v['exact_epsilon'] for v in values):.4f}",
        f"{100 * max(v['exact']['rate'] for v in values):.2f}",
        mean("one", "rate"),
        mean("fitted", "rate"),
        mean("matched", "rate"),
        mean("matched", "null"),
        mean("matched", "own"),
        files,
    ]


def certificates_section(results: Results) -> Section:
    """Printed thresholds and exponents of all 27 cells, next to what the paper's own proposition gives."""
    bounds = results.values("failure-bounds", "failure-bounds")
    if bounds is None:
        return Section("certificates", "Certificates", [f"Certificates of the 27 cells: {NOT_RUN}."])
    files = linked_files([*results.files("delta-thresholds"), *results.files("failure-bounds")])
    rows: list[Sequence[Entry]] = [
        [
            row["dataset"],
            row["attacker"],
            f"{row['epsilon']:g}",
            f"{row['delta']:.4f}",
            f"{1.05 * row['rate']:.4f}",
            f"{row['printed']:,.0f}",
            f"{row['by_proposition']:,.0f}",
            f"{row['by_slip']:,.0f}",
            f"{row['by_observations']:.2f}",
            files,
        ]
        for row in bounds["rows"]
    ]
    said = (
        "A certificate says that the true rate exceeds δ with a probability below 10^-k. k follows from the number of "
        "triples S by k = (2·S·t² − ln 2)/ln 10 with t = δ − p. The printed k follow from t = .95·p, where δ = 1.05·p "
        "leaves t = .05·p. All triples of a release are counted as independent; with the releases as units k is "
        "negative everywhere, and a probability below a number above 1 says nothing."
    )
    head = ("corpus", "network", "ε", "δ printed", "1.05·p", "k printed", "k by the proposition", "k by the slip")
    table = TableBlock("Certificates of the 27 cells", (*head, "k with releases as units", "cells"), rows)
    return Section("certificates", "Certificates", [said, table])

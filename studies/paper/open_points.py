"""What the paper leaves open: our default for each point, and how far a row of its table moves with other choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studies.paper.corpus_cells import LOOP, SMALL
from studies.paper.page_blocks import Block, Entry, Section, TableBlock, linked_files
from studies.paper.paper_claims import Results
from studies.paper.paper_numbers import left_open

OUR_DEFAULTS = {
    "temperature": "T = 1, next to T fitted by validation log score; a matched T is shown and nothing rests on it",
    "prior": "uniform over the candidates in paper mode; the frequencies of the fit documents in losses",
    "outputs": "the sensitive words themselves",
    "network": f"width {SMALL['width']}; one bidirectional layer (RNN, LSTM), two layers of four heads (Transformer); "
    "epochs and batch as stated with each table; learning rate cut to a tenth after 5 epochs without progress; the "
    "sensitive positions of a document, not its other words",
    "adaptation": f"λ_1 = {LOOP['rate']:g}, λ_2 = {LOOP['loss']:g}, with other λ_1 replayed on the surfaces; central "
    f"differences and projection; η_0 = {LOOP['first_step']:g}, step η_0/(t+1)^0.6, from scale 1 until it moves by "
    "less than 0.005; the Transformer for utility",
    "statistics": "three seeds of split, noise, network and layout, and ten for pairs of EM and AmPL at 2.5; AmPL's "
    "scales from the first of them; candidates "
    "and observations drawn uniformly; tiers pooled in the table, apart in the search",
    "corpus": "documents drawn at random, as many as stated with each table; a word is PII where most of its "
    "occurrences are tagged, with the paper's rule (any) next to it below",
    "mismatch": "MiniLM, projected on 100 dimensions and scaled to GloVe's mean norm; AG News",
    "wdbc": "one tier, and two by diagnosis; 60, 20 and 20 % of the records",
    "gamma": "no clipping",
}
"""What is done here where the paper says nothing, by the subjects of its open points."""

SHOWN_TEMPERATURES = (0.5, 1.0, 2.0, 4.0)
"""Temperatures whose ratio stands in the table, the nearest that were computed."""


def open_section(results: Results) -> Section:
    """What the paper leaves open, our default, and how far the watched row moves."""
    found = results.values("open-settings", "ag_news")
    subjects = [[name, _plain(what), OUR_DEFAULTS[name]] for name, what in left_open().items()]
    blocks: list[Block] = [
        TableBlock(
            "Left open by the paper", ("subject", "what", "our default"), subjects, wraps=True, shares=(14, 36, 50)
        )
    ]
    if found is None:
        return Section("open", "What the paper leaves open", [*blocks, "How far the table moves: not run."])
    files = linked_files(results.files("open-settings"))
    rows: list[Sequence[Entry]] = [
        [row["setting"], row["value"], f"{row['rate']:.2%}", f"{row['null']:.2%}", f"{row['own']:.2%}", files]
        for row in [*found["rows"], *_temperature_rows(found)]
    ]
    loops: list[Sequence[Entry]] = [
        [
            row.get("method", "AmPL"),
            f"{row['rate_weight']:g}", f"{row['first_step']:g}", f"{row.get('start', 1.0):g}",
            ", ".join(f"{s:g}" for s in row["scales"]),
            f"{row['rate']:.2%}", f"{row['loss']:.3f}", files,
        ]
        for row in found["loops"]
    ]  # fmt: skip
    rest, by_temperature = (
        [float(row["rate"]) for row in part] for part in (found["rows"], _temperature_rows(found) or found["rows"])
    )
    blocks += [
        f"One open point at a time: the temperature alone moves the ratio of EM in this row between "
        f"{min(by_temperature):.1%} and {max(by_temperature):.1%}, all others together between {min(rest):.1%} and "
        f"{max(rest):.1%}.",
        TableBlock("AG News, LSTM, ε = 2.5, EM at T = 1", ("setting", "value", "ratio", "null", "own", "cells"), rows),
        TableBlock(
            "Where the loop ends",
            ("method", "λ_1/λ_2", "η_0", "start", "scales", "ratio on the surface", "loss", "cells"),
            loops,
        ),
    ]
    return Section("open", "What the paper leaves open", blocks)


def _temperature_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The default network at some temperatures."""
    curve = found["temperatures"]
    chosen = [min(curve, key=lambda point: abs(point[0] - wanted)) for wanted in SHOWN_TEMPERATURES] if curve else []
    names = ("rate", "null", "own")
    return [{"setting": "T", "value": f"{point[0]:g}", **dict(zip(names, point[1:], strict=True))} for point in chosen]


def _plain(value: Any) -> str:
    return "; ".join(str(part) for part in value) if isinstance(value, list) else str(value)

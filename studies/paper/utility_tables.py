"""Tables of utility: the loss of every method with and without remapping, what is left of the outputs, and readings.

Every loss comes with the effective number of outputs and the loss of one constant word: what is bought with a handful
of words serves for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from oddshift.adapt.rounds import PRESETS
from studies.paper.page_blocks import Block, Entry, Section, TableBlock, linked_files
from studies.paper.paper_claims import NOT_RUN, Results
from studies.paper.paper_numbers import ATTACKERS, CORPORA, paper_text
from studies.paper.search_surface import READINGS

LOSS_HEAD = ("loss", "remapped", "outputs", "outputs remapped", "constant word")


def utility_section(results: Results) -> Section:
    """Losses of the corpora, of vocabularies, and of the readings of AmPL-1."""
    blocks: list[Block] = [
        "Expected cosine losses, exactly from the channel: no attacker and no T is in them. The effective number of "
        "outputs is e to the entropy of what is released. AmPL-U is EM, since its scales stay at 1."
    ]
    tables = (_corpora(results), _whole(results), _vocabularies(results), _readings(results))
    return Section("utility", "Utility", [*blocks, *tables])


def _corpora(results: Results) -> Block:
    rows: list[Sequence[Entry]] = []
    for corpus, name in CORPORA.items():
        found = results.values("utility", corpus)
        for row in found["rows"] if found else ():
            rows.append(
                [
                    name,
                    ATTACKERS[row.get("attacker", "transformer")],
                    f"{row['epsilon']:g}",
                    row["method"],
                    ", ".join(f"{scale:g}" for scale in row["scales"]),
                    *_losses(row, float(found["constant_word"]) if found else 0.0),
                    linked_files(results.files("utility", corpus)),
                ]
            )
    head = ("corpus", "network", "ε", "method", "scales", *LOSS_HEAD, "cells")
    return TableBlock("Losses of every method", head, rows) if rows else f"Losses of every method: {NOT_RUN}."


def _losses(row: dict[str, float], constant: float) -> list[str]:
    outputs = [f"{row[key]:,.1f}" if row[key] < 100 else f"{row[key]:,.0f}" for key in ("outputs", "remapped_outputs")]
    return [f"{row['loss']:.3f}", f"{row['remapped_loss']:.3f}", *outputs, f"{constant:.3f}"]


def _whole(results: Results) -> Block:
    """EM with the vocabulary and the prior of all documents that are there."""
    rows: list[Sequence[Entry]] = [
        [
            name, f"{sum(found['size']['documents']):,}", f"{sum(found['size']['words']):,}", f"{row['epsilon']:g}",
            *_losses(row, float(found["constant_word"])), linked_files(results.files("utility", f"{corpus}-all")),
        ]
        for corpus, name in CORPORA.items()
        if (found := results.values("utility", f"{corpus}-all")) is not None
        for row in found["rows"]
    ]  # fmt: skip
    head = ("corpus", "documents", "words", "ε", *LOSS_HEAD, "cells")
    return TableBlock("EM over all documents", head, rows) if rows else f"EM over all documents: {NOT_RUN}."


def _vocabularies(results: Results) -> Block:
    found = results.values("utility", "vocabulary")
    if found is None:
        return f"Losses by vocabulary and prior: {NOT_RUN}."
    files = linked_files(results.files("utility", "vocabulary"))
    rows: list[Sequence[Entry]] = [
        [f"{row['words']:,}", row["prior"], *_losses(row, float(row["constant_word"])), files] for row in found["rows"]
    ]
    return TableBlock("EM at ε = 2.5 by vocabulary and prior", ("words", "prior", *LOSS_HEAD, "cells"), rows)


def _readings(results: Results) -> Block:
    """What AmPL-1 may mean, with its loss on every corpus next to the printed range."""
    found = {corpus: values for corpus in CORPORA if (values := results.values("utility", corpus)) is not None}
    if not found:
        return f"Readings of AmPL-1: {NOT_RUN}."
    rows: list[Sequence[Entry]] = [
        [
            name,
            PRESETS[name].meaning,
            *(_reading(found[corpus]["readings_of_ampl_1"][name]) for corpus in found),
            linked_files(results.files("utility")),
        ]
        for name in READINGS
        if all(name in values["readings_of_ampl_1"] for values in found.values())
    ]
    said = paper_text("utility_text")["AmPL-1"]
    printed = [f"{low:.2f}-{high:.2f}" for low, high in (said[CORPORA[corpus]]["no_RMP"] for corpus in found)]
    head = ("reading", "meaning", *(CORPORA[corpus] for corpus in found), "cells")
    shares = (16, 34, *(36 // len(found),) * len(found), 14)
    lines = [*rows, ["paper", "-", *printed, "-"]]
    return TableBlock("Readings of AmPL-1: scales and loss at ε = 2.5", head, lines, wraps=True, shares=shares)


def _reading(row: dict[str, object]) -> str:
    scales = row["scales"]
    assert isinstance(scales, list)
    return f"{', '.join('in the clear' if s > 1 else f'{s:g}' for s in scales)}: {row['loss']:.3f}"

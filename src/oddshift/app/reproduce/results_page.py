"""The results page, twice from the same content: Markdown for the documentation, and one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oddshift.app.report.figure import Figure
from oddshift.app.report.markup import Html, join, pairs, table, tag
from oddshift.app.report.page import page_frame
from oddshift.app.reproduce.open_points import open_section
from oddshift.app.reproduce.page_blocks import Block, CellLinks, Entry, Linked, Section, TableBlock, anchor
from oddshift.app.reproduce.paper_claims import Results
from oddshift.app.reproduce.results_content import (
    claims_section,
    figures_section,
    origin_section,
    violations_section,
)
from oddshift.base.storage import write_atomic

TITLE = "The paper, reproduced"


def sections(results: Results) -> list[Section]:
    """The whole content, in order."""
    return [
        claims_section(results),
        violations_section(results),
        figures_section(results),
        open_section(results),
        origin_section(results),
    ]


def write_page(folder: Path) -> tuple[Path, Path]:
    """Write FOLDER.md next to the folder of cells and FOLDER/index.html into it, from the cells alone."""
    content = sections(Results.of(folder))
    paths = folder.with_suffix(".md"), folder / "index.html"
    write_atomic(paths[0], markdown(content, folder.name).encode())
    write_atomic(paths[1], html(content).encode())
    return paths


def markdown(content: list[Section], folder: str) -> str:
    """The page as Markdown, next to a folder of that name; figures are in its HTML page only."""
    parts = [
        f"# {TITLE}",
        "Written by `oddshift reproduce page` from the cells alone; every row links to the JSON files behind it, which "
        "hold command, settings, seed, data hash and versions. The data files are `ag_news.csv` (columns label, title "
        "and text), `imdb.csv` and `amazon.csv` (label and text), GloVe's words and vectors as `glove.6B.100d.npz`, "
        "MiniLM's as `minilm.100d.npz`, and spaCy's small English pipeline in `ner/en_core_web_sm_ner`; the cells name "
        f"each by its SHA-256. Figures are in [{folder}/index.html]({folder}/index.html).",
    ]
    for section in content:
        parts.append(f"## {section.title}")
        for block in section.blocks:
            if isinstance(block, TableBlock) and block.long:
                parts += [f"### {block.title}", *(_markdown_row(block, row, folder) for row in block.rows)]
            elif isinstance(block, TableBlock):
                parts += [f"### {block.title}", _markdown_table(block, folder)]
            elif isinstance(block, Figure):
                parts.append(f"- **{block.title}.** {block.says}")
            elif isinstance(block, CellLinks):
                parts.append(f"Cells: {_in_markdown(block.links, folder)}")
            else:
                parts.append(block)
    return "\n\n".join(parts) + "\n"


def _markdown_table(block: TableBlock, folder: str) -> str:
    lines = [
        list(block.head),
        ["---"] * len(block.head),
        *([_in_markdown(e, folder) for e in row] for row in block.rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _markdown_row(block: TableBlock, row: Sequence[Entry], folder: str) -> str:
    """One row as a heading, its second entry, and a list of the others; those that say nothing are left out."""
    rest = [f"- {name}: {_in_markdown(entry, folder)}" for name, entry in _others(block, row)]
    return "\n".join([f"#### {row[0]}", "", f"**{_in_markdown(row[1], folder)}**", "", *rest])


def _others(block: TableBlock, row: Sequence[Entry]) -> list[tuple[str, Entry]]:
    """The entries of a long row after the first two, by the heads of their columns, without those that say nothing."""
    return [(name, entry) for name, entry in zip(block.head[2:], row[2:], strict=True) if entry != "-"]


def _in_markdown(entry: Entry, folder: str) -> str:
    if isinstance(entry, Linked):
        return f"[{entry.text}]({entry.href if entry.href.startswith('#') else f'{folder}/{entry.href}'})"
    if isinstance(entry, tuple):
        return ", ".join(_in_markdown(each, folder) for each in entry)
    return entry.replace("|", "\\|")


def html(content: list[Section]) -> str:
    """The page as one HTML file in the style of the report: no request, no script but the report's own."""
    made = [(section.key, section.title, join([_block(block) for block in section.blocks])) for section in content]
    return page_frame(made, name=TITLE, foot="Made by oddshift reproduce page from the cells alone.")


def _block(block: Block) -> Html:
    if isinstance(block, Figure):
        return block.html
    if isinstance(block, CellLinks):
        return tag("p", {"class": "legend"}, "Cells: ", Html(_in_html(block.links)))
    if isinstance(block, TableBlock) and block.long:
        return join([_row_by_row(block, row) for row in block.rows])
    if isinstance(block, TableBlock):
        rows = [[_in_html(entry) for entry in row] for row in block.rows]
        return tag("div", {"class": "tabled"}, _heading(block.title), table(block.head, rows, block.title))
    return tag("p", None, block)


def _heading(title: str, rest: str = "") -> Html:
    return tag("h3", {"id": anchor(title)}, title + rest)


def _row_by_row(block: TableBlock, row: Sequence[Entry]) -> Html:
    """One row as a heading of its first two entries, and the others by name."""
    rest = [(name, _in_html(entry)) for name, entry in _others(block, row)]
    return tag("div", {"class": "tabled"}, _heading(str(row[0]), f": {row[1]}"), pairs(rest))


def _in_html(entry: Entry) -> str:
    if isinstance(entry, Linked):
        return tag("a", {"href": entry.href}, entry.text)
    if isinstance(entry, tuple):
        return join([tag("a", {"href": each.href}, each.text) for each in entry], ", ")
    return entry

"""The results page, twice from the same content: Markdown for the documentation, and one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from oddshift.app.report.markup import Figure, Html, join, table, tag
from oddshift.app.report.page import page_frame
from oddshift.base.storage import write_atomic
from studies.paper.claims_table import SIGNS, claims_section
from studies.paper.open_points import open_section
from studies.paper.page_blocks import (
    Block,
    CellLinks,
    Entry,
    Judged,
    Lines,
    Linked,
    OpeningCounts,
    Section,
    TableBlock,
    anchor,
)
from studies.paper.paper_claims import Results
from studies.paper.record_tables import certificates_section, records_section
from studies.paper.results_content import (
    absent_section,
    figures_section,
    origin_section,
    violations_section,
)
from studies.paper.summary import summary_section
from studies.paper.utility_tables import utility_section

TITLE = "The paper, reproduced"

FEW_COLUMNS = 5
"""A table of sentences with more columns takes the width of the screen."""


def sections(results: Results) -> list[Section]:
    """The whole content, in order."""
    return [
        summary_section(results),
        claims_section(results),
        figures_section(results),
        violations_section(results),
        utility_section(results),
        records_section(results),
        certificates_section(results),
        open_section(results),
        absent_section(results),
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
        "Written by `python -m studies.paper page` from the cells alone; every row links to the JSON files behind it, "
        "which hold command, settings, seed, data hash and versions. The data files are `ag_news.csv` (columns label, "
        "title and text), `imdb.csv` and `amazon.csv` (label and text), GloVe's words and vectors as "
        "`glove.6B.100d.npz`, MiniLM's as `minilm.100d.npz`, and spaCy's small English pipeline in "
        "`ner/en_core_web_sm_ner`; the cells name each by its SHA-256. "
        f"Figures are in [{folder}/index.html]({folder}/index.html).",
    ]
    for section in content:
        parts.append(f"## {section.title}")
        for block in section.blocks:
            parts += _markdown_block(block, folder)
    return "\n\n".join(parts) + "\n"


def _markdown_block(block: Block, folder: str) -> list[str]:
    if isinstance(block, TableBlock):
        return [f"### {block.title}", _markdown_table(block, folder)]
    if isinstance(block, Figure):
        return [f"- **{block.title}.** {block.says}"]
    if isinstance(block, CellLinks):
        return [f"Cells: {_in_markdown(block.links, folder)}"]
    if isinstance(block, Lines):
        return ["\n".join(f"{number}. {line}" for number, line in enumerate(block.lines, 1))]
    if isinstance(block, OpeningCounts):
        return ["; ".join(f"**{number}** {what}" for number, what in block.counts) + "."]
    return [block]


def _markdown_table(block: TableBlock, folder: str) -> str:
    lines = [
        list(block.head),
        ["---"] * len(block.head),
        *([_in_markdown(e, folder) for e in row] for row in block.rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _in_markdown(entry: Entry, folder: str) -> str:
    if isinstance(entry, Linked):
        return f"[{entry.text}]({entry.href if entry.href.startswith('#') else f'{folder}/{entry.href}'})"
    if isinstance(entry, tuple):
        return ", ".join(_in_markdown(each, folder) for each in entry)
    if isinstance(entry, Judged):
        return f"**{entry.state}**" + (f": {_in_markdown(entry.reason, folder)}" if entry.reason else "")
    return entry.replace("|", "\\|")


def html(content: list[Section]) -> str:
    """The page as one HTML file in the style of the report: no request, no script but the report's own."""
    made = [(section.key, section.title, join([_block(block) for block in section.blocks])) for section in content]
    return page_frame(made, name=TITLE, foot="Made by python -m studies.paper page from the cells alone.")


def _block(block: Block) -> Html:
    if isinstance(block, Figure):
        return block.html
    if isinstance(block, CellLinks):
        return tag("p", {"class": "legend"}, "Cells: ", Html(_in_html(block.links)))
    if isinstance(block, Lines):
        return tag("ol", {"class": "prose"}, *(tag("li", None, line) for line in block.lines))
    if isinstance(block, OpeningCounts):
        facts = [
            tag("div", None, tag("dt", None, what), tag("dd", None, f"{number:,}")) for number, what in block.counts
        ]
        return tag("dl", {"class": "facts"}, *facts)
    if isinstance(block, TableBlock):
        rows = [[_in_html(entry) for entry in row] for row in block.rows]
        made = _wrapped(block, rows) if block.wraps else table(block.head, rows, block.title)
        return tag("div", {"class": "tabled numbers"}, tag("h3", {"id": anchor(block.title)}, block.title), made)
    return tag("p", {"class": "prose"}, block)


def _wrapped(block: TableBlock, rows: list[list[str]]) -> Html:
    """A table of sentences; every entry carries the head of its column, which a card on a narrow screen shows."""
    columns = [tag("col", {"width": f"{share}%"}) for share in block.shares]
    top = tag("tr", None, *(tag("th", {"scope": "col"}, name) for name in block.head))
    body = [
        tag(
            "tr",
            None,
            tag("th", {"scope": "row"}, row[0]),
            *(
                tag("td", {"data-name": name, "class": "none" if cell == "-" else None}, tag("span", None, cell))
                for name, cell in zip(block.head[1:], row[1:], strict=True)
            ),
        )
        for row in rows
    ]
    made = tag("table", None, tag("colgroup", None, *columns), tag("thead", None, top), tag("tbody", None, *body))
    return tag("div", {"class": "wrapped broad" if len(block.head) > FEW_COLUMNS else "wrapped"}, made)


def _in_html(entry: Entry) -> str:
    if isinstance(entry, Linked):
        return tag("a", {"href": entry.href}, entry.text)
    if isinstance(entry, tuple):
        return join([tag("a", {"href": each.href}, each.text) for each in entry], ", ")
    if isinstance(entry, Judged):
        sign, kind = SIGNS.get(entry.state, ("", "open"))
        state = tag("b", {"class": f"state {kind}"}, f"{sign} {entry.state}")
        return join([state, tag("br"), entry.reason]) if entry.reason else state
    return entry

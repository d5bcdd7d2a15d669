"""What a table codec says about itself: which values count as public, what stays, and what a row costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oddshift.data.codecs.table_domains import ColumnDomain
from oddshift.data.codecs.table_settings import TableSettings

_GRIDS = {
    "equal": "equal steps",
    "log": "equal ratios, because they are skewed",
    "quantile": "equal shares, because they are skewed",
    "distinct": "the values found",
}


def table_notes(settings: TableSettings, domains: Sequence[ColumnDomain]) -> Iterator[str]:
    """One sentence for each choice that a user should know of; never a value of a cell."""
    if settings.unit == "row":
        yield "a released row is a row of the fit part, somebody's own: unit = 'cell' releases public values only"
    else:
        yield from _domain_notes(domains)
        if len(domains) > 1:
            yield (
                f"the {len(domains)} cells of a row are released one by one, each as a value of its own column; their "
                f"budgets add up, so a whole row costs at most {len(domains)} times epsilon"
            )
    if settings.of_group:
        agreeing = f"rows of one {settings.group} that agree, and which rows agree is public"
        yield f"drawn once for all {agreeing}: {_columns(settings.of_group)}"
    if settings.public:
        yield f"released unchanged: {_columns(settings.public)}"
    if settings.renamed:
        yield f"released under pseudonyms: column {settings.group}, which says whose rows are read together"
    if settings.masked:
        yield f"left empty on release: {_columns(settings.masked)}"


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(name or 'without a name' for name in names)}"


def _domain_notes(domains: Sequence[ColumnDomain]) -> Iterator[str]:
    by_grid: dict[str, list[str]] = {}
    for domain in domains:
        if domain.spacing != "declared":
            by_grid.setdefault(_GRIDS[domain.spacing], []).append(domain.name)
    if by_grid:
        learned = "; ".join(f"{', '.join(names)} ({grid})" for grid, names in by_grid.items())
        yield f"these values were taken from the fit part and count as public, `domains` declares others: {learned}"
    kept = [d.name for d in domains if d.keeps_missing]
    if kept:
        yield f"missing cells stay missing in {', '.join(kept)}: which cells are empty is public"

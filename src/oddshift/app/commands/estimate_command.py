"""`oddshift estimate`: counts, shares and means of the original, from a release and the public half of its policy."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import Json


def estimate(
    released: Annotated[Path, typer.Argument(help="The released table: CSV, JSON lines or Parquet.")],
    key: Annotated[Path, typer.Option(help="The key.json that was written next to the policy.")],
    by: Annotated[str, typer.Option(help="Columns, separated by commas; several give a cross table.")],
    unit: Annotated[str, typer.Option(help="The column of the group, where rows share draws within groups.")] = "",
    as_json: Json = False,
) -> None:
    """Estimate what the original table held, with 95 % intervals: counts and shares by columns, means of numbers.

    Example: oddshift estimate released.csv --key policy/key.json --by region,age
    """
    from oddshift.data.formats import open_data
    from oddshift.protect.channel_inversion import estimate as estimated

    names = [name.strip() for name in by.split(",") if name.strip()]
    file = open_data(released, "table", header=None)
    wanted = [*names, *([unit] if unit else [])]
    missing = [name for name in wanted if name not in file.names]
    if missing:
        raise typer.BadParameter(f"the release has no column {missing[0]!r}")
    columns: dict[str, list[object]] = {name: [] for name in wanted}
    for block in file.blocks(lambda size: None):
        for name in wanted:
            columns[name] += block.cells(name)
    found = estimated(columns, key, names, unit=unit)
    print(json.dumps(asdict(found)) if as_json else repr(found))

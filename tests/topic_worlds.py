"""Small worlds whose topic mix can shift: rows of one topic repeat a value, other rows do not."""

import csv

import numpy as np

COLUMNS = ("first", "second", "third", "fourth")
VALUES = np.array(["east", "north", "west"])


def mixed_rows(n, alike, rng, values=VALUES):
    """A table of categories; in a share of the rows all cells are the same."""
    drawn, same = rng.integers(0, len(values), (n, len(COLUMNS))), rng.random((n, 1)) < alike
    cells = values[np.where(same, drawn[:, :1], drawn)]
    return {name: cells[:, c].tolist() for c, name in enumerate(COLUMNS)}


def write_rows(path, columns):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


CONFIG = f"""
[data]
kind = "table"
path = "old.csv"
categorical = {list(COLUMNS)}
weight = 4.0

[audit]
epsilon = 1.0
delta = 0.04
attackers = ["plugin"]
"""

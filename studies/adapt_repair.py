"""What adapt chooses with and without repair: the expected loss of the release next to one constant value of each kind.

The same question is asked twice of small real tables and of made-up people: once every form may be chosen but repair,
once repair too. Losses of repaired values are measured on the documents to certify on; the others are exact.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

import pandas as pd
from sklearn import datasets
from statsmodels import datasets as other

import oddshift as od
from oddshift.adapt import Adaptation, AdaptSettings
from oddshift.data.embedded.people import people
from studies.tables import table, write

DELTA = 0.05

ATTACKERS = ("portfolio",)


def frames() -> dict[str, pd.DataFrame]:
    """Tables that ship with scikit-learn and statsmodels; of the wide ones ten columns."""
    made = {name: getattr(datasets, f"load_{name}")(as_frame=True).frame for name in ("wine", "diabetes")}
    made["WDBC"] = datasets.load_breast_cancer(as_frame=True).frame.iloc[:, [*range(9), 30]]
    made["anes96"] = other.anes96.load_pandas().data.iloc[:, 1:]
    made["fair"] = other.fair.load_pandas().data
    return made


def questions(names: list[str]) -> Iterator[tuple[str, od.data.Dataset, float]]:
    """Each data set with its budget."""
    for name, frame in frames().items():
        if not names or name in names:
            yield name, od.table(frame), 4.0
    if not names or "people" in names:
        yield "people", od.texts(list(people(3_000).texts)), 1.5


def row_of(name: str, found: Adaptation, seconds: float) -> list[str]:
    """One line: the guarantee, what it costs, and how many tiers have each form."""
    repaired = sum(mode != "drawn" for mode in found.repair)
    forms = ", ".join(f"{found.forms.count(form)} {form}" for form in ("noise", "surrogate", "mark"))
    loss, kept = ("-", "-") if found.loss is None else (f"{found.loss:.3f}", f"{found.kept:.0%}")
    scales = f"{min(found.scales or (0,)):g}-{max(found.scales or (0,)):g}"
    return [
        name,
        found.guarantee,
        scales,
        f"{found.constant_loss:.3f}",
        loss,
        kept,
        forms,
        str(repaired),
        f"{seconds:.0f}",
    ]


def main() -> None:
    """All data sets, or those that are named."""
    rows = []
    for name, data, epsilon in questions(sys.argv[1:]):
        asked = AdaptSettings(epsilon=epsilon, delta=DELTA)
        for repair in ("never", "auto"):
            began = process_time()
            settings = replace(asked, repair=repair)
            found = od.adapt(data, epsilon=epsilon, delta=DELTA, attackers=ATTACKERS, settings=settings)
            rows.append(row_of(f"{name}, ε = {epsilon:g}, repair {repair}", found.result, process_time() - began))
            print(*rows[-1], sep=" | ", flush=True)
    header = ["data", "guarantee", "scales", "one constant", "loss", "kept", "tiers", "repaired", "CPU s"]
    about = " ".join((__doc__ or "").split())
    if not sys.argv[1:]:
        write("adapt_repair", "Repair as a form that adapt chooses", "\n\n".join([about, table(header, rows)]))


if __name__ == "__main__":
    main()

"""Our risks of a released table next to Anonymeter's, on two real tables, before and after an adapted release.

Anonymeter needs an older NumPy than ours, so it is installed into an environment of its own in a temporary folder; an
interpreter that has it may be given instead: python -m studies.table_risks PYTHON. Where it cannot be had, its columns
stay empty and the page says why.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from statsmodels.datasets import anes96 as anes96_file

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.app.display import choice_line
from oddshift.app.init.suggestion import suggest_epsilon
from oddshift.app.preparation import prepare
from oddshift.app.questions import ask_adapt
from oddshift.audit.released_table import release_headline
from oddshift.data.codecs import TableCodec
from oddshift.mechanisms import MechanismSettings, build_mechanism
from oddshift.protect.measured_release import measured_release
from studies.tables import table, write

ATTACKS = 100

ANONYMETER_NOTE = (
    f"Anonymeter ran in an environment of its own with {ATTACKS} attacks of each kind and at most 3,000 attempts at a "
    "predicate; ours uses 500 attacks. The inferred column is the one of largest excess in each implementation, "
    "so the two may name different ones. **The two disagree about inference after the release**: Anonymeter's rate "
    "lies far above its baseline, ours does not. Its baseline draws random released rows and then aligns them with the "
    "targets by row number (`reindex_like`, version 1.1.0), so most baseline guesses are empty: on a release of anes96 "
    "without remapping it gave .047 for the two-valued column vote, where guessing at random is right about half of "
    "the time, next to an attack rate of .519. Ours compares with the cell of a random released row."
)

Table = dict[str, list[Any]]

ANONYMETER = """
import json, sys
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

def rates(evaluator, **options):
    evaluator.evaluate(**options)
    found = evaluator.results()
    return [found.attack_rate.value, found.baseline_rate.value]

def first(make, **options):
    try:
        return rates(make(), **options)
    except Exception as error:
        return str(error)[:80]

original, released = (pd.read_csv(path) for path in sys.argv[1:3])
attacks, columns = int(sys.argv[3]), list(original.columns)
half = len(columns) // 2
found = {
    "singling out by one column": first(
        lambda: SinglingOutEvaluator(ori=original, syn=released, n_attacks=attacks, max_attempts=3000),
        mode="univariate",
    ),
    "singling out by several columns": first(
        lambda: SinglingOutEvaluator(ori=original, syn=released, n_attacks=attacks, n_cols=3, max_attempts=3000),
        mode="multivariate",
    ),
    "linking two halves of the columns": first(
        lambda: LinkabilityEvaluator(
            ori=original, syn=released, n_attacks=attacks, aux_cols=(columns[:half], columns[half:]), n_neighbors=5
        )
    ),
}
inferred = [
    first(
        lambda: InferenceEvaluator(
            ori=original, syn=released, n_attacks=attacks, secret=secret,
            aux_cols=[c for c in columns if c != secret], regression=original[secret].dtype.kind in "fi",
        )
    )
    for secret in columns
]
inferred = [pair for pair in inferred if not isinstance(pair, str)]
if inferred:
    found["inferring a column"] = max(inferred, key=lambda pair: pair[0] - pair[1])
print(json.dumps(found))
"""


def anes96() -> Table:
    """The American National Election Study of 1996 as statsmodels has it: 944 people, 10 columns."""
    frame = anes96_file.load_pandas().data.drop(columns="logpopul")
    columns: Table = {name: [int(x) for x in frame[name]] for name in frame.columns}
    columns["vote"] = ["dole" if x else "clinton" for x in columns["vote"]]
    return columns


def breast_cancer_cells() -> Table:
    """Ten means of the Breast Cancer Wisconsin measurements, and the diagnosis: 569 people, 11 columns."""
    loaded = load_breast_cancer()
    names = tuple(str(name).replace(" ", "_") for name in loaded.feature_names[:10])
    columns: Table = {name: loaded.data[:, c].tolist() for c, name in enumerate(names)}
    columns["diagnosis"] = [str(loaded.target_names[t]) for t in loaded.target]
    return columns


def anonymeter_python(folder: Path) -> tuple[str, str]:
    """The interpreter of an environment with Anonymeter, or why there is none."""
    if len(sys.argv) > 1:
        return sys.argv[1], ""
    venv.create(folder / "env", with_pip=True)
    python = str(folder / "env" / "bin" / "python")
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "anonymeter"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return "", f"Anonymeter could not be installed: {done.stderr.strip().splitlines()[-1][:160]}"
    return python, ""


def by_anonymeter(python: str, folder: Path, tables: list[Table]) -> dict[str, Any]:
    """Attack and baseline rates of the real package."""
    paths = [folder / f"{k}.csv" for k in range(len(tables))]
    for path, columns in zip(paths, tables, strict=True):
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    done = subprocess.run(
        [python, "-W", "ignore", "-c", ANONYMETER, *map(str, paths), str(ATTACKS)],
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {}
    return found


def rows_of(name: str, columns: Table, python: str, folder: Path) -> tuple[list[Any], list[str]]:
    """A line for each risk, before and after, and what the adaptation says of it."""
    rng = np.random.default_rng(0)
    prepared = prepare(od.table(columns), 0)
    codec = prepared.codec
    assert isinstance(codec, TableCodec)
    epsilon = suggest_epsilon(codec.space, codec.tiers, rng, every_tier=True).epsilon
    asked = MechanismSettings(calibrated=True)
    made = ask_adapt(prepared, asked, AdaptSettings(epsilon=epsilon, delta=0.1, advantage={"*": 0.35}))
    mechanism = build_mechanism(asked, codec.space, codec.tiers, epsilon)
    mechanism = mechanism if made.policy is None else made.policy.mechanism()
    encoded = codec.encode(columns)
    released = encoded.decode(mechanism.sample(encoded.records.points, rng))
    ordered = {column: columns[column] for column in codec.settings.secret}
    ours = measured_release(codec, columns, released, rng)
    lines = []
    for when, risks, shown in (("before", ours.before, ordered), ("after", ours.after, released)):
        theirs = by_anonymeter(python, folder, [ordered, {c: shown[c] for c in ordered}]) if python else {}
        for risk in risks:
            key = "inferring a column" if risk.name.startswith("inferring") else risk.name
            said = theirs.get(key, "-")
            pair = f"{said[0]:.3f} ({said[1]:.3f})" if isinstance(said, list) else said
            low, high = risk.interval
            own = f"{risk.rate:.3f} [{low:.3f}, {high:.3f}] ({risk.baseline:.3f})" if risk.attacks else "no predicate"
            lines.append([name, when, risk.name, own, pair])
    lines.append([name, "after", "released rows that equal a real one", f"{ours.equal_rows} of {ours.rows}", ""])
    return lines, [f"**{name}**, ε = {epsilon:g}: {choice_line(made.result)}", release_headline(ours)]


def main() -> None:
    """Both tables, both implementations."""
    found: list[Any] = []
    said: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        python, why = anonymeter_python(folder)
        for name, columns in (("anes96", anes96()), ("WDBC", breast_cancer_cells())):
            lines, sentences = rows_of(name, columns, python, folder)
            found += lines
            said += sentences
    header = ["table", "release", "risk", "ours: rate [95 %] (baseline)", "Anonymeter: rate (baseline)"]
    note = why or ANONYMETER_NOTE
    text = "\n\n".join([*said, note, table(header, found)])
    write("table_risks", "Risks of released tables, next to Anonymeter", text)


if __name__ == "__main__":
    main()

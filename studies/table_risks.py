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
from oddshift.app.init.suggestion import suggest_epsilon
from oddshift.app.report.wording import adaptation_sentence
from oddshift.app.run import Run
from oddshift.audit.released_table import ABOVE_BASELINE, release_headline
from oddshift.data.codecs import TableCodec
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MechanismSettings, build_mechanism
from oddshift.protect.measurement import measured_release
from studies.tables import table, write

ATTACKS = 100

ANONYMETER_NOTE = (
    f"Anonymeter ran in an environment of its own with {ATTACKS} attacks of each kind and at most 3,000 attempts at a "
    "predicate; ours uses 500 attacks. The inferred column is the one of largest excess in each implementation, "
    "so the two may name different ones."
)

COINS_NOTE = """\
## The baseline of inference

Anonymeter (version 1.1.0) reports inference far above its baseline after either release, ours does not. The difference
lies in its baseline. Its naive attacker takes the secret cells of random released rows, and these guesses are then put
in the order of the targets by row number (`guesses.reindex_like(targets)`). A released row that was drawn and is not
among the targets loses its guess, a target whose row number was not drawn gets an empty guess, and an empty guess is
wrong. What is left of the baseline is about attacks / rows of what a random guess achieves, from the released rows of
the targets themselves. (A further slip: a number is right when |guess − truth| / guess ≤ .05, so a negative guess
always is.)

A table in which nothing can be learned shows it: three columns of fair coins, 1,000 rows, and a released table of other
fair coins. Any guess is right in half of the cases.

{coins}

So the excess that it prints for a column of two values is the guess itself. Below, its attack on every column is held
against the cell of a random released row without that step, and against the commonest released value, which any
attacker may say without a model.

{columns}

{said}
"""

COINS = """
import json
import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator

rng = np.random.default_rng(0)
original, released = (pd.DataFrame({n: rng.choice(["x", "y"], 1000) for n in ("a", "b", "secret")}) for _ in range(2))
found = []
for attacks in (100, 500, 1000):
    made = InferenceEvaluator(
        ori=original, syn=released, n_attacks=attacks, secret="secret", aux_cols=["a", "b"], regression=False
    )
    made.evaluate()
    said = made.results()
    anyone = released.secret.sample(attacks).to_numpy() == original.secret.sample(attacks).to_numpy()
    found.append([attacks, said.attack_rate.value, said.baseline_rate.value, float(anyone.mean())])
print(json.dumps(found))
"""

Table = dict[str, list[Any]]

ANONYMETER = """
import json, sys
import numpy as np
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
def right(guesses, truth, is_number):
    if not is_number:
        return float((guesses == truth).mean())
    return float((np.abs(guesses - truth) <= 0.05 * np.abs(truth)).mean())

def compared(secret):
    is_number = original[secret].dtype.kind in "fi"
    pair = first(
        lambda: InferenceEvaluator(
            ori=original, syn=released, n_attacks=attacks, secret=secret,
            aux_cols=[c for c in columns if c != secret], regression=is_number,
        )
    )
    truth = original[secret].to_numpy()
    anyone = [right(released[secret].sample(frac=1.0).to_numpy(), truth, is_number) for _ in range(20)]
    common = right(np.repeat(released[secret].mode().iloc[0], len(truth)), truth, is_number)
    return [secret, pair, float(np.mean(anyone)), common]

each = [compared(secret) for secret in columns]
found["by column"] = [row for row in each if not isinstance(row[1], str)]
inferred = [row[1] for row in found["by column"]]
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
    return said_by(python, ANONYMETER, *map(str, paths), str(ATTACKS)) or {}


def said_by(python: str, program: str, *arguments: str) -> Any:
    """What a program prints as JSON in the environment with Anonymeter; None where it fails."""
    command = [python, "-W", "ignore", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else None


def rows_of(name: str, columns: Table, python: str, folder: Path) -> tuple[list[Any], list[str], list[Any]]:
    """A line for each risk, before and after, what the adaptation says of it, and inference column by column."""
    rng = np.random.default_rng(0)
    prepared = prepare(od.table(columns), 0)
    codec = prepared.codec
    assert isinstance(codec, TableCodec)
    epsilon = suggest_epsilon(codec.space, codec.tiers, rng, odds=3.0, every_tier=True).epsilon
    asked = MechanismSettings(calibrated=True)
    made = Run(prepared, asked).adapt(AdaptSettings(epsilon=epsilon, delta=0.1, advantage={"*": 0.35}))
    mechanism = build_mechanism(asked, codec.space, codec.tiers, epsilon)
    released = made.policy or made.proposal
    mechanism = mechanism if released is None else released.policy.mechanism()
    encoded = codec.encode(columns)
    released = encoded.decode(mechanism.sample(encoded.records.points, rng))
    ordered = {column: columns[column] for column in codec.settings.secret}
    ours = measured_release(codec, columns, released, rng)
    lines, by_column = [], []
    for when, risks, shown in (("before", ours.before, ordered), ("after", ours.after, released)):
        theirs = by_anonymeter(python, folder, [ordered, {c: shown[c] for c in ordered}]) if python else {}
        by_column = [[name, *row] for row in theirs.get("by column", [])]
        for risk in risks:
            key = "inferring a column" if risk.name.startswith("inferring") else risk.name
            said = theirs.get(key, "-")
            pair = f"{said[0]:.3f} ({said[1]:.3f})" if isinstance(said, list) else said
            low, high = risk.interval
            own = f"{risk.rate:.3f} [{low:.3f}, {high:.3f}] ({risk.baseline:.3f})" if risk.attacks else "no predicate"
            lines.append([name, when, risk.name, own, pair])
    lines.append([name, "after", "released rows that equal a real one", f"{ours.equal_rows} of {ours.rows}", ""])
    return (
        lines,
        [f"**{name}**, ε = {epsilon:g}: {adaptation_sentence(made.result)}", release_headline(ours)],
        by_column,
    )


def settled(python: str, by_column: list[Any]) -> str:
    """What the baseline of inference does on coins, and both tables with baselines that guess."""
    coins = said_by(python, COINS)
    if coins is None:
        return ""
    shown = [[count, *(f"{rate:.3f}" for rate in rates)] for count, *rates in coins]
    made = [[n, c, f"{a:.3f}", f"{b:.3f}", f"{r:.3f}", f"{k:.3f}"] for n, c, (a, b), r, k in by_column]
    above = [f"{c} of {n} ({a - max(r, k):+.3f})" for n, c, (a, _), r, k in by_column if a - max(r, k) > ABOVE_BASELINE]
    end = (
        f"more than {ABOVE_BASELINE:g} above the better of the two in {', '.join(above)}"
        if above
        else (f"within {ABOVE_BASELINE:g} of the better of the two in every column")
    )
    said = (
        f"After the releases its attack is {end}. A rate of {ATTACKS} attacks has a standard error of up to .05, so "
        f"some of {len(by_column)} columns lie there by chance."
    )
    attack = ["Anonymeter: attack", "its baseline", "random released row"]
    return COINS_NOTE.format(
        coins=table(["attacks", *attack], shown),
        columns=table(["table", "column", *attack, "commonest value"], made),
        said=said,
    )


def main() -> None:
    """Both tables, both implementations."""
    found: list[Any] = []
    said: list[str] = []
    by_column: list[Any] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        python, why = anonymeter_python(folder)
        for name, columns in (("anes96", anes96()), ("WDBC", breast_cancer_cells())):
            lines, sentences, inferred = rows_of(name, columns, python, folder)
            found += lines
            said += sentences
            by_column += inferred
        baseline = settled(python, by_column) if python else ""
    header = ["table", "release", "risk", "ours: rate [95 %] (baseline)", "Anonymeter: rate (baseline)"]
    note = why or ANONYMETER_NOTE
    text = "\n\n".join([*said, note, table(header, found), baseline])
    write("table_risks", "Risks of released tables, next to Anonymeter", text)


if __name__ == "__main__":
    main()

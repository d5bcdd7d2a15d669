"""What a release is worth: losses of repaired noise next to noise, the paper's remap, constants and surrogates.

Every data set is released once at each budget. The law behind the repair is learned from fit documents with at least
ten documents behind every statistic, and everything is measured on documents that it never saw. The noise is the same
in all columns of a row, so the leakage before repair is too; nothing here was certified.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from statsmodels import datasets as other

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.repair import LEAST, best_outputs, fit_law, law_of_release
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.data.codecs import TextCodec, TextSettings, data_folder, read_vectors
from oddshift.data.detectors import Pipeline
from oddshift.data.embedded.people import people
from oddshift.mechanisms import MECHANISMS, Mechanism, MechanismSettings
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import constant_of_each_kind
from oddshift.model.cost import cost_of
from oddshift.model.records import Records
from oddshift.model.release import draw_once, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from studies.published import read_published
from studies.tables import table, write

LEVELS = 30
"""Distinct values of a number at most: quantiles beyond that."""

BUDGETS = {"words": (0.5, 1.0, 1.5, 2.0), "cells": (1.0, 2.0, 4.0)}


@dataclass(frozen=True)
class Released:
    """One release of one data set: the secrets, and what each form gives for them."""

    secrets: Records
    known: Knowledge
    forms: dict[str, IntArray]
    cost: str

    def loss(self, name: str) -> float:
        """The mean cost of one form."""
        space, points, outputs = self.secrets.space, self.secrets.points, self.forms[name]
        table_of = cost_of(self.cost).between(space, np.arange(len(space)), space)
        return float(table_of[points, outputs].mean())

    def pairs(self, name: str) -> float:
        """Total variation between the pairs of successive secrets of a form and the true ones."""
        at = np.flatnonzero(np.diff(self.secrets.document_of_position) == 0)
        size = len(self.secrets.space)
        laws = [
            np.bincount(values[at] * size + values[at + 1], minlength=size**2) / len(at)
            for values in (self.secrets.points, self.forms[name])
        ]
        return float(0.5 * np.abs(laws[0] - laws[1]).sum())


def released(fit: Records, secrets: Records, tiers: Tiers, epsilon: float, cost: str, *, learns: bool) -> Released:
    """Draw the noise once, and repair it in every way; `learns` adds the law that the release teaches by itself."""
    rng, mechanism = np.random.default_rng(7), noise(fit.space, tiers, epsilon)
    known = knowledge(mechanism, tiers, fit)
    release = perturb(secrets, mechanism, tiers, rng)
    law, count = fit_law(known, LEAST), len(release.outputs)
    forms = {
        "raw": release.outputs,
        "paper": Remap(mechanism, known.weights, cost).destination[release.outputs],
        "best": best_outputs(law.marginals(known, release), fit.space, cost, count),
        "typical": law.draw(known, release, rng),
        "surrogate": surrogates(known, secrets, rng),
    }
    if learns:
        taught = law_of_release(mechanism, tiers, release, rng)
        forms["taught"] = best_outputs(taught.marginals(known, release), fit.space, cost, count)
    constant = constant_of_each_kind(fit.space, fit.counts() + 1e-9, cost, tiers.labels)[0]
    always = np.zeros(len(tiers), dtype=np.int64)
    always[tiers.labels[constant]] = constant
    forms["constant"] = always[tiers.labels[secrets.points]]
    return Released(secrets, known, forms, cost)


def noise(space: Space, tiers: Tiers, epsilon: float) -> Mechanism:
    """The exponential mechanism inside each kind."""
    asked = MechanismSettings(name="tiered", scales=(1.0,) * len(tiers), outputs="tier")
    return MECHANISMS["tiered"].configured(space, tiers, epsilon, asked)


def surrogates(known: Knowledge, secrets: Records, rng: np.random.Generator) -> IntArray:
    """A draw of the kind that ignores the secret."""
    found, kinds = np.empty_like(secrets.points), known.tiers.labels[secrets.points]
    for kind in np.unique(kinds):
        points, mine = np.flatnonzero(known.tiers.labels == kind), np.flatnonzero(kinds == kind)
        law = known.weights[points]
        found[mine] = rng.choice(points, size=len(mine), p=law / law.sum())
    return found


FORMS = ("constant", "surrogate", "raw", "paper", "best", "typical")


def row_of(name: str, epsilon: float, found: Released, fresh: float | None = None) -> list[str]:
    """One line of the table of losses."""
    losses = [f"{found.loss(form):.3f}" for form in FORMS]
    taught = f"{found.loss('taught'):.3f}" if "taught" in found.forms else ""
    kept = 1.0 - found.loss("best") / found.loss("constant")
    pairs = [f"{found.pairs(form):.2f}" for form in ("raw", "best", "typical")]
    return [name, f"{epsilon:g}", *losses, taught, f"{kept:.0%}", *pairs, "" if fresh is None else f"{fresh:.2f}"]


def corpus_rows() -> list[list[str]]:
    """The embedded corpus, whose pairs a fresh sample of the same size shows as well."""
    made = people(3_000)
    fit, secrets = made.records.take(np.arange(1_800)), made.records.take(np.arange(1_800, 3_000))
    other = people(1_200, seed=99).records
    rows = []
    for epsilon in (0.7, 0.9, 1.2, 1.5):
        found = released(fit, secrets, made.tiers, epsilon, "cosine", learns=epsilon == 1.2)
        rows.append(row_of("embedded corpus", epsilon, found, fresh_pairs(secrets, other)))
    return rows


def fresh_pairs(one: Records, other: Records) -> float:
    """Total variation between the pairs of two samples of one law."""
    laws, size = [], len(one.space)
    for records in (one, other):
        at = np.flatnonzero(np.diff(records.document_of_position) == 0)
        laws.append(np.bincount(records.points[at] * size + records.points[at + 1], minlength=size**2) / len(at))
    return float(0.5 * np.abs(laws[0] - laws[1]).sum())


def news_rows(most: int) -> list[list[str]]:
    """AG News with its kinds as tiers, each secret of a document drawn once."""
    corpus, vectors = read_published("ag_news"), read_vectors(data_folder() / "glove.6B.100d.npz")
    chosen = np.random.default_rng(0).permutation(len(corpus))[:most]
    texts = [corpus.texts[d] for d in chosen]
    pipeline = Pipeline(data_folder() / "ner" / "en_core_web_sm_ner")
    codec = TextCodec.fit({"text": texts}, TextSettings(is_public=True), detectors=[pipeline], vectors=vectors)
    records = draw_once(codec.encode({"text": texts}).records).records
    cut = round(0.6 * len(records))
    fit, secrets = records.take(np.arange(cut)), records.take(np.arange(cut, len(records)))
    return [
        row_of("AG News", epsilon, released(fit, secrets, codec.tiers, epsilon, "cosine", learns=False))
        for epsilon in BUDGETS["words"]
    ]


@dataclass(frozen=True)
class Table:
    """Numbers by row and column, and the column to predict (whether it exceeds its mean)."""

    name: str
    values: FloatArray
    target: int


def tables() -> list[Table]:
    """Tables that ship with scikit-learn and statsmodels."""
    cancer, sugar, wine = (getattr(datasets, f"load_{name}")() for name in ("breast_cancer", "diabetes", "wine"))
    found = [
        Table("fair", other.fair.load_pandas().data.to_numpy(float), 8),
        Table("anes96", other.anes96.load_pandas().data.to_numpy(float)[:, 1:], 9),
        Table("diabetes", np.column_stack([sugar.data, sugar.target]), 10),
        Table("WDBC", np.column_stack([cancer.data[:, :10], cancer.target]), 10),
        Table("wine", np.column_stack([wine.data, wine.target == 0]), 13),
        Table("randhie", other.randhie.load_pandas().data.to_numpy(float)[::5], 0),
    ]
    return [Table(t.name, t.values[np.random.default_rng(0).permutation(len(t.values))], t.target) for t in found]


def cells(values: FloatArray) -> tuple[IntArray, FloatArray, IntArray]:
    """(cell numbers (rows, columns), standardised value of each number, column of each number)."""
    points, column, codes = [], [], np.empty(values.shape, dtype=np.int64)
    for c, mine in enumerate(values.T):
        distinct = np.unique(mine)
        if len(distinct) > LEVELS:
            distinct = np.unique(np.quantile(mine, (np.arange(LEVELS) + 0.5) / LEVELS))
        codes[:, c] = len(points) + np.abs(mine[:, None] - distinct).argmin(axis=1)
        points += ((distinct - mine.mean()) / mine.std()).tolist()
        column += [c] * len(distinct)
    return codes, np.array(points), np.array(column)


def table_rows(source: Table) -> tuple[list[list[str]], list[list[str]]]:
    """Losses at every budget, and what statistics and a model trained on the release are worth."""
    codes, value, column = cells(source.values)
    rows, width = codes.shape
    space = Space(np.column_stack([1_000.0 * column, value]))
    names = tuple(f"c{c}" for c in range(width))
    tiers = Tiers(column, names=names, scales=(1.0,) * width, is_public=True)
    records = Records(space=space, points=codes.ravel(), offsets=np.arange(rows + 1) * width)
    one, two = round(0.4 * rows), round(0.8 * rows)
    fit, secrets = records.take(np.arange(one)), records.take(np.arange(one, two))
    losses, use = [], []
    for epsilon in BUDGETS["cells"]:
        found = released(fit, secrets, tiers, epsilon, "euclidean", learns=False)
        losses.append(row_of(source.name, epsilon, found))
        shown = {name: value[points].reshape(-1, width) for name, points in found.forms.items()}
        use.append(use_row(source, epsilon, value[codes[one:two]], shown, value[codes[two:]]))
    return losses, use


def use_row(
    source: Table, epsilon: float, old: FloatArray, shown: dict[str, FloatArray], test: FloatArray
) -> list[str]:
    """AUC on held-out originals, the slope of correlations and the largest move of a mean, for several releases."""
    rng = np.random.default_rng(3)
    made = {**shown, "copula": copula(old, rng), "shuffled": rng.permuted(old, axis=0)}
    order = ("copula", "shuffled", "raw", "best", "typical")
    said = [f"{auc(rows, test, source.target):.3f}" for rows in (old, *(made[name] for name in order))]
    slopes = [f"{slope(old, made[name]):.2f}" for name in ("raw", "best", "typical")]
    moved = [f"{np.abs(made[name].mean(axis=0) - old.mean(axis=0)).max():.2f}" for name in ("raw", "best", "typical")]
    return [source.name, f"{epsilon:g}", *said, *slopes, *moved]


def auc(train: FloatArray, test: FloatArray, target: int) -> float:
    """Logistic regression for one column above its mean, from the other columns."""
    middle = test[:, target].mean()
    old, new = ((rows[:, target] > middle).astype(int) for rows in (train, test))
    if old.min() == old.max():
        return 0.5
    model = LogisticRegression(max_iter=1_000).fit(np.delete(train, target, 1), old)
    return float(roc_auc_score(new, model.predict_proba(np.delete(test, target, 1))[:, 1]))


def slope(old: FloatArray, new: FloatArray) -> float:
    """Least squares of the correlations of a release on the true ones."""
    upper = np.triu_indices(old.shape[1], 1)
    with np.errstate(invalid="ignore"):
        before, after = (np.nan_to_num(np.corrcoef(rows.T))[upper] for rows in (old, new))
    return float(before @ after / (before @ before))


def copula(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A Gaussian copula of the rows: normal scores, their correlations, and the quantiles of every column."""
    scores = norm.ppf((rankdata(rows + 1e-9 * rng.random(rows.shape), axis=0) - 0.5) / len(rows))
    drawn = norm.cdf(rng.multivariate_normal(np.zeros(rows.shape[1]), np.corrcoef(scores.T), size=len(rows)))
    return np.column_stack([np.sort(rows[:, c])[(drawn[:, c] * len(rows)).astype(int)] for c in range(rows.shape[1])])


def main() -> None:
    """All data sets; with an argument AG News too, which takes some minutes: the number of its texts."""
    losses, use = corpus_rows(), []
    for source in tables():
        mine, its_use = table_rows(source)
        losses += mine
        use += its_use
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    write("worth", "What a release is worth", page(losses + (news_rows(most) if most else []), use))


def page(losses: list[list[str]], use: list[list[str]]) -> str:
    """Both tables."""
    first = ["data", "ε", "constant", "surrogate", "noise", "paper's remap", "best", "typical", "best, from release"]
    header = [*first, "best keeps", "pairs, noise", "pairs, best", "pairs, typical", "pairs, fresh sample"]
    ours = ["noise", "best", "typical"]
    second = ["data", "ε", "original", "copula", "shuffled", *ours]
    second += [*(f"slope, {name}" for name in ours), *(f"mean moves (sd), {name}" for name in ours)]
    lost = (
        "Mean cost of a secret (half of one minus the cosine for words, distance in standard deviations for cells); "
        "pairs: total variation between successive secrets and the true ones. `keeps` is one less the loss over that "
        "of one constant value of each kind."
    )
    serves = (
        "Area under the curve of a logistic regression that is trained on the release and tested on original rows that "
        "were never released; slope of correlations on the true ones; largest move of a mean."
    )
    about = " ".join((__doc__ or "").split())
    parts = [about, "## What is lost", lost, table(header, losses)]
    return "\n\n".join([*parts, "## What tables still serve for", serves, table(second, use)])


if __name__ == "__main__":
    main()

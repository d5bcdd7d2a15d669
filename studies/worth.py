"""What a certified release is worth: its loss next to one constant value, surrogates, noise, the paper's remap, repair.

Each data set is cut once. Four fifths go through `od.adapt` as a user would ask it, with the goals of the line; what
the policy and its alternatives cost is measured on the last fifth, which nothing has read. Noise, remap, `best` and
`typical` are at the certified scales, so that they leak the same, and both repair every tier, marked ones from the
others; where nothing was certified they have no line. Tables are then released as a whole, and what was trained on the
release is tested on the last fifth.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.app.results import AdaptRun
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.repair import LEAST, Repair, fit_law
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.storage import load, save
from oddshift.data.dataset import Dataset
from oddshift.data.preparation import prepare
from oddshift.mechanisms.forms import Formed
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import constant_of_each_kind
from oddshift.model.cost import cost_of
from oddshift.model.records import Records
from oddshift.model.release import draw_once, perturb
from oddshift.protect.policies.policy import Policy, layers
from oddshift.protect.repair import cost_name, shown_points
from studies.tables import table, write
from studies.worth_data import SOURCES, Source
from studies.worth_tables import (
    RISK_HEADER,
    RISKS_SAID,
    TABLE_HEADER,
    TableUse,
    risk_line,
    table_line,
    table_use,
    tables_said,
)

HOME = Path(tempfile.gettempdir()) / "oddshift-worth"

FORMS = ("constant", "surrogate", "noise", "remap", "best", "typical", "released")


@dataclass(frozen=True)
class Worth:
    """One data set: what was asked, what came of it, and what each form loses on documents that nothing has read."""

    name: str
    documents: int
    epsilon: float
    delta: float
    guarantee: str
    scales: tuple[float, float]
    forms: str
    losses: dict[str, float]
    pairs: dict[str, float]
    seconds: float
    use: TableUse | None = None


def worth_of(source: Source) -> Worth:
    """Ask, release, and measure."""
    began, (data, held) = process_time(), source.cut()
    asked = AdaptSettings(epsilon=source.epsilon, delta=source.delta, repair=source.repair)
    fixed = od.adapt(data, epsilon=source.epsilon, delta=source.delta, settings=asked)
    fit = prepare(data, 0).split.fit
    found = fixed.result
    made = Worth(
        source.name,
        len(data),
        source.epsilon,
        source.delta,
        found.guarantee,
        (min(found.scales or (0.0,)), max(found.scales or (0.0,))),
        ", ".join(f"{count} {form}" for form, count in counted(fixed).items()),
        {},
        {},
        0.0,
    )
    release = fixed.policy or fixed.proposal
    if release is not None:
        secrets = records_of(release.policy, held)
        shown = forms_of(release.policy, fit, secrets, is_noise="noise" in found.forms)
        cost, space = cost_name(release.policy), secrets.space
        made = replace(
            made,
            losses={name: loss(space, secrets.points, outputs, cost) for name, outputs in shown.items()},
            pairs={name: pairs_apart(secrets, outputs) for name, outputs in shown.items()}
            | {"fresh": fresh_pairs(secrets, fit)},
        )
        if source.target:
            made = replace(made, use=table_use(release, fit, data, held, source.target))
    return replace(made, seconds=process_time() - began)


def counted(fixed: AdaptRun) -> dict[str, int]:
    """How many tiers have each form, by their repair where they are repaired."""
    said = [
        form if mode == "drawn" else mode for form, mode in zip(fixed.result.forms, fixed.result.repair, strict=True)
    ]
    return {form: said.count(form) for form in dict.fromkeys(said)}


def records_of(policy: Policy, held: Dataset) -> Records:
    """Held-out documents as the policy reads them, each secret of a text once."""
    records: Records = policy.codec.encode(held.columns).records
    is_once = policy.kind == "text" and policy.settings.repeats == "once"
    return draw_once(records).records if is_once else records


def forms_of(policy: Policy, fit: Records, secrets: Records, *, is_noise: bool) -> dict[str, IntArray]:
    """What the secrets become in each form; a mark costs what a constant of its kind costs.

    Noise and the paper's remap keep the tiers that are not noise as the policy says.
    """
    rng, mechanism, tiers, cost = np.random.default_rng(7), policy.mechanism(), policy.tiers, cost_name(policy)
    known = knowledge(mechanism, tiers, fit)
    kinds = mechanism.output_kinds
    kinds = np.zeros(len(fit.space), dtype=np.int64) if kinds is None else kinds
    constant = constant_of_each_kind(fit.space, known.weights, cost, kinds)[0]
    always = np.zeros(int(kinds.max()) + 1, dtype=np.int64)
    always[kinds[constant]] = constant
    found = {
        "constant": always[kinds[secrets.points]],
        "surrogate": surrogates(known.weights, kinds, secrets.points, rng),
        "released": shown_points(policy, mechanism, secrets, rng),
    }
    marked = policy.marked[secrets.points]
    found["released"][marked] = found["constant"][marked]
    if not is_noise:
        return found
    formed, _, noise = layers(mechanism)
    for name, inner in (("noise", noise), ("remap", Remap(noise, known.weights, cost))):
        whole = inner if formed is None else Formed(inner, tiers, formed.forms, formed.law)
        found[name] = whole.sample(secrets.points, rng)
    release, law = perturb(secrets, mechanism, tiers, rng), fit_law(known, LEAST)
    for mode in ("best", "typical"):
        found[mode] = Repair(law, (mode,) * len(tiers), cost_of(cost))(known, release, rng)
    return found


def surrogates(law: FloatArray, kinds: IntArray, points: IntArray, rng: np.random.Generator) -> IntArray:
    """A draw of the kind that ignores the secret."""
    found = np.empty_like(points)
    for kind in np.unique(kinds[points]):
        members, mine = np.flatnonzero(kinds == kind), np.flatnonzero(kinds[points] == kind)
        found[mine] = rng.choice(members, size=len(mine), p=law[members] / law[members].sum())
    return found


def loss(space: od.Space, points: IntArray, outputs: IntArray, cost: str) -> float:
    """The mean cost; positions in blocks by their secret."""
    total, truth, row = 0.0, *np.unique(points, return_inverse=True)
    for start in range(0, len(truth), 500):
        here = (row >= start) & (row < start + 500)
        costs = cost_of(cost).between(space, truth[start : start + 500], space)
        total += float(costs[row[here] - start, outputs[here]].sum())
    return total / max(1, len(points))


def pairs_apart(secrets: Records, outputs: IntArray) -> float:
    """Total variation between the pairs of successive outputs and those of the secrets."""
    return total_variation(pairs_of(secrets, secrets.points), pairs_of(secrets, outputs))


def fresh_pairs(secrets: Records, fit: Records) -> float:
    """The same of as many other documents: what a sample of the law itself would have."""
    some = fit.take(np.arange(min(len(fit), len(secrets))))
    return total_variation(pairs_of(secrets, secrets.points), pairs_of(some, some.points))


def pairs_of(records: Records, points: IntArray) -> IntArray:
    """A number for every two successive positions of one document."""
    document = records.document_of_position
    at = np.flatnonzero(document[1:] == document[:-1])
    return points[at] * len(records.space) + points[at + 1]


def total_variation(one: IntArray, two: IntArray) -> float:
    """Between the frequencies of two lists of numbers."""
    if not len(one) or not len(two):
        return float("nan")
    _, number = np.unique(np.concatenate([one, two]), return_inverse=True)
    shares = [
        np.bincount(side, minlength=number.max() + 1) / len(side) for side in (number[: len(one)], number[len(one) :])
    ]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def loss_line(row: Worth) -> list[str]:
    """One line of the first table."""
    share = row.losses["released"] / row.losses["constant"] if row.losses else float("nan")
    low, high = row.scales
    return [
        row.name,
        f"{row.documents:,}",
        f"{row.epsilon:g}, {row.delta:g}",
        row.guarantee,
        f"{low:g}" if low == high else f"{low:g}-{high:g}",
        row.forms,
        *(shown(row.losses.get(form), 3) for form in FORMS),
        f"{share:.2f}",
        *(shown(row.pairs.get(form), 2) for form in ("noise", "best", "typical", "fresh")),
        f"{row.seconds:.0f}",
    ]


def is_like_fresh(row: Worth) -> bool:
    """Whether pairs of the typical release are nearly as close to the true ones as those of a fresh sample."""
    return row.pairs["typical"] <= 1.3 * row.pairs["fresh"]


def shown(value: float | None, digits: int) -> str:
    """A number, or nothing."""
    return "" if value is None or np.isnan(value) else f"{value:.{digits}f}"


LOSS_HEADER = [
    "data", "documents", "ε, δ", "guarantee", "scales", "tiers", "one constant (a mark)", "surrogate", "noise",
    "paper's remap", "best", "typical", "released", "of the constant", "pairs, noise", "pairs, best", "pairs, typical",
    "pairs, fresh sample", "CPU s",
]  # fmt: skip


def page(rows: list[Worth]) -> str:
    """Both tables, and how many lines meet what a release should be."""
    certified = [row for row in rows if row.guarantee == "certified"]
    shares = [row.losses["released"] / row.losses["constant"] for row in certified]
    noisy = [row for row in rows if "typical" in row.pairs]
    about = (
        f"{len(certified)} of {len(rows)} releases are certified; {sum(share <= 0.9 for share in shares)} of them cost "
        f"at most .9 of one constant value, {sum(share > 1.0 for share in shares)} cost more than it. Losses are mean "
        "costs of a secret: half of one minus the cosine for words, distance in standard deviations for cells, "
        "kilometres for places. Pairs: total variation between successive secrets and the true ones; that of `typical` "
        f"is at most 1.3 times that of a fresh sample in {sum(map(is_like_fresh, noisy))} of {len(noisy)} lines."
    )
    use = [table_line(row.name, row.use) for row in rows if row.use is not None]
    serves = (
        "A logistic regression for whether a column exceeds its mean, trained on what is said and tested on original "
        "rows that were never read (area under the curve); slope of correlations on the true ones; largest move of a "
        "mean in standard deviations; quality of the typical release next to that of shuffled columns and of "
        f"constants. {tables_said([row.use for row in rows if row.use is not None])}"
    )
    risks = [risk_line(row.name, row.use) for row in rows if row.use is not None]
    intro = " ".join((__doc__ or "").split())
    return "\n\n".join([intro, "## What is lost", about, table(LOSS_HEADER, [loss_line(row) for row in rows]),
                        "## What tables still serve for", serves, table(TABLE_HEADER, use),
                        "## What tables still tell of single rows", RISKS_SAID, table(RISK_HEADER, risks)])  # fmt: skip


def main() -> None:
    """Compute the rows that are missing, or those that are named again, and write the page from all that are there."""
    HOME.mkdir(parents=True, exist_ok=True)
    named = sys.argv[1:]
    for source in SOURCES:
        file = HOME / f"{source.name.replace(' ', '-')}.json"
        if source.name in named or not (named or file.is_file()):
            save(file, worth_of(source))
            print(*loss_line(load(file, Worth)), sep=" | ", flush=True)
    files = [HOME / f"{source.name.replace(' ', '-')}.json" for source in SOURCES]
    write("worth", "What a release is worth", page([load(file, Worth) for file in files if file.is_file()]))


if __name__ == "__main__":
    main()

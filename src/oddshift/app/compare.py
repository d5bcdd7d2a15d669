"""Two runs side by side: what each found, the difference with a standard error where there is one, and what differs.

Where two runs asked different questions, a difference in their answers is shown with a warning.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oddshift.adapt.result import Adaptation, ScaledOutcome
from oddshift.app.report.page_sections import Sources, read_sources
from oddshift.app.report.wording import worst_in_words
from oddshift.audit import AttackerResult, Audit
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.evidence.certificates import Evidence

PAIRED = ("uniform", "anchored")
"""Laws whose values are in the order of the documents, so that runs over the same ones can be compared one by one."""


@dataclass(frozen=True)
class ComparedRow:
    """One quantity in both runs as it is printed, and second − first with its standard error, where it is a number.

    `paired` says that the error is that of differences document by document.
    """

    name: str
    first: str
    second: str
    difference: float | None = None
    error: float | None = None
    paired: bool = False


@dataclass(frozen=True)
class Comparison:
    """The rows of two runs, whether they are about the same documents, and warnings about what differs.

    `detector` is what found the secrets of both, empty where they differ.
    """

    first: str
    second: str
    documents: str
    warnings: tuple[str, ...]
    rows: tuple[ComparedRow, ...]
    detector: str = ""


def compare(first: str | Path, second: str | Path) -> Comparison:
    """Compare two run folders.

    The standard error of a difference is that of the mean of differences document by document when both runs are about
    the same documents, and √(e₁² + e₂²) otherwise, which assumes that the runs are independent.
    """
    one, two = (read_sources(folder, with_examples=False) for folder in (first, second))
    rows: list[ComparedRow] = []
    warned: list[str] = []
    warned += _read_apart(one, two)
    if one.audit and two.audit:
        warned += _asked_apart(one.audit, two.audit)
        rows += _audits(one.audit, two.audit, _same(one, two) == "the same")
    if one.adaptation and two.adaptation:
        rows += _adaptations(one.adaptation, two.adaptation)
    if not rows:
        raise InvalidInput(
            f"{first} and {second} hold nothing of the same kind: one holds an audit, the other an adaptation"
        )
    documents = _same(one, two)
    if documents != "the same":
        warned.append(f"the records are {documents}: differences mix data and method")
    detector = _detector(one) if _detector(one) == _detector(two) else ""
    return Comparison(str(first), str(second), documents, tuple(warned), tuple(rows), detector)


def _evidence(run: Sources) -> tuple[Evidence, ...]:
    """The evidence of the audit, then that of the adaptation."""
    return tuple(item for part in (run.audit, run.adaptation) if part is not None for item in part.evidence)


def _detector(run: Sources) -> str:
    """What found the secrets."""
    return next((part.detector for part in (run.audit, run.adaptation) if part is not None), "")


def _data(run: Sources) -> object:
    """The table of the configuration that describes the data; None where it cannot be read."""
    try:
        return tomllib.loads(run.config).get("data")
    except (ValueError, RecursionError):
        return None


def _same(one: Sources, two: Sources) -> str:
    """The split hash says which rows certify; the configuration says which data the rows belong to."""
    first, second = ({item.split_hash for item in _evidence(run)[:1]} for run in (one, two))
    if first != second or not first:
        return "different"
    is_told = _data(one) == _data(two) and _data(one) is not None
    return "the same" if is_told else "split in the same way, but described differently"


def _read_apart(one: Sources, two: Sources) -> Iterator[str]:
    """What certificates count and what is read together: other units make other numbers of the same data."""
    first, second = ([item.certificate.claim.unit for item in _evidence(run)[:1]] for run in (one, two))
    if first and second and first != second:
        yield (
            f"units differ: certificates count {first[0]}s in one run and {second[0]}s in the other, so rates and "
            "bounds are about different things"
        )
    tables = [data if isinstance(data := _data(run), dict) else {} for run in (one, two)]
    for name, usual in (("joint_by", "document"), ("repeats", "")):
        here, there = (data.get(name, usual) or "the default" for data in tables)
        if here != there:
            yield f"{name} differs: {here} and {there}"


def _asked_apart(one: Audit, two: Audit) -> Iterator[str]:
    for name in ("epsilon", "delta", "alpha", "law", "method", "independent"):
        first, second = getattr(one.settings, name), getattr(two.settings, name)
        if first != second:
            yield f"{name} differs: {first} and {second}"
    if one.detector != two.detector:
        yield f"detector differs: {one.detector} and {two.detector}"
    if one.tiers_are_public != two.tiers_are_public:
        yield "tiers are public in one run and secret in the other"
    if one.tier_names != two.tier_names:
        yield f"tiers differ: {', '.join(one.tier_names)} and {', '.join(two.tier_names)}"
    first, second = (_attackers_of(audit) for audit in (one, two))
    for about in first.keys() & second.keys():
        if first[about] != second[about]:
            yield f"{_named(*about)} is by different attackers: {first[about]} and {second[about]}"


def _audits(one: Audit, two: Audit, same: bool) -> Iterator[ComparedRow]:
    yield ComparedRow("verdict", one.state, two.state)
    yield ComparedRow("mechanism", one.mechanism, two.mechanism)
    yield _plain("budget epsilon", one.settings.epsilon, two.settings.epsilon)
    yield _plain("exact epsilon of one release", one.exact_epsilon, two.exact_epsilon)
    yield ComparedRow("records (fit, select, certify)", str(one.documents), str(two.documents))
    yield ComparedRow("worst bound", worst_in_words(one), worst_in_words(two))
    mine, others = (_by_claim(audit) for audit in (one, two))
    for about, item in mine.items():
        if about in others:
            yield _rate(item, others[about], same)
    rows = {row.name: row for row in two.attackers}
    for row in one.attackers:
        if row.name in rows:
            yield from _attacker(row, rows[row.name])
    witnessed = [a.witness.lower_bound if a.witness else None for a in (one, two)]
    if any(bound is not None for bound in witnessed):
        yield ComparedRow("witnessed leakage", _listed(witnessed[:1]), _listed(witnessed[1:]))


About = tuple[str, str, bool]
"""A claim on rates: its tier, its pair law, and whether it is given W."""


def _by_claim(audit: Audit) -> dict[About, Evidence]:
    """What decides, of each claim the attacker with the worst bound, and what is shown for information."""
    behind = {item.certificate.claim: item for item in audit.evidence}
    return {_about(behind[made.claim]): behind[made.claim] for made in audit.certificates}


def _attackers_of(audit: Audit) -> dict[About, str]:
    return {about: item.certificate.claim.attacker for about, item in _by_claim(audit).items()}


def _about(item: Evidence) -> About:
    claim = item.certificate.claim
    return claim.tier, claim.pair_law, claim.with_context


def _named(tier: str, law: str, is_given: bool) -> str:
    return f"rate, {tier}, {law} pairs{', given W' if is_given else ''}"


def _rate(one: Evidence, two: Evidence, same: bool) -> ComparedRow:
    about, law = _about(one), one.certificate.claim.pair_law
    cells = [
        f"{c.mean:.4f} [{c.lower:.4f}, {c.upper:.4f}] {c.state_in_words}" for c in (one.certificate, two.certificate)
    ]
    paired = same and law in PAIRED and len(one.values) == len(two.values)
    samples = [two.values - one.values] if paired else [one.values, two.values]
    gap = two.certificate.mean - one.certificate.mean
    return ComparedRow(_named(*about), cells[0], cells[1], gap, _error(samples), paired)


def _error(samples: list[FloatArray]) -> float | None:
    """The standard error of a difference of independent means; None where the values hardly vary."""
    if any(len(values) < 2 or not np.ptp(values) for values in samples):
        return None
    return float(np.sqrt(sum(values.var(ddof=1) / len(values) for values in samples)))


def _attacker(one: AttackerResult, two: AttackerResult) -> Iterator[ComparedRow]:
    if one.name != "own":
        yield _gain(f"{one.name}: gain over own", (one.gain, one.gain_error), (two.gain, two.gain_error))
        joint = ((row.joint_gain, row.joint_gain_error) for row in (one, two))
        yield _gain(f"{one.name}: gain by reading together", *joint)
    rates = {} if one.name == "null" else {rate.tier: rate for rate in two.tiers}
    for rate in one.tiers:
        if rate.tier in rates:
            other = rates[rate.tier]
            yield _plain(f"{one.name}: anchored rate, {rate.tier}", rate.anchored, other.anchored)
            yield _plain(f"{one.name}: top-1, {rate.tier}", rate.top1, other.top1)


def _gain(name: str, one: tuple[float, float], two: tuple[float, float]) -> ComparedRow:
    first, second = (f"{mean:+.3f} ± {error:.3f}" for mean, error in (one, two))
    return ComparedRow(f"{name} (nats)", first, second, two[0] - one[0], float(np.hypot(one[1], two[1])))


def _adaptations(one: Adaptation, two: Adaptation) -> Iterator[ComparedRow]:
    yield ComparedRow("adapted", one.state, two.state)
    yield ComparedRow("scales", _listed(one.chosen), _listed(two.chosen))
    if one.exact_epsilon is not None and two.exact_epsilon is not None:
        yield _plain("exact epsilon, adapted", one.exact_epsilon, two.exact_epsilon)
    others = {row.name: row.outcome for row in two.compared}
    for row in one.compared:
        if row.name in others:
            yield from _points(row.name, row.outcome, others[row.name])


def _points(name: str, one: ScaledOutcome, two: ScaledOutcome) -> Iterator[ComparedRow]:
    yield _plain(f"{name}: expected loss", one.loss, two.loss)
    rates = {tier.tier: tier for tier in two.tiers}
    for tier in one.tiers:
        if tier.tier in rates:
            other = rates[tier.tier]
            cells = [f"{t.rate:.4f} ± {t.rate_error:.4f}" for t in (tier, other)]
            error = float(np.hypot(tier.rate_error, other.rate_error))
            yield ComparedRow(f"{name}: rate, {tier.tier}", cells[0], cells[1], other.rate - tier.rate, error)


def _listed(values: Sequence[float | None] | None) -> str:
    return ", ".join("-" if value is None else f"{value:.4g}" for value in values or [None])


def _plain(name: str, first: float, second: float) -> ComparedRow:
    gap = second - first if np.isfinite(first) and np.isfinite(second) else None
    return ComparedRow(name, f"{first:.4f}", f"{second:.4f}", gap)

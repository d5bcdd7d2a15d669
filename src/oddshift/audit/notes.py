"""What an audit says in addition to its numbers: its assumptions, and what to know before trusting them."""

from __future__ import annotations

from collections.abc import Sequence

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.portfolio import out_of_reach
from oddshift.audit.claims import NOTHING_LEARNED, ClaimBuilder
from oddshift.audit.result import AttackerResult
from oddshift.audit.settings import AuditSettings
from oddshift.bounds import zero_failures
from oddshift.evidence.certificates import Evidence
from oddshift.evidence.witness import AnyWitness, Witness
from oddshift.leakage.mpl import exceeds_budget, nearest_distance
from oddshift.model.nouns import nouns_of, units_in_words

CONTROLS = frozenset({"null", "own"})


def assumptions(known: Knowledge, claims: ClaimBuilder, counting: Sequence[Attacker]) -> tuple[str, ...]:
    """What the certificates assume; `counting` are the attackers that they rest on."""
    said = [
        f"{units_in_words(claims.unit, claims.detector)} are independent draws of one population",
        "the noise of every position is drawn independently",
        "vocabulary, tiers and prior come from the fit records and are treated as public",
        f"tiers are {'public' if known.tiers.is_public else 'secret'}",
        *(f"attacker {attacker.name} {_reads(attacker)}" for attacker in counting),
        f"detector: {claims.detector}; {nouns_of(claims.detector).in_clear}",
    ]
    reads_by_size = any(attacker.name.startswith("portfolio") for attacker in counting)
    if reads_by_size and (left_out := out_of_reach(known)):
        said.append(left_out)
    if claims.question.independent:
        said.append("secrets are independent of each other (declared, not tested)")
    return tuple(said)


def _reads(attacker: Attacker) -> str:
    return "reads the public context W" if attacker.with_context else "reads the sensitive positions only"


def single_exceeds(known: Knowledge, epsilon: float) -> bool:
    """Whether one release alone exceeds ε."""
    return beyond(known.mechanism.exact_epsilon, epsilon, known)


def beyond(leakage: float, epsilon: float, known: Knowledge) -> bool:
    """Whether a largest leakage exceeds ε by more than rounding; distances are computed only where they decide."""
    return leakage > epsilon and exceeds_budget(leakage, epsilon, nearest_distance(known.mechanism.space))


def warnings(
    results: Sequence[AttackerResult],
    evidence: Sequence[Evidence],
    known: Knowledge,
    settings: AuditSettings,
    *,
    bounds: tuple[AnyWitness | None, float | None],
) -> tuple[str, ...]:
    """What went wrong or is not enough, one line each."""
    return (
        *_idle(results),
        *_nobody(evidence, settings),
        *_dependent(results, settings),
        *_too_few(evidence, settings),
        *_alone(known, settings),
        *_across(results, evidence),
        *_outside(results, known, *bounds),
    )


def _idle(results: Sequence[AttackerResult]) -> list[str]:
    return [
        f"attacker {row.name} did not significantly beat the single-release baseline"
        f"{' given W' if row.with_context else ''} in log score"
        for row in results
        if not row.learned and row.name not in CONTROLS
    ]


def _nobody(evidence: Sequence[Evidence], settings: AuditSettings) -> list[str]:
    """What to try next where no attacker learned anything and nothing else supports a verdict."""
    if not any(item.certificate.claim.withheld == NOTHING_LEARNED for item in evidence):
        return []
    return [
        "there is no verdict on rates because no attacker learned anything; try more data to learn from, or an "
        "attacker of your own; a proven bound (upper) or declared independence (independent) also support one"
    ]


def _dependent(results: Sequence[AttackerResult], settings: AuditSettings) -> list[str]:
    """A warning that secrets were declared independent although an attacker gained by reading them together."""
    learned = [row for row in results if row.learned]
    if not settings.independent or not learned:
        return []
    best = max(learned, key=lambda row: row.joint_gain)
    return [
        f"secrets were declared independent, yet attacker {best.name} gains {best.joint_gain:.3f} nats by reading them "
        "together: the verdict rests on the attackers, not on the declaration"
    ]


def _too_few(evidence: Sequence[Evidence], settings: AuditSettings) -> list[str]:
    """Tiers with fewer units than the method needs even if nothing exceeds ε."""
    if settings.delta is None:
        return []
    needs = zero_failures(settings.delta, settings.alpha, settings.method)
    found = (
        f"{item.certificate.claim.tier}: too few units to certify delta = {settings.delta:g} by {settings.method}: "
        f"at least {needs} independent units ({_counted(item)}) are needed, there are {len(item.values)}"
        for item in evidence
        if item.certificate.claim.pair_law == settings.law
        and item.certificate.claim.attacker == evidence[0].certificate.claim.attacker
        and len(item.values) < needs
    )
    return list(dict.fromkeys(found))


def _counted(item: Evidence) -> str:
    return units_in_words(item.certificate.claim.unit, item.certificate.claim.detector)


def _alone(known: Knowledge, settings: AuditSettings) -> list[str]:
    exact = known.mechanism.exact_epsilon
    if not single_exceeds(known, settings.epsilon):
        return []
    return [f"one release alone already exceeds the budget: exact epsilon {exact:.4g} > {settings.epsilon:g}"]


def _across(results: Sequence[AttackerResult], evidence: Sequence[Evidence]) -> list[str]:
    """Secret tiers: how often the strongest attacker distinguishes two tiers, compared with two points of one tier."""
    strongest = evidence[0].certificate.claim.attacker
    return [
        f"{rates.tier}: {rates.pair_split.anchored_across:.2%} of the anchored pairs across secret tiers exceed "
        f"epsilon, {rates.pair_split.anchored_within:.2%} within the tier (attacker {row.name}, an estimate)"
        for row in results
        for rates in row.tiers
        if row.name == strongest and rates.pair_split is not None
    ]


def _outside(
    results: Sequence[AttackerResult], known: Knowledge, witness: AnyWitness | None, upper_bound: float | None
) -> list[str]:
    """Estimates that cannot be true: flagged as miscalibrated, never clipped."""
    found = []
    for row in results:
        if upper_bound is not None and beyond(row.largest, upper_bound, known):
            found.append(
                f"attacker {row.name} is miscalibrated: it estimates a leakage of {row.largest:.4g}, "
                f"above the proven bound {upper_bound:.4g}"
            )
        # a bound from the context adds the largest own release, which no sample need hold: estimates may lie below it
        if isinstance(witness, Witness) and row.name not in CONTROLS and row.largest < witness.lower_bound:
            found.append(
                f"attacker {row.name} is miscalibrated: its largest leakage {row.largest:.4g} lies below the "
                f"witnessed {witness.lower_bound:.4g}"
            )
    return found

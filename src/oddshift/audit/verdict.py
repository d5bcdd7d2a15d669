"""The choice of attackers: how each stands on the select documents, and which of them a verdict rests on.

What decides: of all rates that a verdict rests on, the worst one of each claim, and the worst of all first.

A claim is about one tier, without the public context W or given W; of the attackers that count, each bounds it.

The rule of the verdict, in one place: which attackers it rests on, and what all of them together certify.

An attacker counts when it learned something by reading positions together (its joint gain on select documents is beyond
chance). `certified` needs every attacker that counts within δ in every tier, and every attacker within the caps on
right guesses: each at the full level, by intersection-union. `violated` is shown by any attacker that counts, in any
tier, after its own recalibration on select documents, or by right guesses, which need no calibration: by a lower bound
at the level divided by the number of such bounds. Without an attacker that counts nothing is certified, unless a
proven bound or declared independence supports it, which then rests on the single release; the strongest may still show
a violation.

A vacuous release: one after which the first guess is nearly always right, although it was not before.

mPL ≤ ε alone does not rule it out, because ε may be arbitrarily large; so no certificate is given for such a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.paired_log_score import Gain, Units, gain
from oddshift.audit.claims import NOTHING_LEARNED, Barred, ClaimBuilder, TierValues, caps_of_tiers
from oddshift.audit.scan import Scores
from oddshift.audit.settings import VACUOUS
from oddshift.evidence.certificates import (
    AnyClaim,
    Certificate,
    Claim,
    Evidence,
    JointCertificate,
    certify_joint,
    evidence_of,
)
from oddshift.model.tiers import Tiers


@dataclass(frozen=True)
class Standing:
    """One attacker on the select documents: its mean log score, and its gain over the single release (same prior)."""

    log_score: float
    joint: Gain

    @property
    def learned(self) -> bool:
        """Whether reading positions together taught it something: its joint gain is beyond chance."""
        return self.joint.is_significant


def standing(found: Scores, units: Units) -> Standing:
    """How an attacker with these scores stands, every unit counting once."""
    return Standing(float(units.means(found.log_score).mean()), gain(found.own_score, found.log_score, units))


def strongest(standings: Sequence[Standing]) -> int:
    """The best log score: among those that learned something, if any did.

    >>> sharp, joint = Standing(1.0, Gain(0.0, 0.1)), Standing(1.2, Gain(0.5, 0.1))
    >>> strongest([sharp, joint]), strongest([sharp, sharp])
    (1, 0)
    """
    return max(range(len(standings)), key=lambda k: (standings[k].learned, -standings[k].log_score))


RECALIBRATED = ", recalibrated"
"""How the name of a recalibrated attacker ends."""


def base_name(attacker: str) -> str:
    """The attacker that a recalibrated one is made from, any other by its own name.

    >>> base_name("counts, recalibrated"), base_name("counts")
    ('counts', 'counts')
    """
    return attacker.removesuffix(RECALIBRATED)


def shown_violations(verdict: JointCertificate | None) -> dict[AnyClaim, float]:
    """The claims that are shown not to hold, with the lower bounds that show it: at the level that they share."""
    if verdict is None:
        return {}
    rows = zip(verdict.parts, verdict.lowers, strict=True)
    beyond = [(part.claim, low) for part, low in rows if part.claim.limit is not None and low > part.claim.limit]
    return {claim: low for claim, low in beyond if not claim.withheld or claim.may_violate}


def worst_of_each(certificates: Iterable[Certificate], violations: dict[AnyClaim, float]) -> tuple[Certificate, ...]:
    """The worst certificate of each claim, in the order of their bounds: a shown violation before any upper bound."""

    def severity(made: Certificate) -> tuple[float, float, float]:
        return violations.get(made.claim, -1.0), made.upper, made.mean

    worst: dict[tuple[str, bool], Certificate] = {}
    for made in certificates:
        key = (made.claim.tier, made.claim.with_context)
        if key not in worst or severity(made) > severity(worst[key]):
            worst[key] = made
    return tuple(sorted(worst.values(), key=severity, reverse=True))


def worst_of_both(worst: Sequence[Certificate]) -> tuple[Certificate, ...]:
    """The first of those without W and the first of those given W, in their order."""
    first = {made.claim.with_context: made for made in reversed(worst)}
    return tuple(made for made in worst if made is first[made.claim.with_context])


def counted_attackers(certificates: Iterable[Certificate]) -> tuple[str, ...]:
    """The names of the attackers whose rates these are, each once and without its recalibrated self."""
    named = (base_name(made.claim.attacker) for made in certificates if isinstance(made.claim, Claim))
    return tuple(dict.fromkeys(named))


@dataclass(frozen=True)
class Basis:
    """What a rate verdict rests on: the places of the attackers that count, the strongest, and any other support in
    words.

    `withheld` says why nothing is certified; the strongest attacker is then shown, and may show a violation.
    """

    counting: tuple[int, ...]
    strongest: int
    carrier: str = ""
    withheld: str = ""


def basis_of(standings: Sequence[Standing], own: int, carrier: str) -> Basis:
    """The attackers that learned; without any, the single release at place `own` if something else supports the
    verdict.

    >>> from oddshift.attackers.paired_log_score import Gain
    >>> idle, keen = Standing(1.0, Gain(0.0, 0.1)), Standing(1.2, Gain(0.5, 0.1))
    >>> basis_of([idle, keen, keen], 0, "").counting, basis_of([idle, idle], 0, "").withheld == NOTHING_LEARNED
    ((1, 2), True)
    """
    learned = tuple(k for k, standing in enumerate(standings) if standing.learned)
    if learned:
        return Basis(learned, strongest(standings))
    if carrier:
        return Basis((own,), own, carrier=carrier)
    return Basis((), strongest(standings), withheld=NOTHING_LEARNED)


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """One attacker on the certify documents: for every tier its rates and its right first guesses, after and before.

    `guesses` is empty where no cap asks for them.
    """

    attacker: Attacker
    rates: tuple[TierValues, ...]
    guesses: tuple[GuessValues, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class GuessValues:
    """Right first guesses in one tier, one value for each unit: with the release, and before any."""

    after: TierValues
    before: TierValues

    @property
    def advantage(self) -> TierValues:
        """(after − before + 1)/2, which lies in [0, 1]."""
        values = (self.after.values - self.before.values + 1.0) / 2.0
        return TierValues(self.after.tier, values, self.after.excluded)


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """One claim of a verdict with its values; `accuses` says whether it may show a violation."""

    claim: AnyClaim
    row: TierValues
    accuses: bool


@dataclass(frozen=True, eq=False, repr=False)
class Judgement:
    """A verdict and the parts that it rests on, with their values, in its order."""

    verdict: JointCertificate
    parts: tuple[Part, ...]

    def evidence(self, mechanism_hash: str, split_hash: str) -> tuple[Evidence, ...]:
        """What `oddshift verify` computes each part from again."""
        return tuple(
            evidence_of(made, part.row.values, mechanism_hash=mechanism_hash, split_hash=split_hash)
            for made, part in zip(self.verdict.parts, self.parts, strict=True)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """The rule of a verdict, for audits and adaptations alike: bounds and gates to certified, violated or undecided.

    `gate` says of an attacker by place why it certifies nothing, if so: the release is vacuous, dependence is unread,
    the attacker still learns from more documents. That nobody learned anything is the first gate. A gate keeps an
    attacker from certifying, never from showing a violation: a lower bound above δ is one, whoever stands behind it.
    """

    claims: ClaimBuilder
    tiers: Tiers
    basis: Basis
    gate: Callable[[int], Barred | None]

    @property
    def deciding(self) -> tuple[int, ...]:
        """The places of the attackers whose rates decide; the strongest where none counts."""
        return self.basis.counting or (self.basis.strongest,)

    def rates(self, place: int, seen: Seen, law: str, *, accuses: bool) -> list[Part]:
        """The rate claims of the attacker at this place, or of its recalibrated self, one for each tier."""
        gates = [Barred(self.basis.withheld) if self.basis.withheld else None, self.gate(place)]
        found = [gate for gate in gates if gate is not None]
        reasons, documents = [gate.reason for gate in found], max((gate.documents for gate in found), default=0)
        bar = Barred("; ".join(reasons), documents) if found else None
        made = []
        for row in seen.rates:
            why, name = self.claims.contradiction(row), self.tiers.names[row.tier]
            claim = self.claims.claim(seen.attacker, name, law, withheld=why, basis=self.basis.carrier, bar=bar)
            made.append(Part(claim, row, accuses))
        return made

    def guesses(self, seen: Seen, *, every_tier: bool = False) -> list[Part]:
        """The caps on what one attacker guesses; with `every_tier` also bounds where nothing is asked."""
        caps = caps_of_tiers(self.claims.question, self.tiers)
        made: list[Part] = []
        for row in seen.guesses:
            tier, asked = row.after.tier, caps[row.after.tier]
            about = seen.attacker, self.tiers.names[tier]
            if asked.success is not None or every_tier:
                why = self.claims.contradiction(row.after)
                made.append(Part(self.claims.success_claim(*about, asked.success, why), row.after, True))
            if asked.advantage is not None:
                why = self.claims.contradiction(row.advantage)
                claim = self.claims.success_claim(*about, asked.advantage, why, over_prior=True)
                made.append(Part(claim, row.advantage, True))
        return made

    def decide(self, seen: Mapping[int, Seen], judges: Mapping[int, Seen], guessing: Iterable[Seen]) -> Judgement:
        """The verdict on the rates of the deciding attackers and on every cap, from what was seen of them by place.

        Each accuses, as recalibrated by `judges` where that changed it; everybody in `guessing` is held to the caps.
        """
        law = self.claims.question.law
        parts = [part for k in self.deciding for part in self.rates(k, seen[k], law, accuses=k not in judges)]
        parts += [part for k, judge in judges.items() for part in self.rates(k, judge, law, accuses=True)]
        parts += [part for each in guessing for part in self.guesses(each)]
        return judged(parts, self.claims)


def judged(parts: Sequence[Part], claims: ClaimBuilder) -> Judgement:
    """All parts together, certified or violated at the level that was asked for."""
    asked = claims.question
    verdict = certify_joint(
        [part.row.values for part in parts],
        [part.claim for part in parts],
        asked.alpha,
        asked.method,
        excluded=[part.row.excluded for part in parts],
        accusing=[part.accuses for part in parts],
    )
    return Judgement(verdict, tuple(parts))


def is_vacuous(right: float, before: float, limits: tuple[float, float] = VACUOUS) -> bool:
    """Whether these shares of right guesses, with a release and before any, make it vacuous.

    A column that is nearly constant is guessed well without any release, which says nothing about the release.

    >>> is_vacuous(0.97, 0.6), is_vacuous(0.97, 0.96), is_vacuous(0.7, 0.1)
    (True, False, False)
    """
    most_right, doubt_removed = limits
    return right >= most_right and right - before >= doubt_removed * (1.0 - before) and right > before


def vacuous_reason(everyone: Iterable[Seen], names: Sequence[str], limits: tuple[float, float] = VACUOUS) -> str:
    """Why no certificate is given, in the words of a claim; empty where no attacker guesses nearly everything.

    What is guessed before any release is the smallest share of all attackers: one that reads W knows more, but W is
    released too.
    """
    worst: dict[int, tuple[float, float]] = {}
    rows = [row for seen in everyone for row in seen.guesses]
    blind: dict[int, float] = {}
    for row in rows:
        blind[row.before.tier] = min(blind.get(row.before.tier, 1.0), float(row.before.values.mean()))
    for row in rows:
        right, before = float(row.after.values.mean()), blind[row.before.tier]
        if is_vacuous(right, before, limits):
            worst[row.after.tier] = max(worst.get(row.after.tier, (0.0, 0.0)), (right, before))
    said = [f"{names[tier]} {right:.0%} (before any release {before:.0%})" for tier, (right, before) in worst.items()]
    return f"most first guesses are right: {', '.join(said)}" if said else ""

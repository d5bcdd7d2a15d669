"""Repair of what a policy releases: by the law that the policy stores, or by one that the release itself teaches.

R reads outputs and public words alone, so that whatever was certified for the outputs holds for a reader who saw them
before repair (see `attackers.repair`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.repair import DRAWN, LEAST, DocumentLaw, Repair, fit_law, law_of_release, tier_modes
from oddshift.base.arrays import IntArray, one_of
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.cost import COSTS
from oddshift.model.records import Records
from oddshift.model.release import Release, draw_once
from oddshift.protect.policies.policy import Policy
from oddshift.protect.policies.terms import RepairTerms

FEWEST = 200
"""Documents from which a law of documents can be learned."""


def with_repair(policy: Policy, mode: str, records: Records | None = None, source: str = "fit") -> Policy:
    """The policy with repair of the tiers that are not the most sensitive ones (of all, where there is one level) or
    marks.

    With `records` the law is learned from them: documents that were not certified on, of which every statistic needs
    LEAST, or a corpus that the user names (`source` = public). Without any, each release teaches its own.
    """
    if records is None:
        return with_law(policy, tier_modes_of(policy, mode), None, source="release")
    least = LEAST if one_of(source, "source", ("fit", "public")) == "fit" else 1
    law = fit_law(knowledge(policy.mechanism(), policy.tiers, records), least)
    return with_law(policy, tier_modes_of(policy, mode), law, source=source)


def with_law(
    policy: Policy, modes: Sequence[str], law: DocumentLaw | None, cost: str = "", source: str = "fit"
) -> Policy:
    """The policy with repair in these modes, one for each tier, by a law that was learned from this source."""
    terms = RepairTerms(
        modes=tuple(modes),
        source=source,
        least=LEAST if source == "fit" else 1,
        cost=cost or cost_name(policy),
        law="" if law is None else fingerprint(law),
    )
    return replace(policy, terms=replace(policy.terms, repair=terms), law=law)


def tier_modes_of(policy: Policy, mode: str) -> tuple[str, ...]:
    """The mode of every tier of a policy: the most sensitive ones, and those that are marks, stay as they are."""
    one_of(mode, "mode", ("best", "typical"))
    modes = tier_modes(policy.terms.tiers.levels, mode, are_names=policy.kind == "text")
    forms = policy.terms.forms or ("noise",) * len(policy.tiers)
    return tuple(DRAWN if form == "mark" else mine for mine, form in zip(modes, forms, strict=True))


def with_mode(policy: Policy, mode: str) -> Policy:
    """The policy with repair in this mode, by the law that it stores if it has one; marks cannot be read back."""
    if policy.marked.any():
        raise InvalidInput("the policy shows marks, which cannot be read back; it repairs while it releases")
    if policy.terms.repair is None:
        return with_repair(policy, mode)
    asked = replace(policy.terms.repair, modes=tier_modes_of(policy, mode))
    return replace(policy, terms=replace(policy.terms, repair=asked))


def cost_name(policy: Policy) -> str:
    """What a changed value costs under a policy."""
    if policy.terms.remap is not None:
        return policy.terms.remap.cost
    if policy.kind == "text":
        return "cosine"
    metric = policy.space.metric.name
    return metric if metric in COSTS else "euclidean"


@dataclass(frozen=True, eq=False, repr=False)
class Repairer:
    """The repair of one policy; a law that a release taught serves the following blocks of the same release.

    **Guarantee**: no secret is read but for the pattern of equal ones where the policy makes it public, and the tiers
    of positions where they are public.
    """

    policy: Policy
    mechanism: Mechanism
    terms: RepairTerms
    _taught: list[DocumentLaw] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, records: Records, outputs: IntArray, rng: np.random.Generator | None = None) -> IntArray:
        """The repaired output of every position; without a generator randomness comes from the operating system."""
        if not len(outputs):
            return outputs
        rng = rng or np.random.default_rng()
        release, position = _seen(records, outputs, self.policy)
        law = self._law(release, rng)
        repair = Repair(law, self.terms.modes, COSTS[self.terms.cost])
        return repair(self._known, release, rng)[position]

    def _law(self, release: Release, rng: np.random.Generator) -> DocumentLaw:
        """The stored law, or the one that the first block taught."""
        if self.policy.law is not None and self.terms.source != "release":
            return self.policy.law
        with self._lock:
            if not self._taught:
                documents = int((release.lengths > 0).sum())
                if documents < FEWEST:
                    raise InvalidInput(
                        f"{documents} documents with secrets, expected at least {FEWEST} at once: the repair of this "
                        "policy is learned from the release itself; one learned from fit documents needs none"
                    )
                self._taught.append(law_of_release(self.mechanism, self.policy.tiers, release, rng))
            return self._taught[0]

    @property
    def _known(self) -> Knowledge:
        space, tiers = self.policy.space, self.policy.tiers
        nothing = Records(space=space, points=np.zeros(0, dtype=np.int64), offsets=np.array([0, 0]))
        even = np.where(tiers.sensitive, -np.log(max(1, int(tiers.sensitive.sum()))), -np.inf)
        return Knowledge(self.mechanism, tiers, nothing, even)


def repairer_of(policy: Policy, mechanism: Mechanism) -> Repairer | None:
    """The repair that a policy asks for, if it asks for one."""
    return None if policy.terms.repair is None else Repairer(policy, mechanism, policy.terms.repair)


def shown_points(policy: Policy, mechanism: Mechanism, records: Records, rng: np.random.Generator) -> IntArray:
    """What the positions of records come out as in one release under a policy: drawn, and repaired where it says so.

    For measurements alone: the noise of a release is drawn from the operating system.
    """
    outputs = mechanism.sample(records.points, rng)
    repair = repairer_of(policy, mechanism)
    return outputs if repair is None else repair(records, outputs, rng)


def _seen(records: Records, outputs: IntArray, policy: Policy) -> tuple[Release, IntArray]:
    """What a reader sees, each secret of a document once, and the place of every position among them."""
    position: IntArray = np.arange(len(outputs))
    tiers, numbered = policy.tiers, replace(records, points=records.points)
    if getattr(policy.settings, "repeats", "each") == "once" and policy.kind == "text":
        once = draw_once(records)
        first = np.empty(len(once.records.points), dtype=np.int64)
        first[once.position[::-1]] = np.arange(len(outputs))[::-1]
        numbered, position, outputs = once.records, once.position, outputs[first]
    labels = numbered.tier_of_position(tiers) if tiers.is_public else None
    return (
        Release(outputs=outputs, offsets=numbered.offsets, position_tiers=labels, context=numbered.context),
        position,
    )

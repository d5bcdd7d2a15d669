"""What happened to the data: what was found, what became of it, and how many secrets may have been missed.

This is reported before any certificate, because a certificate is only about what was found.

What a release is still good for, and what it tells about whole documents: losses by subgroup, tasks, an attribute.

Expected losses are exact; tasks and the attribute are measured on a release that is drawn for this and thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from oddshift.attackers.attribute import AttributeReport
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.utility import DownstreamTask, losses
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, kw_only=True)
class KindFate:
    """One kind of secret: found = perturbed + marked + left, and how many of those perturbed came out unchanged.

    `unchanged` is counted in a release that is drawn for this and thrown away.
    """

    name: str
    found: int
    perturbed: int
    marked: int = 0
    left: int = 0
    unchanged: int = 0


@dataclass(frozen=True, kw_only=True)
class DataFate:
    """Every kind, the most frequent first; counts and shares, never a value.

    `planted` public names were put into the user's own sentences and `recalled` of them found; `recall` is the interval
    of the share, None where nothing was planted. `nearest` is the median distance from a value to the nearest other
    value of its tier, which says in words what a budget means.

    >>> one = KindFate(name="PERSON", found=4, perturbed=3, marked=1, unchanged=1)
    >>> DataFate(kinds=(one, one)).total.found, DataFate(kinds=(one,)).odds(1.0)
    (8, None)
    >>> round(DataFate(kinds=(one,), nearest=2.0).odds(0.5), 3)
    2.718
    """

    kinds: tuple[KindFate, ...]
    planted: int = 0
    recalled: int = 0
    recall: tuple[float, float] | None = None
    nearest: float | None = None

    @property
    def total(self) -> KindFate:
        """All kinds together."""
        names = ("found", "perturbed", "marked", "left", "unchanged")
        return KindFate(name="all", **{name: sum(getattr(kind, name) for kind in self.kinds) for name in names})

    @property
    def pointless_share(self) -> float:
        """The share, among the words that do not stay as they are, of marks in kinds of which others get noise.

        Those have no point, and an expected loss is not about them.
        """
        changed = self.total.perturbed + self.total.marked
        return sum(kind.marked for kind in self.kinds if kind.perturbed) / changed if changed else 0.0

    def odds(self, epsilon: float) -> float | None:
        """By how much the odds between a value and its nearest alternative may change within ε."""
        return None if self.nearest is None else exp(min(700.0, epsilon * self.nearest))


@dataclass(frozen=True, kw_only=True)
class SubgroupLoss:
    """The expected cost of a changed value in one tier, over the documents of one subgroup."""

    tier: str
    subgroup: str
    documents: int
    positions: int
    loss: float


@dataclass(frozen=True, kw_only=True)
class ReleaseUse:
    """What was asked for: how well an attribute of documents is inferred, tasks before and after, losses by subgroup.

    `attribute_column` says which column the attribute is: the label or the subgroup.
    """

    attribute: AttributeReport | None = None
    attribute_column: str = ""
    tasks: tuple[DownstreamTask, ...] = ()
    losses: tuple[SubgroupLoss, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        """The findings in words."""
        found = [
            f"the task {task.name} is right in {task.before:.1%} of cases with the data as they were and in "
            f"{task.after:.1%} as released; {task.baseline:.1%} needs no data"
            for task in self.tasks
        ]
        if self.attribute is not None:
            a = self.attribute
            found.append(
                f"the {self.attribute_column} of a record is inferred from its release in {a.accuracy:.1%} of "
                f"{a.documents} records, and without it in {a.prior_accuracy:.1%}; the gain is {a.gain:.3f} ± "
                f"{a.gain_error:.3f} nats"
            )
        if self.losses:
            most, least = (pick(self.losses, key=lambda row: row.loss) for pick in (max, min))
            found.append(
                f"a changed value costs most in subgroup {most.subgroup} ({most.tier}, {most.loss:.4f}) and least in "
                f"{least.subgroup} ({least.tier}, {least.loss:.4f})"
            )
        return tuple(found)


def subgroup_losses(records: Records, tiers: Tiers, mechanism: Mechanism, cost: str) -> tuple[SubgroupLoss, ...]:
    """The exact expected cost by tier and subgroup; nothing without subgroups, or where outputs are not points.

    >>> from oddshift.mechanisms.word_channels import Substitution
    >>> from oddshift.model.release import one_tier
    >>> from oddshift.model.space import Space
    >>> space = Space([[0.0], [1.0], [3.0]])
    >>> records = Records.from_documents(space, [[0, 1], [2]], subgroups=["a", "b"])
    >>> rows = subgroup_losses(records, one_tier(space), Substitution(space, 1.0, 1), "euclidean")
    >>> [(row.subgroup, row.positions, row.loss) for row in rows]
    [('a', 2, 1.0), ('b', 1, 2.0)]
    """
    if records.subgroups is None or mechanism.outputs is None:
        return ()
    by_point = losses(mechanism, cost)
    tier, group = records.tier_of_position(tiers), records.subgroups[records.document_of_position]
    rows = []
    for t, tier_name in enumerate(tiers.names):
        for g, name in enumerate(records.subgroup_names):
            mine = np.flatnonzero((tier == t) & (group == g))
            if len(mine):
                rows.append(
                    SubgroupLoss(
                        tier=tier_name,
                        subgroup=name,
                        documents=len(np.unique(records.document_of_position[mine])),
                        positions=len(mine),
                        loss=float(by_point[records.points[mine]].mean()),
                    )
                )
    return tuple(rows)

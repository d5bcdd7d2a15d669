"""How often certified scales truly exceed delta, in the five worlds whose exact posterior is known.

Every adaptation draws documents and noise of its own, learns the portfolio from the fit documents, and chooses a scale
for a delta of half the true rate at scale 1; scales where the portfolio still learns from more documents are not taken.
Then the exact posterior is measured on fresh documents at that scale.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.adapt import AdaptSettings, AdaptTask, adapt
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.bounds import clopper_pearson_upper
from oddshift.mechanisms import Mechanism, Tiered
from oddshift.model.records import Split
from oddshift.model.release import one_tier
from oddshift.model.tiers import Tiers
from studies.tables import table, write
from studies.worlds import (
    CERTIFY,
    EPSILON,
    PARAMETERS,
    SELECT,
    Task,
    asked,
    between,
    exact_rate,
    finished,
    work,
    world_of,
)

SHARE, FRESH = 0.5, 10_000
"""The limit in units of the true rate at scale 1, and the documents that the truth of a chosen scale is measured on."""


@dataclass(frozen=True)
class Choice:
    """One adaptation: what was asked, the certified scale, if any, and its true rate in units of delta."""

    delta: float
    scale: float | None
    share: float | None
    seconds: float


def once(task: Task) -> Choice:
    """Draw, fit, adapt, and look what is true of the choice."""
    name, size, seed = task
    (world, rate), rng = world_of(name, seed), np.random.default_rng([2029, size, seed])
    start, delta = time.process_time(), SHARE * rate

    def family(tiers: Tiers) -> Mechanism:
        return Tiered(world.space, tiers, EPSILON)

    split = Split(*(world.records(n, rng) for n in (size, SELECT, CERTIFY)), by="document")
    tiers = one_tier(world.space)
    known = knowledge(family(tiers), tiers, split.fit)

    def fit(some: Knowledge) -> Attacker:
        return fit_portfolio(some, np.random.default_rng(seed))

    settings = AdaptSettings(epsilon=EPSILON, delta=delta, remap="never", cost="euclidean", seed=seed)
    found = adapt(
        AdaptTask(
            split=split,
            known=known,
            family=family,
            attackers=(fit(known),),
            settings=settings,
            refits={"portfolio": fit},
        )
    )
    taken = time.process_time() - start
    if found.chosen is None or found.guarantee != "certified":
        return Choice(delta, None, None, taken)
    real = exact_rate(world, family(tiers.with_scales(found.chosen)), FRESH)
    return Choice(delta, found.chosen[0], real / delta, taken)


def row(name: str, size: int, done: Sequence[Choice]) -> list[object]:
    """One line: a world at one size."""
    shares = [choice.share for choice in done if choice.share is not None]
    scales = [choice.scale for choice in done if choice.scale is not None]
    shown = f"{np.mean(shares):.2f} ({max(shares):.2f})" if shares else "-"
    return [
        name,
        f"{size:,}",
        between(np.array([choice.delta for choice in done])),
        f"{len(shares)} of {len(done)}",
        f"{np.mean(scales):.2f}" if scales else "-",
        shown,
        f"{sum(share > 1 for share in shares)} of {len(shares)}",
        f"{np.median([choice.seconds for choice in done]):.0f}",
    ]


def main() -> None:
    """Work for some minutes, then write the page from everything that is finished."""
    minutes, repetitions = asked(60, 20)
    work("adapt", once, minutes, repetitions)
    lines = finished("adapt", Choice, repetitions)
    shares = [choice.share for _, _, done in lines for choice in done if choice.share is not None]
    wrong = sum(share > 1 for share in shares)
    most = clopper_pearson_upper(wrong, len(shares), 0.05)
    header = [
        "world", "fit documents", "delta", "certified", "mean scale", "true rate / delta, mean (largest)",
        "truly above delta", "median CPU s",
    ]  # fmt: skip
    about = " ".join((__doc__ or "").split())
    write(
        "worlds_adapt",
        "How often certified scales exceed delta in worlds with a known posterior",
        f"{about}\n\n{table(header, [row(*line) for line in lines])}\n\n"
        f"{len(shares)} certified choices in all, {wrong} truly above delta, which bounds their share by {most:.1%} at "
        f"level 0.05. Each world has {PARAMETERS} sets of parameters. What is tested is read with weights fitted at "
        "its very scales: that was decided after weights between anchors had left 6 of 114 choices above delta, on "
        "other documents of the first set of parameters, and before the other sets were drawn. "
        f"Epsilon {EPSILON}, {SELECT} select and {CERTIFY:,} certify documents, level 0.05, without remapping; "
        f"{FRESH:,} fresh documents for the truth of a scale. The command takes the number of minutes to work for and "
        "the largest number of adaptations of each world and size; it continues where it stopped.",
    )


if __name__ == "__main__":
    main()

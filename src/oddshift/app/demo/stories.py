"""The toy of the paper, told end to end: one release keeps its promise, two together break it, and what can be proved.

Every number is computed when the demo runs; `story` returns them, `tell` prints them.

Made-up people in short texts: a mechanism that keeps its promise for every word and breaks it for whole texts.

Everything here is told from stored results. The people are made up, so their texts may be shown.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oddshift.adapt import Adaptation
from oddshift.app.display import attackers_table, comparison_table, show_first_screen
from oddshift.app.report.first_screen import screen_of_adaptation, screen_of_audit
from oddshift.app.report.wording import adaptation_sentence, verdict_sentence
from oddshift.audit import Audit
from oddshift.audit.examples import Belief
from oddshift.base.arrays import FloatArray
from oddshift.data.embedded import people
from oddshift.evidence.witness import guess_game
from oddshift.leakage.exact import exact_leakage, log_posterior
from oddshift.leakage.upper import METHODS, upper_bound
from oddshift.mechanisms import Mask
from oddshift.model.prior import Joint
from oddshift.model.space import Space
from oddshift.protect import Sanitizer
from oddshift.protect.policies import Policy

if TYPE_CHECKING:
    from rich.console import Console

BUDGET = 1.0
SURE = 0.8
LEVEL = 0.001
RELEASES = 2_000
"""Number of fresh releases in the guess game: an attacker guesses the first secret, and only the count is trusted."""


@dataclass(frozen=True)
class Story:
    """The numbers of the demo."""

    budget: float
    single: float
    joint: float
    outputs: tuple[int, ...]
    violated: float
    prior: float
    posterior: float
    witnessed: float
    guesses: int
    correct: int
    upper: dict[str, float]
    masked: float

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def story(seed: int = 0) -> Story:
    """Compute the demo. The seed is used only by the simulated guess game, so that everyone can repeat it."""
    channel = np.log([[0.72, 0.28], [0.28, 0.72]])
    prior = Joint([[0.01, 0.49], [0.49, 0.01]])
    distances = Space([[0.0], [1.0]]).distances
    toy = exact_leakage(prior, [channel, channel], distances)
    guesses, correct = _guess(prior, channel, RELEASES, np.random.default_rng(seed))
    masked = exact_leakage(prior, [Mask(Space([[0.0], [1.0]])).log_matrix, channel], distances)
    return Story(
        budget=BUDGET,
        single=toy.single,
        joint=toy.joint,
        outputs=toy.witness[1],
        violated=toy.rate(BUDGET),
        prior=float(prior.marginals[0][0]),
        posterior=float(np.exp(log_posterior(prior, [channel, channel], (0, 1))[0][0])),
        witnessed=guess_game(correct, guesses, 1.0, LEVEL),
        guesses=guesses,
        correct=correct,
        upper={m: upper_bound(prior, [channel, channel], distances, method=m) for m in METHODS if m != "hmm"},
        masked=masked.joint,
    )


def _guess(prior: Joint, channel: FloatArray, rounds: int, rng: np.random.Generator) -> tuple[int, int]:
    """Guesses made and guesses right.

    A fair coin picks X_1, its context is drawn given it, both are released, and the attacker names X_1 from both
    outputs when it is sure enough; otherwise it abstains.
    """
    first = rng.integers(0, 2, rounds)
    second = (rng.random(rounds) >= (prior.table / prior.marginals[0][:, None])[first, 0]).astype(int)
    y1, y2 = ((rng.random(rounds) >= np.exp(channel)[x, 0]).astype(int) for x in (first, second))
    beliefs = [[np.exp(log_posterior(prior, [channel, channel], (a, b))[0]) for b in (0, 1)] for a in (0, 1)]
    belief = np.array(beliefs)[y1, y2]
    sure = belief.max(axis=1) > SURE
    return int(sure.sum()), int((belief.argmax(axis=1) == first)[sure].sum())


def tell(numbers: Story, console: Console) -> None:
    """Print the toy in five short points and a table."""
    from rich.table import Table

    n = numbers
    console.print(f"1. One release, exactly: leakage {n.single:.4f} <= {n.budget:g}. The mechanism keeps its promise.")
    console.print(
        f"2. Both releases together: leakage [bold]{n.joint:.4f} > {n.budget:g}[/bold], with outputs {n.outputs}.",
        markup=True,
    )
    console.print(f"   {n.violated:.1%} of joint releases exceed the budget; there the attacker's belief")
    console.print(f"   in the first secret goes from {n.prior:.0%} to {n.posterior:.1%}.")
    console.print(
        f"3. Trusting no model: {n.correct} of {n.guesses} guesses on fresh releases are right: leakage > "
        f"{n.witnessed:.3f}"
    )
    console.print("   (this procedure errs with probability at most 1 in 1,000).")
    table = Table(title="4. Witnessed <= true <= proved", title_justify="left")
    table.add_column("quantity")
    table.add_column("leakage", justify="right")
    table.add_column("kind")
    table.add_row("guess game", f"{n.witnessed:.4f}", "certified lower bound")
    table.add_row("joint posterior", f"{n.joint:.4f}", "exact")
    for method, value in sorted(n.upper.items(), key=lambda item: item[1]):
        table.add_row(f"upper bound: {method}", f"{value:.4f}", "proved upper bound")
    console.print(table)
    console.print(f"5. Masking the first secret completely still leaks {n.masked:.4f}, through the second one.")


PEOPLE = """\
[data]
kind = "people"

[mechanism]
name = "exponential"
epsilon = 1.5

[audit]
delta = 0.05
attackers = ["plugin", "exact"]
upper = "diameter"

[adapt]
success = {PII = 0.2, PoII = 0.3}
"""
"""The run of the demo: the exponential mechanism on the embedded corpus, whose true attacker is known.

Names, employers and cities may be guessed first in at most one case of five, professions and habits in three of ten.
"""

FRESH = 20262
"""Seed of the texts that the sample protects: people that no part of the run has seen."""

SAMPLE = 3
SHOWN = 4


def tell_audit(audit: Audit, console: Console) -> None:
    """The promise about one release, and what becomes of it when releases are read together."""
    asked = audit.settings
    console.print(
        f"The exponential mechanism claims epsilon {audit.claimed_epsilon:g} for every word. The exact value is "
        f"{audit.exact_epsilon:.4f}, so it keeps its promise."
    )
    console.print(
        "Then attackers read whole texts. The control null ignores the release; own reads each word on its own:"
    )
    show_first_screen(screen_of_audit(audit), console)
    console.print(attackers_table(audit))
    console.print(
        f"anchored: the share of pairs with the true value whose mPL exceeds {asked.epsilon:g}; log scores are in nats."
    )
    console.print(verdict_sentence(audit), markup=False)
    for made in audit.deciding_rates:
        bounds = f"[{made.lower:.4f}, {made.upper:.4f}]"
        console.print(f"  {made.claim.tier}, {made.claim.attacker}: {made.mean:.4f} in {bounds}", markup=False)
    if audit.witness is not None:
        console.print(audit.witness.sentence, markup=False)
        console.print(f"  {audit.witness_needs}" if audit.witness_needs else "", markup=False)
    if audit.upper_bound is not None:
        console.print(f"Proved upper bound: mPL <= {audit.upper_bound:.4f} ({audit.upper_basis}).", markup=False)


def tell_belief(belief: Belief, console: Console) -> None:
    """What the attacker believes about one secret before any release, after its own, and after the whole text."""
    from rich.table import Table

    table = Table(title=f"one {belief.tier} word of a text, as {belief.attacker} sees it", title_justify="left")
    table.add_column("candidate")
    for name in ("before", "its own release", "the whole text"):
        table.add_column(name, justify="right")
    for row, candidate in enumerate(belief.candidates[:SHOWN]):
        name = f"{candidate.name} (the truth)" if row == belief.truth else candidate.name
        odds = (candidate.prior, candidate.alone, candidate.together)
        table.add_row(name, *(f"{p:.1%}" for p in odds), style="bold" if row == belief.truth else "")
    console.print(table)
    console.print(
        f"The odds of the true value against another candidate moved by {belief.leakage:.2f} per unit of "
        "distance (mPL)."
    )


def tell_choice(found: Adaptation, console: Console) -> None:
    """What the policy achieves and costs, and its scales next to plain noise and one scale of equal utility."""
    console.print(
        f"{len(found.grid)} scales tried, {len(found.rounds)} rounds of the loop, {len(found.sequence)} candidates "
        "tested in turn on documents that nothing had been chosen on."
    )
    show_first_screen(screen_of_adaptation(found), console)
    console.print(adaptation_sentence(found), markup=False)
    console.print(comparison_table(found))


def protected_sample(policy: Policy) -> list[tuple[str, str]]:
    """A few new texts before and after the policy; the noise is seeded, so that the demo repeats."""
    texts = list(people(SAMPLE, seed=FRESH).texts)
    return list(zip(texts, Sanitizer.seeded_for_experiments(policy, FRESH).texts(texts), strict=True))


def tell_sample(sample: list[tuple[str, str]], console: Console) -> None:
    """Before and after, one below the other."""
    for before, after in sample:
        console.print(f"before: {before}", markup=False)
        console.print(f"after:  {after}", style="bold", markup=False)
    console.print(
        "(The noise here is seeded, so that the demo repeats; oddshift protect draws it from the operating system.)"
    )

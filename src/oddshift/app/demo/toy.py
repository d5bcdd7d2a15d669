"""The toy of the paper, told end to end: one release keeps its promise, two together break it, and what can be proved.

Every number is computed when the demo runs; `story` returns them, `tell` prints them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.evidence.witness import guess_game
from oddshift.leakage.exact import exact_leakage, log_posterior
from oddshift.leakage.upper import METHODS, upper_bound
from oddshift.mechanisms import Mask
from oddshift.model.prior import Joint
from oddshift.model.space import Space

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

"""The toy of the paper, told end to end: one release keeps its promise, two together break it, and what can be proved.

Every number is computed when the demo runs; `story` returns them, `tell` prints them.

Made-up people in short texts: a mechanism that keeps its promise for every word and breaks it for whole texts.

Everything here is told from stored results. The people are made up, so their texts may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oddshift.adapt import Adaptation
from oddshift.app.display import show_first_screen
from oddshift.app.release_quality import released_passages
from oddshift.app.report.first_screen import screen_of_adaptation, screen_of_audit
from oddshift.audit import Audit
from oddshift.audit.beliefs import Belief
from oddshift.base.arrays import FloatArray
from oddshift.data.codecs.text.passages import Passage
from oddshift.data.embedded import people
from oddshift.evidence.witness import guess_game
from oddshift.leakage.exact import exact_leakage, log_posterior
from oddshift.leakage.upper import METHODS, upper_bound
from oddshift.mechanisms import Mask
from oddshift.model.prior import Joint
from oddshift.model.space import Space
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
    """Print the toy in a few lines."""
    n, proved = numbers, min(numbers.upper.values())
    for line in (
        f"One release alone, exactly: leakage {n.single:.4f} <= {n.budget:g}. The promise is kept.",
        f"Both releases together: leakage {n.joint:.4f} > {n.budget:g}. In {n.violated:.1%} of cases a reader's belief",
        f"in the first secret goes from {n.prior:.0%} to {n.posterior:.1%}.",
        f"Shown by {n.correct} of {n.guesses} guesses, whatever the model: more than {n.witnessed:.4f} (errs once in "
        f"1,000). Proved: at most {proved:.4f}.",
        f"Masking the first secret completely still leaks {n.masked:.4f}, through the second one.",
    ):
        console.print(line, markup=False)


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
success = {PII = 0.4, PoII = 0.5}
"""
"""The run of the demo: the exponential mechanism on the embedded corpus, whose true attacker is known.

Names, employers and cities may be guessed first in at most two cases of five, professions and habits in half of them.
"""

FRESH = 20262
"""Seed of the texts that the sample protects: people that no part of the run has seen."""

SAMPLE = 3


def tell_audit(audit: Audit, console: Console) -> None:
    """The promise about one word, and what becomes of it when texts are read as a whole."""
    console.print(
        f"Every sensitive word gets noise that promises epsilon {audit.claimed_epsilon:g}; a word on its own keeps it "
        f"(exactly {audit.exact_epsilon:.4f}). Then somebody reads whole texts.\n",
        markup=False,
    )
    show_first_screen(screen_of_audit(audit), console)


def tell_belief(belief: Belief, console: Console) -> None:
    """What a reader believes about one secret before any release, after its own, and after the whole text."""
    truth = belief.candidates[belief.truth]
    console.print(
        f"For example {truth.name!r}, a {belief.tier} word: its chance is {truth.prior:.1%} before any release, "
        f"{truth.alone:.1%} from its own release and {truth.together:.1%} from the whole text.",
        markup=False,
    )


def tell_choice(found: Adaptation, console: Console) -> None:
    """What the policy achieves, and what the release is good for."""
    show_first_screen(screen_of_adaptation(found), console)


def protected_sample(policy: Policy) -> tuple[Passage, ...]:
    """A few new texts before and after the policy; the noise is seeded, so that the demo repeats."""
    return released_passages(people(SAMPLE, seed=FRESH).encoded, policy, FRESH).passages


COLOURS = ("cyan", "magenta", "green", "yellow", "blue")
"""How kinds of words differ in a terminal; their marks also say the kind."""


def tell_sample(sample: Sequence[Passage], console: Console) -> None:
    """Before and after, one below the other, replaced words coloured by kind."""
    from rich.text import Text

    kinds = list(dict.fromkeys(piece.tier for passage in sample for piece in passage.before if piece.tier))
    colours = {kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(kinds)}
    for passage in sample:
        for title, pieces in (("before: ", passage.before), ("after:  ", passage.after)):
            console.print(Text.assemble(title, *((piece.text, colours.get(piece.tier, "")) for piece in pieces)))
    console.print(Text.assemble("kinds:  ", *((f"{kind} ", colour) for kind, colour in colours.items())))
    console.print(
        "(The noise here is seeded, so that the demo repeats; oddshift protect draws it from the operating system.)"
    )

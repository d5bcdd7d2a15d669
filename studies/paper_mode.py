"""What temperature alone produces: paper mode beside controls that know nothing, or only what is provably harmless.

The paper's posterior is a Gaussian softmax around a reconstruction x̂, of temperature T. Beside the trained networks
stand three reconstructions run through the very same softmax: the mean of all points, which ignores the release
(null); the exact posterior mean of the single release (own); and the truth itself. The calibrated single release
(exact) never exceeds the mechanism's exact ε, so its rate is 0.
"""

from __future__ import annotations

import time

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.paper import PAPER_SCHEDULE, fit_paper, squared_distances
from oddshift.attackers.reconstruction import PaperSettings
from oddshift.attackers.training import Schedule
from oddshift.base.arrays import FloatArray
from oddshift.data.codecs import TextCodec, TextSettings, data_folder, read_vectors
from oddshift.data.codecs.text.settings import PAPER_TIERS
from oddshift.data.detectors import Pipeline
from oddshift.mechanisms import Exponential
from oddshift.model.records import FRACTIONS, Records, assign_parts
from oddshift.model.release import one_tier, perturb
from studies.published import breast_cancer, read_published
from studies.tables import table, write
from studies.triples import sampled_rate

TRIPLES = 2_000_000
ARCHITECTURES = ("rnn", "lstm", "transformer")


def rates(
    known: Knowledge, held_out: Records, epsilon: float, temperatures: tuple[float, ...], schedule: Schedule
) -> list[list[str]]:
    """One row for each attacker: the share of uniform triples beyond ε at each temperature."""
    space, rng = known.mechanism.space, np.random.default_rng(0)
    release = perturb(held_out, known.mechanism, known.tiers, rng)
    guesses = {
        "null: the mean of all points": np.broadcast_to(
            space.points.mean(axis=0), (len(release.outputs), space.points.shape[1])
        ),
        "own: posterior mean of one release": own_means(known, release),
        "the truth itself": space.points[held_out.points],
    }
    for architecture in ARCHITECTURES:
        attacker = fit_paper(known, PaperSettings(architecture=architecture), schedule)
        guess = np.empty((len(release.outputs), space.points.shape[1]))
        for positions, found in attacker.reconstructions(release):
            guess[positions] = found
        guesses[f"paper-{architecture}, trained"] = guess
    rows = []
    for name, guess in guesses.items():
        shift = -squared_distances(guess, space.points)
        shares = [sampled_rate(shift, space, epsilon * t, TRIPLES, np.random.default_rng(1)) for t in temperatures]
        rows.append([name, *(f"{share:.1%}" for share in shares)])
    exact = np.concatenate([block.shift for block in Own(known).beliefs(release)])
    share = sampled_rate(exact, space, epsilon, TRIPLES, np.random.default_rng(1))
    rows.append(["exact single release, calibrated", *[f"{share:.1%}"] * len(temperatures)])
    return rows


def own_means(known: Knowledge, release: object) -> FloatArray:
    """E[x | own output] under the exact single-release posterior."""
    means = []
    for block in Own(known).beliefs(release):  # type: ignore[arg-type]
        belief = block.shift + block.log_prior
        belief = np.exp(belief - belief.max(axis=1, keepdims=True))
        means.append(belief @ known.mechanism.space.points / belief.sum(axis=1, keepdims=True))
    return np.concatenate(means)


def wdbc() -> str:
    """Breast Cancer Wisconsin: single records, so that by the paper's own proposition nothing can leak beyond ε."""
    records = breast_cancer()[1].records
    split = records.split(rng=np.random.default_rng(0))
    parts = []
    for epsilon in (0.1, 0.2, 0.3):
        em = Exponential(records.space, epsilon)
        known = knowledge(em, one_tier(records.space), split.fit)
        temperatures = (30.0, 60.0, 120.0)
        rows = rates(known, split.certify, epsilon, temperatures, PAPER_SCHEDULE)
        head = ["attacker", *(f"T = {t:g}" for t in temperatures)]
        parts.append(
            f"### epsilon = {epsilon} (exact epsilon of one release {em.exact_epsilon:.4f})\n\n{table(head, rows)}"
        )
    return "\n\n".join(parts)


def ag_news() -> str:
    """AG News at ε = 2.5, all sensitive words as candidates; 60 held-out documents, networks of 10 epochs."""
    corpus, folder = read_published("ag_news"), data_folder()
    part = assign_parts(np.arange(len(corpus)), FRACTIONS, np.random.default_rng(0))
    codec = TextCodec.fit(
        {"text": [corpus.texts[d] for d in np.flatnonzero(part == 0)]},
        TextSettings(is_public=True, **PAPER_TIERS),
        detectors=[Pipeline(folder / "ner" / "en_core_web_sm_ner")],
        vectors=read_vectors(folder / "glove.6B.100d.npz"),
    )
    records = codec.encode(corpus.columns).records
    em = Exponential(records.space, 2.5)
    known = knowledge(em, one_tier(records.space), records.take(np.flatnonzero(part == 0)))
    schedule = Schedule(epochs=10, patience=10, learning_rate=1e-3, weight_decay=0.0, validation=0.25)
    temperatures = (0.8, 1.0, 1.4)
    rows = rates(known, records.take(np.flatnonzero(part == 2)[:60]), 2.5, temperatures, schedule)
    head = ["attacker", *(f"T = {t:g}" for t in temperatures)]
    return f"{len(records.space)} words; exact epsilon of one release {em.exact_epsilon:.4f}.\n\n{table(head, rows)}"


def main() -> None:
    """Both data sets, one page."""
    start = time.process_time()
    about = " ".join((__doc__ or "").split())
    text = f"{about}\n\n## Breast Cancer Wisconsin\n\n{wdbc()}\n\n## AG News, epsilon = 2.5\n\n{ag_news()}\n\n"
    write("paper_mode", "Paper mode beside its controls", f"{text}{time.process_time() - start:.0f} CPU s.")


if __name__ == "__main__":
    main()

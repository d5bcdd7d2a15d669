"""What repair costs: short texts released with it at two sizes, and its CPU next to that of the audit's own reading."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.table import Line, cpu
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.attackers.repair import Repair, fit_law
from oddshift.audit.calibration import joint_scan
from oddshift.audit.scan import Budget
from oddshift.data.embedded import people
from oddshift.mechanisms import Tiered
from oddshift.model.cost import cost_of
from oddshift.model.release import draw_once, perturb
from oddshift.protect import Sanitizer
from oddshift.protect.policies import make_policy
from oddshift.protect.repair import with_repair

LEARN, READ, SIZES, MOST = 2_000, 10_000, (20_000, 100_000), 60.0
"""Documents that the law is learned from, that both read, and texts of two releases; CPU seconds for the larger."""

EPSILON, SCALE, CALL = 1.5, 0.7, 5_000


def run() -> list[Line]:
    """Two lines for texts, one for reading."""
    texts = list(people(max(SIZES), seed=1).texts)
    corpus = people(LEARN)
    tiers = corpus.codec.tiers.with_scales((SCALE,) * len(corpus.codec.tiers))
    policy = make_policy(corpus.codec, Tiered(corpus.codec.space, tiers, EPSILON, keeps_tier=True), tiers)
    fit = draw_once(corpus.encoded.records).records
    return [*released(Sanitizer(with_repair(policy, "best", fit)), texts), *read_twice()]


def released(sanitizer: Sanitizer, texts: list[str]) -> list[Line]:
    """The same policy on two sizes."""
    sanitizer.texts(texts[:100])  # its law is loaded
    spent = [cpu(partial(in_calls, sanitizer, texts[:size]))[1] for size in SIZES]
    growth = (spent[1] / spent[0]) / (SIZES[1] / SIZES[0])
    what = "{:,} short texts released with repair, {:,} a call"
    return [
        Line(what.format(SIZES[0], CALL), f"{spent[0]:.1f} CPU s"),
        Line(
            what.format(SIZES[1], CALL), f"{spent[1]:.1f} CPU s", f"{SIZES[0]:,}: {spent[0]:.1f} s",
            f"{growth:.2f} times linear", f"<= {MOST:.0f} s, <= 1.15", spent[1] <= MOST and growth <= 1.15,
        ),
    ]  # fmt: skip


def in_calls(sanitizer: Sanitizer, texts: list[str]) -> None:
    """Texts in blocks."""
    for start in range(0, len(texts), CALL):
        sanitizer.texts(texts[start : start + CALL])


def read_twice() -> list[Line]:
    """Documents that the default attacker of an audit reads, and that are repaired."""
    corpus, rng = people(LEARN + READ), np.random.default_rng(0)
    records = draw_once(corpus.encoded.records).records
    tiers = corpus.codec.tiers.with_scales((SCALE,) * len(corpus.codec.tiers))
    mechanism = Tiered(corpus.codec.space, tiers, EPSILON, keeps_tier=True)
    known = knowledge(mechanism, tiers, records.take(np.arange(LEARN)))
    secrets = records.take(np.arange(LEARN, LEARN + READ))
    release, law = perturb(secrets, mechanism, tiers, rng), fit_law(known, 10)
    attackers = [fit_portfolio(known, rng, reads_words=reads) for reads in (False, True)]
    repair = Repair(law, ("best",) * len(tiers), cost_of("cosine"))
    budget = Budget(mechanism, tiers, EPSILON)
    _, reading = cpu(lambda: joint_scan(attackers, release, secrets, budget, rng, law="anchored"))
    _, repairing = cpu(lambda: repair(known, release, rng))
    share = repairing / reading
    what = f"repair of {READ:,} documents next to an audit's reading of them"
    said = f"portfolio and portfolio+W, one law of pairs: {reading:.2f} CPU s"
    return [Line(what, f"{repairing:.2f} CPU s", said, f"{share:.2f}x", "<= 1x", share <= 1.0)]

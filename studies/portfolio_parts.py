"""What each part of the portfolio is worth: the joint gain and the verdicts with it and without it.

The parts are fitted once on most of the fit documents, and the weights of all of them, or of all but one, are fitted on
the rest. Each choice is then read on the certify documents, which nothing was fitted on: its mean gain over
the single release under the same prior, the loss of gain where the part is missing, with its standard error over
independent units, and the anchored rate. The verdict is asked of that rate alone, by betting bounds at level 0.05, at
two limits around the rate that all parts find: at rate/1.2 it is violated if it can be shown, at 1.25 times the rate
certified. A part that gives the prior (given W or the place) has the whole log score as its loss.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.run import knowledge_of
from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, knowledge, release_blocks
from oddshift.attackers.candidate_sampling import BLOCK_ENTRIES, held_out_by_tier, prepared, prior_part, terms_by_tier
from oddshift.attackers.combination import Combination, weights_by_tier
from oddshift.attackers.paired_log_score import Gain, choosing_clusters, choosing_units, gain, split
from oddshift.attackers.portfolio import held_share, portfolio_parts
from oddshift.attackers.term_weights import ContextTerms
from oddshift.audit.beliefs import Joining
from oddshift.audit.scan import Budget, Scan, Scanning
from oddshift.bounds import betting_lower, betting_upper
from oddshift.data.codecs import data_folder
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import Release, one_tier, perturb
from oddshift.model.space import Space
from studies.ag_news import ag_news, imdb
from studies.place_worlds import PLACE_WORLDS
from studies.real_tables import Source, content
from studies.tables import table, write
from studies.wide_laws import WIDE_WORLDS
from studies.world_laws import WORLDS, KnownWorld

BELOW, ABOVE, LEVEL = 1 / 1.2, 1.25, 0.05
FIT, HELD, EPSILON = 2_000, 1_500, 1.5
"""Documents of a known world to fit on and to read, and its epsilon."""

NEWS, FILMS = 2_000, 500
"""Rows of the corpora."""

HOME = Path(__file__).resolve().parent / ".work" / "portfolio_parts"
"""One file for each setting, so that an interrupted study continues; empty it when the attackers change."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What an attacker knows, documents that it does not know, and whether it reads W."""

    known: Knowledge
    fresh: Records
    epsilon: float
    reads_words: bool = False


@dataclass(frozen=True)
class Row:
    """A part that is left out (empty: none): loss of gain in nats, its error, the rate, and the two verdicts."""

    part: str
    weight: float
    loss: float
    error: float
    rate: float
    below: str
    above: str


def measured(setting: Setting, seed: int = 0) -> list[Row]:
    """One row for all parts together, then one for each part left out."""
    known, rng = setting.known, np.random.default_rng([2031, seed])
    fits = portfolio_parts(known, seed, reads_words=setting.reads_words)
    learn, held = split(choosing_clusters(known.fit), held_share(known), seed)
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    parts, kept = tuple(fit(part) for fit in fits), known.fit.take(held)
    terms = held_out_by_tier(parts, part, kept, np.random.default_rng(seed))
    first = prior_part(parts)
    left_out = (None, *(k for k in range(len(parts)) if k != first))
    choices = [tuple(k for k in range(len(parts)) if k != left) for left in left_out]
    made = [_weighed(part, parts, terms, choice) for choice in choices]
    release = perturb(setting.fresh, known.mechanism, known.tiers, rng)
    scans = _scanned(made, first, release, setting)
    names = ["", *(p.name for k, p in enumerate(parts) if k != first)]
    shares = [0.0, *(float(np.max(made[0].weights, axis=(0, 2))[k]) for k in range(len(parts)) if k != first)]
    if first is not None:
        others = tuple(each for k, each in enumerate(parts) if k != first)
        again = held_out_by_tier(others, part, kept, np.random.default_rng(seed))
        bare = Combination(part, others, weights_by_tier(again, part.tiers, len(others)))
        scans.append(_scanned([bare], prior_part(others), release, setting)[0])
        names.append(f"{parts[first].name} (the prior)")
        shares.append(1.0)
    return _rows(names, shares, scans, setting)


def _weighed(
    part: Knowledge, parts: tuple[Attacker, ...], terms: dict[int, ContextTerms], choice: Sequence[int]
) -> Combination:
    """All parts with the best weights of those chosen, 0 for the others."""
    sides = [2 * k + side for k in choice for side in (0, 1)]
    some = {
        tier: replace(
            held,
            terms=tuple(held.terms[k] for k in sides),
            without_outputs=tuple(place for place, k in enumerate(sides) if k in held.without_outputs),
        )
        for tier, held in terms.items()
    }
    found = weights_by_tier(some, part.tiers, len(choice))
    weights = np.zeros((len(found), len(parts), 2))
    weights[:, list(choice)] = np.array(found)
    return Combination(part, parts, tuple(tuple((u, v) for u, v in row) for row in weights.tolist()))


def _scanned(made: Sequence[Combination], prior: int | None, release: Release, setting: Setting) -> list[Scan]:
    """A scan of every choice; the terms of each part are worked out once for all of them."""
    budget = Budget(setting.known.mechanism, setting.known.tiers, setting.epsilon)
    scanning = Scanning.begin(release, setting.fresh, budget, np.random.default_rng(0), needs_uniform=False)
    found = [scanning.empty(detailed=False) for _ in made]
    joining = Joining(setting.fresh, budget.tiers)
    for place, block in _read(made, prior, release):
        for mine in joining.of(made[place], block):
            scanning.take(found[place], mine)
    return found


def _read(made: Sequence[Combination], prior: int | None, release: Release) -> Iterator[tuple[int, Beliefs]]:
    known, used = made[0].known, np.any([each.weighed for each in made], axis=0)
    ready = prepared(made[0].parts, release, used)
    for first, block in release_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
        for found in terms_by_tier(ready, known, block, used, prior):
            for place, each in enumerate(made):
                yield place, Beliefs(first + found.positions, each.shift_of(found), found.log_prior, found.points)


def _rows(names: Sequence[str], shares: Sequence[float], scans: Sequence[Scan], setting: Setting) -> list[Row]:
    units, labels = choosing_units(setting.fresh), setting.fresh.tier_of_position(setting.known.tiers)
    whole, rows = scans[0].scores, []
    by_tier = [_tier_rates(scan, units, labels) for scan in scans]
    limits = {tier: float(values.mean()) for tier, values in by_tier[0].items()}
    for name, share, scan, rates in zip(names, shares, scans, by_tier, strict=True):
        before = whole.own_score if not name else scan.scores.log_score
        lost: Gain = gain(before, whole.log_score, units)
        worst = max(float(values.mean()) for values in rates.values())
        rows.append(
            Row(name, share, lost.mean, lost.error, worst, _state(rates, limits, BELOW), _state(rates, limits, ABOVE))
        )
    return rows


def _tier_rates(scan: Scan, units: object, labels: np.ndarray) -> dict[int, np.ndarray]:
    means = units.means  # type: ignore[attr-defined]
    return {int(tier): means(scan.anchored, labels == tier) for tier in np.unique(labels)}


def _state(rates: dict[int, np.ndarray], limits: dict[int, float], factor: float) -> str:
    """Certified where every tier is within its limit, violated where one is beyond it, otherwise undecided."""
    limit = {tier: max(factor * limits[tier], 1e-3) for tier in rates}
    if any(betting_lower(values, LEVEL / len(rates)) > limit[tier] for tier, values in rates.items()):
        return "violated"
    is_within = all(betting_upper(values, LEVEL) <= limit[tier] for tier, values in rates.items())
    return "certified" if is_within else "undecided"


def world_setting(world: KnownWorld) -> Setting:
    """Documents of a known world."""
    rng, tiers = np.random.default_rng(2031), one_tier(world.space)
    fit, fresh = world.records(FIT, rng), world.records(HELD, rng)
    return Setting(knowledge(Exponential(world.space, EPSILON), tiers, fit), fresh, EPSILON)


def configured_setting(text: str, *, reads_words: bool = False) -> Setting:
    """The data of a configuration; what is neither fitted nor selected on is read."""
    config = parse_config(text, "this study")
    loaded = prepare_configured(config)
    known = knowledge_of(loaded, config.mechanism, config.audit.epsilon)
    fresh = loaded.split.certify
    return Setting(known, fresh, config.audit.epsilon, reads_words)


def sampled(text: str, name: str, rows: int) -> str:
    """The configuration of a corpus over its first rows, written next to the results."""
    HOME.mkdir(parents=True, exist_ok=True)
    short, whole = HOME / f"{name}-{rows}.csv", data_folder().resolve() / f"{name}.csv"
    with whole.open(newline="", encoding="utf-8") as source, short.open("w", newline="", encoding="utf-8") as out:
        reader, writer = csv.reader(source), csv.writer(out)
        for number, row in enumerate(reader):
            if number <= rows:
                writer.writerow(row)
    return text.replace(str(whole), str(short))


def once(text: str) -> str:
    """The same, each secret drawn once in a document, which is the default of an audit."""
    return text.replace('repeats = "each"', 'repeats = "once"')


LEFT = """Parts left the portfolio for what this command said of them: topic shares (+.0003 to -.0007 nats); a chain
smoothed through the metric (weight 0 wherever it was a part: one regime is that chain); a table of steps, trusted as
far as it predicts other users (the smoothed chain in its place loses -.0006 ± .0009 over 900 places); resembling
documents (AG News +.0053 ± .0024 each and +.0043 ± .0021 once, IMDB -.0012 ± .0012 and -.0093 ± .0035); a tree of the
columns of a table (+.0000 ± .0000 of made-up visits, +.0001 ± .0001 of a survey, -.0004 ± .0011 of people); tables of
ties over 65 to 256 points (counted ones lose .0004 ± .0003 of first and last in their place, and gain .0046 ± .0014 of
skips). A table of triples stays up to 64 points: counted ones do as well with 2,000 documents, and find nothing
with 600."""

PEOPLE = '[data]\nkind = "people"\ndocuments = 2000\n[mechanism]\nepsilon = 2.0\n[audit]\n'
PLACES = '[data]\nkind = "location"\npath = "{data}/trajectories.csv"\n[mechanism]\nepsilon = 1.0\n[audit]\n'


def visits(rows: int) -> Setting:
    """A made-up table: an age, a cost and a group that follow each other, and a site in the clear."""
    rng = np.random.default_rng(7)
    age, kind = rng.normal(50, 12, rows).round(), rng.integers(0, 4, rows)
    cost, stay = (10 * age + 80 * kind + rng.normal(0, 40, rows)).round(1), (kind + rng.integers(0, 3, rows))
    site = (kind + (rng.random(rows) < 0.3) * rng.integers(0, 4, rows)) % 4
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "visits.csv"
        cells = zip(age, cost, kind, stay, site, strict=True)
        lines = [f"{k},{a:g},{c:g},{g},{s},{w}" for k, (a, c, g, s, w) in enumerate(cells)]
        file.write_text("\n".join(["visit,age,cost,group,stay,site", *lines]) + "\n", encoding="utf-8")
        return configured_setting(
            f'[data]\nkind = "table"\npath = "{file}"\nnumeric = ["age", "cost"]\ncategorical = ["group", "stay"]\n'
            'public = ["site"]\n[mechanism]\nepsilon = 1.0\n[audit]\n',
            reads_words=True,
        )


def survey(rows: int) -> Setting:
    """A real table: rows of the survey `fair` of statsmodels."""
    head, *some = (content(Source("fair", "statsmodels", "datasets/fair/fair.csv")) or "").splitlines()
    file = HOME / f"fair-{rows}.csv"
    file.write_text("\n".join([head, *some[:: max(1, len(some) // rows)]]) + "\n", encoding="utf-8")
    return configured_setting(
        f'[data]\nkind = "table"\npath = "{file}"\nnumeric = ["age", "yrs_married", "affairs"]\ncategorical = '
        '["rate_marriage", "children", "religious", "educ", "occupation"]\n[mechanism]\nepsilon = 1.0\n'
        "[audit]\n"
    )


def grid(side: int, documents: int) -> Setting:
    """Places on a grid, between which somebody steps to a neighbour, and rather to a popular one; epsilon is 4."""
    rng = np.random.default_rng(2031)
    at = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2).astype(np.float64)
    popular = rng.gamma(0.5, size=len(at)) + 0.05
    step = np.where(np.abs(at[:, None] - at[None]).max(axis=2) <= 1, popular, 0.0)
    ways, space = (step / step.sum(axis=1, keepdims=True)).cumsum(axis=1), Space(at * 6.0 / side)

    def draw(n: int) -> Records:
        walks = np.empty((n, 8), dtype=np.int64)
        walks[:, 0] = rng.choice(len(at), size=n, p=popular / popular.sum())
        for t in range(1, 8):
            walks[:, t] = (ways[walks[:, t - 1]] < rng.random((n, 1))).sum(axis=1).clip(max=len(at) - 1)
        return Records.from_documents(space, list(walks))

    tiers = one_tier(space)
    return Setting(knowledge(Exponential(space, 4.0), tiers, draw(documents)), draw(600), 4.0)


def settings() -> dict[str, Callable[[], Setting]]:
    """Every setting by its name."""
    news, films = sampled(ag_news(), "ag_news", NEWS), sampled(imdb(), "imdb", FILMS)
    places = PLACES.format(data=data_folder().resolve())
    worlds = {**WORLDS, **{f"wide: {k}": w for k, w in WIDE_WORLDS.items()}}
    return {
        "AG News, each": lambda: configured_setting(news),
        "AG News, once, W": lambda: configured_setting(once(news), reads_words=True),
        "IMDB, each": lambda: configured_setting(films),
        "IMDB, once, W": lambda: configured_setting(once(films), reads_words=True),
        "people": lambda: configured_setting(PEOPLE),
        "people, W": lambda: configured_setting(PEOPLE, reads_words=True),
        "a table": lambda: visits(3_000),
        "a survey": lambda: survey(3_000),
        "900 places": lambda: grid(30, FIT),
        "trajectories": lambda: configured_setting(places),
        **{f"world: {name}": partial(_world, partial(made, 1)) for name, made in worlds.items()},
        **{f"places: {name}": partial(_world, made) for name, made in list(PLACE_WORLDS.items())[:3]},
    }


def _world(make: Callable[[], KnownWorld]) -> Setting:
    return world_setting(make())


def kept(name: str, make: Callable[[], Setting]) -> tuple[list[Row], float]:
    """The rows of a setting and CPU seconds, read where they were finished before."""
    file = HOME / ("".join(c if c.isalnum() else "-" for c in name) + ".json")
    if not file.is_file():
        begun = time.process_time()
        rows = measured(make())
        file.write_text(json.dumps([[vars(row) for row in rows], time.process_time() - begun]), encoding="utf-8")
    rows, seconds = json.loads(file.read_text(encoding="utf-8"))
    return [Row(**row) for row in rows], seconds


def _missing(wanted: dict[str, Callable[[], Setting]]) -> str:
    left = [name for name in settings() if name not in wanted]
    return f"Not measured here: {', '.join(left)}.\n\n" if left else ""


def main() -> None:
    """Measure what is missing of the settings that are named, or of all, and write the page."""
    wanted = {name: make for name, make in settings().items() if not sys.argv[1:] or name in sys.argv[1:]}
    lines, total = [], 0.0
    for name, make in wanted.items():
        rows, seconds = kept(name, make)
        total += seconds
        for row in rows:
            lost = f"{row.loss:+.4f} ± {row.error:.4f}"
            lines.append(
                [name, row.part or "all: gain", f"{row.weight:.2f}", lost, f"{row.rate:.2%}", row.below, row.above]
            )
    header = ["data", "left out", "weight", "loss in nats (s.e.)", "rate", "at rate/1.2", "at 1.25 rate"]
    about = " ".join((__doc__ or "").split())
    write(
        "portfolio_parts",
        "What each part of the portfolio is worth",
        f"{about}\n\nA known world has {FIT:,} fit and {HELD:,} fresh documents at ε = {EPSILON}; of the corpora the "
        f"first {NEWS:,} and {FILMS:,} rows are taken, a fifth of which is read. `each` and `once` say how often a "
        "secret is drawn, W that the words around are read. The weight is the largest of any tier and side among all "
        "parts. Parts can stand in for each other: what one loses alone is not what it loses with another gone too.\n\n"
        f"{LEFT}\n\nTrajectories are of few users: their standard errors are about a nat, so their rows say nothing."
        "\n\n"
        f"{_missing(wanted)}{table(header, lines)}\n\n{total:.0f} CPU seconds.",
    )


if __name__ == "__main__":
    main()

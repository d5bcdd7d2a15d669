"""The portfolio: every kind of dependence that counts can show, each weighed by what it predicts on held-out documents.

Any vocabulary: the chain keyed by spacing, chains of second order, ties between places, words of one document in any
order, copies. A large one also: secrets used again, and where the points of neighbours lie. Rows of a table: hidden
classes of rows, a copula of the columns. Over few points also hidden regimes and hidden classes of places, smoothed
through the metric; steps over more places (`out_of_reach` says what is left out where points are many). With W, the
prior given the words around and phrases that hold other secrets, or the clear columns. Nothing is trained again when
the mechanism changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.backoff import is_spatial
from oddshift.attackers.chain import fit_gap_chain
from oddshift.attackers.chain_laws import fit_chain, fit_classes, fit_regimes
from oddshift.attackers.cherry_tree import fit_place_trees, place_graphs
from oddshift.attackers.clear_columns import fit_clear_columns, has_rows
from oddshift.attackers.combination import Combination, fit_and_combine
from oddshift.attackers.cooccurrence import Reuse, fit_cooccurrence, fit_copies
from oddshift.attackers.hidden_classes import fit_row_classes
from oddshift.attackers.law_attacker import ContextLaw, Dense, DenseLaw, LawAttacker
from oddshift.attackers.linear_context import fit_linear_context, suits_linear
from oddshift.attackers.paired_log_score import choosing_clusters
from oddshift.attackers.phrases import fit_phrases
from oddshift.attackers.positional_pairs import fit_positional_pairs
from oddshift.attackers.prior_by_place import fit_place_prior, place_weights
from oddshift.attackers.row_copula import fit_copula_law
from oddshift.attackers.row_law import fit_row_tree, row_graph
from oddshift.attackers.row_layout import RowLayout, row_layout
from oddshift.attackers.second_order import TRIPLE_POINTS, fit_second_order
from oddshift.attackers.word_prior import TakenBack, WordPrior, WordTrial, weighed_prior, word_trial
from oddshift.base.errors import InvalidInput

DENSE_POINTS = 400
"""Largest number of points for a table of all pairs."""

STEP_POINTS = 1_600
"""Places up to which a table of steps is estimated: its broader laws are known but for their shares."""

WORTH_READING = 0.05
"""Nats that two secrets must tell beyond one, above DENSE_POINTS: AG News has .03, and reading took twice as long."""

HELD_SHARE, HELD_UNITS = 0.2, 8
"""The share of the fit units on which parts are weighed, and their number where that is larger."""

PartFit = Callable[[Knowledge], Attacker]


def fit_portfolio(known: Knowledge, rng: np.random.Generator, *, reads_words: bool = False) -> Combination:
    """Fit every part that suits the number of points, on most of the fit documents, and weigh them on the rest.

    **Guarantee**: a position without others keeps its own release; on the held-out releases no single part is better.
    """
    parts = portfolio_parts(known, int(rng.integers(1 << 31)), reads_words=reads_words)
    return replace(
        fit_and_combine(known, parts, share=held_share(known), rng=rng), name="portfolio" + "+W" * reads_words
    )


def portfolio_parts(known: Knowledge, seed: int, *, reads_words: bool = False) -> list[PartFit]:
    """How every part that suits these data is fitted; one that gives the prior comes first."""
    if reads_words and known.fit.context is None:
        raise InvalidInput("the fit records have no context W, expected one for portfolio+W")
    layout = row_layout(known)
    points = len(known.log_prior)
    sized = [*dense_parts(points, seed), *counted_parts(points), *place_parts(known), *wide_parts(known)]
    parts = [*(row_parts(layout, seed) if layout else []), *common_parts(), *([] if layout else sized)]
    parts += three_parts(known, layout)
    if reads_words:
        return [*([_clear(layout, seed)] if layout and _has_clear(known, layout) else _words(known, seed)), *parts]
    return [*_by_place(known, seed), *parts]


def held_share(known: Knowledge) -> float:
    """The share of the fit units that parts are weighed on: a fifth, more of few ones, and never more than half.

    On one or two held-out units no gain is beyond chance, so that nothing would be learned from few users.
    """
    units = len(np.unique(choosing_clusters(known.fit)))
    return min(0.5, max(HELD_SHARE, HELD_UNITS / max(1, units)))


def row_parts(layout: RowLayout, seed: int) -> list[PartFit]:
    """Parts for rows of a table, which take tables of two columns.

    Texts in which the same kinds of words follow each other look like rows, so these parts never come alone.
    """
    return [
        lambda known: LawAttacker(known, fit_copula_law(known, layout), "copula"),
        lambda known: LawAttacker(
            known, fit_row_classes(known, layout, np.random.default_rng([seed, 5])), "row classes"
        ),
    ]


def three_parts(known: Knowledge, layout: RowLayout | None) -> list[PartFit]:
    """The law of values that two others decide, where any three places of all fit documents show such a thing."""
    if layout is not None:
        columns = row_graph(known, layout)
        return [_threes(lambda some: fit_row_tree(some, layout, columns))] if columns else []
    places = place_graphs(known)
    return [_threes(lambda some: Dense(fit_place_trees(some, places)))] if places else []


def _threes(fit: Callable[[Knowledge], ContextLaw]) -> PartFit:
    return lambda known: LawAttacker(known, fit(known), "threes")


def common_parts() -> list[PartFit]:
    """Parts for any number of points."""
    return [
        fit_gap_chain,
        fit_cooccurrence,
        lambda known: LawAttacker(known, fit_copies(known), "copies"),
    ]


def dense_parts(points: int, seed: int) -> list[PartFit]:
    """Parts for few points, which take tables of pairs; one regime is a chain smoothed through the metric."""
    if points > DENSE_POINTS:
        return []
    return [
        _dense("place classes", lambda known: fit_classes(known, np.random.default_rng([seed, 3]))),
        _dense("regimes", lambda known: fit_regimes(known, np.random.default_rng([seed, 2]))),
    ]


def counted_parts(points: int) -> list[PartFit]:
    """Parts that read pairs and triples, from smoothed tables where points are few, otherwise from what was counted."""
    least = WORTH_READING if points > DENSE_POINTS else 0.0
    return [
        lambda known: LawAttacker(known, fit_second_order(known, least), "second order"),
        lambda known: LawAttacker(known, fit_positional_pairs(known), "ties"),
    ]


def place_parts(known: Knowledge) -> list[PartFit]:
    """A chain over places that are too many for regimes: something moves between them, step by step."""
    is_many = DENSE_POINTS < len(known.log_prior) <= STEP_POINTS
    return [_dense("steps", fit_chain)] if is_many and is_spatial(known.fit.space) else []


def is_vocabulary(known: Knowledge) -> bool:
    """Whether the points are many, so that most pairs of them were never seen, and are not places."""
    return len(known.fit.space) > DENSE_POINTS and not is_spatial(known.fit.space)


def wide_parts(known: Knowledge) -> list[PartFit]:
    """Parts for vocabularies: they read more than pairs."""
    if not is_vocabulary(known):
        return []
    found: list[PartFit] = [lambda some: LawAttacker(some, Reuse(), "reuse")]
    if suits_linear(known.fit.space):
        found.append(lambda some: LawAttacker(some, fit_linear_context(some), "linear"))
    return found


def _dense(name: str, fit: Callable[[Knowledge], DenseLaw]) -> PartFit:
    return lambda known: LawAttacker(known, Dense(fit(known)), name)


def _has_clear(known: Knowledge, layout: RowLayout) -> bool:
    return has_rows(known.fit.context, len(layout.members))


def _clear(layout: RowLayout, seed: int) -> PartFit:
    def fit(known: Knowledge) -> Attacker:
        law = fit_clear_columns(known, layout, np.random.default_rng([seed, 6]))
        return LawAttacker(known, law, "clear columns", with_context=True)

    return fit


def _words(known: Knowledge, seed: int) -> list[PartFit]:
    """The prior given W, fitted once, and what of it is taken back; over a vocabulary phrases too."""

    @lru_cache(maxsize=1)
    def trial(some: Knowledge) -> WordTrial:
        return word_trial(some, np.random.default_rng([seed, 4]))

    @lru_cache(maxsize=1)
    def prior(some: Knowledge) -> WordPrior:
        return weighed_prior(some, trial(some))

    def part(name: str, fit: Callable[[Knowledge], ContextLaw]) -> PartFit:
        return lambda some: LawAttacker(some, fit(some), name, with_context=True)

    found = [part("words", prior), part("taken back", lambda some: TakenBack(prior(some)))]
    if is_vocabulary(known):
        found.append(part("phrases", lambda some: fit_phrases(some, prior(some), trial(some))))
    return found


def _by_place(known: Knowledge, seed: int) -> list[PartFit]:
    """The prior given the place, where places say anything; how far is decided once, on all fit documents."""
    weights = place_weights(known, np.random.default_rng([seed, 8]))
    return [] if weights is None else [lambda some: LawAttacker(some, fit_place_prior(some, weights), "places")]


def out_of_reach(known: Knowledge) -> str:
    """One sentence, empty where every part suits the number of points; rows of a table take tables of two columns."""
    points = len(known.log_prior)
    if points <= TRIPLE_POINTS or row_layout(known) is not None:
        return ""
    counted = "triples and pairs at distant places are read where fit documents hold them, not near ones"
    said = f"over {points:,} points {counted}"
    missed = []
    if points > DENSE_POINTS:
        missed.append(f"two secrets that together tell less than {WORTH_READING:g} nats more than one")
        missed.append(f"hidden regimes of steps or hidden classes with a law for each place (above {DENSE_POINTS:,})")
        most = STEP_POINTS if is_spatial(known.fit.space) else DENSE_POINTS
        missed += [f"steps between near points that were never counted (above {most:,})"] if points > most else []
    return f"{said}; no attacker looked for {', or for '.join(missed)}" if missed else said

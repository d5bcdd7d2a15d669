"""Promises of every part of the portfolio: it tells what the other outputs say, and nothing else."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from oddshift.attackers import second_order, sparse_law
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.combination import fit_and_combine
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import Reuse
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.linear_context import fit_linear_context
from oddshift.attackers.portfolio import common_parts, counted_parts, dense_parts
from oddshift.attackers.positional_pairs import fit_positional_pairs
from oddshift.attackers.second_order import fit_second_order
from oddshift.mechanisms import Deletion, Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from worlds import World, gather, log_score, ring, two_tiers, with_words

WIDE = [
    lambda known: LawAttacker(known, Reuse(), "reuse"),
    lambda known: LawAttacker(known, fit_linear_context(known), "linear"),
]


def _counted(fit, known):
    """A law from counts, as over more points than a table takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_law, "TABLE_POINTS", 0)
        patch.setattr(second_order, "TRIPLE_POINTS", 0)
        return fit(known)


PARTS = {
    "common": common_parts(),
    "dense": dense_parts(8, 0),
    "counted": counted_parts(8),
    "sparse": [
        lambda known: LawAttacker(known, _counted(fit_second_order, known), "counted second order"),
        lambda known: LawAttacker(known, _counted(fit_positional_pairs, known), "counted ties"),
    ],
    "wide": WIDE,
}
TIERS = {"one tier": None, "public tiers": two_tiers(), "secret tiers": two_tiers(is_public=False)}


@cache
def world(tiers):
    return with_words(ring(length=None, documents=60, tiers=TIERS[tiers]))


@cache
def parts(kind, tiers):
    return [fit(world(tiers).known) for fit in PARTS[kind]]


def told(part, release):
    """The context term of every position over its candidates, up to a constant; 0 elsewhere."""
    size = len(part.known.log_prior)
    found = np.full((len(release.outputs), size), np.nan)
    for block in part.terms(release):
        points = np.arange(size) if block.points is None else block.points
        inside = part.known.tiers.labels[points] if release.position_tiers is not None else None
        for row, position in enumerate(block.positions):
            assert np.isnan(found[position]).all(), f"{part.name}: a position came twice"
            mine = points if inside is None else points[inside == release.position_tiers[position]]
            term = block.context[row][np.isin(points, mine)]
            found[position] = 0.0
            found[position, mine] = term - term.mean()
    assert np.isfinite(found).all(), part.name
    return found


@pytest.fixture(params=[(kind, tiers) for kind in PARTS for tiers in TIERS], ids="-".join)
def case(request):
    kind, tiers = request.param
    return world(tiers), parts(kind, tiers)


def test_a_lone_position_hears_nothing(case):
    made, mine = case
    alone = np.repeat(made.release.lengths == 1, made.release.lengths)
    assert alone.any()
    for part in mine:
        np.testing.assert_allclose(told(part, made.release)[alone], 0.0, atol=1e-12, err_msg=part.name)


def test_its_own_output_never_enters(case):
    made, mine = case
    first = made.release.offsets[:-1][made.release.lengths > 0]
    other = made.release.outputs.copy()
    other[first] = (other[first] + 3) % 8
    changed = replace(made.release, outputs=other)
    for part in mine:
        before, after = told(part, made.release), told(part, changed)
        np.testing.assert_allclose(after[first], before[first], atol=1e-9, err_msg=part.name)


def test_documents_are_read_each_for_itself(case):
    made, mine = case
    some = np.arange(0, len(made.release), 3)
    chosen = np.isin(np.repeat(np.arange(len(made.release)), made.release.lengths), some)
    for part in mine:
        whole, apart = told(part, made.release), told(part, made.release.take(some))
        np.testing.assert_allclose(apart, whole[chosen], atol=1e-9, err_msg=part.name)


def test_outputs_that_say_nothing_tell_nothing(case):
    made, mine = case
    silent = knowledge(Exponential(made.known.fit.space, 1e-12), made.known.tiers, made.known.fit)
    for part in mine:
        np.testing.assert_allclose(told(part.against(silent), made.release), 0.0, atol=1e-6, err_msg=part.name)


def test_another_mechanism_needs_no_new_fit(case):
    made, mine = case
    other = knowledge(Exponential(made.known.fit.space, 0.5), made.known.tiers, made.known.fit)
    for part in mine:
        again = told(replace(part, known=other), made.release)
        np.testing.assert_array_equal(told(part.against(other), made.release), again, err_msg=part.name)


def test_an_output_that_no_candidate_gives_leaves_terms_finite(case):
    made, mine = case
    deleting = knowledge(Deletion(made.known.fit.space, 0.5), made.known.tiers, made.known.fit)
    release = perturb(made.secrets, deleting.mechanism, deleting.tiers, np.random.default_rng(0))
    for part in mine:
        assert np.isfinite(told(part.against(deleting), release)).all()


def test_beliefs_over_candidates_are_the_columns_of_those_over_all_points(case):
    made, mine = case
    for part in mine:
        shift, prior = gather(part, made.release)
        for block in part.candidate_beliefs(made.release):
            at = np.ix_(block.positions, block.points)
            np.testing.assert_allclose(block.shift, shift[at], atol=1e-9, err_msg=part.name)
            expected = np.broadcast_to(block.log_prior, block.shift.shape)
            np.testing.assert_allclose(expected, prior[at], atol=1e-9, err_msg=part.name)


def copying(rng):
    """Each position takes over an earlier one with probability one half."""
    values = [int(rng.integers(20))]
    while len(values) < 6:
        values.append(int(rng.choice(values)) if rng.random() < 0.5 else int(rng.integers(20)))
    return values


def reusing(rng):
    """Fifteen secrets, half of them from among the earlier ones."""
    values = [int(rng.integers(60))]
    while len(values) < 15:
        values.append(int(rng.choice(values)) if rng.random() < 0.5 else int(rng.integers(60)))
    return values


def of_one_topic(rng):
    """Six of eight words, the first half of the vocabulary or the second."""
    return 8 * int(rng.integers(2)) + rng.integers(8, size=6)


MADE_FOR = {
    "copies": (copying, 20, 4.0, common_parts()),
    "cooccurrence": (of_one_topic, 16, 2.5, common_parts()),
    "reuse": (reusing, 60, 1.5, WIDE),
}
"""For each part a world that it was made for: how a document is drawn, the points, ε, and the parts it is among."""


@pytest.mark.parametrize("name", MADE_FOR)
def test_what_it_was_made_for_is_found(name):
    draw, points, epsilon, fits = MADE_FOR[name]
    rng = np.random.default_rng(0)
    space = Space(3.0 * np.random.default_rng(1).normal(size=(points, 3)) / epsilon)
    fit, fresh = (Records.from_documents(space, [draw(rng) for _ in range(n)]) for n in (300, 100))
    known = knowledge(Exponential(space, epsilon), one_tier(space), fit)
    made = World(known, fresh, perturb(fresh, known.mechanism, known.tiers, rng))
    mine = next(part for part in fits if part(known).name == name)
    found = fit_and_combine(known, [mine], rng=rng)
    assert log_score(found, made) < log_score(Own(known), made) - 0.05

"""The combination: convex weights, at least as good as its parts, and nothing where there is nothing."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.attackers import term_weights
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.candidate_sampling import sides
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import Combination, fit_and_combine, fit_combination, weights_by_tier
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.term_weights import ContextTerms, best_weights, best_weights_of_sides
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms import Exponential
from oddshift.model.release import perturb
from oddshift.model.tiers import Tiers
from worlds import World, gather, held_out_terms, log_score, ring, two_tiers


def parts_of(known):
    return [fit_plugin(known), fit_cooccurrence(known)]


@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_no_part_is_better_on_the_held_out_documents(tiers):
    world = ring(tiers=tiers)
    held = held_out_terms(parts_of(world.known), world.known, world.secrets, np.random.default_rng(1))
    weights = best_weights(held)
    best = held.loss(weights)[0]
    for other in (np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        assert best <= held.loss(other)[0] + 1e-7


def test_with_enough_documents_the_optimum_is_found():
    rng = np.random.default_rng(0)
    logits = [rng.normal(size=(4_000, 4)), rng.normal(size=(4_000, 4))]
    law = np.exp(0.5 * logits[0] + 1.5 * logits[1])
    truth = (np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1) < rng.random((4_000, 1))).sum(axis=1)
    weights = best_weights(ContextTerms(np.zeros((4_000, 4)), tuple(logits), truth, Units(np.arange(4_000), 4_000)))
    np.testing.assert_allclose(weights, [0.5, 1.5], atol=0.15)


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    held = ContextTerms(
        rng.normal(size=(30, 5)),
        (rng.normal(size=(30, 5)), rng.normal(size=(30, 5))),
        rng.integers(5, size=30),
        Units(np.arange(30) // 3, 10),
    )
    at, step = np.array([0.3, 0.7]), 1e-6
    _, gradient = held.loss(at)
    numeric = [(held.loss(at + step * e)[0] - held.loss(at - step * e)[0]) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(gradient, numeric, atol=1e-8)
    assert held.scores(at).mean() == pytest.approx(held.loss(at)[0])


def test_blocks_of_rows_give_the_loss_of_the_whole(monkeypatch):
    rng = np.random.default_rng(0)
    terms = tuple(rng.normal(size=(37, 5)) for _ in range(3))
    held = ContextTerms(rng.normal(size=(37, 5)), terms, rng.integers(0, 5, 37), None)
    weights = np.array([0.3, 0.0, 1.2])
    whole = held.loss(weights)
    assert whole[0] == pytest.approx(held.scores(weights).mean(), rel=1e-12)
    monkeypatch.setattr(term_weights, "_CACHED", 20)
    value, gradient = held.loss(weights)
    assert value == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(gradient, whole[1], rtol=1e-10)


def test_it_helps_on_fresh_documents_too():
    world = ring()
    combined = fit_and_combine(
        world.known,
        [fit_plugin, fit_cooccurrence],
        rng=np.random.default_rng(2),
    )
    scores = [log_score(part, world) for part in combined.parts]
    assert log_score(combined, world) <= min(scores) + 0.03
    assert "plugin" in repr(combined)


def test_independent_secrets_get_no_weight():
    world = ring(strength=0.0, documents=400)
    combined = fit_combination(world.known, parts_of(world.known), world.secrets, rng=np.random.default_rng(0))
    assert combined.weights == (((0.0, 0.0), (0.0, 0.0)),)
    assert not combined.has_weights
    np.testing.assert_array_equal(gather(combined, world.release)[0], gather(Own(world.known), world.release)[0])


def test_it_is_the_weighted_sum_whatever_the_blocks(monkeypatch):
    world = ring(length=None)
    combined = fit_combination(world.known, parts_of(world.known), world.secrets, rng=np.random.default_rng(0))
    whole = gather(combined, world.release)[0]
    own = gather(Own(world.known), world.release)[0]
    terms = [gather(part, world.release)[0] - own for part in combined.parts]
    expected = own + sum(
        u * np.maximum(term, 0.0) + v * np.minimum(term, 0.0)
        for (u, v), term in zip(combined.weights[0], terms, strict=True)
    )
    np.testing.assert_allclose(whole, expected, atol=1e-12)
    monkeypatch.setattr("oddshift.attackers.combination.BLOCK_ENTRIES", 50)
    np.testing.assert_allclose(gather(combined, world.release)[0], whole, atol=1e-12)


def test_any_attacker_can_be_a_part():
    world = ring()
    combined = fit_combination(
        world.known, [Null(world.known), Own(world.known)], world.secrets, rng=np.random.default_rng(0)
    )
    assert np.isfinite(combined.weights).all()


def test_terms_outside_the_candidates_do_not_count():
    world = ring(tiers=two_tiers())
    held = held_out_terms(parts_of(world.known), world.known, world.secrets, np.random.default_rng(1))
    labels = world.known.tiers.labels
    assert (np.isneginf(held.base) == (labels[held.truth][:, None] != labels[None, :])).all()
    assert np.isfinite(log_sum(held.base)).all()


def test_what_cannot_be_used_is_refused():
    world = ring(documents=5)
    with pytest.raises(InvalidInput, match="at least one attacker"):
        fit_combination(world.known, [], world.secrets, rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="share"):
        fit_and_combine(world.known, [fit_cooccurrence], share=1.0, rng=np.random.default_rng(0))


def test_weights_follow_the_noise():
    world = ring(documents=600, length=6, strength=0.95, epsilon=3.0)
    known = world.known
    fits = [fit_cooccurrence]
    combined = fit_and_combine(known, fits, rng=np.random.default_rng(1))
    noisier = knowledge(Exponential(known.mechanism.space, 0.5), known.tiers, known.fit)
    there = combined.against(noisier)
    fresh = fit_and_combine(noisier, fits, rng=np.random.default_rng(1))
    assert there.weights != combined.weights
    release = perturb(world.secrets, noisier.mechanism, noisier.tiers, np.random.default_rng(2))
    moved = World(noisier, world.secrets, release)
    as_before = replace(combined, weigh=None).against(noisier)
    assert log_score(there, moved) < log_score(as_before, moved)
    assert log_score(there, moved) < log_score(fresh, moved) + 0.02


def test_evidence_in_favour_and_against_has_weights_of_its_own():
    """Truths follow max(c, 0)·1.5 + min(c, 0)·0.3: one weight for both sides would be wrong about each."""
    rng = np.random.default_rng(0)
    term = 2.0 * rng.normal(size=(6_000, 4))
    law = np.exp(1.5 * np.maximum(term, 0.0) + 0.3 * np.minimum(term, 0.0))
    truth = (np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1) < rng.random((6_000, 1))).sum(axis=1)
    held = ContextTerms(np.zeros((6_000, 4)), tuple(sides([term])), truth, Units(np.arange(6_000), 6_000))
    np.testing.assert_allclose(best_weights_of_sides(held), [[1.5, 0.3]], atol=0.15)


def test_both_sides_share_a_weight_where_two_are_no_better():
    rng = np.random.default_rng(1)
    term = rng.normal(size=(500, 4))
    law = np.exp(0.8 * term)
    truth = (np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1) < rng.random((500, 1))).sum(axis=1)
    ((favour, against),) = best_weights_of_sides(
        ContextTerms(np.zeros((500, 4)), tuple(sides([term])), truth, Units(np.arange(500), 500))
    )
    assert favour == against > 0.3


def test_tiers_that_show_nothing_by_themselves_are_weighed_together():
    """Twelve tiers of 30 positions, each of which says too little: together they say that the part is right."""
    rng = np.random.default_rng(0)
    held = {}
    for tier in range(12):
        term = 0.5 * rng.normal(size=(30, 2 + tier % 3))
        law = np.exp(term)
        truth = (np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1) < rng.random((30, 1))).sum(axis=1)
        held[tier] = ContextTerms(np.zeros_like(term), tuple(sides([term])), truth, Units(np.arange(30), 30))
    tiers = Tiers(np.arange(12), names=tuple("abcdefghijkl"), scales=(1.0,) * 12, is_public=True)
    weights = np.array(weights_by_tier(held, tiers, 1))
    alone = [best_weights_of_sides(each).any() for each in held.values()]
    assert 2 < alone.count(False) < 12  # some tiers show it by themselves
    quiet = weights[~np.array(alone)]
    assert (quiet == quiet[0]).all()
    assert 0.5 < quiet[0].mean() < 1.6


def test_the_weights_are_shown_once_where_both_sides_have_the_same():
    world = ring(documents=5)
    parts = tuple(parts_of(world.known))
    shown = repr(Combination(world.known, parts, (((0.5, 0.5), (0.25, 1.0)),)))
    assert shown == "Combination(0.5 plugin, 0.25/1 cooccurrence)"

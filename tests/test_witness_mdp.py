"""Somebody else's mechanism: broken ones are caught well above their claim, correct ones never."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness import (
    ACCUSING,
    recheck,
    recompute,
    witness_bits,
    witness_mdp,
    witness_of,
)
from oddshift.evidence.witness.mdp_events import CandidatePair, channel_event, scores
from oddshift.model.space import Space

CLAIM = 4.0
POINTS = np.random.default_rng(0).normal(size=(200, 12)) * 0.3
SPACE = Space(POINTS)


def exponential(rate):
    logs = -rate * SPACE.distances
    channel = np.exp(logs - logs.max(axis=1, keepdims=True))
    channel /= channel.sum(axis=1, keepdims=True)
    table = np.cumsum(channel, axis=1)

    def sample(index, rng):
        return (rng.random(len(index))[:, None] > table[index]).sum(axis=1).clip(max=len(table) - 1)

    with np.errstate(divide="ignore"):
        full = np.log(channel)
    gaps = np.stack([np.abs(full - row).max(axis=1) for row in full])
    return sample, float((gaps / (SPACE.distances + np.diag(np.full(len(gaps), np.inf)))).max())


def noise(radius, project):
    def sample(index, rng):
        direction = rng.normal(size=(len(index), POINTS.shape[1]))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        noisy = POINTS[index] + direction * radius(len(index), rng)[:, None]
        if not project:
            return noisy
        return np.argmin((POINTS**2).sum(axis=1) - 2 * noisy @ POINTS.T, axis=1)

    return sample


def right_radius(n, rng):
    return rng.gamma(POINTS.shape[1], 1 / CLAIM, n)


def wrong_radius(n, rng):
    return rng.exponential(1 / CLAIM, n)  # the radius law of one dimension, used in twelve


def hunt(sample, seed=0, **changes):
    terms = {"explore": 1000, "confirm": 20_000, "pairs": 30, **changes}
    return witness_mdp(sample, SPACE, CLAIM, rng=np.random.default_rng(seed), **terms)


def test_wrong_sensitivity_is_certified_well_above_the_claim():
    sample, truth = exponential(3 * CLAIM)
    found = hunt(sample)
    assert found.shown
    assert 2 * CLAIM < found.lower_bound < truth
    recheck(found)


@pytest.mark.parametrize("project", [True, False])
def test_wrong_radius_law_is_certified_well_above_the_claim(project):
    found = hunt(noise(wrong_radius, project))
    assert found.shown
    assert found.lower_bound > 1.7 * CLAIM


def test_words_are_outputs_too():
    sample, truth = exponential(3 * CLAIM)
    found = hunt(lambda index, rng: np.array([f"word{y}" for y in sample(index, rng)]))
    assert 2 * CLAIM < found.lower_bound < truth


@pytest.mark.parametrize("seed", range(5))
def test_correct_mechanisms_are_never_accused(seed):
    sample, truth = exponential(CLAIM / 2)
    assert truth <= CLAIM
    found = hunt(sample, seed)
    assert not found.shown
    assert 0 < found.lower_bound < truth
    assert found.sentence.startswith("Undecided")
    for project in (True, False):
        assert not hunt(noise(right_radius, project), seed).shown


def test_lower_bounds_hold_when_the_claim_is_the_truth():
    sample, truth = exponential(CLAIM / 2)
    exceeded = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = witness_mdp(sample, SPACE, truth, explore=300, confirm=1000, pairs=10, rng=rng)
        exceeded += found.lower_bound > truth
    assert exceeded <= 6


LINE = Space(np.random.default_rng(0).uniform(0, 5, 20)[:, None])
PLANE = Space(np.random.default_rng(1).normal(size=(30, 2)))


def laplace(index, rng):
    return LINE.points[index, 0] + rng.laplace(scale=1.0, size=len(index))


def planar(index, rng):
    angle, radius = rng.uniform(0, 2 * np.pi, len(index)), rng.gamma(2, 1.0, len(index))
    return PLANE.points[index] + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


@pytest.mark.parametrize(("sample", "space"), [(laplace, LINE), (planar, PLANE)])
def test_correct_noise_on_floats_is_never_accused(sample, space):
    terms = {"explore": 300, "confirm": 3000, "pairs": 8}
    bounds = [
        witness_mdp(sample, space, 1.0, rng=np.random.default_rng(seed), **terms).lower_bound for seed in range(25)
    ]
    assert max(bounds) <= 1.0
    assert np.median(bounds) > 0.4  # it sees the noise: the truth is 1


def test_the_last_bits_of_the_same_noise_are_caught_under_another_name():
    found = [
        witness_bits(laplace, LINE, 1.0, explore=300, confirm=3000, pairs=8, rng=np.random.default_rng(s)).shown
        for s in range(6)
    ]
    assert sum(found) >= 3


def test_scores_of_one_step_are_alike():
    pair = CandidatePair(0, 1, 2.0, 2e-9)
    space = Space([[0.0], [2.0]])
    beyond = np.array([[-3.0], [-3.3], [-1e5 / 7]])  # the contrast is 2 there, but for its last bits
    assert len(set(scores("nearness to the first point against the second", beyond, space, pair).tolist())) == 1


def rare_leak():
    """Randomised response on 40 points whose one breaking output has a probability of 1e-3 from point 3 alone."""
    channel = np.full((40, 41), 1 / 40)
    channel[:, 40] = 1e-6
    channel[3, 40] = 1e-3
    channel /= channel.sum(axis=1, keepdims=True)
    table = np.cumsum(channel, axis=1)

    def sample(index, rng):
        return np.minimum(np.searchsorted(table[index[0]], rng.random(len(index))), 40)

    return sample, Space.from_distances(1.0 - np.eye(40)), np.log(channel)


def test_a_known_channel_finds_the_rare_output_that_sampling_misses():
    sample, space, logs = rare_leak()
    terms = {"explore": 200, "confirm": 100_000, "pairs": 6}
    blind = witness_mdp(sample, space, 1.0, rng=np.random.default_rng(0), **terms)
    assert not blind.shown
    found = witness_mdp(sample, space, 1.0, log_matrix=logs, rng=np.random.default_rng(0), **terms)
    assert found.shown
    assert found.lower_bound < np.log(1000)
    assert "points 3 and" in found.event
    hinted = witness_mdp(
        sample, space, 1.0, hints=[(3, 7)], rng=np.random.default_rng(0), **{**terms, "explore": 20_000}
    )
    assert hinted.shown


def test_the_event_of_a_channel_is_the_best_prefix():
    rows = np.log([0.5, 0.3, 0.2]), np.log([0.1, 0.3, 0.6])
    event = channel_event(CandidatePair(0, 1, 2.0), rows, 10_000)
    assert event.outputs == {0}
    assert event.promise == pytest.approx(np.log(5) / 2, abs=0.1)
    few = channel_event(CandidatePair(0, 1, 2.0), (np.log([1e-6, 0.5, 0.5]), np.log([1e-9, 0.2, 0.8])), 1000)
    assert few.outputs == {0, 1}  # the rarest output alone would not be seen


def test_a_correct_channel_is_not_accused_by_the_exact_search():
    sample, truth = exponential(CLAIM / 2)
    logs = -CLAIM / 2 * SPACE.distances
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    for seed in range(5):
        found = hunt(sample, seed, log_matrix=logs)
        assert not found.shown
        assert 0.4 * truth < found.lower_bound < truth


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hunt(lambda index, rng: [1, 2]), r"gave outputs of shape \(2,\) for 1000 points"),
        (lambda: hunt(noise(right_radius, True), explore=3), "explore=3"),
        (lambda: hunt(lambda index, rng: np.zeros((len(index), 3))), r"outputs of shape \(3,\)"),
        (
            lambda: witness_mdp(lambda i, g: i, Space([[0.0]]), 1.0, rng=np.random.default_rng()),
            "a space of 1 point",
        ),
        (lambda: hunt(lambda index, rng: 1), r"gave outputs of shape \(\)"),
        (lambda: witness_mdp(lambda i, g: i, [[0.0]], 1.0, rng=np.random.default_rng()), "space is a list"),
        (lambda: witness_mdp(lambda i, g: i, SPACE, 1.0, rng=None), "rng is a NoneType"),
        (lambda: hunt(lambda i, g: i, log_matrix=np.zeros((3, 2))), "log_matrix has 3 rows, expected 200"),
        (lambda: hunt(lambda i, g: i, hints=[(0, 900)]), "hints"),
        (lambda: witness_mdp(lambda i, g: i, SPACE, 0.0, rng=np.random.default_rng()), "epsilon=0.0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_a_search_accuses_at_a_smaller_level_than_that_of_its_bound():
    """A bound above ε at level 0.05 is no accusation yet: one of twenty correct mechanisms may have such a bound."""
    near = replace(witness_of("two_arm", (460, 1000, 130, 1000), (1.0,), alpha=0.05, epsilon=1.0), accusing=ACCUSING)
    assert near.lower_bound > 1.0
    assert not near.shown
    assert "no leakage above 1 was shown" in near.sentence
    assert f"where there is none with probability at most {ACCUSING:g}" in near.sentence
    far = replace(witness_of("two_arm", (600, 1000, 100, 1000), (1.0,), alpha=0.05, epsilon=1.0), accusing=ACCUSING)
    assert far.shown
    recheck(far)
    with pytest.raises(InvalidInput, match=r"accusing=0.1, expected at most alpha=0.05"):
        replace(near, accusing=0.1)
    assert ACCUSING * 200 <= 0.02  # two hundred correct mechanisms are all left alone, but for one case in fifty


def test_a_search_takes_the_smaller_level():
    found = hunt(noise(wrong_radius, project=True), explore=100, confirm=500, pairs=4)
    assert found.accusing == ACCUSING
    assert found.shown == (recompute(replace(found, alpha=ACCUSING)) > found.epsilon)
